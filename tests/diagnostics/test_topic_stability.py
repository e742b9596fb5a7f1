"""Topics that runs have in common: known shares, Wilson's intervals, consensus and noise."""

import itertools
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.helpers.mutating import mutate
from topicloom import LDA
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import topic_stability as module_of_stability
from topicloom.diagnostics.alignment import chain_topics, topic_distance
from topicloom.diagnostics.topic_stability import consensus, medoid, run_distances, stability
from topicloom.errors import InputError

N_RUNS, N_SHARED, K, V = 6, 3, 5, 80


def shared_runs(seed: int = 0) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Runs of five topics in any order, of which three are in all, a little changed, and two are each run's own.

    Also the shared topics, and where they are in each run [runs, shared].
    """
    rng = np.random.default_rng(seed)
    shared = rng.dirichlet(np.full(V, 0.1), N_SHARED)
    runs, where = [], []
    for _ in range(N_RUNS):
        order = rng.permutation(K)
        alike = 0.9 * shared + 0.1 * rng.dirichlet(np.full(V, 0.3), N_SHARED)
        runs.append(np.concatenate((alike, rng.dirichlet(np.full(V, 0.1), K - N_SHARED)))[order])
        where.append(np.argsort(order)[:N_SHARED])
    return runs, shared, np.array(where)


# -- stability -----------------------------------------------------------------------------------------------


def check_stability(module: ModuleType | SimpleNamespace) -> None:
    runs, _, where = shared_runs()
    for reference in (None, 4):
        found = module.stability(runs, reference=reference)
        assert found.reference == (medoid(runs) if reference is None else reference)
        want = np.zeros(K)
        want[where[found.reference]] = 1.0
        np.testing.assert_array_equal(found.share.mean, want)
        assert found.score == pytest.approx(N_SHARED / K)
        others = [r for r in range(N_RUNS) if r != found.reference]
        pairs = [
            topic_distance(runs[found.reference], runs[r])[where[found.reference, k], where[r, k]]
            for r in others
            for k in range(N_SHARED)
        ]
        assert found.similarity == pytest.approx(1 - np.mean(pairs), abs=1e-12)
        for k, row in enumerate(found.rows()):
            interval = binomtest(round(want[k] * 5), 5).proportion_ci(0.95, method="wilson")
            assert (row["topic"], row["share"]) == (k, want[k])
            assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
            assert np.isnan(row["similarity"]) == (want[k] == 0)


def test_three_of_five_topics_are_stable() -> None:
    check_stability(module_of_stability)


def test_intervals_are_wilsons() -> None:
    topics = np.random.default_rng(1).dirichlet(np.full(V, 0.1), 8)
    # Topic k of the reference is in k of the other 7 runs, for k = 0 to 7.
    runs = [topics] + [np.concatenate((topics[r + 1 :], np.eye(V)[r : r + 1])) for r in range(7)]
    found = stability(runs, reference=0, level=0.8)
    np.testing.assert_allclose(found.share.mean, np.arange(8) / 7)
    for k in range(8):
        interval = binomtest(k, 7).proportion_ci(0.8, method="wilson")
        assert (found.share.lower[k], found.share.upper[k]) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert (found.share.lower[0], found.share.upper[7]) == (0.0, 1.0)
    assert found.level == 0.8
    assert found.score == pytest.approx(0.5)


def test_four_other_runs_that_all_have_a_topic_say_no_more_than_half() -> None:
    found = stability([np.eye(2)] * 5)
    np.testing.assert_allclose(found.share.lower, 0.51, atol=0.001)  # the figure in the docstring
    np.testing.assert_array_equal(found.share.upper, 1.0)
    assert found.similarity == 1.0


def test_nothing_in_common() -> None:
    runs = [np.eye(6)[:3], np.eye(6)[3:]]
    found = stability(runs)
    assert found.score == 0.0
    assert np.isnan(found.similarity)
    agreed = consensus(runs)
    assert agreed.topics.shape == (0, 6)
    assert agreed.members.shape == (2, 0)
    assert agreed.noise == [(r, k) for r in range(2) for k in range(3)]
    assert stability(runs, threshold=1.0).score == 1.0


# -- the medoid ----------------------------------------------------------------------------------------------


def test_run_distances_are_of_the_best_permutation() -> None:
    runs, _, _ = shared_runs(3)
    found = run_distances(runs)
    for r, s in itertools.combinations(range(N_RUNS), 2):
        between = topic_distance(runs[r], runs[s])
        best = min(between[np.arange(K), list(order)].mean() for order in itertools.permutations(range(K)))
        assert found[r, s] == found[s, r] == pytest.approx(best, abs=1e-12)
    np.testing.assert_array_equal(np.diagonal(found), 0.0)
    assert medoid(runs) == int(np.argmin(found.sum(axis=1)))
    assert run_distances([np.eye(4), np.eye(4)[:1]])[0, 1] == pytest.approx(3 / 4)  # three without a partner


def test_medoid_is_the_run_in_the_middle() -> None:
    rng = np.random.default_rng(2)
    ends = rng.dirichlet(np.full(V, 0.1), (2, K))
    shares = [0.1, 0.9, 0.5, 0.3, 0.75]
    runs = [((1 - t) * ends[0] + t * ends[1])[rng.permutation(K)] for t in shares]
    assert medoid(runs) == 2
    assert medoid(runs, metric="jensen_shannon") == 2
    assert medoid([ends[0], ends[0][::-1], ends[0]]) == 0  # of equals, the first


# -- consensus -----------------------------------------------------------------------------------------------


def check_consensus(module: ModuleType | SimpleNamespace) -> None:
    runs, shared, where = shared_runs()
    found = module.consensus(runs)
    order = np.argsort(where[found.reference])  # topics of the reference, in its order
    np.testing.assert_array_equal(found.members, where[:, order])
    np.testing.assert_array_equal(found.support, 1.0)
    own = [(r, k) for r in range(N_RUNS) for k in range(K) if k not in where[r]]
    assert found.noise == own
    for c, k in enumerate(order):
        mean = np.mean([runs[r][where[r, k]] for r in range(N_RUNS)], axis=0)
        np.testing.assert_allclose(found.topics[c], mean, rtol=1e-12)
    np.testing.assert_allclose(found.topics.sum(axis=1), 1.0, rtol=1e-14)
    assert np.all(topic_distance(found.topics, shared[order]).diagonal() < 0.2)


def test_consensus_has_the_shared_topics_and_names_the_others_as_noise() -> None:
    check_consensus(module_of_stability)


def check_missing(module: ModuleType | SimpleNamespace) -> None:
    """A topic that four of five runs have but the reference has not; others that are in fewer."""
    topics = np.random.default_rng(4).dirichlet(np.full(V, 0.1), 7)
    runs = [topics[[0, 1]], topics[[0, 1, 2]], topics[[2, 1, 0]], topics[[1, 2, 3, 4]], topics[[4, 2, 0]]]
    found = module.consensus(runs, reference=0)
    np.testing.assert_allclose(found.support, [0.8, 0.8, 0.8])
    np.testing.assert_allclose(found.topics, topics[:3], atol=1e-12)
    want = [[0, 1, -1], [0, 1, 2], [2, 1, 0], [-1, 0, 1], [2, -1, 1]]
    np.testing.assert_array_equal(found.members, want)
    assert found.noise == [(3, 2), (3, 3), (4, 0)]
    fewer = module.consensus(runs, reference=0, min_support=0.4)  # two of five is enough
    np.testing.assert_allclose(fewer.support, [0.8, 0.8, 0.8, 0.4])
    np.testing.assert_allclose(fewer.topics[3], topics[4], atol=1e-12)
    assert fewer.noise == [(3, 2)]
    assert module.consensus(runs, min_support=0.0).noise == [(3, 2)]  # one run alone is never a consensus
    for one in (found, fewer):
        rows = [(row["run"], row["topic"]) for row in one.rows()]
        assert rows == [(r, k) for r, run in enumerate(runs) for k in range(len(run))]  # no topic is lost
        assert {(row["run"], row["topic"]) for row in one.rows() if row["consensus_topic"] < 0} == set(one.noise)


def test_a_topic_that_the_reference_lacks_is_found() -> None:
    check_missing(module_of_stability)


# -- models --------------------------------------------------------------------------------------------------


def test_models_over_different_vocabularies() -> None:
    runs, _, _ = shared_runs(5)
    models = []
    for r, run in enumerate(runs):
        words = np.random.default_rng(r).permutation(V)
        models.append(SimpleNamespace(topic_word_=run[:, words], vocabulary_=tuple(f"w{v}" for v in words)))
    models[0].topic_word_ = np.pad(models[0].topic_word_, ((0, 0), (0, 1)))  # a word of its own, never used
    models[0].vocabulary_ += ("other",)
    found, plain = consensus(models), consensus(runs)
    np.testing.assert_array_equal(found.members, plain.members)
    assert found.vocabulary is not None
    assert set(found.vocabulary) == {*(f"w{v}" for v in range(V)), "other"}
    column = {word: v for v, word in enumerate(found.vocabulary)}
    np.testing.assert_allclose(found.topics[:, [column[f"w{v}"] for v in range(V)]], plain.topics, rtol=1e-12)
    assert plain.vocabulary is None
    assert stability(models).score == pytest.approx(N_SHARED / K)
    assert medoid(models) == medoid(runs)


def test_a_chain_that_is_stuck_is_told_from_those_that_agree() -> None:
    corpus, phi, _, _ = synthetic_lda(n_docs=300, n_words=100, n_topics=4, seed=6)
    model = LDA(4, n_chains=3, max_iter=100, random_state=0).fit(corpus)
    chains = chain_topics(model)
    # The second chain has two true topics in one of its own, and one true topic twice.
    assert [int((topic_distance(phi, chain).min(axis=1) < 0.1).sum()) for chain in chains] == [4, 2, 4]
    found = stability(chains)
    assert (found.score, found.reference) == (7 / 8, 0)
    assert consensus(chains).noise == [(1, 0)]
    agreed = consensus([chains[0], chains[2]])
    assert agreed.noise == []
    assert topic_distance(agreed.topics, phi).min(axis=1).max() < 0.05


# -- refused -------------------------------------------------------------------------------------------------


def test_bad_input_is_named() -> None:
    pair = [np.eye(2), np.eye(2)]
    for function in (stability, consensus, medoid, run_distances):
        with pytest.raises(InputError, match="runs has 1 of them; give at least 2"):
            function([np.eye(2)])
        with pytest.raises(InputError, match="metric='l1' is not known; choose one of 'hellinger', 'jensen_shannon'"):
            function(pair, metric="l1")  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"runs\[1\]: topic 0 sums to 2"):
            function([np.eye(2), 2 * np.eye(2)])
        with pytest.raises(InputError, match=r"runs\[1\] has 3 words and runs\[0\] has 2"):
            function([np.eye(2), np.eye(3)])
    for choosing in (stability, consensus):
        with pytest.raises(InputError, match="reference=2 does not exist; runs are numbered 0 to 1"):
            choosing(pair, reference=2)
        with pytest.raises(InputError, match="threshold=2 must be a number from 0 to 1"):
            choosing(pair, threshold=2)
    for bad in (0.0, 1.0):
        with pytest.raises(InputError, match=r"level=.* must lie between 0 and 1"):
            stability(pair, level=bad)
    with pytest.raises(InputError, match=r"min_support=1.5 must be a number from 0 to 1"):
        consensus(pair, min_support=1.5)


# -- wrong on purpose ----------------------------------------------------------------------------------------


def check_all(module: ModuleType | SimpleNamespace) -> None:
    check_stability(module)
    check_consensus(module)
    check_missing(module)


def test_the_right_source_passes_as_a_mutant_would() -> None:
    check_all(mutate("diagnostics.topic_stability"))


@pytest.mark.parametrize(
    "changes",
    [
        [
            ("np.delete(found.matches, chosen, axis=0)", "found.matches"),
            ("found.distances, chosen", "found.distances, []"),
        ],
        [("chosen, metric, resolve_threshold(metric, threshold))", "chosen, metric, 1.0)")],
        [("z**2 / (4 * n**2)", "0.0")],
        [("left[r][row]", "row")],
        [("agreed = (n_runs >= 2) & ", "agreed = ")],
        [("        reference = int(np.argmax([len(numbers) for numbers in left]))\n", "        break\n")],
    ],
    ids=["reference counted", "no threshold", "interval", "numbers of leftovers", "one run agrees", "reference alone"],
)
def test_wrong_stability_is_rejected(changes: list[tuple[str, str]]) -> None:
    with pytest.raises(AssertionError):
        check_all(mutate("diagnostics.topic_stability", *changes))

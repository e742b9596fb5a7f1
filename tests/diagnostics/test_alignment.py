"""Topics matched across models: against brute force, naive versions and known permutations."""

import itertools
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tests.helpers.mutating import mutate
from topicloom import HMM, LDA
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import alignment
from topicloom.diagnostics.alignment import (
    METRICS,
    RBO_DEPTH,
    RBO_P,
    THRESHOLDS,
    Metric,
    align,
    chain_topics,
    common_topics,
    match_topics,
    nearest,
    topic_distance,
)
from topicloom.errors import InputError
from topicloom.evaluation import topic_distances


def random_topics(n_topics: int, n_words: int = 60, seed: int = 0, spread: float = 0.1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, spread), n_topics)


def noisy(topics: np.ndarray, seed: int, share: float = 0.15) -> np.ndarray:
    return (1 - share) * topics + share * random_topics(len(topics), topics.shape[1], seed, spread=0.3)


# -- distances -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["hellinger", "jensen_shannon", "cosine"])
def test_distances_are_those_within_one_model(metric: Metric) -> None:
    topics = random_topics(7)
    np.testing.assert_allclose(
        topic_distance(topics[:3], topics[3:], metric), topic_distances(topics, metric)[:3, 3:], rtol=1e-13
    )


@pytest.mark.parametrize("metric", METRICS)
def test_distances_run_from_zero_to_one_and_are_symmetric(metric: Metric) -> None:
    first, second = random_topics(6, 80, 1), random_topics(4, 80, 2)
    between = topic_distance(first, second, metric)
    assert between.shape == (6, 4)
    assert np.all((between > 0) & (between <= 1))
    np.testing.assert_allclose(topic_distance(second, first, metric), between.T, rtol=1e-14)
    np.testing.assert_allclose(np.diagonal(topic_distance(first, first, metric)), 0.0, atol=1e-15)
    apart = np.zeros((2, 80))
    apart[0, :40], apart[1, 40:] = np.arange(1, 41) / 820, np.arange(1, 41) / 820
    np.testing.assert_allclose(topic_distance(apart[:1], apart[1:], metric), 1.0, rtol=1e-14)


@pytest.mark.parametrize("metric", ["hellinger", "jensen_shannon", "rbo"])
def test_three_metrics_obey_the_triangle_inequality(metric: Metric) -> None:
    topics = random_topics(25, 40, 3, spread=0.5)
    d = topic_distance(topics, topics, metric)
    assert np.all(d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12)


def naive_rbo(first: list[int], second: list[int], p: float) -> float:
    """Extrapolated rank-biased overlap, term by term as equation 32 of Webber et al. has it."""
    short, long = sorted((first, second), key=len)
    s, n = len(short), len(long)
    if n == 0:
        return 1.0
    if s == 0:
        return 0.0

    def overlap(d: int) -> int:
        return len(set(short[:d]) & set(long[:d]))

    seen = sum(overlap(d) / d * p**d for d in range(1, n + 1))
    assumed = sum(overlap(s) * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * (seen + assumed) + ((overlap(n) - overlap(s)) / n + overlap(s) / s) * p**n


def ranked(topic: np.ndarray) -> list[int]:
    words = sorted(range(len(topic)), key=lambda v: (-topic[v], v))
    return [v for v in words[:RBO_DEPTH] if topic[v] > min(topic)]


@pytest.mark.parametrize("n_words", [5, 19, 21, 90])
def test_rank_biased_overlap_equals_the_naive_one(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    topics = random_topics(12, n_words, seed=n_words, spread=0.5)
    for k in range(1, 8):  # lists of all lengths, with words that a topic does not use
        topics[k, rng.choice(n_words, rng.integers(1, n_words), replace=False)] = 0.0
    topics[8] = 1.0  # no word has a rank
    topics[9, : n_words // 2] = 0.01  # ties
    topics /= topics.sum(axis=1, keepdims=True)
    want = [[1 - naive_rbo(ranked(a), ranked(b), RBO_P) for b in topics] for a in topics]
    np.testing.assert_allclose(topic_distance(topics, topics, "rbo"), want, atol=1e-14)


def ranking(words: list[int], n_words: int) -> list[float]:
    """A topic whose words are in this order, and which does not use the others."""
    scores = np.zeros(n_words)
    scores[words] = np.arange(len(words), 0, -1)
    return (scores / scores.sum()).tolist()


def test_rank_biased_overlap_has_known_values() -> None:
    first, turned = ranking([0, 1, 2, 3, 4], 10), ranking([1, 2, 3, 0, 4], 10)
    apart = ranking([5, 6, 7, 8, 9], 10)
    found = 1 - topic_distance([first], [first, turned, apart], "rbo")[0]
    np.testing.assert_allclose(found, [1.0, 0.828, 0.0], atol=1e-12)  # 0.828 is a known case of others' programs
    assert RBO_P == 0.9
    assert RBO_DEPTH == 20


def test_topics_merged_evenly_are_beyond_every_default_threshold() -> None:
    one, other = np.zeros(80), np.zeros(80)
    one[:40] = other[40:] = np.arange(40, 0, -1) / 820
    merged = (one + other) / 2
    found = {metric: topic_distance([one, other], [merged], metric).ravel().tolist() for metric in METRICS}
    for metric, known in (("hellinger", 0.541), ("jensen_shannon", 0.558), ("cosine", 0.293)):
        assert found[metric] == pytest.approx([known, known], abs=1e-3)
        assert known > THRESHOLDS[metric]
    mostly = 9 / 16 * one + 7 / 16 * other
    assert topic_distance([one], [mostly])[0, 0] == pytest.approx(THRESHOLDS["hellinger"])
    assert found["rbo"][0] < THRESHOLDS["rbo"] < found["rbo"][1]  # the one whose words come first, and the other
    assert sum(found["rbo"]) / 2 == pytest.approx(0.5, abs=0.01)


def test_nearest_may_be_the_same_for_several() -> None:
    topics = random_topics(3)
    found = nearest(noisy(topics[[2, 2, 0]], seed=5), topics)
    np.testing.assert_array_equal(found.topic, [2, 2, 0])
    np.testing.assert_allclose(
        found.distance, topic_distance(noisy(topics[[2, 2, 0]], 5), topics)[[0, 1, 2], [2, 2, 0]], rtol=1e-15
    )


# -- one-to-one ----------------------------------------------------------------------------------------------


def brute_force(distances: np.ndarray, threshold: float) -> float:
    """The least cost of any one-to-one matching, in which each row or column without a partner counts as threshold."""
    short = distances if distances.shape[0] <= distances.shape[1] else distances.T
    n = len(short)
    return min(
        sum(min(short[i, j], threshold) for i, j in enumerate(order))
        for order in itertools.permutations(range(short.shape[1]), n)
    )


def check_matching(module: ModuleType | SimpleNamespace) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shape = (6, 6) if seed % 3 == 0 else tuple(rng.integers(1, 7, 2))
        distances, threshold = rng.random(shape), float(rng.choice([1.0, 0.5, 0.3]))
        matches = module.match_topics(distances, threshold)
        pairs = np.flatnonzero(matches >= 0)
        made = distances[pairs, matches[pairs]]
        assert matches.shape == (shape[0],)
        assert len(set(matches[pairs].tolist())) == len(pairs)
        assert np.all(made <= threshold)
        cost = made.sum() + threshold * (min(shape) - len(pairs))
        assert cost == pytest.approx(brute_force(distances, threshold), abs=1e-12)


def check_alignment(module: ModuleType | SimpleNamespace) -> None:
    topics = random_topics(8)
    order = np.random.default_rng(4).permutation(8)
    others = noisy(topics, seed=6)[order]
    others[3] = random_topics(1, seed=99)[0]  # a topic of its own, in place of order[3]
    found = module.align([topics, others, topics[[5, 1]]])
    want = np.argsort(order)
    want[order[3]] = -1
    np.testing.assert_array_equal(found.matches[0], np.arange(8))
    np.testing.assert_array_equal(found.matches[1], want)
    np.testing.assert_array_equal(found.matches[2], [-1, 1, -1, -1, -1, 0, -1, -1])
    assert [row.tolist() for row in found.unmatched] == [[], [3], []]
    known = np.flatnonzero(want >= 0)
    direct = topic_distance(topics, others)
    np.testing.assert_allclose(found.distances[1, known], direct[known, want[known]])
    assert np.isnan(found.distances[1, order[3]])
    assert (found.reference, found.metric, found.threshold) == (0, "hellinger", 0.5)


def test_matching_equals_brute_force() -> None:
    check_matching(alignment)


def test_alignment_recovers_a_permutation() -> None:
    check_alignment(alignment)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_recovers_a_permutation(metric: Metric) -> None:
    topics, order = random_topics(10, 200), np.random.default_rng(1).permutation(10)
    found = align([noisy(topics, 3, 0.05)[order], topics], reference=1, metric=metric)
    np.testing.assert_array_equal(found.matches[0], np.argsort(order))
    assert found.threshold == THRESHOLDS[metric]


def test_a_lower_threshold_matches_fewer() -> None:
    topics = random_topics(5)
    pair = [topics, noisy(topics, 7)]
    largest = float(np.nanmax(align(pair).distances[1]))
    assert np.all(align(pair, threshold=largest).matches >= 0)
    below = align(pair, threshold=np.nextafter(largest, 0))
    assert (below.matches[1] < 0).sum() == 1
    assert len(below.unmatched[1]) == 1
    assert np.all(align([topics, random_topics(5, seed=8)], threshold=1.0).matches >= 0)


def test_rows_have_every_topic_of_every_model_once() -> None:
    models = [random_topics(4), random_topics(4)[[3, 0]], random_topics(6, seed=1)]
    found = align(models)
    rows = found.rows()
    for m, topics in enumerate(models):
        of_model = [row for row in rows if row["model"] == m]
        assert sorted(row["topic"] for row in of_model if row["topic"] >= 0) == list(range(len(topics)))
        assert sorted(row["reference_topic"] for row in of_model if row["reference_topic"] >= 0) == list(range(4))
    matched = [row for row in rows if row["model"] == 1 and min(row["topic"], row["reference_topic"]) >= 0]
    assert [(row["reference_topic"], row["topic"], row["distance"]) for row in matched] == [(0, 1, 0.0), (3, 0, 0.0)]
    assert all(np.isnan(row["distance"]) for row in rows if min(row["topic"], row["reference_topic"]) < 0)


# -- models and vocabularies ---------------------------------------------------------------------------------


def model_of(topics: np.ndarray, words: list[str]) -> SimpleNamespace:
    return SimpleNamespace(topic_word_=topics, vocabulary_=tuple(words))


def test_models_are_compared_by_word_and_not_by_column() -> None:
    topics, words = random_topics(4, 12), [f"w{v}" for v in range(12)]
    turned = np.random.default_rng(3).permutation(12)
    other = model_of(topics[[1, 3, 0, 2]][:, turned], [words[v] for v in turned])
    found = align([model_of(topics, words), other])
    np.testing.assert_array_equal(found.matches[1], [2, 0, 3, 1])
    np.testing.assert_allclose(found.distances, 0.0, atol=1e-15)


def test_words_of_one_model_alone_have_probability_zero_in_the_other() -> None:
    first = model_of(np.array([[0.5, 0.25, 0.25]]), ["a", "b", "c"])
    second = model_of(np.array([[0.5, 0.5], [0.0, 1.0]]), ["d", "a"])
    topics, vocabulary = common_topics([first, second, first])
    assert vocabulary == ("a", "b", "c", "d")
    np.testing.assert_array_equal(topics[1], [[0.5, 0, 0, 0.5], [1, 0, 0, 0]])
    np.testing.assert_allclose(topic_distance(first, second), [[np.sqrt(0.5), np.sqrt(1 - np.sqrt(0.5))]])
    assert common_topics([first, topics[0][:, :3]]).vocabulary == ("a", "b", "c")  # an array over the same words
    assert common_topics([topics[0], SimpleNamespace(topic_word_=topics[1])]).vocabulary is None
    np.testing.assert_array_equal(topic_distance(np.eye(3).tolist(), np.eye(3, dtype=np.float32)), 1 - np.eye(3))


def tokens_topics(chain_z: np.ndarray, true_z: np.ndarray, n: int) -> np.ndarray:
    """The true topic of each topic of a chain by their tokens' overlap (Jaccard of at least a half), or −1."""
    table = np.zeros((n, n))
    np.add.at(table, (chain_z, true_z), 1)
    overlap = table / (table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table)
    return np.where(overlap.max(axis=1) >= 0.5, overlap.argmax(axis=1), -1)


def test_default_threshold_tells_chains_topics_apart() -> None:
    corpus, _, _, z = synthetic_lda(n_docs=200, n_words=300, n_topics=10, seed=2)
    model = LDA(10, n_chains=4, max_iter=150, random_state=0).fit(corpus)
    chains = chain_topics(model)
    np.testing.assert_array_equal(chains[model.best_chain_], model.topic_word_)
    true = [tokens_topics(np.asarray(chain.state.z), z, 10) for chain in model.chains_]
    n_same = n_other = 0
    for first, second in itertools.combinations(range(4), 2):
        between = topic_distance(chains[first], chains[second])
        known = (true[first] >= 0)[:, None] & (true[second] >= 0)
        same = true[first][:, None] == true[second]
        n_same += (known & same).sum()
        n_other += (known & ~same).sum()
        assert between[known & same].max() < 0.35
        assert between[known & ~same].min() > THRESHOLDS["hellinger"]
    assert n_same > 40
    assert n_other > 300
    found = align([model, *chains])
    np.testing.assert_array_equal(found.matches[1 + model.best_chain_], np.arange(10))


# -- refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([np.eye(2)], r"models has 1 of them; give at least 2"),
        ("ab", "models must be a sequence"),
        (np.eye(3), r"models\[0\] must be a two-dimensional array"),
        ([np.eye(2), np.ones((2, 2))], r"models\[1\]: topic 0 sums to 2; it must sum to 1"),
        ([np.eye(2), [[0.5, np.nan]]], r"models\[1\]: topic 0 has nan in column 1"),
        ([np.eye(2), np.eye(3)], r"models\[1\] has 3 words and models\[0\] has 2"),
        ([np.eye(2), LDA(3)], r"models\[1\] is LDA\(.*which has no topic_word_; give a fitted topic model"),
        ([HMM(3), np.eye(2)], r"models\[0\] is HMM\(.*give a fitted topic model"),
        ([model_of(np.eye(2), ["a"]), np.eye(2)], r"models\[0\] has topics over 2 words but 1 different"),
        ([model_of(np.eye(2), ["a", "a"]), np.eye(2)], r"models\[0\] has topics over 2 words but 1 different"),
        (
            [model_of(np.eye(2), ["a", "b"]), np.eye(2), model_of(np.eye(2), ["a", "c"])],
            r"models\[1\] is an array, whose words are not known",
        ),
    ],
)
def test_models_that_cannot_be_compared_are_named(models: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        align(models)  # type: ignore[arg-type]


def test_other_bad_input_is_named() -> None:
    pair = [np.eye(2), np.eye(2)]
    choices = "choose one of 'hellinger', 'jensen_shannon', 'cosine', 'rbo'"
    for call in (align, lambda given, metric: topic_distance(*given, metric), lambda g, metric: nearest(*g, metric)):
        with pytest.raises(InputError, match=f"metric='l1' is not known; {choices}"):
            call(pair, metric="l1")
    with pytest.raises(InputError, match="reference=2 does not exist; models are numbered 0 to 1"):
        align(pair, reference=2)
    with pytest.raises(InputError, match="reference=-1 must be a whole number of at least 0"):
        align(pair, reference=-1)
    for bad in (-0.1, 1.5, np.nan, "a"):
        with pytest.raises(InputError, match=r"threshold=.* must be a number from 0 to 1"):
            align(pair, threshold=bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"distances must be of shape \[K_a, K_b\]"):
        match_topics(np.zeros(3))
    with pytest.raises(InputError, match="distances: topic 0 has nan"):
        match_topics(np.array([[np.nan]]))
    for model in (LDA(3), np.eye(2)):
        with pytest.raises(InputError, match="give a fitted topic model of topicloom"):
            chain_topics(model)


# -- wrong on purpose ----------------------------------------------------------------------------------------

ASSIGNMENT = "scipy.optimize.linear_sum_assignment(np.minimum(cost, threshold))"
GREEDY = """def _greedy(cost):
    pairs = []
    for i, j in sorted(np.ndindex(*cost.shape), key=lambda pair: cost[pair]):
        if all(i != a and j != b for a, b in pairs):
            pairs.append((i, j))
    return tuple(np.array(pairs).T)


def match_topics("""


def check_all(module: ModuleType | SimpleNamespace) -> None:
    check_matching(module)
    check_alignment(module)


def test_the_right_source_passes_as_a_mutant_would() -> None:
    check_all(mutate("diagnostics.alignment"))


@pytest.mark.parametrize(
    "changes",
    [
        [(ASSIGNMENT, "_greedy(np.minimum(cost, threshold))"), ("def match_topics(", GREEDY)],
        [(ASSIGNMENT, "scipy.optimize.linear_sum_assignment(cost)")],  # far pairs decide
        [(ASSIGNMENT, "scipy.optimize.linear_sum_assignment(-np.minimum(cost, threshold))")],
        [("near = cost[rows, columns] <= threshold", "near = cost[rows, columns] <= 1.0")],  # threshold ignored
        [("matches[rows[near]] = columns[near]", "matches[columns[near] % len(cost)] = rows[near]")],  # turned around
        [("between[pairs, matches[m, pairs]]", "between[matches[m, pairs] % n, pairs % len(phi)]")],
    ],
    ids=["greedy", "not capped", "furthest", "no threshold", "inverse", "distances turned"],
)
def test_wrong_alignments_are_rejected(changes: list[tuple[str, str]]) -> None:
    with pytest.raises(AssertionError):
        check_all(mutate("diagnostics.alignment", *changes))

"""Supervised topics against the joint: conditionals, every proposal and composition, weights, whole sweeps."""

import numpy as np
import pytest
from scipy import stats

from tests.oracles import lda as oracle
from tests.oracles import medlda as mo
from topicloom.corpus import Corpus
from topicloom.engine.blocks import tokens_of
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.medlda import dense as medlda_dense
from topicloom.medlda import proposals as kernels
from topicloom.medlda import sampler as medlda
from topicloom.medlda import weights as medlda_weights
from topicloom.medlda.sampler import COMPOSITIONS, LOSSES, Losses, Options, Tasks, medlda_sampler
from topicloom.medlda.state import LabelTerms, MedState, Supervision
from topicloom.numerics.rng import path_key


def state_of(case: mo.Case, z: np.ndarray, eta: np.ndarray) -> MedState:
    task = np.arange(eta.shape[1])
    supervision = Supervision(case.target, case.weight, LOSSES[case.loss], case.epsilon)
    return MedState(*rebuild_counts(case.corpus, z, case.n_topics), eta.copy(), task, supervision, case.nu)


def tasks_of(case: mo.Case) -> Tasks:
    return Tasks(case.target, case.weight, case.loss, case.epsilon, case.nu, [range(case.target.shape[1])])


def random_case(seed: int, loss: str) -> tuple[mo.Case, np.ndarray, np.ndarray]:
    case, z = oracle.random_case(seed, 7, 6, 4)
    rng = np.random.default_rng(seed)
    prior = case.prior._replace(
        boost_row=np.full(6, -1, np.int32), boost=np.zeros((0, 4)), beta_sum=np.full(4, case.prior.beta.sum())
    )
    target = rng.normal(size=(7, 3)) if loss in mo.NUMBERS else np.sign(rng.normal(size=(7, 3)))
    return mo.Case(case.corpus, prior, target, rng.uniform(0.3, 4, (7, 3)), loss), z, rng.normal(size=(4, 3)) * 2


# -- conditionals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_conditionals_are_ratios_of_the_joint(seed: int, loss: str) -> None:
    case, z, eta = random_case(seed, loss)
    state = state_of(case, z, eta)
    _, pull, curve = mo.fixed(case, seed)
    labels = LabelTerms(eta, np.ascontiguousarray(eta.T), pull, curve)
    for token in range(case.corpus.n_tokens):
        d = int(case.corpus.token_docs[token])
        dense = np.empty(4)
        medlda_dense.conditional(token, d, tokens_of(case.corpus), state, case.prior, labels, dense)
        soft = medlda.conditional(case.corpus, state, case.prior, token)
        others = [np.where(np.arange(len(z)) == token, k, z) for k in range(4)]
        for found, logs in (
            (dense, [case.log_augmented(other, eta, pull, curve) for other in others]),
            (soft, [case.log_joint(other, eta) for other in others]),
        ):
            exact = np.exp(np.array(logs) - max(logs))
            np.testing.assert_allclose(found / found.sum(), exact / exact.sum(), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_gain_of_a_topic_is_what_its_token_adds(seed: int) -> None:
    """Eq. 16 summed over tasks, for every token and topic."""
    case, z, eta = random_case(seed, "hinge")
    _, pull, curve = mo.fixed(case, seed)
    ptr = case.corpus.doc_ptr
    for token in range(case.corpus.n_tokens):
        d = int(case.corpus.token_docs[token])
        slope, bend = np.empty(3), np.empty(3)
        doc = np.bincount(z[ptr[d] : ptr[d + 1]], minlength=4).astype(np.int32)
        kernels.enter_document(doc, ptr[d + 1] - ptr[d], eta, pull[d], curve[d], slope, bend)
        slope += bend * eta[z[token]]
        found = np.array([kernels.gain(eta[k], slope, bend) for k in range(4)])
        logs = []
        for k in range(4):
            other = z.copy()
            other[token] = k
            value = mo.means(case.corpus, other, 4)[d] @ eta
            logs.append(np.sum(pull[d] * value - 0.5 * curve[d] * value**2))
        np.testing.assert_allclose(found - found[0], np.array(logs) - logs[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_joint_is_the_joint(loss: str) -> None:
    case, z, eta = random_case(9, loss)
    kernel = medlda_sampler(tasks_of(case))
    constant = 0.5 * eta.size * np.log(case.nu / (2 * np.pi))
    found = kernel.log_joint(case.corpus, state_of(case, z, eta), case.prior)
    assert found == pytest.approx(case.log_joint(z, eta) + constant, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_soft_counts_are_sums_of_conditionals(loss: str, n_jobs: int) -> None:
    case, z, eta = random_case(5, loss)
    state = state_of(case, z, eta)
    kernel = medlda_sampler(tasks_of(case))
    counts = kernel.topic_counts(case.corpus, state, case.prior, "cgs_p", n_jobs=n_jobs)
    doc, word = np.zeros((7, 4)), np.zeros((6, 4))
    for token in range(case.corpus.n_tokens):
        p = medlda.conditional(case.corpus, state, case.prior, token)
        doc[case.corpus.token_docs[token]] += p
        word[case.corpus.words[token]] += p
    np.testing.assert_allclose(counts.doc, doc, rtol=1e-12)
    np.testing.assert_allclose(counts.word, word, rtol=1e-12)
    np.testing.assert_array_equal(counts.eta, eta)


def wrong_steps(accepts) -> int:
    """Of how many steps it says another thing than the exponential would."""
    rng = np.random.default_rng(3)
    n = 20_000
    stay, x = np.exp(rng.normal(size=n)), rng.normal(size=n) * 10 ** rng.uniform(-3, 1.5, n)
    near = rng.random(n) < 0.5  # half of them close to where it is decided
    move = np.where(near, stay * np.exp(-x + 0.1 * rng.normal(size=n)), np.exp(rng.normal(size=n)))
    return sum(accepts(*step) != (step[0] < step[1] * np.exp(step[2])) for step in zip(stay, move, x, strict=True))


def test_steps_are_settled_as_by_the_exponential() -> None:
    assert wrong_steps(kernels._accepts.py_func) == 0


@pytest.mark.parametrize("tokens_of_a_part", [1, 100, 10_000])
@pytest.mark.parametrize("n_topics", [3, 30, 3000])
def test_pairs_are_the_topics_of_each_document(
    n_topics: int, tokens_of_a_part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long and short documents, few topics and many, documents without words; in one part or many."""
    monkeypatch.setattr(medlda, "_PART", tokens_of_a_part)
    rng = np.random.default_rng(n_topics)
    lengths = np.array([0, 1, 2, 700, 0, 5, 40, 1, 0])
    ptr, words = np.concatenate(([0], np.cumsum(lengths))), rng.integers(0, 9, lengths.sum()).astype(np.int32)
    corpus = Corpus(words=words, doc_ptr=ptr, vocabulary=tuple("abcdefghi"), ordered=True)
    state = rebuild_counts(corpus, rng.integers(0, n_topics, lengths.sum()), n_topics)
    eta = rng.normal(size=(n_topics, 9))
    empty = np.zeros((len(lengths), 9))
    whole = MedState(*state, eta, np.arange(9), Supervision(empty, empty, LOSSES["hinge"], 0.0), 1.0)
    pairs, value = medlda.values(corpus, whole, 2)
    share = mo.means(corpus, state.z, n_topics)
    np.testing.assert_allclose(value[:, :9], share @ eta, atol=1e-12)
    assert not value[:, 9:].any()
    for d, row in enumerate(share):
        own = slice(pairs.ptr[d], pairs.ptr[d] + pairs.number[d])
        np.testing.assert_array_equal(pairs.topics[own], np.flatnonzero(row))
        np.testing.assert_allclose(pairs.share[own], row[row > 0], rtol=1e-12)
    ptr, docs, shares = medlda.by_topic(pairs, n_topics)
    for k in range(n_topics):
        np.testing.assert_array_equal(docs[ptr[k] : ptr[k + 1]], np.flatnonzero(share[:, k]))
        np.testing.assert_allclose(shares[ptr[k] : ptr[k + 1]], share[share[:, k] > 0, k], rtol=1e-12)


# -- topics given the rest -----------------------------------------------------------------------------------------


def draw_topics(case: mo.Case, composition: str, n_mh: int, z, eta, pull, curve, replicate: int) -> np.ndarray:
    state, key = state_of(case, z, eta), Key(51, replicate, 0)
    if composition == "dense":
        medlda.draw_topics_dense(case.corpus, state, case.prior, key, Schedule(), pull, curve)
    else:
        value = mo.means(case.corpus, z, case.n_topics) @ eta
        schedule = Schedule(n_mh=n_mh)
        plain = composition in ("doc", "word")
        losses = Losses(pull, curve, pull, curve, value) if plain else medlda.with_noise(value, pull, curve, key)
        medlda.draw_topics(case.corpus, state, case.prior, key, schedule, losses, composition)
    return state.z


@pytest.mark.parametrize("which", ["one task", "two tasks"])
@pytest.mark.parametrize(
    ("composition", "n_mh"), [*((name, 1) for name in COMPOSITIONS), ("mixture", 6), ("cycle", 6), ("dense", 1)]
)
def test_topics_keep_their_posterior(which: str, composition: str, n_mh: int) -> None:
    case = mo.cases()[which]
    p = mo.topic_p_value(case, lambda *args: draw_topics(case, composition, n_mh, *args), 3000, seed=52)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize("composition", [*COMPOSITIONS, "dense"])
def test_topics_reach_their_posterior_from_a_bad_start(composition: str) -> None:
    case = mo.cases()["one task"]
    eta, pull, curve = (part * 0.4 for part in mo.fixed(case))  # weak, so that it is soon reached
    states = np.array(list(oracle.all_states(case.corpus.n_tokens, 2)))
    logs = np.array([case.log_augmented(z, eta, pull, curve) for z in states])
    p = np.exp(logs - logs.max())
    observed = np.zeros(len(states))
    for chain in range(300):
        z = np.zeros(case.corpus.n_tokens, np.int64)
        for t in range(25):
            z = draw_topics(case, composition, 2, z, eta, pull, curve, 100 * chain + t)
        observed[oracle.state_number(z, 2)] += 1
    assert oracle.chi_square(observed, p / p.sum()) > oracle.FALSE_ALARM


# -- weights given the rest ----------------------------------------------------------------------------------------


def gaussian(
    case: mo.Case, z: np.ndarray, pull: np.ndarray, curve: np.ndarray, c: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and precision of task c's weights (LightMedLDA eq. 22)."""
    share = mo.means(case.corpus, z, case.n_topics)
    precision = case.nu * np.eye(case.n_topics) + (share * curve[:, [c]]).T @ share
    return np.linalg.solve(precision, share.T @ pull[:, c]), precision


@pytest.mark.parametrize("n_gibbs", [0, 1, 3])
def test_weights_keep_their_gaussian(n_gibbs: int) -> None:
    assert weights_p_value(n_gibbs, 2500) > oracle.FALSE_ALARM


def weights_p_value(n_gibbs: int, n: int) -> float:
    """The smallest p-value, made up for their number, that weights drawn from the exact Gaussian and then drawn anew,

    whitened by its mean and precision, are independent standard normals.
    """
    case, z, _ = random_case(2, "hinge")
    _, pull, curve = mo.fixed(case, 2)
    rng = np.random.default_rng(8)
    exact = [gaussian(case, z, pull, curve, c) for c in range(3)]
    roots = [np.linalg.cholesky(precision) for _, precision in exact]
    flat = np.empty((n, 12))
    for replicate in range(n):
        start = [
            mean + np.linalg.solve(root.T, rng.normal(size=4)) for (mean, _), root in zip(exact, roots, strict=True)
        ]
        state = state_of(case, z, np.stack(start, axis=1))
        medlda.draw_weights(case.corpus, state, Key(61, replicate, 0), 1, pull, curve, n_gibbs)
        flat[replicate] = np.concatenate([roots[c].T @ (state.eta[:, c] - exact[c][0]) for c in range(3)])
    marginal = [float(stats.kstest(column, "norm").pvalue) for column in flat.T]
    scatter = (flat.T @ flat - n * np.eye(12)) / np.sqrt(n * (1 + np.eye(12)))
    return min(12 * min(marginal), 144 * float(stats.norm.sf(np.abs(scatter).max())))


def test_the_coordinates_keep_what_the_classifier_says() -> None:
    case, z, eta = random_case(4, "hinge")
    _, pull, curve = mo.fixed(case, 4)
    state = state_of(case, z, eta)
    pairs, value = medlda.values(case.corpus, state)
    np.testing.assert_allclose(value, mo.means(case.corpus, z, 4) @ eta, atol=1e-12)
    by_topic = medlda.by_topic(pairs, 4)
    rest, bend = np.empty_like(pull), np.empty_like(pull)
    medlda_weights.residuals((0, 3), pull, curve, value, rest, bend)
    np.testing.assert_array_equal(bend, curve)
    scratch = medlda_weights.CoordinateScratch(np.zeros((3, 4), np.uint64), np.zeros((4, 3)), np.zeros(3), np.zeros(3))
    medlda_weights.draw_coordinates(0, by_topic, rest, bend, 0.7, 2, path_key(1), state.eta, scratch)
    assert np.abs(state.eta - eta).min() > 0
    np.testing.assert_allclose(rest, pull - curve * (mo.means(case.corpus, z, 4) @ state.eta), atol=1e-12)


# -- whole sweeps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["mh", "dense"])
def test_parts_of_the_documents_change_no_draw(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, z, eta = random_case(6, "logistic")
    kernel = medlda_sampler(tasks_of(case), Options(sampler))
    seen = set()
    for tokens_of_a_part in (1, 10, 10_000):
        monkeypatch.setattr(medlda, "_PART", tokens_of_a_part)
        state = kernel.restore(case.corpus, z, case.n_topics, eta=eta, task=np.arange(3))
        for t in range(3):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(73, 0, t), Schedule(n_jobs=2))
        seen.add((state.z.tobytes(), state.eta.tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", [Options("mh"), Options("mh", "cycle", 1), Options("dense")], ids=str)
def test_the_regularised_posterior_is_invariant(loss: str, options: Options) -> None:
    """Topics and weights together, augmented variables drawn and forgotten; started from the exact joint."""
    p = sweeps_p_value(mo.grid_case(loss), options, 2500)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def sweeps_p_value(case: mo.Case, options: Options, n: int) -> float:
    kernel = medlda_sampler(tasks_of(case), options)

    def sweep(z: np.ndarray, eta: np.ndarray, replicate: int) -> tuple[np.ndarray, np.ndarray]:
        state = kernel.restore(case.corpus, z, 2, eta=eta, task=np.arange(1))
        for t in range(2):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(71, replicate, t), Schedule(n_mh=3))
        return state.z, state.eta

    return mo.Grid(case).p_value(sweep, n, seed=72)

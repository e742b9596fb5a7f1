"""The sampler "warp": each pass by itself against what it must draw, and what does not change its results."""

import gc
import types
import weakref
from functools import cache

import numpy as np
import pytest

from tests.helpers.mutating import compiled_mutant
from tests.oracles import lda as oracle
from topicloom import LDA
from topicloom.datasets import synthetic_lda
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.lda.gibbs import get_sampler, warp
from topicloom.numerics.alias import build_aliases
from topicloom.numerics.rng import path_key

REPLICATES = 40_000
REJECT = 1e-9  # a right program gets this far once in a billion tries


class Passes:
    """The three passes over a small corpus, one at a time, with the functions of ``module``."""

    def __init__(self, case: oracle.Case, n_steps: int = 2, module: types.SimpleNamespace | None = None) -> None:
        self.case, self.n_steps, self.module = case, n_steps, module or warp
        self.by_word = warp._by_word(case.corpus)
        self.keep, self.other = np.empty(case.prior.alpha.shape), np.empty(case.prior.alpha.shape, np.int32)
        build_aliases(case.prior.alpha, self.keep, self.other)

    def size(self, z: np.ndarray) -> np.ndarray:
        return np.bincount(z, minlength=self.case.n_topics) + self.case.prior.beta_sum

    def propose(self, z: np.ndarray, key: np.uint64) -> np.ndarray:
        corpus, prior = self.case.corpus, self.case.prior
        slots = np.full((len(z), 1 + self.n_steps), self.case.n_topics, np.uint16)
        self.module.propose_by_document(
            0, corpus.n_docs, corpus.doc_ptr, z, prior.alpha_row, prior.alpha.sum(axis=1), self.keep, self.other, key,
            slots,
        )  # fmt: skip
        return slots

    def words(self, slots: np.ndarray, key: np.uint64) -> np.ndarray:
        corpus, prior = self.case.corpus, self.case.prior
        topic = np.zeros(prior.n_topics, np.int64)
        self.module.visit_words(
            0, corpus.n_words, *self.by_word, prior, np.cumsum(prior.boost, axis=1), self.size(slots[:, 0]), key, slots,
            topic,
        )  # fmt: skip
        return topic

    def documents(self, slots: np.ndarray, z: np.ndarray, key: np.uint64) -> np.ndarray:
        corpus, prior = self.case.corpus, self.case.prior
        topic = np.zeros(prior.n_topics, np.int64)
        self.module.visit_documents(
            0, corpus.n_docs, corpus.doc_ptr, prior, self.size(slots[:, 0]), key, slots, z, topic
        )
        return topic


def copies(docs: list[list[int]], alpha: np.ndarray, alpha_row: list[int], beta: np.ndarray, n: int) -> oracle.Case:
    """The corpus ``n`` times over, with words of its own each time; word 1 is a seed word.

    One more word, unused, has so much prior weight that topic totals do not matter. So the copies know nothing of each
    other, and one pass gives n independent draws.
    """
    n_words = len(beta)
    boosts = {copy * n_words + 1: np.array([0.0, 1.5, 0.4]) for copy in range(n)}
    prior = make_prior(alpha, np.append(np.tile(beta, n), 1e12), n * len(docs), boosts, np.tile(alpha_row, n))
    shifted = [[copy * n_words + v for v in doc] for copy in range(n) for doc in docs]
    return oracle.Case(oracle.tiny_corpus(shifted, n * n_words + 1), prior)


ALPHA = np.array([[0.3, 0.9, 0.5], [1.4, 0.2, 0.6]])
# Documents of one token: their proposals come from the prior, never go stale, and the pass by word is exact.
BY_WORD = ([[0], [0], [1], [0], [1]], ALPHA, [0, 1, 1, 0, 1], np.array([0.2, 0.5]))
# Words of one token: the same for the pass by document.
BY_DOCUMENT = ([[0, 3, 1], [], [2, 4]], ALPHA, [0, 0, 1], np.array([0.2, 0.5, 0.3, 0.1, 0.4]))


@cache
def repeated(which: str, n: int) -> oracle.Case:
    return copies(*(BY_WORD if which == "words" else BY_DOCUMENT), n)


def p_value(which: str, module: types.SimpleNamespace | None = None) -> float:
    """That the posterior is invariant under three rounds of one pass."""
    n, one, many = REPLICATES, repeated(which, 1), repeated(which, REPLICATES)
    states, p = oracle.posterior(one)
    passes = Passes(many, module=module)
    z = states[np.random.default_rng(3).choice(len(states), size=n, p=p)].ravel().astype(np.uint16)
    for t in range(3):
        if which == "words":
            slots = passes.propose(z, path_key(1, t))
            passes.words(slots, path_key(2, t))
            z = slots[:, 0].copy()
        else:
            slots = np.repeat(z[:, None], 3, axis=1)  # nothing to decide by word
            passes.words(slots, path_key(4, t))
            passes.documents(slots, z, path_key(5, t))
    numbers = z.reshape(n, -1).astype(np.int64) @ 3 ** np.arange(4, -1, -1)
    return oracle.chi_square(np.bincount(numbers, minlength=len(p)), p)


@pytest.mark.parametrize("which", ["words", "documents"])
def test_a_pass_is_exact_where_nothing_goes_stale(which: str) -> None:
    assert p_value(which) > oracle.FALSE_ALARM


def test_one_token_has_the_exact_posterior() -> None:
    """The sizes of topics count here: another word's boosts make them differ."""
    prior = make_prior(np.array([0.3, 0.9, 0.5]), np.array([0.2, 0.5]), 1, {1: np.array([0.1, 3.0, 1.0])})
    case = oracle.Case(oracle.tiny_corpus([[0]], 2), prior)
    kernel = get_sampler("warp")

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(case.corpus, z, 3)
        for t in range(3):
            state, _ = kernel.sweep(case.corpus, state, prior, Key(7, replicate, t), Schedule(n_mh=1))
        return state.z

    assert oracle.invariance(case, sweep, 4_000, seed=8) > oracle.FALSE_ALARM


def shares(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    return (counts + prior) / (counts + prior).sum()


def test_documents_propose_in_proportion_to_their_counts() -> None:
    case = oracle.cases()["two collections"]
    z = np.array([0, 1, 1, 1, 0, 0], np.uint16)
    passes = Passes(case, n_steps=5)
    seen = np.zeros((6, 2))
    for replicate in range(4000):
        slots = passes.propose(z, path_key(9, replicate))
        np.testing.assert_array_equal(slots[:, 0], z)
        np.add.at(seen, (np.arange(6)[:, None], slots[:, 1:]), 1)
    for i in range(6):
        doc = np.delete(z[:3], i) if i < 3 else np.delete(z[3:], i - 3)
        expected = shares(np.bincount(doc, minlength=2), case.prior.alpha[0 if i < 3 else 1])
        assert oracle.chi_square(seen[i], expected) > oracle.FALSE_ALARM


@pytest.mark.parametrize("which", ["three topics", "seed word"])
def test_words_propose_in_proportion_to_their_counts(which: str) -> None:
    case = oracle.cases()[which]
    n, k = case.corpus.n_tokens, case.n_topics
    z = np.arange(n).astype(np.uint16) % k
    passes = Passes(case, n_steps=5)
    seen = np.zeros((n, k))
    for replicate in range(4000):
        slots = np.repeat(z[:, None], 6, axis=1)  # proposals of what is there anyway
        topic = passes.words(slots, path_key(10, replicate))
        np.testing.assert_array_equal(slots[:, 0], z)
        np.testing.assert_array_equal(topic, np.bincount(z, minlength=k))
        np.add.at(seen, (np.arange(n)[:, None], slots[:, 1:]), 1)
    beta = oracle.beta_matrix(case.prior)
    for i, v in enumerate(case.corpus.words):
        rest = np.delete(z, i)[np.delete(case.corpus.words, i) == v]
        assert oracle.chi_square(seen[i], shares(np.bincount(rest, minlength=k), beta[v])) > oracle.FALSE_ALARM


def test_steps_are_accepted_as_often_as_their_ratio_says() -> None:
    """One token is offered another topic; totals, row counts and priors all count, the token itself taken out."""
    prior = make_prior(np.array([0.3, 0.9, 0.5]), np.array([0.2, 0.7, 0.4]), 2, {2: np.array([0.0, 2.0, 0.5])})
    case = oracle.Case(oracle.tiny_corpus([[0, 1, 2, 1], [0, 0, 2, 2]], 3), prior)
    z = np.array([0, 1, 2, 0, 1, 0, 2, 1], np.uint16)
    size = np.bincount(z, minlength=3) + prior.beta_sum
    passes = Passes(case, n_steps=1)
    beta = oracle.beta_matrix(prior)
    n = 4000
    for token in (0, 6):
        old, new = z[token], (z[token] + 1) % 3
        v, doc = case.corpus.words[token], slice(0, 4) if token < 4 else slice(4, 8)
        by_word, by_doc = np.bincount(z[case.corpus.words == v], minlength=3), np.bincount(z[doc], minlength=3)
        for row, plus, visit in ((by_word, beta[v], "words"), (by_doc, prior.alpha[0], "documents")):
            ratio = (row[new] + plus[new]) / (row[old] - 1 + plus[old]) * (size[old] - 1) / size[new]
            moved = 0
            for replicate in range(n):
                slots = np.stack([z, z], axis=1)
                slots[token, 1] = new
                key = path_key(11, token, replicate)
                after = z.copy()
                if visit == "words":
                    passes.words(slots, key)
                    after = slots[:, 0]
                else:
                    topic = passes.documents(slots, after, key)
                    np.testing.assert_array_equal(topic, np.bincount(after, minlength=3))
                moved += after[token] == new
                np.testing.assert_array_equal(np.delete(after, token), np.delete(z, token))
            expected = min(1.0, ratio)
            assert abs(moved / n - expected) < 5.5 * np.sqrt(expected * (1 - expected) / n) + 1e-9, (token, visit)


MUTANTS = {
    "a word's token weighed with itself": [("count[k] - 1 + b,", "count[k] + b,")],
    "a document's token weighed with itself": [("count[k] - 1 + a[k]", "count[k] + a[k]")],
    "the row's counts frozen": [("count[old] -= 1", "count[old] -= 0"), ("count[k] += 1", "count[k] += 0")],
    "reversed ratio": [("(weight * new_total) < new_weight * total", "(new_weight * total) < weight * new_total")],
    "the weight of a topic left behind kept": [("weight = new_weight if accepted else weight", "weight = weight")],
    "seed words forgotten when deciding": [("new_weight += boost[seed, new]", "pass")],
    "seed words forgotten when proposing": [
        ("seeded = boost_sums[seed, n_topics - 1] if seed >= 0 else 0.0", "seeded = 0.0")
    ],
    "prior of the first document for all": [
        ("row = alpha_row[d]", "row = 0"), ("prior.alpha[prior.alpha_row[d]]", "prior.alpha[0]"),
    ],
}  # fmt: skip


def is_rejected(module: types.SimpleNamespace) -> bool:
    return any(p_value(which, module) < REJECT for which in ("words", "documents"))


def test_the_unchanged_passes_go_through_the_door_of_the_mutants() -> None:
    assert not is_rejected(compiled_mutant("lda.gibbs.warp"))


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_passes_are_rejected(name: str) -> None:
    assert is_rejected(compiled_mutant("lda.gibbs.warp", *MUTANTS[name]))


# -- what must not matter ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case() -> oracle.Case:
    corpus = synthetic_lda(60, 80, 5, doc_length=30.0, seed=1).corpus
    rng = np.random.default_rng(2)
    return oracle.Case(
        corpus, make_prior(rng.uniform(0.05, 1, 20), rng.uniform(0.01, 0.5, 80), 60, {3: rng.uniform(0, 3, 20)})
    )


def run(case: oracle.Case, sweeps: int, schedule: Schedule, seed: int = 1):
    kernel = get_sampler("warp")
    state = kernel.init(case.corpus, case.prior, Key(seed, 0, 0))
    for sweep in range(1, sweeps + 1):
        state, info = kernel.sweep(case.corpus, state, case.prior, Key(seed, 0, sweep), schedule)
        assert info.work == 2 * schedule.n_mh * case.corpus.n_tokens
    return state


@pytest.mark.parametrize("n_mh", [1, 3])
def test_shards_change_nothing(n_mh: int, case: oracle.Case) -> None:
    one = run(case, 5, Schedule(1, 1, n_mh))
    for n_shards, n_jobs in ((2, 1), (5, 2), (200, 3)):
        other = run(case, 5, Schedule(n_shards, n_jobs, n_mh))
        np.testing.assert_array_equal(one.z, other.z)
        np.testing.assert_array_equal(one.topic, other.topic)
        np.testing.assert_array_equal(one.as_dense().word_topic, other.as_dense().word_topic)


def test_a_restored_state_is_the_same_in_every_array(case: oracle.Case) -> None:
    state = run(case, 3, Schedule())
    restored = get_sampler("warp").restore(case.corpus, state.z, 20)
    used = [slice(p, p + n) for p, n in zip(state.list_ptr, state.list_size, strict=False)]
    np.testing.assert_array_equal(state.list_size, restored.list_size)
    for part in used:
        np.testing.assert_array_equal(state.entries[part], restored.entries[part])
        assert state.entries[part].size == 0 or state.entries[part][0] == state.entries[part].max()
    dense = rebuild_counts(case.corpus, state.z, 20)
    np.testing.assert_array_equal(state.count_histogram(), dense.count_histogram())
    np.testing.assert_array_equal(restored.as_dense().word_topic, dense.word_topic)


def test_the_conditional_is_the_exact_one(case: oracle.Case) -> None:
    state = run(case, 1, Schedule())
    for token in (0, 17, case.corpus.n_tokens - 1):
        weight = get_sampler("warp").conditional(case.corpus, state, case.prior, token)
        expected = oracle.conditional(case.corpus, state.z.copy(), case.prior, token)
        np.testing.assert_allclose(weight / weight.sum(), expected, rtol=1e-9)


def test_the_order_by_word_is_small_and_made_once(case: oracle.Case) -> None:
    ptr, order = warp._by_word(case.corpus)
    np.testing.assert_array_equal(ptr, case.corpus.by_word.ptr)
    np.testing.assert_array_equal(order, case.corpus.by_word.token)
    assert order.dtype == np.uint32
    assert warp._by_word(case.corpus)[1] is order


def test_the_order_by_word_goes_with_its_corpus() -> None:
    corpus = oracle.tiny_corpus([[0, 1]], 2)
    order = weakref.ref(warp._by_word(corpus)[1])
    assert order() is not None
    del corpus
    gc.collect()
    assert order() is None


def test_more_topics_than_two_bytes_hold() -> None:
    n_topics = (1 << 16) + 3
    corpus = synthetic_lda(4, 6, 2, doc_length=20, seed=3).corpus
    alpha = np.full(n_topics, 1e-6)
    alpha[-3:] = 1
    wide = oracle.Case(corpus, make_prior(alpha, np.full(6, 0.1), 4))
    state = run(wide, 2, Schedule(2, 2, 2))
    assert state.z.dtype == np.int32
    assert state.z.max() >= 1 << 16
    np.testing.assert_array_equal(state.topic, np.bincount(state.z, minlength=n_topics))


def test_more_steps_get_further_in_a_sweep(case: oracle.Case) -> None:
    plain = oracle.Case(case.corpus, make_prior(np.full(20, 0.1), np.full(80, 0.05), 60))
    reached = [
        get_sampler("warp").log_joint(plain.corpus, run(plain, 8, Schedule(1, 1, m)), plain.prior) for m in (1, 8)
    ]
    assert reached[1] > reached[0] + 0.05 * case.corpus.n_tokens


def test_lda_ends_about_where_the_exact_sampler_does() -> None:
    corpus = synthetic_lda(300, 200, 5, doc_length=60, seed=4).corpus
    fits = {
        name: LDA(5, sampler=name, max_iter=150, random_state=0, n_chains=2, trace_every=150).fit(corpus)
        for name in ("sparse", "warp")
    }
    ends = {name: model.log_joint_.max() / corpus.n_tokens for name, model in fits.items()}
    assert ends["warp"] == pytest.approx(ends["sparse"], abs=0.02)

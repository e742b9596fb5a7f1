"""Expected topic counts of documents with the topics held fixed, against loops over arrays, and mutants."""

import numpy as np
import pytest

from tests.helpers.mutating import mutate
from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine import expected_counts as ours
from topicloom.engine.expected_counts import Ending, Words, expected_counts
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.engine.prior import DocumentPrior
from topicloom.errors import InputError

N_WORDS, K = 30, 7


def naive(corpus: Corpus, phi: np.ndarray, alpha: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """CVB0 as it is defined: one distribution per distinct word, every count added up anew for each update."""
    weights = np.ones(corpus.n_tokens) if corpus.weights is None else corpus.weights
    out = np.zeros((corpus.n_docs, len(alpha)))
    for d in range(corpus.n_docs):
        of = slice(corpus.doc_ptr[d], corpus.doc_ptr[d + 1])
        words = np.unique(corpus.words[of])
        n = np.array([weights[of][corpus.words[of] == v].sum() for v in words])
        gamma = phi[words] * alpha
        gamma /= gamma.sum(axis=1, keepdims=True)
        for _ in range(max_iter if len(words) else 0):
            before = n @ gamma
            for i in range(len(words)):
                gamma[i] = phi[words[i]] * (alpha + n @ gamma - min(n[i], 1.0) * gamma[i])
                gamma[i] /= gamma[i].sum()
            if np.abs(n @ gamma - before).sum() < 2 * tol * n.sum():
                break
        out[d] = n @ gamma
    return out


@pytest.fixture(scope="module")
def batch() -> tuple[Corpus, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    docs = [rng.integers(0, N_WORDS, rng.integers(0, 40)).tolist() for _ in range(40)]
    docs[3], docs[30] = [], docs[5][::-1]
    return oracle.tiny_corpus(docs, N_WORDS), rng.dirichlet(np.full(N_WORDS, 0.2), K).T, rng.uniform(0.1, 1, K)


def fractional(corpus: Corpus) -> Corpus:
    weights = np.random.default_rng(2).uniform(0.1, 2.5, corpus.n_tokens)
    return Corpus(words=corpus.words, doc_ptr=corpus.doc_ptr, vocabulary=corpus.vocabulary, weights=weights)


@pytest.mark.parametrize(("tol", "max_iter"), [(0.03, 50), (1e-3, 200), (0.0, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_as_defined(batch: tuple[Corpus, np.ndarray, np.ndarray], tol: float, max_iter: int, weighted: bool) -> None:
    corpus, phi, alpha = batch
    corpus = fractional(corpus) if weighted else corpus
    found = expected_counts(corpus, phi, alpha, tol=tol, max_iter=max_iter)
    np.testing.assert_allclose(found, naive(corpus, phi, alpha, tol, max_iter), rtol=0, atol=1e-10)
    total = (
        corpus.doc_lengths
        if corpus.weights is None
        else np.add.reduceat(np.append(corpus.weights, 0.0), corpus.doc_ptr[:-1]) * (corpus.doc_lengths > 0)
    )
    np.testing.assert_allclose(found.sum(axis=1), total, atol=1e-10)


def test_threads_batch_row_and_word_order_change_nothing(batch: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, phi, alpha = batch
    whole = expected_counts(corpus, phi, alpha)
    np.testing.assert_array_equal(expected_counts(corpus, phi, alpha, n_jobs=3), whole)
    some = np.array([30, 3, 12, 39])
    np.testing.assert_array_equal(expected_counts(corpus.select(some), phi, alpha), whole[some])
    np.testing.assert_array_equal(whole[30], whole[5])  # the same words in another order
    np.testing.assert_array_equal(whole[3], np.zeros(K))


def test_each_document_can_have_its_own_alpha(batch: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, phi, alpha = batch
    rows, at = np.array([alpha, alpha[::-1]]), np.arange(corpus.n_docs) % 2
    found = expected_counts(corpus, phi, rows, alpha_row=at)
    for row in range(2):
        np.testing.assert_array_equal(found[at == row], expected_counts(corpus, phi, rows[row])[at == row])


def test_close_to_the_posterior_mean(batch: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, phi, alpha = batch
    drawn = fold_in_corpus(corpus, phi, alpha, burn_in=20, n_samples=400, thin=2, seed=1).soft
    assert drawn is not None
    lengths = np.maximum(corpus.doc_lengths, 1)[:, None]
    away = np.abs(expected_counts(corpus, phi, alpha, tol=1e-4, max_iter=500) - drawn) / lengths
    assert away.sum(axis=1).mean() < 0.15


def test_bad_input_is_named(batch: tuple[Corpus, np.ndarray, np.ndarray]) -> None:
    corpus, phi, alpha = batch
    with pytest.raises(InputError, match=r"one row for each of 30 words"):
        expected_counts(corpus, phi[:2], alpha)
    with pytest.raises(InputError, match=r"alpha has 2 topics, the word distributions have 7"):
        expected_counts(corpus, phi, alpha[:2])
    with pytest.raises(InputError, match=r"has probability 0 in every topic"):
        expected_counts(corpus, phi * (np.arange(N_WORDS) != corpus.words[0])[:, None], alpha)
    with pytest.raises(InputError, match=r"tol=2 must be a number from 0 to 1"):
        expected_counts(corpus, phi, alpha, tol=2)
    with pytest.raises(InputError, match=r"max_iter=0 must be a whole number of at least 1"):
        expected_counts(corpus, phi, alpha, max_iter=0)


# -- mutants -------------------------------------------------------------------------------------------------------

MUTANTS: dict[str, list[tuple[str, str]]] = {
    "own contribution left in": [("weigh_fixed(g, min(n, 1.0), doc", "weigh_fixed(g, 0.0, doc")],
    "all of the word's tokens left out": [("weigh_fixed(g, min(n, 1.0), doc", "weigh_fixed(g, n, doc")],
    "a whole token left out of part of one": [("weigh_fixed(g, min(n, 1.0), doc", "weigh_fixed(g, 1.0, doc")],
    "one round": [("for _ in range(ending.max_rounds if n_words > 0 else 0):", "for _ in range(1):")],
    "prior left out": [("        doc[:] = alpha\n", "        doc[:] = 1e-9\n")],
    "start without the prior": [("weight[k] = phi[k] * alpha[k]", "weight[k] = phi[k]")],
    "counts that stand still": [("doc[k] += n * (g - gamma[k])", "doc[k] += g - gamma[k]")],
}


def mutant_error(expect: object) -> float:
    """Distance from a fixed point of the update that leaves one token out, and after one round from its first step."""
    phi, alpha = np.array([[0.5, 0.1], [0.2, 0.6], [0.3, 0.3]]), np.array([0.3, 0.6])
    worst = 0.0
    for count in ([2.0, 1.0, 3.0], [0.4, 2.0, 0.7]):
        corpus = Corpus(np.arange(3, dtype=np.int32), np.array([0, 3]), ("a", "b", "c"), weights=np.array(count))
        docs = Words(np.array([0, 3]), np.arange(3, dtype=np.int32), np.array(count))
        for rounds in (2000, 2):
            out = np.zeros((1, 2))
            prior = DocumentPrior(alpha[None], np.zeros(1, np.int32))
            expect(0, 1, docs, phi, prior, False, Ending(0.0, 0.0, rounds), out, np.empty((0, 2)))  # type: ignore[operator]
            worst = max(worst, float(np.abs(out - naive(corpus, phi, alpha, 0.0, rounds)).max()))
    return worst


def test_the_unchanged_program_passes() -> None:
    assert mutant_error(ours.expect) < 1e-10
    assert mutant_error(mutate("engine.expected_counts").expect) < 1e-10


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_rejected(name: str) -> None:
    assert mutant_error(mutate("engine.expected_counts", *MUTANTS[name]).expect) > 1e-4

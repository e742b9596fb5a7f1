"""Expected topic counts of documents whose topics are held fixed: collapsed variational Bayes (CVB0, CGS_p eq. 6).

A document has one distribution γ over topics for each of its distinct words, and counts n_dk = Σ n γ. An update takes
one of the word's tokens out of the counts: γ ∝ φ (α + n_dk − γ). The words are taken in their order until the counts
stand still. Nothing is drawn, so a document's answer follows from its words, the topics and α alone, and a word may
weigh less than a token.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import check_number, check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.engine.document_tasks import over_documents
from topicloom.engine.fold_in import checked_topics
from topicloom.engine.prior import DocumentPrior
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.numerics.jit import as_input, bare_kernel, kernel
from topicloom.numerics.special import exp
from topicloom.numerics.sums import distance, sum_of

_LOW = 1e-13  # of a count with its prior, of which rounding may have left less
_TINY, _HUGE = 1e-280, 1e300
TOL, MAX_ITER = 0.03, 50
_PARTS = 64  # more than any reasonable number of threads, so that they finish together


class Words(NamedTuple):
    """The distinct words of documents: those of document d stand at ``ptr[d]`` … ``ptr[d + 1]``, in ascending order."""

    ptr: Int64Array  # [D + 1]
    word: Int32Array  # [M]
    count: FloatArray  # type: ignore[assignment]  # [M], tokens or weight; hides tuple.count


class Ending(NamedTuple):
    """When a document is done: after a round that moves its counts by less than both limits together, or the last."""

    per_topic: float
    per_token: float
    max_rounds: int


@bare_kernel
def weigh_fixed(
    gamma: FloatArray, own: float, doc: FloatArray, var: FloatArray, phi: FloatArray, gaussian: bool, weight: FloatArray
) -> float:
    """The update with the topics known: only the document's count is uncertain. A prior may be 0, if not gaussian."""
    low = _LOW if gaussian else 0.0
    for k in range(weight.shape[0]):
        g = own * gamma[k]
        d = max(doc[k] - g, low)
        w = d * phi[k]
        if gaussian:
            w *= exp(-0.5 * (var[k] - g * (1.0 - gamma[k])) / (d * d))
        weight[k] = w
    return sum_of(weight)


@bare_kernel
def _start(phi: FloatArray, alpha: FloatArray, weight: FloatArray) -> float:
    for k in range(weight.shape[0]):
        weight[k] = phi[k] * alpha[k]
    return sum_of(weight)


@bare_kernel
def _scale_of(weight: FloatArray, total: float) -> float:
    """What weights are multiplied by to sum to 1. Those too small for that are made larger first."""
    if total < _TINY:
        for k in range(weight.shape[0]):
            weight[k] *= _HUGE
        total *= _HUGE
    return 1.0 / total


@bare_kernel
def _set_gamma(gamma: FloatArray, weight: FloatArray, scale: float, n: float, doc: FloatArray) -> None:
    """γ from its weights, and the counts with it."""
    for k in range(weight.shape[0]):
        g = weight[k] * scale
        doc[k] += n * (g - gamma[k])
        gamma[k] = g


@bare_kernel
def _move_variance(gamma: FloatArray, weight: FloatArray, scale: float, n: float, var: FloatArray) -> None:
    for k in range(weight.shape[0]):
        g = weight[k] * scale
        var[k] += n * (g * (1.0 - g) - gamma[k] * (1.0 - gamma[k]))


@kernel
def expect(
    doc_start: int, doc_stop: int, docs: Words, phi: FloatArray, prior: DocumentPrior, gaussian: bool, ending: Ending,
    out: FloatArray, gammas: FloatArray,
) -> None:  # fmt: skip
    """E[n_dk] of documents whose topics are fixed at ``phi`` [V, K], to ``out``; each starts from γ ∝ φ α.

    ``gaussian`` adds the second-order term of CVB (eq. 18 of its paper). ``gammas`` gets γ of all distinct words, if it
    has rows.
    """
    ptr, words, count = docs.ptr, docs.word, docs.count
    n_topics = phi.shape[1]
    longest = 0
    for d in range(doc_start, doc_stop):
        longest = max(longest, ptr[d + 1] - ptr[d])
    scratch = np.empty((0 if gammas.shape[0] > 0 else longest, n_topics))
    doc, var, weight, before = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for d in range(doc_start, doc_stop):
        first, n_words = ptr[d], ptr[d + 1] - ptr[d]
        gamma = gammas[first : first + n_words] if gammas.shape[0] > 0 else scratch
        alpha = prior.alpha[prior.alpha_row[d]]
        doc[:] = alpha
        var[:] = 0.0
        tokens = 0.0
        for i in range(n_words):
            n, g = count[first + i], gamma[i]
            g[:] = 0.0
            scale = _scale_of(weight, _start(phi[words[first + i]], alpha, weight))
            if gaussian:
                _move_variance(g, weight, scale, n, var)
            _set_gamma(g, weight, scale, n, doc)
            tokens += n
        for _ in range(ending.max_rounds if n_words > 0 else 0):
            before[:] = doc
            for i in range(n_words):
                n, g = count[first + i], gamma[i]
                total = weigh_fixed(g, min(n, 1.0), doc, var, phi[words[first + i]], gaussian, weight)
                scale = _scale_of(weight, total)
                if gaussian:
                    _move_variance(g, weight, scale, n, var)
                _set_gamma(g, weight, scale, n, doc)
            if distance(doc, before) < ending.per_topic * n_topics + ending.per_token * tokens:
                break
        for k in range(n_topics):
            out[d, k] = doc[k] - alpha[k]


@over_documents
def expected_counts(
    corpus: Corpus,
    word_topic_prob: FloatArray,
    alpha: FloatArray,
    *,
    alpha_row: Int32Array | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int = 1,
) -> FloatArray:
    """E[n_dk] [D, K] of each document, given ``word_topic_prob`` (φ by word, V × K) and α (K, or rows × K).

    A document is done after ``max_iter`` rounds over its words, or after one that moves no more than the share ``tol``
    of its tokens from topic to topic. Its result depends only on its words, the topics and α.
    """
    phi, prior, ending = _problem(corpus, word_topic_prob, alpha, alpha_row, tol, max_iter)
    return expect_all(distinct_words(corpus), phi, prior, False, ending, n_jobs)


@over_documents
def expected_word_counts(
    corpus: Corpus,
    word_topic_prob: FloatArray,
    alpha: FloatArray,
    *,
    alpha_row: Int32Array | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int = 1,
) -> FloatArray:
    """n γ [M, K] of the distinct words of documents, in the order of ``corpus.pairs``.

    Arguments are those of ``expected_counts``, whose result is each document's sum, apart from rounding.
    """
    phi, prior, ending = _problem(corpus, word_topic_prob, alpha, alpha_row, tol, max_iter)
    return expect_words(distinct_words(corpus), phi, prior, False, ending, n_jobs)


def _problem(
    corpus: Corpus, word_topic_prob: FloatArray, alpha: FloatArray, alpha_row: Int32Array | None, tol: float,
    max_iter: int,
) -> tuple[FloatArray, DocumentPrior, Ending]:  # fmt: skip
    """Topics, prior and ending as compiled code takes them, checked."""
    check_number("tol", tol, 0.0, 1.0)
    check_whole("max_iter", max_iter, 1)
    phi, prior = checked_topics(corpus, word_topic_prob, alpha, alpha_row)
    # What leaves one topic comes to another: Σ |Δn_dk| counts each move twice.
    return phi, prior, Ending(0.0, 2.0 * tol, max_iter)


def distinct_words(corpus: Corpus) -> Words:
    """The corpus's pairs as compiled code takes them; words ascending within a document."""
    given = corpus.pairs
    return Words(as_input(given.ptr), as_input(given.word), as_input(given.count))


def expect_all(
    docs: Words, phi: FloatArray, prior: DocumentPrior, gaussian: bool, ending: Ending, n_jobs: int
) -> FloatArray:
    """E[n_dk] [D, K] of all documents, on threads."""
    return _expect(docs, phi, prior, gaussian, ending, n_jobs, np.empty((0, phi.shape[1])))


def expect_words(
    docs: Words, phi: FloatArray, prior: DocumentPrior, gaussian: bool, ending: Ending, n_jobs: int
) -> FloatArray:
    """n γ [M, K] of all documents' distinct words, on threads."""
    gammas = np.empty((len(docs.word), phi.shape[1]))
    _expect(docs, phi, prior, gaussian, ending, n_jobs, gammas)
    gammas *= docs.count[:, None]
    return gammas


def _expect(
    docs: Words, phi: FloatArray, prior: DocumentPrior, gaussian: bool, ending: Ending, n_jobs: int, gammas: FloatArray
) -> FloatArray:
    out = np.zeros((len(docs.ptr) - 1, phi.shape[1]))

    def run(doc_range: tuple[int, int]) -> None:
        expect(*doc_range, docs, phi, prior, gaussian, ending, out, gammas)

    run_parallel(run, cut(np.diff(docs.ptr), _PARTS), resolve_jobs(n_jobs))
    return out

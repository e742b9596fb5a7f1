"""How well topics predict words: document completion, left-to-right, and the plug-in likelihood.

Equation numbers are those of section 5.2 of Papanikolaou, Foulds, Rubin and Tsoumakas, "Dense distributions
from sparse samples" (2017), called CGS_p here.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import as_array, check_choice
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.corpus.splits import split_halves
from topicloom.engine.expected_counts import MAX_ITER, TOL, expected_counts
from topicloom.engine.fold_in import FoldIn, fold_in_corpus
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_alpha, check_distributions, check_topics
from topicloom.numerics.jit import as_input, kernel, reducing_kernel

Estimator: TypeAlias = Literal["cgs_p", "standard"]
Halves: TypeAlias = tuple[Corpus, Corpus]
Split: TypeAlias = Callable[[Corpus], Halves] | Halves

_ESTIMATORS, _METHODS = ("standard", "cgs_p"), ("gibbs", "cvb0")
_PARTS = 64  # more than any reasonable number of threads, so that they finish together


def completion_perplexity(
    topics: AnyArray,
    alpha: AnyArray,
    corpus: Corpus,
    *,
    alpha_row: Int32Array | None = None,
    method: Literal["gibbs", "cvb0"] = "gibbs",
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    estimator: Estimator = "cgs_p",
    burn_in: int = 50,
    thin: int = 5,
    n_samples: int = 1,
    n_chains: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    split: Split = split_halves,
) -> float:
    """Perplexity of the second half of each document, with θ estimated from its first half.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.
    alpha : array of shape (n_topics,) or (n_rows, n_topics)
        Prior of θ, or several, of which ``alpha_row`` names each document's.
    corpus : Corpus
        Documents that the topics were not fitted to, over the same vocabulary.
    alpha_row : array of int of shape (n_docs,), optional
        The row of ``alpha`` that each document has, such as its collection's.
    method : {"gibbs", "cvb0"}, default="gibbs"
        How topics of the first half are found: drawn, or computed as expected counts.
    tol : float, default=0.03
        Of "cvb0": the share of a document's tokens that the last round may still move.
    max_iter : int, default=50
        Of "cvb0": most rounds over a document.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        Of "gibbs": whether θ comes from the probabilities of the sampled topics, or from their counts.
    burn_in, thin, n_samples, n_chains : int, default=50, 5, 1, 1
        Of "gibbs": sweeps before the first sample, sweeps between two, samples per chain, chains.
    seed : int, default=0
        Of the sampling. Which tokens are scored depends on ``split`` alone.
    n_jobs : int, default=1
        Threads; −1 uses every core. They change no result.
    split : callable, or pair of Corpus, default=split_halves
        A function of the corpus, or (observed, held out), that keeps its documents.

    Returns
    -------
    float
        exp(−log-likelihood per held-out token), lower is better (eqs. 55, 56). A document without observed tokens is
        scored with the prior's mean; one without held-out tokens adds nothing.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> completion_perplexity([[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]], [1.0, 1.0], corpus, n_samples=50) < 4
    True
    """
    _check_estimator(estimator)
    phi, prior, halves = _check_completion(topics, alpha, corpus, split, alpha_row=alpha_row)
    fold = _folding(
        method, n_jobs, {"tol": tol, "max_iter": max_iter},
        {"burn_in": burn_in, "thin": thin, "n_samples": n_samples, "n_chains": n_chains, "seed": seed}, alpha_row,
    )  # fmt: skip
    return _completions(phi, prior, halves, fold, (estimator,), alpha_row)[estimator]


class DocumentScores(NamedTuple):
    """What a model says of each document's held-out tokens.

    Attributes
    ----------
    log_likelihood : array of shape (n_docs,)
        Sum over the document's held-out tokens.
    tokens : array of shape (n_docs,)
        Tokens that were scored.
    """

    log_likelihood: FloatArray  # [D]
    tokens: Int64Array  # [D] how many were scored


def completion_scores(
    topics: AnyArray,
    alpha: AnyArray,
    corpus: Corpus,
    *,
    alpha_row: Int32Array | None = None,
    method: Literal["gibbs", "cvb0"] = "gibbs",
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    estimator: Estimator = "cgs_p",
    burn_in: int = 50,
    thin: int = 5,
    n_samples: int = 1,
    n_chains: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    split: Split = split_halves,
) -> DocumentScores:
    """Log-likelihood and number of held-out tokens of each document, by document completion.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
    alpha : array of shape (n_topics,) or (n_rows, n_topics)
    corpus : Corpus
    alpha_row : array of int of shape (n_docs,), optional
    method : {"gibbs", "cvb0"}, default="gibbs"
        How topics of the first half are found: drawn, or computed as expected counts.
    tol : float, default=0.03
        Of "cvb0": the share of a document's tokens that the last round may still move.
    max_iter : int, default=50
        Of "cvb0": most rounds over a document.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
    burn_in, thin, n_samples, n_chains : int, default=50, 5, 1, 1
    seed : int, default=0
    n_jobs : int, default=1
    split : callable, or pair of Corpus, default=split_halves
        All as of :func:`completion_perplexity`.

    Returns
    -------
    DocumentScores
        exp(−Σ log-likelihood / Σ tokens) is the perplexity. A document without held-out tokens has 0 of both.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> completion_scores([[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]], [1.0, 1.0], corpus).tokens
    array([2, 1])
    """
    _check_estimator(estimator)
    phi, prior, halves = _check_completion(topics, alpha, corpus, split, alpha_row=alpha_row)
    fold = _folding(
        method, n_jobs, {"tol": tol, "max_iter": max_iter},
        {"burn_in": burn_in, "thin": thin, "n_samples": n_samples, "n_chains": n_chains, "seed": seed}, alpha_row,
    )  # fmt: skip
    return DocumentScores(
        _completion_scores(phi, prior, halves, fold, (estimator,), alpha_row)[estimator], halves[1].doc_lengths
    )


def completion_perplexities(
    phi_standard: AnyArray, phi_p: AnyArray, alpha: AnyArray, corpus: Corpus, *, burn_in: int = 50, thin: int = 5,
    n_samples: int = 1, n_chains: int = 1, seed: int = 0, n_jobs: int = 1, split: Split = split_halves,
) -> dict[tuple[str, str], float]:  # fmt: skip
    """Perplexity by document completion, for the four pairs of estimators of φ and θ.

    Parameters
    ----------
    phi_standard, phi_p : arrays of shape (n_topics, n_words)
        ``model.estimate("standard")[1]`` and ``model.estimate("cgs_p")[1]``.
    alpha : array of shape (n_topics,)
    corpus : Corpus
    burn_in, thin, n_samples, n_chains : int, default=50, 5, 1, 1
    seed : int, default=0
    n_jobs : int, default=1
    split : callable, or pair of Corpus, default=split_halves
        All as of :func:`completion_perplexity`.

    Returns
    -------
    dict of (str, str) to float
        Perplexity by the names of φ's and θ's estimators. Both θ come from the same samples and both φ meet the same
        random numbers, so that differences are the estimators' own (CGS_p section 5.3).

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> phi = [[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]]
    >>> sorted(completion_perplexities(phi, phi, [1.0, 1.0], corpus))
    [('cgs_p', 'cgs_p'), ('cgs_p', 'standard'), ('standard', 'cgs_p'), ('standard', 'standard')]
    """
    table = {}
    jobs = resolve_jobs(n_jobs)
    fold = partial(
        fold_in_corpus, burn_in=burn_in, thin=thin, n_samples=n_samples, n_chains=n_chains, seed=seed, n_jobs=jobs
    )
    checked = [
        _check_completion(topics, alpha, corpus, split, name)
        for topics, name in ((phi_standard, "phi_standard"), (phi_p, "phi_p"))
    ]
    for name, (phi, prior, halves) in zip(_ESTIMATORS, checked, strict=True):
        for estimator, perplexity in _completions(phi, prior, halves, fold, _ESTIMATORS).items():
            table[name, estimator] = perplexity
    return table


def log_likelihood(topics: AnyArray, theta: AnyArray, corpus: Corpus) -> float:
    """Log-likelihood of all tokens given topics and shares: Σ_d Σ_i log Σ_k φ_kw θ_dk (eq. 55).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.
    theta : array of shape (n_docs, n_topics)
        Topic shares of the documents.
    corpus : Corpus
        Documents. The terms of a weighted corpus are weighted.

    Returns
    -------
    float
        −inf if a word has no probability. On documents from which θ was made it flatters the model: use
        :func:`completion_perplexity` or :func:`left_to_right` for unseen ones.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank", "bank bank"])
    >>> round(log_likelihood([[0.5, 0.5]], [[1.0], [1.0]], corpus), 3)  # 4 log 0.5
    -2.773
    """
    check_corpus(corpus)
    phi = check_topics(topics, corpus.n_words)
    shares = check_distributions("theta", theta, "document")
    if shares.shape != (corpus.n_docs, len(phi)):
        raise InputError(
            f"theta has shape {shares.shape}; {corpus.n_docs} documents and {len(phi)} topics need "
            f"({corpus.n_docs}, {len(phi)})."
        )
    return float(_scores(by_word(phi), shares, corpus).sum())


def _folding(
    method: str, n_jobs: int, expecting: dict[str, Any], drawing: dict[str, Any], alpha_row: Int32Array | None
) -> Callable[..., FoldIn]:
    """How topics of the observed halves are found."""
    check_choice("method", method, _METHODS)
    jobs = resolve_jobs(n_jobs)
    if method == "gibbs":
        return partial(fold_in_corpus, alpha_row=alpha_row, n_jobs=jobs, **drawing)

    def fold(corpus: Corpus, phi: FloatArray, alpha: FloatArray, hard: bool, soft: bool) -> FoldIn:
        counts = expected_counts(corpus, phi, alpha, alpha_row=alpha_row, n_jobs=jobs, **expecting)
        return FoldIn(counts if hard else None, counts if soft else None)

    return fold


# -- completion ----------------------------------------------------------------------------------------------


def _completions(
    phi: FloatArray,
    alpha: FloatArray,
    halves: Halves,
    fold: Callable[..., FoldIn],
    estimators: tuple[str, ...],
    alpha_row: Int32Array | None = None,
) -> dict[str, float]:
    """Perplexity of the held-out half for θ by each of the estimators, all from the same samples."""
    scores = _completion_scores(phi, alpha, halves, fold, estimators, alpha_row)
    return {name: float(np.exp(-float(of.sum()) / halves[1].n_tokens)) for name, of in scores.items()}  # eq. 56


def _completion_scores(
    phi: FloatArray,
    alpha: FloatArray,
    halves: Halves,
    fold: Callable[..., FoldIn],
    estimators: tuple[str, ...],
    alpha_row: Int32Array | None = None,
) -> dict[str, FloatArray]:
    """Log-likelihood of each document's held-out half, by estimator."""
    observed, held_out = halves
    word_topic = by_word(phi)
    folded = fold(observed, word_topic, alpha, hard="standard" in estimators, soft="cgs_p" in estimators)
    if alpha_row is not None:
        alpha = alpha[alpha_row]
    totals = (observed.doc_lengths + alpha.sum(axis=-1))[:, None]
    result = {}
    for estimator in estimators:
        counts = folded.hard if estimator == "standard" else folded.soft
        assert counts is not None
        theta = (counts + alpha) / totals
        result[estimator] = _scores(word_topic, theta, held_out)
    return result


def _scores(word_topic: FloatArray, theta: FloatArray, corpus: Corpus) -> FloatArray:
    """Σ_i log Σ_k φ_kw θ_dk of each document."""
    scores = np.empty(corpus.n_docs)
    weighted = corpus.weights is not None
    weights = as_input(np.ones(1) if corpus.weights is None else corpus.weights)
    phi, shares = as_input(word_topic), as_input(theta)
    _score_documents(corpus.words, weights, weighted, corpus.doc_ptr, phi, shares, scores)
    return scores


@kernel
def _score_documents(
    words: Int32Array,
    weights: FloatArray,
    weighted: bool,
    doc_ptr: Int64Array,
    word_topic: FloatArray,
    theta: FloatArray,
    scores: FloatArray,
) -> None:
    """scores[d] = Σ_i log Σ_k φ_kw θ_dk over the tokens of document d."""
    for d in range(len(scores)):
        score = 0.0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            weight = weights[i] if weighted else 1.0
            if weight > 0.0:
                score += weight * np.log(_dot(word_topic[words[i]], theta[d]))
        scores[d] = score


@reducing_kernel
def _dot(left: FloatArray, right: FloatArray) -> float:
    total = 0.0
    for k in range(len(left)):
        total += left[k] * right[k]
    return total


def by_word(phi: FloatArray) -> FloatArray:
    """φ with a word's topics next to each other, [V, K], as all loops over tokens want it."""
    return np.ascontiguousarray(phi.T)


# -- checks --------------------------------------------------------------------------------------------------


def _check_completion(
    topics: AnyArray,
    alpha: AnyArray,
    corpus: Corpus,
    split: Split,
    name: str = "topics",
    alpha_row: Int32Array | None = None,
) -> tuple[FloatArray, FloatArray, Halves]:
    check_corpus(corpus)
    phi = check_topics(topics, corpus.n_words, name)
    prior = check_alpha(alpha, len(phi)) if alpha_row is None else _check_rows(alpha, alpha_row, len(phi), corpus)
    observed, held_out = split(corpus) if callable(split) else split
    for part, half in (("observed", observed), ("held-out", held_out)):
        if half.n_docs != corpus.n_docs or half.n_words != corpus.n_words:
            raise InputError(
                f"the {part} part has {half.n_docs} documents and {half.n_words} words, the corpus "
                f"{corpus.n_docs} and {corpus.n_words}; both parts must keep its documents and vocabulary."
            )
        check_tokens(half)
    if held_out.n_tokens == 0:
        raise InputError(
            "there is nothing to score: no document has a held-out token. To be split into halves a document "
            "needs at least two tokens."
        )
    return phi, prior, (observed, held_out)


def _check_rows(alpha: AnyArray, alpha_row: AnyArray, n_topics: int, corpus: Corpus) -> FloatArray:
    rows = as_array("alpha", alpha)
    if rows.ndim != 2 or len(rows) == 0:
        raise InputError(f"with alpha_row alpha must be rows × topics; it has shape {rows.shape}.")
    at = as_array("alpha_row", alpha_row)
    if at.shape != (corpus.n_docs,) or at.dtype.kind not in "iu" or np.any((at < 0) | (at >= len(rows))):
        raise InputError(f"alpha_row must name one of {len(rows)} rows for each of {corpus.n_docs} documents.")
    return np.array([check_alpha(row, n_topics) for row in rows])


def check_tokens(corpus: Corpus) -> None:
    if corpus.weights is not None:
        raise InputError("a weighted corpus has no whole tokens to sample topics for; give counts.")


def _check_estimator(estimator: str) -> None:
    check_choice("estimator", estimator, _ESTIMATORS)

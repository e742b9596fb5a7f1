"""Measures by which others choose the number of topics, over plain arrays.

Four are those of R's ldatuning: ``harmonic_mean`` (Griffiths and Steyvers 2004), ``mean_cosine`` (Cao and others 2009),
``singular_divergence`` (Arun and others 2010) and ``mean_divergence`` (Deveaud and others 2014).
``residual_dispersion`` is Taddy's (2012), as stm's ``searchK`` has it.
"""

from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import as_numbers, check_number, check_whole
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_distributions, check_topics
from topicloom.numerics.blas import one_blas_thread
from topicloom.numerics.product import product

_AT_ONCE = 1 << 20  # probabilities of words in documents

# -- the likelihood of samples -------------------------------------------------------------------------------


def harmonic_mean(log_likelihoods: Any) -> float:
    """Logarithm of the harmonic mean of p(w | z) over samples: an estimate of log p(w) for a number of topics.

    Parameters
    ----------
    log_likelihoods : array of shape (n_samples,)
        log p(w | z) of samples of one chain, as :func:`log_words_given_topics` gives.

    Returns
    -------
    float
        Larger is better.

    Notes
    -----
    This is the estimate of Griffiths and Steyvers [1]_, which ldatuning computes too. Its variance is infinite: the
    worst few samples decide, and more samples do not help (Wallach and others 2009).

    References
    ----------
    .. [1] Griffiths and Steyvers (2004). Finding scientific topics. PNAS 101.

    Examples
    --------
    >>> round(harmonic_mean([-100.0, -101.0, -102.0]), 3)
    -101.309
    """
    values = as_numbers("log_likelihoods", log_likelihoods)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise InputError("log_likelihoods must be finite numbers, one per sample, of at least one sample.")
    least = values.min()
    return float(least - np.log(np.mean(np.exp(least - values))))


def log_words_given_topics(counts: Any, beta: Any) -> float:
    """log p(w | z): the words' probability given the topics of all tokens, with φ integrated out.

    Parameters
    ----------
    counts : array of shape (n_topics, n_words)
        Tokens of each topic and word.
    beta : float, or array of shape (n_words,)
        Prior of the topics' words.

    Returns
    -------
    float

    Examples
    --------
    >>> round(log_words_given_topics([[1, 0]], 1.0), 4)  # the first token: 1/2
    -0.6931
    """
    table = as_numbers("counts", counts)
    if table.ndim != 2 or table.size == 0 or not np.all(np.isfinite(table)) or np.any(table < 0):
        raise InputError("counts must be finite numbers of 0 or more, topics × words.")
    prior = as_numbers("beta", beta)
    if prior.shape not in ((), (table.shape[1],)) or not np.all(np.isfinite(prior) & (prior > 0)):
        raise InputError(f"beta must be a positive number, or one for each of {table.shape[1]} words.")
    prior = np.broadcast_to(prior, table.shape[1:])
    return _log_words(table, prior)


def _log_words(table: FloatArray, prior: FloatArray) -> float:
    gammaln = scipy.special.gammaln
    of_topics = gammaln(prior.sum()) - gammaln(table.sum(axis=1) + prior.sum())
    topic, word = np.nonzero(table)  # what is 0 adds nothing
    of_words = gammaln(table[topic, word] + prior[word]) - gammaln(prior[word])
    return float(of_topics.sum() + of_words.sum())


# -- how topics differ ---------------------------------------------------------------------------------------


def mean_cosine(topics: Any) -> float:
    """Mean cosine of all pairs of topics; smaller is better (Cao and others [1]_).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Rows sum to 1.

    Returns
    -------
    float
        From 0 (no two topics share a word) to 1 (all are the same). NaN for one topic.

    References
    ----------
    .. [1] Cao, Xia, Li, Zhang and Tang (2009). A density-based method for adaptive LDA model selection.
       Neurocomputing 72.

    Examples
    --------
    >>> mean_cosine([[1.0, 0.0], [0.0, 1.0]])
    0.0
    """
    phi = check_topics(topics)
    n = len(phi)
    if n < 2:
        return float("nan")
    unit = phi / np.sqrt(np.square(phi).sum(axis=1, keepdims=True))
    return float(
        (np.square(unit.sum(axis=0)).sum() - n) / (n * (n - 1))
    )  # |Σ u_k|² is over all pairs, a topic's own too


def mean_divergence(topics: Any) -> float:
    """Mean divergence of all pairs of topics; larger is better (Deveaud and others [1]_).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Rows sum to 1. A probability of 0 counts as the smallest number above 0, as in ldatuning.

    Returns
    -------
    float
        Mean over ordered pairs of ½ Σ_v (φ_kv log φ_kv/φ_lv + φ_lv log φ_lv/φ_kv), divided by 2 as ldatuning does: its
        sum runs over unordered pairs and is divided by K (K − 1). NaN for one topic.

    Notes
    -----
    The authors call it the Jensen-Shannon divergence, which it is not: it is symmetrised Kullback-Leibler.

    References
    ----------
    .. [1] Deveaud, SanJuan and Bellot (2014). Accurate and effective latent concept modeling for ad hoc information
       retrieval. Document numérique 17.

    Examples
    --------
    >>> round(mean_divergence([[0.75, 0.25], [0.25, 0.75]]), 4)  # ½ log 3 / 2
    0.2747
    """
    phi = check_topics(topics)
    n = len(phi)
    if n < 2:
        return float("nan")
    logs = np.log(np.maximum(phi, np.finfo(np.float64).tiny))
    # Over ordered pairs (k, l): Σ φ_k (log φ_k − log φ_l), which is each unordered pair's sum of both directions.
    own = n * np.einsum("kv,kv->", phi, logs)
    cross = np.einsum("v,v->", phi.sum(axis=0), logs.sum(axis=0))
    return float(0.5 * (own - cross) / (n * (n - 1)))


def singular_divergence(topics: Any, theta: Any, lengths: Any) -> float:
    """Divergence between the topics' singular values and their sizes; smaller is better (Arun and others [1]_).

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
    theta : array of shape (n_docs, n_topics)
    lengths : array of shape (n_docs,)
        Tokens of each document.

    Returns
    -------
    float
        Symmetric Kullback-Leibler divergence of two distributions over n_topics values, each in descending order: the
        singular values of ``topics``, and the sizes lengths · theta. Infinite if one has a 0 that the other has not,
        for instance with more topics than words.

    Notes
    -----
    ldatuning neither sorts nor normalises, so that its values depend on the topics' numbers. This follows the paper.

    References
    ----------
    .. [1] Arun, Suresh, Veni Madhavan and Narasimha Murthy (2010). On finding the natural number of topics with latent
       Dirichlet allocation: some observations. PAKDD.

    Examples
    --------
    >>> singular_divergence([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]], [10])
    0.0
    """
    phi = check_topics(topics)
    shares = check_distributions("theta", theta, "document")
    sizes = as_numbers("lengths", lengths)
    if shares.shape[1] != len(phi) or sizes.shape != (len(shares),):
        raise InputError(
            f"theta has shape {shares.shape} and lengths {sizes.shape}; {len(phi)} topics need a theta of documents × "
            f"{len(phi)} and one length per document."
        )
    first = np.zeros(len(phi))
    with one_blas_thread():  # of BLAS, whose sums would otherwise depend on their number
        found = np.linalg.svd(phi, compute_uv=False)
    first[: len(found)] = found
    second = np.sort(product(sizes[None], shares)[0])[::-1]
    if second.sum() <= 0:
        raise InputError("all documents are empty, so topics have no sizes; give at least one with tokens.")
    first, second = first / first.sum(), second / second.sum()
    if np.any((first == 0) != (second == 0)):
        return float("inf")
    both = first > 0
    ratio = np.log(first[both]) - np.log(second[both])
    return float(((first[both] - second[both]) * ratio).sum())


# -- what topics leave unexplained ---------------------------------------------------------------------------


def residual_dispersion(
    topics: Any, theta: Any, corpus: Corpus, tol: float = 0.01, *, most_docs: int | None = None
) -> float:
    """How much more the words of documents vary than topics allow: 1 if topics are enough, more if they are too few.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
    theta : array of shape (n_docs, n_topics)
    corpus : Corpus
        The documents that theta is of.
    tol : float, default=0.01
        Words whose expected count in a document is above this are counted as cells.
    most_docs : int, optional
        Look at this many documents at most, at equal distances, and scale the sums up. None looks at all of them.

    Returns
    -------
    float
        Σ (x_dv − m_d q_dv)² / (m_d q_dv (1 − q_dv)) over all documents and words, where q is theta · topics and m a
        document's length, divided by the cells less the parameters. NaN if there are not more cells than parameters, as
        in a corpus of few or short documents.

    Notes
    -----
    This is Taddy's measure [1]_ with the degrees of freedom that stm's ``checkResiduals`` takes. It costs the size of a
    dense documents × words table times the number of topics.

    References
    ----------
    .. [1] Taddy (2012). On estimation and selection for topic models. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom.datasets import synthetic_lda
    >>> made = synthetic_lda(n_docs=200, n_words=30, n_topics=2, doc_length=300, beta=1.0)
    >>> print(f"{residual_dispersion(made.phi, made.theta, made.corpus):.1f}")
    1.0
    """
    check_corpus(corpus)
    phi = check_topics(topics, corpus.n_words)
    shares = check_distributions("theta", theta, "document")
    if shares.shape != (corpus.n_docs, len(phi)):
        raise InputError(f"theta has shape {shares.shape}; it must be ({corpus.n_docs}, {len(phi)}).")
    check_number("tol", tol, 0.0, np.inf)
    n_docs = corpus.n_docs if most_docs is None else min(check_whole("most_docs", most_docs, 1), corpus.n_docs)
    if n_docs < corpus.n_docs:
        some = np.arange(n_docs) * corpus.n_docs // n_docs
        squares, n_cells = _squares(phi, shares[some], corpus.select(some), tol)
        scale = corpus.n_docs / n_docs
    else:
        squares, n_cells = _squares(phi, shares, corpus, tol)
        scale = 1.0
    parameters = corpus.n_docs * (len(phi) - 1) + len(phi) * (corpus.n_words - 1)
    freedom = scale * n_cells - corpus.n_words - parameters
    return scale * squares / freedom if freedom > 0 else float("nan")


def _squares(phi: FloatArray, shares: FloatArray, corpus: Corpus, tol: float) -> tuple[float, int]:
    """The sum over documents and words, and the cells."""
    squares, n_cells, n_words = 0.0, 0, corpus.n_words
    size = max(_AT_ONCE // n_words, 1)
    for first in range(0, corpus.n_docs, size):
        documents = np.arange(first, min(first + size, corpus.n_docs))
        counts = _table(corpus, documents)
        lengths = counts.sum(axis=1, keepdims=True)
        share = np.minimum(product(shares[documents], phi), 1 - 1e-12)
        expected = lengths * share
        possible = expected > 0
        square = np.divide((counts - expected) ** 2, expected * (1 - share), out=np.zeros_like(share), where=possible)
        squares += float(square.sum())
        n_cells += int(np.count_nonzero(expected > tol))
    return squares, n_cells


def _table(corpus: Corpus, documents: Int64Array) -> FloatArray:
    """Counts (or weights) of a run of documents, dense."""
    start, end = corpus.doc_ptr[documents[0]], corpus.doc_ptr[documents[-1] + 1]
    rows = np.repeat(np.arange(len(documents)), corpus.doc_lengths[documents])
    weights = None if corpus.weights is None else corpus.weights[start:end]
    cells = rows * corpus.n_words + corpus.words[start:end]
    flat = np.bincount(cells, weights, minlength=len(documents) * corpus.n_words)
    return np.asarray(flat, np.float64).reshape(len(documents), corpus.n_words)

"""Corpora drawn from a model whose topics are known, for tests, studies and speed curves.

φ (``phi``) are the topics' word probabilities, θ (``theta``) the documents' topic probabilities and ``z``
the topic of each token of the corpus's stream.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import as_array, shown
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError


class Synthetic(NamedTuple):
    """A corpus and the truth it was drawn from.

    Attributes
    ----------
    corpus : Corpus
    phi : array of float, shape (n_topics, n_words)
        Word probabilities of each topic.
    theta : array of float, shape (n_docs, n_topics)
        Topic probabilities of each document.
    z : array of int, shape (n_tokens,)
        Topic of each token.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_lda
    >>> truth = synthetic_lda(20, 30, 4, doc_length=10)
    >>> truth.phi.shape, truth.theta.shape, truth.z.shape
    ((4, 30), (20, 4), (200,))
    """

    corpus: Corpus
    phi: FloatArray  # [topics, words]
    theta: FloatArray  # [documents, topics]
    z: Int32Array  # [tokens]


class SyntheticCompound(NamedTuple):
    """A corpus of several collections and the truth it was drawn from.

    Attributes
    ----------
    corpus : Corpus
    phi : array of float, shape (n_topics, n_words)
        Word probabilities of each topic.
    theta : array of float, shape (n_docs, n_topics)
        Topic probabilities of each document.
    z : array of int, shape (n_tokens,)
        Topic of each token.
    pi : array of float, shape (n_collections, n_topics)
        Topic probabilities of each collection.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_compound
    >>> synthetic_compound(2, 10, 20, 3, doc_length=5).pi.shape
    (2, 3)
    """

    corpus: Corpus
    phi: FloatArray  # [topics, words]
    theta: FloatArray  # [documents, topics]
    z: Int32Array  # [tokens]
    pi: FloatArray  # [collections, topics]


def synthetic_lda(
    n_docs: int = 500,
    n_words: int = 200,
    n_topics: int = 10,
    *,
    doc_length: float = 100,
    alpha: float | Sequence[float] | FloatArray = 0.1,
    beta: float | Sequence[float] | FloatArray = 0.05,
    seed: int = 0,
) -> Synthetic:
    """Documents drawn from latent Dirichlet allocation.

    Parameters
    ----------
    n_docs, n_words, n_topics : int, default=500, 200 and 10
        Numbers of documents, words and topics.
    doc_length : int or float, default=100
        Length of the documents. An int is the length of every document. A float is the mean of a Poisson
        distribution, so that some documents may be empty.
    alpha : float, or array of shape (n_topics,), default=0.1
        Dirichlet prior of the documents' topics.
    beta : float, or array of shape (n_words,), default=0.05
        Dirichlet prior of the topics' words.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    Synthetic

    Examples
    --------
    >>> from topicloom.datasets import synthetic_lda
    >>> synthetic_lda(20, 30, 4, doc_length=10).corpus
    Corpus(20 documents, 30 words, 200 tokens)
    """
    _check_sizes(n_docs=n_docs, n_words=n_words, n_topics=n_topics)
    doc_prior = _prior("alpha", alpha, n_topics, "topics")
    word_prior = _prior("beta", beta, n_words, "words")
    rng = _generator(seed)
    phi = _dirichlet(rng, np.tile(word_prior, (n_topics, 1)))
    theta = _dirichlet(rng, np.tile(doc_prior, (n_docs, 1)))
    words, ptr, z = _draw_tokens(rng, theta, phi, _lengths(rng, doc_length, n_docs))
    return Synthetic(Corpus(words, ptr, _names("word", n_words)), phi, theta, z)


def synthetic_compound(
    n_collections: int = 2,
    docs_per_collection: int | Sequence[int] = 100,
    n_words: int = 40,
    n_topics: int = 3,
    *,
    doc_length: float = 100,
    alpha: float = 0.1,
    gamma: float = 1.0,
    eta: float = 0.25,
    seed: int = 0,
) -> SyntheticCompound:
    """Documents of several collections that share topics but not their proportions.

    They are drawn from compound LDA, equations 1 to 5.

    Parameters
    ----------
    n_collections : int, default=2
    docs_per_collection : int or sequence of int, default=100
        Documents in every collection, or in each.
    n_words, n_topics : int, default=40 and 3
        Numbers of words and topics.
    doc_length : int or float, default=100
        Length of the documents. An int is the length of every document. A float is the mean of a Poisson
        distribution, so that some documents may be empty.
    alpha : float, default=0.1
        Dirichlet prior of the collections' topics.
    gamma : float, default=1.0
        Concentration of documents around their collection.
    eta : float, default=0.25
        Dirichlet prior of the topics' words.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    SyntheticCompound
        The group of a document is its collection: ``collection0``, ``collection1``, …

    Examples
    --------
    >>> from topicloom.datasets import synthetic_compound
    >>> synthetic_compound(2, 10, 20, 3, doc_length=5).corpus
    Corpus(20 documents, 20 words, 100 tokens, with groups)
    """
    _check_sizes(n_collections=n_collections, n_words=n_words, n_topics=n_topics)
    sizes = _collection_sizes(docs_per_collection, n_collections)
    pi_prior = _prior("alpha", alpha, n_topics, "topics")
    word_prior = _prior("eta", eta, n_words, "words")
    if not (math.isfinite(gamma) and gamma > 0):
        raise InputError(f"gamma={gamma!r} must be a positive number.")
    rng = _generator(seed)
    phi = _dirichlet(rng, np.tile(word_prior, (n_topics, 1)))  # compound LDA eq. 1
    pi = _dirichlet(rng, np.tile(pi_prior, (n_collections, 1)))  # eq. 2
    collection = np.repeat(np.arange(n_collections), sizes)
    theta = _dirichlet(rng, gamma * pi[collection])  # eq. 3
    words, ptr, z = _draw_tokens(rng, theta, phi, _lengths(rng, doc_length, len(theta)))  # eqs. 4 and 5
    names = _names("collection", n_collections, pad=True)
    corpus = Corpus(words, ptr, _names("word", n_words), groups=tuple(names[j] for j in collection))
    return SyntheticCompound(corpus, phi, theta, z, pi)


def synthetic_labeled(
    n_docs: int = 500,
    n_words: int = 200,
    n_labels: int = 10,
    *,
    labels_per_doc: float = 2.0,
    doc_length: float = 100,
    alpha: float = 1.0,
    beta: float = 0.05,
    seed: int = 0,
) -> Synthetic:
    """Documents with labels, where each label is a topic and a document uses only the topics of its labels.

    Parameters
    ----------
    n_docs, n_words, n_labels : int, default=500, 200 and 10
        Numbers of documents, words and labels.
    labels_per_doc : float, default=2.0
        Mean number of labels. Every document has one; the number of others is Poisson with mean ``labels_per_doc`` - 1.
    doc_length : int or float, default=100
        Length of the documents. An int is the length of every document. A float is the mean of a Poisson
        distribution, so that some documents may be empty.
    alpha : float, default=1.0
        Dirichlet prior of the documents' topics.
    beta : float, default=0.05
        Dirichlet prior of the topics' words.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    Synthetic
        Topic k belongs to the k-th label in alphabetical order.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_labeled
    >>> synthetic_labeled(20, 30, 4, doc_length=10).corpus
    Corpus(20 documents, 30 words, 200 tokens, with labels)
    """
    _check_sizes(n_docs=n_docs, n_words=n_words, n_labels=n_labels)
    if not 1 <= labels_per_doc <= n_labels:
        raise InputError(f"labels_per_doc={labels_per_doc!r} must lie between 1 and n_labels={n_labels}.")
    label_prior = _prior("alpha", alpha, n_labels, "labels")
    word_prior = _prior("beta", beta, n_words, "words")
    rng = _generator(seed)
    sizes = np.minimum(1 + rng.poisson(labels_per_doc - 1, n_docs), n_labels)
    # The labels with the smallest of random keys are a random set of that size.
    rank = rng.random((n_docs, n_labels)).argsort(axis=1).argsort(axis=1)
    allowed = rank < sizes[:, None]
    phi = _dirichlet(rng, np.tile(word_prior, (n_labels, 1)))
    theta = _dirichlet(rng, np.where(allowed, label_prior, 0.0))
    words, ptr, z = _draw_tokens(rng, theta, phi, _lengths(rng, doc_length, n_docs))
    names = _names("label", n_labels, pad=True)
    labels = tuple(tuple(names[k] for k in np.flatnonzero(row)) for row in allowed)
    return Synthetic(Corpus(words, ptr, _names("word", n_words), labels=labels), phi, theta, z)


def bars(side: int = 5, n_docs: int = 2000, *, doc_length: float = 100, alpha: float = 1.0, seed: int = 0) -> Synthetic:
    """Images of ``side`` × ``side`` pixels, mixed from horizontal and vertical bars (Griffiths and Steyvers, 2004).

    Pixels are the words, ``row0col0`` first and row by row, so ``phi[k].reshape(side, side)`` is a picture. Topics 0 to
    ``side`` - 1 are the rows, the others the columns.

    Parameters
    ----------
    side : int, default=5
        Pixels per side.
    n_docs : int, default=2000
        Number of images.
    doc_length : int or float, default=100
        Length of the documents. An int is the length of every document. A float is the mean of a Poisson
        distribution, so that some documents may be empty.
    alpha : float, default=1.0
        Dirichlet prior of the images' bars.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    Synthetic

    Examples
    --------
    >>> from topicloom.datasets import bars
    >>> bars(side=2, n_docs=10).phi[0].reshape(2, 2).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    _check_sizes(side=side, n_docs=n_docs)
    doc_prior = _prior("alpha", alpha, 2 * side, "topics")
    row, column = np.divmod(np.arange(side * side), side)
    line = np.arange(side)[:, None]
    phi = np.concatenate((line == row, line == column)) / side
    rng = _generator(seed)
    theta = _dirichlet(rng, np.tile(doc_prior, (n_docs, 1)))
    words, ptr, z = _draw_tokens(rng, theta, phi, _lengths(rng, doc_length, n_docs))
    pixels = tuple(f"row{r}col{c}" for r, c in zip(row, column, strict=True))
    return Synthetic(Corpus(words, ptr, pixels), phi, theta, z)


def bands(
    n_docs: int = 3000,
    n_words: int = 100,
    n_topics: int = 10,
    *,
    band_share: float = 0.95,
    doc_length: float = 10,
    alpha: float = 1.0,
    seed: int = 0,
) -> Synthetic:
    """Short documents from topics that are overlapping bands of neighbouring words (multipath Gibbs, section 4.2.1).

    Each topic gives ``band_share`` to the words of its band and the rest to all words alike. The centres are equally
    spaced, and most words lie in two bands.

    Parameters
    ----------
    n_docs, n_words, n_topics : int, default=3000, 100 and 10
        Numbers of documents, words and topics.
    band_share : float, default=0.95
        Probability of the band, between 0 and 1.
    doc_length : int or float, default=10
        Length of the documents. An int is the length of every document. A float is the mean of a Poisson
        distribution, so that some documents may be empty.
    alpha : float, default=1.0
        Dirichlet prior of the documents' topics.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same result.

    Returns
    -------
    Synthetic

    Examples
    --------
    >>> from topicloom.datasets import bands
    >>> bands(20, 30, 4).corpus
    Corpus(20 documents, 30 words, 200 tokens)
    """
    _check_sizes(n_docs=n_docs, n_words=n_words, n_topics=n_topics)
    if n_topics > n_words:
        raise InputError(f"n_topics={n_topics} bands do not fit on n_words={n_words}; give at least as many words.")
    if not 0 <= band_share <= 1:
        raise InputError(f"band_share={band_share!r} must lie between 0 and 1.")
    doc_prior = _prior("alpha", alpha, n_topics, "topics")
    centres = np.linspace(0, n_words - 1, n_topics)
    spacing = (n_words - 1) / (n_topics - 1) if n_topics > 1 else n_words
    # A band reaches to the next centre on either side, but not onto it even where centres are rounded.
    inside = np.abs(np.arange(n_words) - centres[:, None]) < spacing - 1e-9
    phi = band_share * inside / inside.sum(axis=1, keepdims=True) + (1 - band_share) / n_words
    rng = _generator(seed)
    theta = _dirichlet(rng, np.tile(doc_prior, (n_docs, 1)))
    words, ptr, z = _draw_tokens(rng, theta, phi, _lengths(rng, doc_length, n_docs))
    return Synthetic(Corpus(words, ptr, _names("word", n_words)), phi, theta, z)


def _draw_tokens(
    rng: np.random.Generator, theta: FloatArray, phi: FloatArray, lengths: Int64Array
) -> tuple[Int32Array, Int64Array, Int32Array]:
    """Words, document pointers and topics of documents of these lengths."""
    n_docs, n_topics = theta.shape
    counts = rng.multinomial(lengths, theta)
    z = np.repeat(np.tile(np.arange(n_topics, dtype=np.int32), n_docs), counts.ravel())
    # Tokens come sorted by topic; random keys within each document put them into a random order.
    docs = np.repeat(np.arange(n_docs), lengths)
    z = z[np.lexsort((rng.random(len(z)), docs))]
    words = np.empty(len(z), np.int32)
    u = rng.random(len(z))
    by_topic = np.argsort(z, kind="stable")
    ends = np.cumsum(np.bincount(z, minlength=n_topics))
    for k, tokens in enumerate(np.split(by_topic, ends[:-1])):
        upper = np.cumsum(phi[k])
        upper /= upper[-1]  # exactly 1 at the end, and u < 1, so that only words of positive probability are found
        words[tokens] = np.searchsorted(upper, u[tokens], side="right")
    return words, np.concatenate(([0], np.cumsum(lengths))), z


def _dirichlet(rng: np.random.Generator, prior: FloatArray) -> FloatArray:
    """One Dirichlet draw for each row of ``prior``; a 0 there gives a 0, and tiny values do no harm.

    Gamma(a) = Gamma(a + 1) · U^(1/a), in logarithms: with small a the gammas themselves would all be 0.
    """
    log_gamma = np.log(rng.gamma(prior + 1))
    u = 1 - rng.random(prior.shape)  # in (0, 1], so that the logarithm is finite
    with np.errstate(divide="ignore"):
        log_gamma += np.where(prior > 0, np.log(u) / np.maximum(prior, 1e-300), -np.inf)
    draw = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    out: FloatArray = draw / draw.sum(axis=1, keepdims=True)
    return out


def _lengths(rng: np.random.Generator, doc_length: float, n_docs: int) -> Int64Array:
    number = isinstance(doc_length, int | float | np.integer | np.floating)
    if not (number and math.isfinite(doc_length) and doc_length > 0):
        raise InputError(f"doc_length={shown(doc_length)} must be positive: a whole number, or a float as a mean.")
    if isinstance(doc_length, int | np.integer):
        return np.full(n_docs, doc_length, np.int64)
    return rng.poisson(doc_length, n_docs).astype(np.int64)


def _collection_sizes(docs_per_collection: int | Sequence[int], n_collections: int) -> Int64Array:
    sizes: AnyArray = as_array("docs_per_collection", docs_per_collection)
    if sizes.ndim == 0:
        sizes = np.full(n_collections, sizes)
    if sizes.shape != (n_collections,) or sizes.dtype.kind not in "iu" or np.any(sizes < 1):
        raise InputError(
            f"docs_per_collection={shown(docs_per_collection)} must be a whole number of at least 1, "
            f"or one such number for each of the {n_collections} collections."
        )
    return sizes.astype(np.int64)


def _prior(name: str, value: float | Sequence[float] | AnyArray, size: int, of: str) -> FloatArray:
    prior = np.asarray(value, np.float64)
    if prior.ndim == 0:
        prior = np.full(size, prior)
    if prior.shape != (size,):
        raise InputError(f"{name} has shape {prior.shape}; give one number, or one for each of the {size} {of}.")
    if not np.all(np.isfinite(prior) & (prior > 0)):
        raise InputError(f"{name}={value!r} must be positive and finite.")
    return prior


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed={seed!r} must be a whole number of at least 0.")
    return np.random.default_rng(seed)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise InputError(f"{name}={size!r} must be a whole number of at least 1.")


def _names(stem: str, n: int, pad: bool = False) -> tuple[str, ...]:
    """``stem0``, ``stem1``, …; padded with zeros, their alphabetical order is that of the numbers."""
    width = len(str(n - 1)) if pad else 0
    return tuple(f"{stem}{i:0{width}d}" if pad else f"{stem}{i}" for i in range(n))

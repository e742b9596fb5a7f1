"""Words that stand for a topic: likeliest, most relevant, most typical, or frequent and exclusive at once (FREX)."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers, check_choice, check_length, check_number, check_whole, items, texts
from topicloom.corpus.corpus import Corpus, default_vocabulary
from topicloom.errors import InputError
from topicloom.evaluation.topics import check_topics, top_words
from topicloom.evaluation.word_scores import log_lift, log_shares, relevance

By: TypeAlias = Literal["probability", "relevance", "lift", "frex"]

_CHOICES = ("probability", "relevance", "lift", "frex")
_VALUES = 1 << 22  # probabilities scored together


class _Scoring(NamedTuple):
    """φ with all that scores need beside it."""

    phi: FloatArray  # [K, V]
    by: str
    log_marginal: FloatArray | None  # [V] log p(v), −∞ for words that never occur
    totals: FloatArray | None  # [V] Σ_k φ_kv
    shrinkage: FloatArray | None  # [V] how far exclusivity is drawn to 1 / K, 0 to 1
    relevance_lambda: float
    frex_weight: float


def topic_words(
    source: Any,
    n: int = 10,
    by: By = "probability",
    *,
    relevance_lambda: float = 0.6,
    frex_weight: float = 0.5,
    vocabulary: Sequence[str] | None = None,
    word_counts: AnyArray | None = None,
    topic_sizes: AnyArray | None = None,
) -> list[list[str]]:
    """The ``n`` words that score highest in each topic, best first; of equals, the lower number first.

    Parameters
    ----------
    source : fitted topic model, or array of shape (n_topics, n_words)
        φ, whose rows are distributions over words. A model brings its vocabulary and its corpus's word counts.
    n : int, default=10
        Words per topic; all if there are fewer.
    by : {"probability", "relevance", "lift", "frex"}, default="probability"
        What to rank words by, see ``topic_word_scores``.
    relevance_lambda : float, default=0.6
        λ of relevance: 1 ranks by probability, 0 by lift.
    frex_weight : float, default=0.5
        Weight of frequency in FREX, from 0 to 1. The rest is that of exclusivity.
    vocabulary : sequence of str, optional
        The words. Default: a model's own, otherwise ``word0``, ``word1``, …
    word_counts : array of shape (n_words,), optional
        How often each word occurs, for relevance, lift and FREX. Default: those of a model's corpus.
    topic_sizes : array of shape (n_topics,), optional
        Used if there are no word counts.

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom.diagnostics.word_lists import topic_words
    >>> phi = np.array([[0.6, 0.3, 0.1, 0.0], [0.6, 0.0, 0.1, 0.3]])
    >>> words = ["the", "river", "of", "loan"]
    >>> topic_words(phi, 2, vocabulary=words)
    [['the', 'river'], ['the', 'loan']]
    >>> topic_words(phi, 2, "lift", vocabulary=words, word_counts=[60, 15, 10, 15])
    [['river', 'the'], ['loan', 'the']]
    """
    check_whole("n", n, 1)
    scoring, names = _scoring(
        source, by, relevance_lambda, frex_weight, word_counts, topic_sizes, vocabulary=vocabulary
    )
    least = np.finfo(np.float64).min
    found: list[list[str]] = []
    for scores in _blocks(scoring):
        best = top_words(np.maximum(scores, least), min(n, len(names)))
        found.extend([names[v] for v in row] for row in best.tolist())
    return found


def topic_word_scores(
    source: Any,
    by: By = "probability",
    *,
    relevance_lambda: float = 0.6,
    frex_weight: float = 0.5,
    word_counts: AnyArray | None = None,
    topic_sizes: AnyArray | None = None,
) -> FloatArray:
    """Scores of all words in all topics; higher is better.

    Parameters
    ----------
    source : fitted topic model, or array of shape (n_topics, n_words)
        φ, whose rows are distributions over words.
    by : {"probability", "relevance", "lift", "frex"}, default="probability"
        * "probability": φ_kv.
        * "relevance": λ log φ_kv + (1 − λ) log (φ_kv / p_v) [1]_.
        * "lift": φ_kv / p_v.
        * "frex": 1 / (w / F + (1 − w) / E), the weighted harmonic mean of the word's place F among the topic's words by
          φ_kv and its place E by exclusivity φ_kv / Σ_l φ_lv [2]_. Places are those of the empirical distribution
          function, rank / V; equal values share the mean of their ranks.
    relevance_lambda : float, default=0.6
        λ: 1 ranks by probability, 0 by lift.
    frex_weight : float, default=0.5
        w: weight of frequency, as in R's stm (``calcfrex``). Bischof and Airoldi's weight is that of exclusivity,
        1 − w.
    word_counts : array of shape (n_words,), optional
        How often each word occurs. p_v is its share of them. For "frex", exclusivities are drawn to 1 / K, the more the
        rarer the word is (the James-Stein estimate that stm makes), so that words that occur once or twice are not
        taken for exclusive. Default: those of a model's corpus; without them "frex" draws nothing.
    topic_sizes : array of shape (n_topics,), optional
        Used where there are no word counts: p_v = Σ_k size_k φ_kv / Σ_k size_k.

    Returns
    -------
    array of shape (n_topics, n_words)
        A word with φ_kv = 0, or that never occurs (p_v = 0), has the lowest value: −∞ for "relevance", 0 for "lift".

    References
    ----------
    .. [1] Sievert and Shirley, "LDAvis: a method for visualizing and interpreting topics", 2014.
    .. [2] Bischof and Airoldi, "Summarizing topical content with word frequency and exclusivity", 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom.diagnostics.word_lists import topic_word_scores
    >>> phi = np.array([[0.6, 0.3, 0.1, 0.0], [0.6, 0.0, 0.1, 0.3]])
    >>> topic_word_scores(phi, "lift", topic_sizes=[1, 1])
    array([[1., 2., 1., 0.],
           [1., 0., 1., 2.]])
    """
    scoring, _ = _scoring(source, by, relevance_lambda, frex_weight, word_counts, topic_sizes)
    return np.concatenate(list(_blocks(scoring)))


def frex_scores(
    source: Any, n: int = 10, *, frex_weight: float = 0.5, word_counts: AnyArray | None = None
) -> FloatArray:
    """Mean FREX of each topic's ``n`` likeliest words, up to 1: are its frequent words also its own?

    R's stm has the sum over them (``exclusivity``), with a weight of 0.3 of frequency and without word counts.

    Parameters
    ----------
    source, frex_weight, word_counts
        As of ``topic_word_scores``.
    n : int, default=10
        Words per topic; all if there are fewer.

    Returns
    -------
    array of shape (n_topics,)

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom.diagnostics.word_lists import frex_scores
    >>> phi = np.array([[0.6, 0.3, 0.1, 0.0], [0.6, 0.0, 0.1, 0.3]])
    >>> frex_scores(phi, n=2).round(4)
    array([0.8132, 0.8132])
    """
    check_whole("n", n, 1)
    scoring, _ = _scoring(source, "frex", 0.6, frex_weight, word_counts, None)
    means = []
    for topics, scores in zip(_rows(scoring.phi), _blocks(scoring), strict=True):
        best = top_words(topics, min(n, topics.shape[1]))
        means.append(np.take_along_axis(scores, best, axis=1).mean(axis=1))
    return np.concatenate(means)


# -- scores ------------------------------------------------------------------------------------------------------


def _rows(phi: FloatArray) -> Iterator[FloatArray]:
    """Rows of φ, some at a time and contiguous: a model's φ lies by word."""
    step = max(1, _VALUES // phi.shape[1])
    for start in range(0, len(phi), step):
        yield np.ascontiguousarray(phi[start : start + step])


def _blocks(scoring: _Scoring) -> Iterator[FloatArray]:
    """Scores of all topics, in the blocks of ``_rows``."""
    for phi in _rows(scoring.phi):
        if scoring.by == "probability":
            yield phi
        elif scoring.by == "frex":
            yield _frex(phi, scoring)
        else:
            assert scoring.log_marginal is not None
            if scoring.by == "lift":
                yield np.exp(log_lift(phi, scoring.log_marginal))
            else:
                yield relevance(phi, scoring.log_marginal, scoring.relevance_lambda)


def _frex(phi: FloatArray, scoring: _Scoring) -> FloatArray:
    assert scoring.totals is not None
    exclusive = _exclusivity(phi, scoring.totals)
    if scoring.shrinkage is not None:
        exclusive = scoring.shrinkage / len(scoring.phi) + (1.0 - scoring.shrinkage) * exclusive
    frequency, own = (scipy.stats.rankdata(a, axis=1) / phi.shape[1] for a in (phi, exclusive))
    weight = scoring.frex_weight
    return np.asarray(1.0 / (weight / frequency + (1.0 - weight) / own))


def _exclusivity(phi: FloatArray, totals: FloatArray) -> FloatArray:
    return np.divide(phi, totals, out=np.zeros_like(phi), where=totals > 0)


def _shrinkage(phi: FloatArray, totals: FloatArray, counts: FloatArray) -> FloatArray:
    """How far each word's exclusivities are drawn to 1 / K: variance per squared distance from it, at most 1."""
    variance, distance = np.zeros((2, phi.shape[1]))
    for rows in _rows(phi):
        share = _exclusivity(rows, totals)
        variance += (share * (1.0 - share)).sum(axis=0)
        distance += ((share - 1.0 / len(phi)) ** 2).sum(axis=0)
    seen = (counts > 1) & (distance > 0)
    drawn = np.divide(variance, (counts - 1.0) * distance, out=np.ones_like(counts), where=seen)
    return np.minimum(drawn, 1.0)


# -- input -------------------------------------------------------------------------------------------------------


def _scoring(
    source: Any,
    by: str,
    relevance_lambda: float,
    frex_weight: float,
    word_counts: AnyArray | None,
    topic_sizes: AnyArray | None,
    vocabulary: Sequence[str] | None = None,
) -> tuple[_Scoring, tuple[str, ...]]:
    check_choice("by", by, _CHOICES)
    check_number("relevance_lambda", relevance_lambda, 0.0, 1.0)
    check_number("frex_weight", frex_weight, 0.0, 1.0)
    is_model = _is_model(source)
    phi = check_topics(source.topic_word_ if is_model else source, name="the source")
    names = _names(source.vocabulary_ if is_model and vocabulary is None else vocabulary, phi.shape[1])
    needs_counts = by != "probability" and (by == "frex" or topic_sizes is None)
    if is_model and needs_counts and word_counts is None:
        word_counts = _corpus_counts(source.corpus_)
    counts = None if word_counts is None else _weights("word_counts", word_counts, phi.shape[1], "words")
    sizes = None if topic_sizes is None else _weights("topic_sizes", topic_sizes, len(phi), "topics")
    marginal, totals, shrinkage = None, None, None
    if by in ("relevance", "lift"):
        if counts is None and sizes is None:
            raise InputError(f'by="{by}" needs word_counts or topic_sizes, to know how likely each word is.')
        marginal = log_shares(counts if counts is not None else _mixed(phi, sizes))
    elif by == "frex":
        totals = _mixed(phi, np.ones(len(phi)))
        shrinkage = None if counts is None else _shrinkage(phi, totals, counts)
    return _Scoring(phi, by, marginal, totals, shrinkage, float(relevance_lambda), float(frex_weight)), names


def _is_model(source: Any) -> bool:
    """Whether the source is a model and no array; one that is not fitted, or has no topics, is refused."""
    if hasattr(type(source), "topic_word_"):
        from sklearn.utils.validation import check_is_fitted  # arrays need none of it

        check_is_fitted(source, "seed_")
        return True
    if hasattr(type(source), "chains_"):
        raise InputError(f"{type(source).__name__} has no topics; give a fitted topic model, or φ as an array.")
    return False


def _names(vocabulary: Any, n_words: int) -> tuple[str, ...]:
    if vocabulary is None:
        return default_vocabulary(n_words)
    names = texts("vocabulary", items("vocabulary", vocabulary))
    check_length("vocabulary", len(names), n_words, "words")
    return names


def _corpus_counts(corpus: Corpus) -> FloatArray:
    """How often each word occurs, or its weight."""
    if corpus.weights is None:
        return corpus.word_counts.astype(np.float64)
    sums = np.bincount(corpus.words, corpus.weights, minlength=corpus.n_words)
    return sums.astype(np.float64, copy=False)


def _weights(name: str, values: Any, n: int, of: str) -> FloatArray:
    numbers = as_numbers(name, values)
    if numbers.shape != (n,):
        raise InputError(f"{name} has shape {numbers.shape} but there are {n} {of}; give one for each.")
    if not np.all(np.isfinite(numbers) & (numbers >= 0)) or not np.any(numbers):
        raise InputError(f"{name} must be finite and 0 or more, and not all 0.")
    return numbers


def _mixed(phi: FloatArray, sizes: FloatArray | None) -> FloatArray:
    """Σ_k size_k φ_kv."""
    assert sizes is not None
    return np.asarray(np.einsum("k,kv->v", sizes, phi))

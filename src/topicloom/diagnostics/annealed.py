"""Annealed importance sampling of a document's probability under fixed topics.

An estimate of log p(w_d | φ, α) that works in another way than left-to-right, and so checks it. A particle is a guess
at the topics z of all tokens of a document. It is drawn from the prior p(z | α), where words have no say, and then led
to the posterior through distributions in between,

    P_s(z) ∝ p(z | α) p(w | z, φ)^τ_s,      0 = τ_0 < τ_1 < … < τ_S = 1,

by a sweep of Gibbs sampling at each temperature τ_s. Its weight, Π_s p(w | z_{s−1}, φ)^(τ_s − τ_{s−1}), is unbiased for
p(w | φ, α), whatever the temperatures [1]_. Topic models are evaluated in this way in [2]_.

References
----------
.. [1] Neal (2001). Annealed importance sampling. Statistics and Computing 11.
.. [2] Wallach, Murray, Salakhutdinov and Mimno (2009). Evaluation methods for topic models. ICML.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus._checks import as_numbers, check_seed, check_whole, shown
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.diagnostics.marginal import Estimate, from_runs
from topicloom.engine.fold_in import content_key, sorted_words
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.errors import InputError
from topicloom.evaluation.particles import _draw, _refresh, _weigh
from topicloom.evaluation.predictive import check_tokens
from topicloom.evaluation.topics import check_alpha, check_topics
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import Purpose, combine, fill_stream, path_key, uniform

_PARTS = 64  # more than any reasonable number of threads, so that they finish together
_POWER = 2.0  # of the default temperatures (s/S)²: P_s changes fastest near 0


class Scratch(NamedTuple):
    """Working arrays for R particles, K topics and documents up to the longest."""

    place: Int32Array  # [longest] number of each token's word among the document's words
    logs: FloatArray  # [longest, K] log φ of the document's words
    tempered: FloatArray  # [longest, K] φ^τ of the document's words
    topic: Int32Array  # [R, longest]
    counts: FloatArray  # [R, K] whole numbers, as floats so that sums over topics vectorise
    share: FloatArray  # [K]
    streams: UInt64Array  # [R, 4]


def scratch(longest: int, n_topics: int, n_particles: int) -> Scratch:
    return Scratch(
        place=np.empty(longest, np.int32),
        logs=np.empty((longest, n_topics)),
        tempered=np.empty((longest, n_topics)),
        topic=np.empty((n_particles, longest), np.int32),
        counts=np.empty((n_particles, n_topics)),
        share=np.empty(n_topics),
        streams=np.empty((n_particles, 4), np.uint64),
    )


def temperature_steps(temperatures: Any) -> FloatArray:
    """Temperatures from 0 to 1: those given, or (s/S)² for s = 0 … S if S is given."""
    if np.ndim(temperatures) == 0:
        steps = check_whole("temperatures", temperatures, 1)
        return (np.arange(steps + 1) / steps) ** _POWER
    given = as_numbers("temperatures", temperatures)
    rising = given.ndim == 1 and len(given) >= 2 and bool(np.all(np.diff(given) > 0))  # False for NaN
    if not rising or given[0] != 0 or given[-1] != 1:
        raise InputError(
            f"temperatures is {shown(temperatures)}; give the number of steps, or rising numbers from 0 to 1."
        )
    return given


def annealed(
    topics: Any,
    alpha: Any,
    corpus: Corpus,
    *,
    temperatures: Any = 1000,
    n_particles: int = 20,
    seed: int = 0,
    n_jobs: int = 1,
) -> Estimate:
    """Estimates of log p(w_d | φ, α) by annealed importance sampling, with their Monte Carlo errors.

    Parameters
    ----------
    topics : array [K, V]
        Rows sum to 1.
    alpha : array [K]
        Prior of θ.
    corpus : Corpus
    temperatures : int or array, default=1000
        Number of steps S from the prior to the posterior, or the temperatures themselves, rising from 0 to 1. More
        steps make weights more even.
    n_particles : int, default=20
        Particles of a document, at least 2.
    seed : int, default=0
    n_jobs : int, default=1
        Threads; −1 uses every core. They change no result.

    Returns
    -------
    Estimate
        ``ess`` is the effective number of particles. Where it is near 1, one particle decides, and value and error
        deserve no trust: give more temperatures. An empty document has log p = 0 and no error.

    See Also
    --------
    topicloom.diagnostics.marginal.repeated_left_to_right : the same quantity by another way, as a rule with less error.

    Notes
    -----
    The time is n_particles · S · N · K for a document of N tokens. A document's value depends on its counts, the
    topics, α, the temperatures and ``seed``: not on its row, on the other documents or on the order of its words. The
    first particles are the same for any ``n_particles``.

    Examples
    --------
    >>> from topicloom.corpus import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> found = annealed([[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]], [1.0, 1.0], corpus)
    >>> found.log_p.shape, bool((found.error < 0.1).all()), bool((found.ess > 15).all())
    ((2,), True, True)
    """
    return from_runs(annealed_weights(topics, alpha, corpus, temperatures, n_particles, seed, n_jobs))


def annealed_weights(
    topics: Any, alpha: Any, corpus: Corpus, temperatures: Any, n_particles: int, seed: int, n_jobs: int
) -> FloatArray:
    """Log weight of each document's particles [D, R]."""
    check_corpus(corpus)
    phi = check_topics(topics, corpus.n_words)
    prior = as_input(check_alpha(alpha, len(phi)))
    check_tokens(corpus)
    tau = as_input(temperature_steps(temperatures))
    check_whole("n_particles", n_particles, 2)
    check_seed(seed)
    word_topic = as_input(np.ascontiguousarray(phi.T))
    words = as_input(sorted_words(corpus))
    out = np.empty((corpus.n_docs, n_particles))
    key = path_key(Purpose.ANNEALED, seed)

    def run(part: tuple[int, int]) -> None:
        longest = int(corpus.doc_lengths[part[0] : part[1]].max())
        work = scratch(longest, len(phi), n_particles)
        anneal_documents(*part, words, corpus.doc_ptr, word_topic, prior, tau, key, work, out)

    run_parallel(run, cut(corpus.doc_lengths, _PARTS), resolve_jobs(n_jobs))
    return out


@kernel
def anneal_documents(
    first: int,
    behind: int,
    words: Int32Array,
    doc_ptr: Int64Array,
    word_topic: FloatArray,
    alpha: FloatArray,
    tau: FloatArray,
    key: np.uint64,
    work: Scratch,
    out: FloatArray,
) -> None:
    """Log weights of the particles of documents first … behind − 1; words are ascending within a document."""
    for d in range(first, behind):
        text = words[doc_ptr[d] : doc_ptr[d + 1]]
        doc_key = content_key(key, text)
        for r in range(len(work.streams)):
            fill_stream(work.streams[r], combine(doc_key, np.uint64(r)))
        n_words = _prepare(text, word_topic, work)
        _anneal(len(text), n_words, alpha, tau, work, out[d])


@kernel
def _prepare(text: Int32Array, word_topic: FloatArray, work: Scratch) -> int:
    """Number the document's words and take the logarithms of their topics; returns how many words there are."""
    n_words = 0
    for i in range(len(text)):
        if i == 0 or text[i] != text[i - 1]:
            for k in range(word_topic.shape[1]):
                work.logs[n_words, k] = np.log(word_topic[text[i], k])
            n_words += 1
        work.place[i] = n_words - 1
    return n_words


@kernel
def _anneal(n: int, n_words: int, alpha: FloatArray, tau: FloatArray, work: Scratch, weights: FloatArray) -> None:
    """Log weights of the particles of a document of n tokens."""
    place, topic, counts = work.place[:n], work.topic, work.counts
    n_particles = len(weights)
    work.tempered[:n_words] = 1.0  # at temperature 0 words have no say
    counts[:] = 0.0
    weights[:] = 0.0
    for r in range(n_particles):
        for i in range(n):
            total = _weigh(work.tempered[place[i]], counts[r], alpha, work.share)
            k = _draw(work.share, uniform(work.streams[r]) * total)
            topic[r, i] = k
            counts[r, k] += 1.0
    for s in range(1, len(tau)):
        for r in range(n_particles):
            weights[r] += (tau[s] - tau[s - 1]) * _log_likelihood(place, work.logs, topic[r])
        if s == len(tau) - 1:
            break
        for v in range(n_words):
            for k in range(len(alpha)):
                work.tempered[v, k] = np.exp(tau[s] * work.logs[v, k])
        for r in range(n_particles):
            if weights[r] > -np.inf:  # others stay at 0 whatever they do
                _refresh(place, work.tempered, alpha, topic[r], counts[r], work.share, work.streams[r])


@kernel
def _log_likelihood(place: Int32Array, logs: FloatArray, topic: Int32Array) -> float:
    """log p(w | z, φ) = Σ_i log φ of each token's word in its topic."""
    total = 0.0
    for i in range(len(place)):
        total += logs[place[i], topic[i]]
    return total

"""Probability of documents, word by word from left to right, with topics held fixed."""

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_seed, check_whole
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.engine.document_tasks import over_documents
from topicloom.engine.fold_in import sorted_words
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.evaluation.particles import estimate_documents, scratch
from topicloom.evaluation.predictive import by_word, check_tokens
from topicloom.evaluation.topics import check_alpha, check_topics
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key

_PARTS = 64  # more than any reasonable number of threads, so that they finish together


@over_documents
def left_to_right(
    topics: AnyArray,
    alpha: AnyArray,
    corpus: Corpus,
    *,
    n_particles: int = 20,
    resample: bool = True,
    seed: int = 0,
    n_jobs: int = 1,
) -> FloatArray:
    """Estimate of log p(w_d | φ, α), with θ integrated out, for every document.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words)
        Word probabilities, such as ``model.topic_word_``.
    alpha : array of shape (n_topics,)
        Prior of θ.
    corpus : Corpus
        Documents that the topics were not fitted to, over the same vocabulary.
    n_particles : int, default=20
        Guesses at the topics so far. More of them lessen the error.
    resample : bool, default=True
        Draw the topics of all earlier tokens again at every token. That costs ``n_particles`` · N² · K / 2 for N tokens
        and has far less variance. False costs ``n_particles`` · N · K; prefer it for documents of many thousand tokens.
    seed : int, default=0
        A document's value depends on its counts, the topics and ``seed`` alone.
    n_jobs : int, default=1
        Threads; −1 uses every core. They change no result.

    Returns
    -------
    array of shape (n_docs,)
        0 for an empty document. exp of a value is unbiased for p; the value itself is a little low on average.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank river bank", "money bank"])
    >>> left_to_right([[0.4, 0.2, 0.4], [0.2, 0.6, 0.2]], [1.0, 1.0], corpus, n_particles=1000).round(1).tolist()
    [-4.6, -2.2]
    """
    check_corpus(corpus)
    phi = check_topics(topics, corpus.n_words)
    prior = as_input(check_alpha(alpha, len(phi)))
    check_tokens(corpus)
    check_whole("n_particles", n_particles, 1)
    check_seed(seed)
    word_topic = as_input(by_word(phi))
    words = as_input(sorted_words(corpus))
    out = np.empty(corpus.n_docs)
    key = path_key(Purpose.LEFT_TO_RIGHT, seed)

    def run(part: tuple[int, int]) -> None:
        longest = int(corpus.doc_lengths[part[0] : part[1]].max())
        work = scratch(longest, len(phi), n_particles)
        estimate_documents(*part, words, corpus.doc_ptr, word_topic, prior, resample, key, work, out)

    run_parallel(run, cut(corpus.doc_lengths ** (2 if resample else 1), _PARTS), resolve_jobs(n_jobs))
    return out

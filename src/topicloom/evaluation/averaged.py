"""Probabilities of tokens, averaged over samples (CVB eqs. 19 and 20)."""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import as_array
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.errors import InputError, counted
from topicloom.evaluation.topics import check_distributions, check_topics
from topicloom.numerics.jit import as_input, kernel


def token_probabilities(topics: AnyArray, theta: AnyArray, corpus: Corpus) -> FloatArray:
    """Probability of each token of a corpus, Σ_k θ_dk φ_kw, averaged over samples.

    Parameters
    ----------
    topics : array of shape (..., n_topics, n_words)
        Word probabilities φ: one table, such as ``model.topic_word_``, or one for each sample, such as
        ``model.draws_["phi"]`` of shape (n_chains, n_draws, n_topics, n_words).
    theta : array of shape (..., n_docs, n_topics)
        Topic shares of the documents, of the same samples.
    corpus : Corpus
        Tokens to score, such as those that were held out of each document.

    Returns
    -------
    array of shape (n_tokens,)
        In the order of ``corpus.words``. ``np.log(p).mean()`` is the log probability per token of Teh, Newman and
        Welling (2006), with one sample eq. 19 and with several eq. 20.

    Notes
    -----
    Within a sample φ and θ belong together, and topics may change their numbers from one to the next. So samples of
    several chains can be averaged, too. ``hold_out_tokens`` sets tokens of each document aside.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.corpus import hold_out_tokens
    >>> from topicloom.datasets import bars
    >>> train, test = hold_out_tokens(bars(side=2, n_docs=30).corpus, 0.1)
    >>> model = LDA(4, estimator="standard", max_iter=60, burn_in=30, keep_draws=["theta", "phi"], random_state=0)
    >>> draws = model.fit(train).draws_
    >>> token_probabilities(draws["phi"], draws["theta"], test).shape == (test.n_tokens,)
    True
    """
    check_corpus(corpus)
    phis, thetas = _samples("topics", topics), _samples("theta", theta)
    if len(phis) != len(thetas):
        raise InputError(
            f"topics has {counted(len(phis), 'samples')} and theta {len(thetas)}; give both of the same samples."
        )
    total = np.zeros(len(corpus.words))
    for s, (of_words, of_docs) in enumerate(zip(phis, thetas, strict=True)):
        where = "" if len(phis) == 1 else f" of sample {s}"
        phi = check_topics(of_words, corpus.n_words, f"topics{where}")
        shares = check_distributions(f"theta{where}", of_docs, "document")
        if shares.shape != (corpus.n_docs, len(phi)):
            raise InputError(
                f"theta{where} has shape {shares.shape}; {corpus.n_docs} documents and {len(phi)} topics need "
                f"({corpus.n_docs}, {len(phi)})."
            )
        _add_probabilities(corpus.words, corpus.doc_ptr, np.ascontiguousarray(phi.T), as_input(shares), total)
    return total / len(phis)


def _samples(name: str, given: AnyArray) -> AnyArray:
    """[S, rows, columns]; a table is one sample."""
    array = as_array(name, given)
    if array.ndim < 2 or not array.size:
        raise InputError(f"{name} has shape {array.shape}; give a table of probabilities, or one for each sample.")
    samples: AnyArray = array.reshape(-1, *array.shape[-2:])
    return samples


@kernel
def _add_probabilities(
    words: Int32Array, doc_ptr: Int64Array, word_topic: FloatArray, theta: FloatArray, total: FloatArray
) -> None:
    """total[i] += Σ_k φ_kw θ_dk of each token."""
    for d in range(theta.shape[0]):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            p = 0.0
            for k in range(theta.shape[1]):
                p += word_topic[words[i], k] * theta[d, k]
            total[i] += p

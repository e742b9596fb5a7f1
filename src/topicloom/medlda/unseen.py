"""Topics of training documents as if they were new: what the weights of a fitted model are judged and refit by.

Topics of the fit were drawn with the labels known, and each document has made some of the words of its topics its own.
So both are left out here. A document's words leave the counts of one sample, φ is read from the rest, and its topics
are found as those of a new document are, without its label.
"""

from collections.abc import Sequence

import numpy as np

from topicloom._types import BoolArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.expected_counts import MAX_ITER, TOL, Ending, Words, expect_all
from topicloom.engine.prior import DocumentPrior, Prior
from topicloom.engine.run import Chain
from topicloom.engine.threads import run_parallel
from topicloom.medlda.refit import parts_left_out, refit
from topicloom.medlda.state import MedState
from topicloom.numerics.jit import as_input
from topicloom.numerics.product import product

_ROOM = 4_000_000  # numbers in a part's table of topics


def unseen_shares(corpus: Corpus, state: MedState, prior: Prior, n_jobs: int) -> FloatArray:
    """E[n_dk]/N_d [D, K] of each document, its own words taken out of the topics; α's mean where there are no words."""
    out = np.empty((corpus.n_docs, prior.n_topics))
    pairs = corpus.pairs
    words = Words(as_input(pairs.ptr), as_input(pairs.word), as_input(pairs.count))
    first = 0
    while first < corpus.n_docs:
        most = words.ptr[first] + max(_ROOM // prior.n_topics, 1)
        stop = max(int(np.searchsorted(words.ptr, most, side="right")) - 1, first + 1)
        out[first:stop] = _expect_part(corpus, words, first, stop, state, prior, n_jobs)
        first = stop
    lengths = corpus.doc_lengths[:, None]
    alpha = prior.alpha[prior.alpha_row]
    return np.where(lengths > 0, out / np.maximum(lengths, 1), alpha / alpha.sum(axis=1, keepdims=True))


def _expect_part(
    corpus: Corpus, words: Words, first: int, stop: int, state: MedState, prior: Prior, n_jobs: int
) -> FloatArray:
    """E[n_dk] of the documents from ``first`` to ``stop``; every pair of document and word has topics of its own."""
    n_topics, begin, end = prior.n_topics, words.ptr[first], words.ptr[stop]
    tokens = slice(corpus.doc_ptr[first], corpus.doc_ptr[stop])
    z = np.asarray(state.z[tokens], np.int64)
    token_doc = np.repeat(np.arange(stop - first), np.diff(corpus.doc_ptr[first : stop + 1]))
    pair_doc = np.repeat(np.arange(stop - first), np.diff(words.ptr[first : stop + 1]))
    word = words.word[begin:end]
    pair = np.searchsorted(
        pair_doc * corpus.n_words + word, token_doc * corpus.n_words + corpus.words[tokens].astype(np.int64)
    )
    own = np.bincount(pair * n_topics + z, minlength=len(word) * n_topics).reshape(-1, n_topics)
    own_topic = np.bincount(token_doc * n_topics + z, minlength=(stop - first) * n_topics).reshape(-1, n_topics)
    phi = (state.word_topic[word] - own + prior.beta[word][:, None]) / (
        (state.topic - own_topic + prior.beta_sum)[pair_doc]
    )
    part = Words(words.ptr[first : stop + 1] - begin, np.arange(len(word), dtype=np.int32), words.count[begin:end])
    of_documents = DocumentPrior(prior.alpha, prior.alpha_row[first:stop])
    return expect_all(part, phi, of_documents, False, Ending(0.0, 2.0 * TOL, MAX_ITER), n_jobs)


def refit_chains(
    corpus: Corpus, chains: Sequence[Chain], serves: Sequence[list[int]], losses: Sequence[int], target: FloatArray,
    weight: FloatArray, known: BoolArray, n_jobs: int, parts: int = 1,
) -> tuple[FloatArray, list[FloatArray]]:  # fmt: skip
    """Weights of each chain for the tasks that it ``serves``, and f [D, tasks] summed over the chains.

    Weights are refit by the documents that are ``known``, to targets and with weights [D, tasks]. f of each of these is
    of weights refit without its part of the documents, if there are several ``parts``.
    """

    def one(index: int) -> tuple[FloatArray, FloatArray]:
        chain, tasks = chains[index], serves[index]
        share = unseen_shares(corpus, chain.state, chain.prior, n_jobs if len(chains) == 1 else 1)
        asked = target[known][:, tasks], weight[known][:, tasks]
        eta = refit(share[known], *asked, losses[index])
        said = product(share, eta)
        if parts > 1:
            said[known] = parts_left_out(share[known], *asked, losses[index], parts)
        return eta, said

    found = run_parallel(one, range(len(chains)), n_jobs)
    said = np.zeros(target.shape)
    for tasks, (_, values) in zip(serves, found, strict=True):
        said[:, tasks] += values
    return said, [eta for eta, _ in found]

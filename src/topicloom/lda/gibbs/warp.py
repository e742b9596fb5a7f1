"""The sampler "warp": a sweep as three passes over the tokens, by document, by word and by document again.

Parts of a pass own what they write, and all that they read of each other is from an earlier pass. So ``n_shards`` says
how many threads can share a sweep, and changes no result.
"""

from collections.abc import Callable
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, register
from topicloom.engine.state import AnyState, SparseState, as_dense, new_lists, topic_dtype
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import dense as gibbs_dense
from topicloom.lda.gibbs import warp_kernels as warp
from topicloom.lda.gibbs.auto import _first_topics, log_joint
from topicloom.numerics.alias import build_aliases
from topicloom.numerics.rng import Purpose, path_key

Range = tuple[int, int]


@once
def _by_word(corpus: Corpus) -> tuple[Int64Array, AnyArray]:
    """As ``corpus.by_word`` in half the memory, 4 bytes a token: where each word's tokens begin, and their numbers."""
    ptr = np.concatenate(([0], np.cumsum(corpus.word_counts, dtype=np.int64)))
    order = np.empty(corpus.n_tokens, np.uint32 if corpus.n_tokens < 1 << 32 else np.int64)
    warp.order_by_word(corpus.words, ptr, order)
    return ptr, order


def _init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return _restore(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def _restore(corpus: Corpus, z: AnyArray, n_topics: int) -> SparseState:
    z = np.ascontiguousarray(z, topic_dtype(n_topics))
    state = new_lists(corpus, z, n_topics)
    state.topic[:] = np.bincount(z, minlength=n_topics)
    warp.fill_lists(0, corpus.n_words, *_by_word(corpus), *state[:-1], n_topics)
    return state


def _sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    lists = cast(SparseState, state)
    z, topic = lists.z, lists.topic
    n_topics, by_word = prior.n_topics, _by_word(corpus)
    docs, words = cut(corpus.doc_lengths, schedule.n_shards), cut(corpus.word_counts, schedule.n_shards)
    slots = np.empty((len(z), 1 + schedule.n_mh), z.dtype)
    keep, other = np.empty(prior.alpha.shape), np.empty(prior.alpha.shape, np.int32)
    build_aliases(prior.alpha, keep, other)
    alpha_sum, boost_sums = prior.alpha.sum(axis=1), np.cumsum(prior.boost, axis=1)
    stream = [path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, number) for number in range(3)]

    def propose(docs: Range) -> None:
        warp.propose_by_document(*docs, corpus.doc_ptr, z, prior.alpha_row, alpha_sum, keep, other, stream[0], slots)

    def visit_words(words: Range, size: FloatArray, counted: Int64Array) -> int:
        of_words = (prior.beta, prior.boost_row, prior.boost, boost_sums)
        warp.visit_words(*words, *by_word, *of_words, size, stream[1], slots, counted)
        return 0  # who changed for good is known after the last pass

    def visit_documents(docs: Range, size: FloatArray, counted: Int64Array) -> int:
        of_documents = (corpus.doc_ptr, prior.alpha, prior.alpha_row)
        return warp.visit_documents(*docs, *of_documents, size, stream[2], slots, z, counted)

    def count(visit: Callable[[Range, FloatArray, Int64Array], int], parts: list[Range]) -> int:
        """A pass that sees the totals of its start and leaves those of its end."""
        size = topic + prior.beta_sum
        tasks = [(part, np.zeros(n_topics, np.int64)) for part in parts]
        changed = run_parallel(lambda task: visit(task[0], size, task[1]), tasks, schedule.n_jobs)
        topic[:] = np.sum([counted for _, counted in tasks], axis=0)
        return sum(changed)

    run_parallel(propose, docs, schedule.n_jobs)
    count(visit_words, words)
    changed = count(visit_documents, docs)
    run_parallel(lambda part: warp.fill_lists(*part, *by_word, *lists[:-1], n_topics), words, schedule.n_jobs)
    return lists, Info(changed, 2 * schedule.n_mh * len(z))


def _conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    """The exact weights, which the steps of ``_sweep`` are aimed at."""
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_dense.conditional(token, doc, corpus.words, corpus.doc_ptr, *as_dense(state), *prior, weight)
    return weight


register(Sampler("warp", _init, _restore, _sweep, log_joint, _conditional, exact=False))

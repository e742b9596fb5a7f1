"""The sampler "partial": φ is drawn from its posterior given all counts, then every token given φ.

Documents are independent given φ, and have a stream each. So ``n_shards`` says how many threads can share a sweep, and
changes no result: the sampler is exact for any number of shards.
"""

from typing import cast

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import counts
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, register
from topicloom.engine.shards import Range
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import partial_kernels as gibbs_partial
from topicloom.lda.gibbs.auto import _dense_conditional, _dense_init, log_joint
from topicloom.numerics.rng import Purpose, path_key


def draw_phi(corpus: Corpus, state: State, prior: Prior, key: Key, schedule: Schedule) -> FloatArray:
    """φ by word [V, K], each column drawn from Dirichlet(n_k + β)."""
    phi = np.empty(state.word_topic.shape)
    of_words = (prior.beta, prior.boost_row, prior.boost)
    number = path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, 0)

    def draw(words: Range) -> None:
        gibbs_partial.draw_words(*words, state.word_topic, state.topic, *of_words, number, phi)

    run_parallel(draw, cut(corpus.word_counts, schedule.n_shards), schedule.n_jobs)
    gibbs_partial.finish_topics(state.topic, *of_words, number, phi)
    return phi


def _sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    counted = cast(State, state)
    phi = draw_phi(corpus, counted, prior, key, schedule)
    mass = np.empty((len(prior.alpha), corpus.n_words))
    gibbs_partial.smooth(0, corpus.n_words, phi, prior.alpha, mass)
    number = path_key(key.seed, Purpose.SWEEP, key.chain, key.sweep, 1)

    def visit(docs: Range) -> Int64Array:
        work = np.zeros(2, np.int64)
        given = (phi, mass, prior.alpha, prior.alpha_row)
        gibbs_partial.sweep_documents(*docs, corpus.words, corpus.doc_ptr, counted.z, *given, number, work)
        return work

    work = np.sum(run_parallel(visit, cut(corpus.doc_lengths, schedule.n_shards), schedule.n_jobs), axis=0)
    counts.rebuild(corpus.words, *counted)
    return counted, Info(int(work[0]), int(work[1]))


# Its ``conditional`` is that of a token with φ integrated out, which a sweep leaves as it is. The tests of this sampler
# hold ``sweep_documents`` to its own weights, given φ.
register(Sampler("partial", _dense_init, rebuild_counts, _sweep, log_joint, _dense_conditional, exact=True))

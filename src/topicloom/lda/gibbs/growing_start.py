"""A start on some of the documents, to which the others are added step by step.

From random topics most sweeps of a run pass before its topics have formed, and they pass over all tokens. Topics form
just as well from a part of the documents, where a sweep takes a part of the time. So the chain begins with an eighth of
the documents, drawn at random, or about a million tokens if that is less. There it starts with more topics than are
wanted, the most similar of which are merged (``merged_start``). Then the documents become up to four times as many in
each step, and from some million tokens on all that are left join at once. The tokens of those that join are placed
one after the other, each drawn given those placed before (``online_start``), and after each step but the last there
are some sweeps.

All this is over before the first sweep of the chain, whose sampler is as exact as ever.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Sampler, Schedule
from topicloom.engine.shards import shards_for
from topicloom.engine.state import AnyState, new_assignments
from topicloom.lda.gibbs.merged_start import MOST_TOPICS, start_with_more
from topicloom.lda.gibbs.online_start import place_others
from topicloom.numerics.rng import Purpose, path_key, stream

_LEAST = 1 << 17  # tokens of a corpus, fewer than which all documents start at once
_PART, _ENOUGH = 1 / 8, 1 << 20  # the first documents: this part of all, or so many tokens if that is less
_DOCS_PER_TOPIC = 2  # first documents at least
_GROWTH = 4  # times the documents in one step, at the most
_MOST = 1 << 22  # tokens of documents that are swept before all are there: they are copied
_SWEEPS = 30  # of the first documents, before topics are merged
_MORE_SWEEPS = 10  # after topics were merged, and after each step


def with_growing_start(sampler: Sampler, schedule: Schedule) -> Sampler:
    """The same sampler, started on some of the documents wherever that pays.

    ``schedule`` is that of the chain; with no number of shards, the documents that are there say how many there are.
    """
    blocks = sampler.blocks and sampler.blocks._replace(from_prior=partial(_from_prior, sampler))
    return replace(sampler, init=partial(_start, sampler, schedule), blocks=blocks)


def _from_prior(sampler: Sampler, corpus: Corpus, prior: Prior) -> bool:
    return not numbers_of_documents(corpus, prior) and bool(sampler.blocks.from_prior(corpus, prior))


def _start(sampler: Sampler, schedule: Schedule, corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    numbers = numbers_of_documents(corpus, prior)
    return grow(sampler, numbers, corpus, prior, key, schedule) if numbers else sampler.init(corpus, prior, key)


def numbers_of_documents(corpus: Corpus, prior: Prior) -> list[int]:
    """How many documents there are after each step; none if the corpus is to start at once.

    It is if it is small, and where topics differ beforehand, as merging would mix them up.
    """
    n_docs, n_topics = corpus.n_docs, prior.n_topics
    alike = prior.boost.shape[0] == 0 and bool(np.all(prior.alpha == prior.alpha[:, :1]))
    if not alike or corpus.weights is not None or corpus.n_tokens < _LEAST or not 1 < n_topics <= MOST_TOPICS:
        return []
    part = max(min(_PART, _ENOUGH / corpus.n_tokens), _DOCS_PER_TOPIC * n_topics / n_docs)
    if part > 0.5:
        return []
    n_steps = math.ceil(-math.log(part) / math.log(_GROWTH))
    parts = [part ** (1 - step / n_steps) for step in range(n_steps)]
    swept = [part for part in parts if part == parts[0] or part * corpus.n_tokens <= _MOST]
    return [math.ceil(n_docs * part) for part in swept] + [n_docs]


def grow(sampler: Sampler, numbers: list[int], corpus: Corpus, prior: Prior, key: Key, schedule: Schedule) -> AnyState:
    """The first state of a chain: by (seed, chain), whatever the number of threads."""
    z = new_assignments(corpus, prior.n_topics)
    rng = np.random.Generator(np.random.Philox(key=stream(key.seed, Purpose.GROWING_START, key.chain)[:2]))
    order = rng.permutation(corpus.n_docs)
    n_placed = 0
    for step, n in enumerate(numbers):
        docs = np.sort(order[:n])
        given = np.isin(docs, order[:n_placed], assume_unique=True)
        whole = n == corpus.n_docs
        some = corpus if whole else corpus.select(docs)
        of_some = prior if whole else prior._replace(alpha_row=prior.alpha_row[docs])
        own = Key(int(path_key(key.seed, Purpose.GROWING_START, step)) >> 1, key.chain, 0)
        if step == 0:
            state = start_with_more(sampler, _SWEEPS, some, of_some, own, schedule)
        else:
            taken = z if whole else z[_places(corpus, docs)]
            placing = stream(own.seed, Purpose.START, key.chain)
            state = place_others(some, taken, given, of_some, placing)
        if whole:
            break
        of_part = schedule._replace(n_shards=shards_for(schedule.n_shards, some.n_tokens))
        state = sampler.run(some, state, of_some, own._replace(sweep=1), of_part, _MORE_SWEEPS)[0]
        z[_places(corpus, docs)] = state.z
        n_placed = n
    return state


def _places(corpus: Corpus, docs: Int64Array) -> AnyArray:
    """Where the tokens of these documents stand among all."""
    lengths = corpus.doc_lengths[docs]
    ends = np.cumsum(lengths)
    return np.repeat(corpus.doc_ptr[docs] - (ends - lengths), lengths) + np.arange(ends[-1])

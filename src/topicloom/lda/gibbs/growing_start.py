"""A start on some of the tokens, to which the others are added step by step.

From random topics most sweeps of a run pass before its topics have formed, and they pass over all tokens. Topics form
just as well from a part of them, where a sweep takes a part of the time. So a chain begins with an eighth of the
tokens, or about a million if that is less. There it starts with more topics than are wanted, the most similar of which
are merged (``merged_start``). Then the tokens become up to four times as many in each step, and from some million on
all that are left join at once. Those that join are placed one after the other, each drawn given those placed before
(``online_start``), and after each step but the last there are some sweeps.

The part has tokens of many documents: of long ones about ``_SOME`` each, spread over the document, as these show its
topics; and of documents drawn at random, if so many tokens of all are more than the part. It is larger where it would
have few documents per topic: topics of which hardly a document is there would not be found.

All this is over before the first sweep of the chain, whose sampler is as exact as ever.
"""

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Sampler, Schedule
from topicloom.engine.shards import shards_for
from topicloom.engine.state import AnyState, new_assignments
from topicloom.lda.gibbs.merged_start import start_with_more
from topicloom.lda.gibbs.online_start import place_others
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.rng import Purpose, path_key, stream

_LEAST, _LARGEST = 1 << 17, 1 << 30  # tokens of a corpus; fewer or more all start at once
_MOST_TOPICS = 2000  # gains of all pairs that may be merged take 72 MB
_PART, _ENOUGH = 1 / 8, 1 << 20  # the first part: this share of all tokens, or so many if that is less
_MOST_PART = 0.5  # the first part at most; where it would have to be larger, all tokens start at once
_DOCS_PER_TOPIC, _TOKENS_PER_TOPIC = 8, 200  # of the first part at least
_MOST_DOCS = 0.5  # share of the documents that suffices, however many topics there are
_SOME = 160  # tokens of a document in the first part, if it is long
_GROWTH = 4  # times the tokens in one step, at the most
MOST_TOKENS = 1 << 22  # tokens that are swept before all are there: they are copied
_SWEEPS = 40  # of the first part, before topics are merged
_MORE_SWEEPS = 10  # after topics were merged, and after each step
_CYCLE, _PACE = 64, 37  # token i of a document is among the first n of 64 if 37 i mod 64 is below n
NOTHING = np.iinfo(np.uint16).max  # in place of the topic of a token that has none yet: topics are fewer


class Part(NamedTuple):
    """Some of the tokens: so many of each 64 tokens of a document, of the documents that come first in an order."""

    n_docs: int
    shares: Int64Array  # [D] by document


def with_growing_start(sampler: Sampler, schedule: Schedule) -> Sampler:
    """The same sampler, started on some of the tokens wherever that pays.

    ``schedule`` is that of the chain; with no number of shards, the tokens that are there say how many there are.
    """
    blocks = sampler.blocks and sampler.blocks._replace(from_prior=partial(_from_prior, sampler))
    return replace(sampler, init=partial(_start, sampler, schedule), blocks=blocks)


def _from_prior(sampler: Sampler, corpus: Corpus, prior: Prior) -> bool:
    return not parts_of(corpus, prior) and bool(sampler.blocks.from_prior(corpus, prior))


def _start(sampler: Sampler, schedule: Schedule, corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    parts = parts_of(corpus, prior)
    return grow(sampler, parts, corpus, prior, key, schedule) if parts else sampler.init(corpus, prior, key)


# -- parts -----------------------------------------------------------------------------------------------------------


def parts_of(corpus: Corpus, prior: Prior) -> list[Part]:
    """The tokens that are there after each step but the last; none if the corpus is to start at once.

    It is if it is small, or so large that its tokens may be on other machines, from which those that join would all
    have to come; and where topics differ beforehand, as merging would mix them up.
    """
    alike = prior.boost.shape[0] == 0 and bool(np.all(prior.alpha == prior.alpha[:, :1]))
    if (
        not alike
        or corpus.weights is not None
        or not _LEAST <= corpus.n_tokens <= _LARGEST
        or not 1 < prior.n_topics <= _MOST_TOPICS
    ):
        return []
    of_docs = min(_DOCS_PER_TOPIC * prior.n_topics / corpus.n_docs, _MOST_DOCS)
    least = max(of_docs * _kept(corpus, _SOME), _TOKENS_PER_TOPIC * prior.n_topics)
    share = max(min(_PART, _ENOUGH / corpus.n_tokens), least / corpus.n_tokens)
    if share > _MOST_PART:
        return []
    n_steps = math.ceil(-math.log(share) / math.log(_GROWTH))
    shares = [share ** (1 - step / n_steps) for step in range(n_steps)]
    return [_part(corpus, s) for s in shares if s == shares[0] or s * corpus.n_tokens <= MOST_TOKENS]


def _shares(corpus: Corpus, some: float) -> Int64Array:
    """Of how many of each 64 tokens of a document there are about so many, all of a short one."""
    lengths = np.maximum(corpus.doc_lengths, 1)
    return np.clip(np.ceil(_CYCLE * some / lengths), 1, _CYCLE).astype(np.int64)


def _kept(corpus: Corpus, some: float) -> int:
    return int(np.sum(corpus.doc_lengths * _shares(corpus, some))) // _CYCLE


def _part(corpus: Corpus, share: float) -> Part:
    """About this share of all tokens."""
    wanted = share * corpus.n_tokens
    low, high = float(_SOME), float(max(corpus.doc_lengths.max(initial=1), _SOME))
    if _kept(corpus, low) >= wanted:
        return Part(math.ceil(corpus.n_docs * wanted / _kept(corpus, low)), _shares(corpus, low))
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _kept(corpus, middle) >= wanted else (middle, high)
    return Part(corpus.n_docs, _shares(corpus, high))


@bare_kernel
def list_tokens(docs: Int64Array, doc_ptr: Int64Array, shares: Int64Array, take: Int64Array, ends: Int64Array) -> int:
    """Fill ``take`` with the tokens of a part of these documents, and ``ends``; returns how many there are.

    Without room in ``take`` they are only counted.
    """
    n, writes = 0, take.shape[0] > 0
    for j in range(docs.shape[0]):
        start = doc_ptr[docs[j]]
        for i in range(doc_ptr[docs[j] + 1] - start):
            if (i * _PACE) % _CYCLE < shares[docs[j]]:
                if writes:
                    take[n] = start + i
                n += 1
        ends[j] = n
    return n


def tokens_of_part(corpus: Corpus, docs: Int64Array, shares: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The tokens of a part, and where those of each document begin."""
    ptr = np.zeros(len(docs) + 1, np.int64)
    take = np.empty(list_tokens(docs, corpus.doc_ptr, shares, np.empty(0, np.int64), ptr[1:]), np.int64)
    list_tokens(docs, corpus.doc_ptr, shares, take, ptr[1:])
    return take, ptr


# -- the start -------------------------------------------------------------------------------------------------------


def grow(sampler: Sampler, parts: list[Part], corpus: Corpus, prior: Prior, key: Key, schedule: Schedule) -> AnyState:
    """The first state of a chain: by (seed, chain), whatever the number of threads."""
    z = new_assignments(corpus, prior.n_topics)
    z[:] = NOTHING
    rng = np.random.Generator(np.random.Philox(key=stream(key.seed, Purpose.GROWING_START, key.chain)[:2]))
    order = rng.permutation(corpus.n_docs)
    for step, part in enumerate(parts):
        own, docs = _key(key, step), np.sort(order[: part.n_docs])
        _sweep_part(
            sampler, step == 0, tokens_of_part(corpus, docs, part.shares), docs, corpus, prior, z, own, schedule
        )
    own = _key(key, len(parts))
    return place_others(corpus, z, NOTHING, prior, stream(own.seed, Purpose.START, own.chain))


def _sweep_part(
    sampler: Sampler, is_first: bool, tokens: tuple[Int64Array, Int64Array], docs: Int64Array, corpus: Corpus,
    prior: Prior, z: AnyArray, own: Key, schedule: Schedule,
) -> None:  # fmt: skip
    """Give topics to the tokens of a part, of which the first one's have none yet, and make its sweeps."""
    take, ptr = tokens
    some = Corpus(words=corpus.words[take], doc_ptr=ptr, vocabulary=corpus.vocabulary)
    of_some = prior._replace(alpha_row=prior.alpha_row[docs])
    if is_first:
        state = start_with_more(sampler, _SWEEPS, some, of_some, own, schedule)
    else:
        state = place_others(some, z[take], NOTHING, of_some, stream(own.seed, Purpose.START, own.chain))
    of_part = schedule._replace(n_shards=shards_for(schedule.n_shards, some.n_tokens))
    z[take] = sampler.run(some, state, of_some, own._replace(sweep=1), of_part, _MORE_SWEEPS)[0].z


def _key(key: Key, step: int) -> Key:
    return Key(int(path_key(key.seed, Purpose.GROWING_START, step)) >> 1, key.chain, 0)

"""Sweeps in blocks of documents and words, so that threads share no counts but the topics' totals.

Words are cut into n parts, each with a thread at a time, and documents into n shards of m pieces. In round r part w
goes through the documents of shard w − r, piece by piece: what a part draws in a step is one block. All counts but the
totals belong to one part. Of the totals each part has its own copy, with all moves of its own and those that others
made ``delay`` steps ago or earlier. So what is drawn depends on the blocks' order alone, which is fixed, and a thread
waits only if it comes ``delay`` steps before another: while delay ≤ m it never meets another in the documents of a
shard.
Small corpora have one piece per shard and a delay of one step: parts then meet after each round, and see all.

Threads need not meet between sweeps either. The cut into blocks, and what parts have not yet seen of each other when a
call ends, are a ``ShardProgress``, which the next call is given and a checkpoint has.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import counts
from topicloom.engine.blocks import Range
from topicloom.engine.document_tasks import of_stored
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Schedule, ShardProgress
from topicloom.engine.state import AnyState
from topicloom.engine.threads import cut, private, run_steps, steps_in_order
from topicloom.numerics.rng import Purpose, stream

# Draws one block: documents from, to, state with the part's own totals, stream. Returns how many tokens changed and how
# many weights were computed.
Draw = Callable[[Range, AnyState, AnyArray], Int64Array]
# Makes that for a part of the words, with scratch that the part's steps share: (corpus, words, prior). For exact sweeps
# ``share=`` is an array by topic, which changes between steps (``engine.exact_shards``).
MakeDraw = Callable[..., Draw]

PIECES = 8  # of a shard's documents, where a corpus is large enough
LEAST = 1 << 14  # tokens of a block: with fewer, what waiting less saves is less than a step takes
PER_TOPIC = 16  # or so many per topic, as each step looks at all totals
_NOT_CUT = 15  # log₂ of tokens, from which on shards double each time that tokens are 16 times as many
_LONG = 64  # tokens of a run that cost anything
_TOKEN, _RUN = 25.0, 60.0  # about what a token and a run cost any sampler, for shards of documents


class Loads(NamedTuple):
    """What tokens cost, in any unit, so that the blocks of a round take about equally long."""

    token: float = 1.0
    run: float | AnyArray = 0.0  # beside that, each first token of a run of one word; by word or for all
    docs: Int64Array | None = None  # what documents cost, where that is known otherwise


class _Runs(NamedTuple):
    """How many runs documents and words of a corpus have, and tokens that cost what a token costs.

    Where a document repeats one word hundreds of times, both are of one topic: the tokens stay in it, at no cost.
    """

    doc_runs: Int64Array
    word_runs: Int64Array
    doc_tokens: Int64Array
    word_tokens: Int64Array


@once
def _runs(corpus: Corpus) -> _Runs:
    """Of a corpus in a file they are counted by tasks, if an executor is in use."""
    count = partial(_count_runs, n_words=corpus.n_words)
    parts = of_stored(count, corpus)
    if parts is None:
        return count(corpus.words, corpus.doc_ptr)
    doc_runs, word_runs, doc_tokens, word_tokens = zip(*parts, strict=True)
    return _Runs(np.concatenate(doc_runs), np.sum(word_runs, 0), np.concatenate(doc_tokens), np.sum(word_tokens, 0))


def _count_runs(words: Int32Array, doc_ptr: Int64Array, n_words: int) -> _Runs:
    found = _Runs(*(np.empty(n, np.int64) for n in 2 * (len(doc_ptr) - 1, n_words)))
    counts.count_runs(words, doc_ptr, _LONG, found.doc_runs, found.word_runs, found.doc_tokens, found.word_tokens)
    return found


def _edges(tokens: Int64Array, runs: Int64Array, token: float, run: FloatArray, n_parts: int) -> list[Range]:
    """Parts of about equal loads; some may be empty."""
    edges = np.empty(n_parts + 1, np.int64)
    counts.cut_by_loads(tokens, runs, token, run, edges)
    return list(pairwise(edges.tolist()))


def shards_for(n_shards: int, n_tokens: int) -> int:
    """Shards of a chain, where 0 leaves them to the number of tokens.

    A sweep in S shards takes some 5% more processor time with two and 15% with four, as documents are read S times, and
    on S processors a fraction of the time. So small corpora have one, and 16 times the tokens twice as many.
    """
    return n_shards or 1 << max(0, (max(n_tokens, 1).bit_length() - 1 - _NOT_CUT) // 4)


def document_shards(corpus: Corpus, n_shards: int) -> list[Range]:
    """Ranges of documents, none of them empty, of about equal loads, whatever samples them: they stay where they are.

    A shard's documents may lie in a process of its own, so that the cut depends on the corpus alone.
    """
    if n_shards == 1:
        return [(0, corpus.n_docs)]
    of = _runs(corpus)
    docs = _edges(of.doc_tokens, of.doc_runs, _TOKEN, np.full(1, _RUN), n_shards)
    return [part for part in docs if part[0] < part[1]]


def _cut_both(corpus: Corpus, n_shards: int, loads: Loads) -> tuple[list[Range], list[Range]]:
    """Ranges of documents and of words, none of them empty, whose blocks, in each round, have about equal loads."""
    if n_shards == 1:
        return document_shards(corpus, 1), [(0, corpus.n_words)]
    of, run = _runs(corpus), np.atleast_1d(np.asarray(loads.run, np.float64))
    words = _edges(of.word_tokens, of.word_runs, loads.token, run, n_shards)
    docs = document_shards(corpus, n_shards) if loads.docs is None else cut(loads.docs, n_shards)
    return docs, [part for part in words if part[0] < part[1]]


def start_shards(
    corpus: Corpus, n_topics: int, n_shards: int, loads: Loads, in_pieces: bool = False, sampler: int = 0
) -> ShardProgress:
    """The cut into blocks; all that parts have done before is seen by all.

    Documents and words are each cut into parts of equal loads; with two shards both blocks of a round then have equal
    ones, too. ``in_pieces`` says that documents may be cut further; ``sampler`` is the number of the sampler.
    """
    docs, words = _cut_both(corpus, n_shards, loads)
    n = max(len(docs), len(words))
    enough = corpus.n_tokens >= n * n * PIECES * max(LEAST, PER_TOPIC * n_topics)
    n_pieces = PIECES if in_pieces and len(words) > 1 and enough else 1
    pieces = np.zeros((n, n_pieces, 2), np.int64)
    for s, (start, stop) in enumerate(docs):
        if n_pieces == 1:
            pieces[s] = start, stop
        else:
            of, run = _runs(corpus), np.full(1, np.mean(loads.run))
            own = _edges(of.doc_tokens[start:stop], of.doc_runs[start:stop], loads.token, run, n_pieces)
            pieces[s] = start + np.array(own)
    unseen = np.zeros((len(words), max(1, n_pieces // 2), n_topics), np.int64)
    return ShardProgress(np.full(1, sampler), pieces, np.array(words, np.int64).reshape(-1, 2), unseen)


def sweep_shards(
    progress: ShardProgress, make_draw: MakeDraw, corpus: Corpus, state: AnyState, prior: Prior, key: Key,
    schedule: Schedule, n_sweeps: int = 1, finish: Callable[[Range], object] | None = None,
) -> tuple[ShardProgress, Info]:  # fmt: skip
    """So many sweeps, from that of the key on, in place; the progress as it then is, and what the last one reports.

    A thread has the same words in every step where it can: their counts are read at random and stay in its cache,
    while documents are read in order. With one shard this is the plain sweep. ``finish`` is called with the words of
    each part when, in a sweep, their last tokens have been drawn.
    """
    docs, words = progress.docs.tolist(), [(start, stop) for start, stop in progress.words.tolist()]
    draws = [make_draw(corpus, part, prior) for part in words]
    (n_shards, n_pieces), delay = progress.docs.shape[:2], progress.unseen.shape[1]
    n_steps, n_room = n_shards * n_pieces, 2 * delay  # a part is at most ``delay`` steps before another
    moved = np.zeros((len(words), n_room, prior.n_topics), np.int64)  # by part, and by step modulo the room
    moved[:, delay:] = progress.unseen
    unseen = progress.unseen.sum(axis=1)
    totals = [private(state.topic - (unseen.sum(axis=0) - own)) for own in unseen] if len(words) > 1 else [state.topic]
    rngs, work = [np.zeros(0, np.uint64) for _ in words], np.zeros((len(words), 2), np.int64)

    def make_step(w: int, step: int) -> None:
        sweep, at = divmod(step, n_steps)
        r, piece = divmod(at, n_pieces)
        s, own = (w - r) % n_shards, totals[w]
        if at == 0:
            work[w] = 0
        if piece == 0:
            rngs[w] = private(stream(key.seed, Purpose.SWEEP, key.chain, key.sweep + sweep, r, s))
        now_seen = moved[:, (step - delay) % n_room]
        own += now_seen.sum(axis=0) - now_seen[w]
        before = own.copy()
        start, stop = docs[s][piece]
        if start < stop:
            work[w] += draws[w]((start, stop), state._replace(topic=own), rngs[w])
        moved[w, step % n_room] = own - before
        if finish and at == n_steps - 1:
            finish(words[w])

    total = n_sweeps * n_steps
    if min(schedule.n_jobs, len(words)) > 1:
        run_steps(make_step, len(words), total, delay, schedule.n_jobs)
    else:
        for w, step in steps_in_order(len(words), total, delay):
            make_step(w, step)
    last = moved[:, np.arange(total - delay, total) % n_room]
    if len(words) > 1:
        state.topic[:] = totals[0] + last[1:].sum(axis=(0, 1))
    return progress._replace(unseen=last), Info(*work.sum(axis=0).tolist())


def sweep_blocks(
    make_draw: MakeDraw, corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule,
    loads: Loads = Loads(),  # noqa: B008 (it cannot change)
) -> tuple[AnyState, Info]:  # fmt: skip
    """One sweep by itself, in whole shards."""
    progress = start_shards(corpus, prior.n_topics, schedule.n_shards, loads)
    return state, sweep_shards(progress, make_draw, corpus, state, prior, key, schedule)[1]

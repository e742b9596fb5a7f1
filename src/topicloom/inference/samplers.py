"""The registered samplers: how each starts, sweeps, and is cut into blocks for threads."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.inference.kept import keep, own_room
from topicloom.inference.kernel import INIT, SWEEP, Info, Kernel, Key, Prior, Schedule, register
from topicloom.inference.pace import Pace, Watch
from topicloom.inference.parallel import add_moves, cut, private, run_parallel, run_rounds
from topicloom.inference.start import place_on_line
from topicloom.inference.state import (
    AnyState,
    SparseState,
    State,
    as_dense,
    as_lists,
    list_sizes,
    new_assignments,
    rebuild_counts,
    rebuild_lists,
)
from topicloom.inference.words import steps_of, sweep_words
from topicloom.kernels import counts, gibbs_dense, gibbs_sparse, kept, lists
from topicloom.kernels.lanes import LANES
from topicloom.kernels.rng import stream

# One block of a sweep: (documents from, to, words from, to), state with its own totals, prior, stream, and how far the
# tasks of a round are. Returns how many tokens changed and how many weights were computed.
Range = tuple[int, int]
Block = Callable[[Corpus, Range, Range, AnyState, Prior, AnyArray, Watch], Int64Array]


# What a token takes, in nanoseconds where it was measured; ``benchmarks/crossover.py`` fits the lines. Only the ratios
# count, and they are not the same on all machines.
_DENSE, _TOPIC = 42.0, 0.21  # a token, and each topic, where all are looked at
_LISTS, _ENTRY = 53.0, 1.2  # a token, and each entry of its word's list
_WORDS, _OWN, _COMING = (
    70.0,
    1.5,
    5.0,
)  # word by word: a token, a topic of its document, an entry when a word is come to
_DOCS, _TOKENS = 128, 1024  # by so many is judged how many topics documents and words have
_LINE = 8  # float64 numbers in a cache line
_AT_ONCE = 1 << 17  # tokens in a part of a sum over documents or words


def dense_scratch(prior: Prior) -> tuple[FloatArray, FloatArray, Int32Array, FloatArray]:
    """What the dense kernel writes into, apart from what other threads write."""
    n = -(-prior.n_topics // _LINE) * _LINE
    room = private(np.zeros(3 * n + LANES + 1))
    weight, coef, doc = (room[i * n : i * n + prior.n_topics] for i in range(3))
    return weight, coef, doc.view(np.int32)[: prior.n_topics], room[3 * n :]


def _dense_block(
    corpus: Corpus, docs: Range, words: Range, state: AnyState, prior: Prior, rng: AnyArray, watch: Watch
) -> Int64Array:  # fmt: skip
    scratch, work = (*dense_scratch(prior), own_room(corpus, words)), np.zeros(2, np.int64)
    gibbs_dense.sweep_block(
        *docs, *words, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, *scratch, rng, work, *watch
    )  # fmt: skip
    return work


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


_LONG = 64  # tokens of a run that cost anything


@once
def _runs(corpus: Corpus) -> _Runs:
    found = _Runs(*(np.empty(n, np.int64) for n in 2 * (corpus.n_docs, corpus.n_words)))
    counts.count_runs(corpus.words, corpus.doc_ptr, _LONG, *found)
    return found


def _cut_both(corpus: Corpus, n_shards: int, loads: Loads) -> tuple[list[Range], list[Range]]:
    """Ranges of documents and of words whose blocks, in each round, have about equal loads."""
    if n_shards == 1:
        return [(0, corpus.n_docs)], [(0, corpus.n_words)]
    of, edges = _runs(corpus), np.empty(n_shards + 1, np.int64)

    def parts(tokens: Int64Array, runs: Int64Array, run: FloatArray) -> list[Range]:
        counts.cut_by_loads(tokens, runs, loads.token, run, edges)
        return [(start, stop) for start, stop in pairwise(edges.tolist()) if start < stop]

    run = np.atleast_1d(np.asarray(loads.run, np.float64))
    words = parts(of.word_tokens, of.word_runs, run)
    if loads.docs is not None:
        return cut(loads.docs, n_shards), words
    return parts(of.doc_tokens, of.doc_runs, run.mean(keepdims=True)), words


def _sweep_blocks(
    block: Block, corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule,
    loads: Loads = Loads(),  # noqa: B008 (it cannot change)
    finish: Callable[[Range], object] | None = None,
) -> tuple[AnyState, Info]:  # fmt: skip
    """One sweep, as n rounds of n blocks that touch disjoint documents and disjoint words.

    In round r shard s has its own documents and the words of part s + r. So all counts but the topic totals are
    owned by one shard; each shard moves its own copy of the totals, and the copies are added up after the round. With
    one shard this is the plain sweep. A thread has the same words in every round: their counts are read at random
    and stay in its cache, while documents are read in order. Documents and words are each cut into parts of equal
    loads; with two shards both blocks of a round then have equal ones, too, and threads exchange blocks where one core
    is the slower one. ``finish`` is called with the words of each part when their last tokens have been drawn.
    """
    docs, words = _cut_both(corpus, schedule.n_shards, loads)
    n = max(len(docs), len(words))
    docs += [(0, 0)] * (n - len(docs))
    totals = [private(state.topic) for _ in words] if n > 1 else [state.topic]
    work = np.zeros((len(words), 2), np.int64)
    pace = Pace(len(words), schedule.n_jobs, corpus.n_tokens)

    def draw(w: int, r: int) -> Iterator[None]:
        s = (w - r) % n
        rng = private(stream(key.seed, SWEEP, key.chain, key.sweep, r, s))
        own, (at, stop) = state._replace(topic=totals[w]), docs[s]
        watch = pace.begin(w, *corpus.doc_ptr[[at, stop]].tolist())
        while at < stop:
            work[w] += block(corpus, (at, stop), words[w], own, prior, rng, watch)
            at = pace.reached(w, stop)
            if at < stop:
                yield
        if finish and r == n - 1:
            finish(words[w])

    run_rounds(draw, len(words), n, schedule.n_jobs, lambda: add_moves(state.topic, totals), pace.exchange)
    return state, Info(*work.sum(axis=0).tolist())


def _first_topics(corpus: Corpus, prior: Prior, key: Key) -> AnyArray:
    """Topics drawn from the prior, seed words toward their topics."""
    z = new_assignments(corpus, prior.n_topics)
    counts.draw_from_prior(
        corpus.words, corpus.doc_ptr, np.cumsum(prior.alpha, axis=1), prior.alpha_row, prior.beta, prior.beta_sum,
        prior.boost_row, prior.boost, np.empty(prior.n_topics), stream(key.seed, INIT, key.chain), z,
    )  # fmt: skip
    return z


# -- dense -----------------------------------------------------------------------------------------------------------


def _dense_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return rebuild_counts(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def _dense_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    return _sweep_blocks(_dense_block, corpus, state, prior, key, schedule, Loads(25.0, 20.0 + _TOPIC * prior.n_topics))


def _dense_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_dense.conditional(token, doc, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, weight)
    return weight


# -- sparse ----------------------------------------------------------------------------------------------------------


def _sparse_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return rebuild_lists(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def sweep_lists(
    corpus: Corpus, docs: Range, words: Range, state: AnyState, prior: Prior, rng: AnyArray, watch: Watch,
    kernel: Callable[..., None] = gibbs_sparse.sweep_block,
) -> Int64Array:  # fmt: skip
    """One block of a sweep document by document."""
    lists, topics, work = cast(SparseState, state), keep(state.topic, prior), np.zeros(2, np.int64)
    scratch = *topics, own_room(corpus, words), rng, work, *watch
    kernel(*docs, *words, corpus.words, corpus.doc_ptr, *lists[:4], *prior.by_lists, *scratch)
    state.topic[:] = topics.kept[:, kept.TOTAL]
    return work


def _words_block(
    corpus: Corpus, docs: Range, words: Range, state: AnyState, prior: Prior, rng: AnyArray, _: Watch
) -> Int64Array:  # fmt: skip
    return sweep_words(corpus, docs, words, cast(SparseState, state), prior, rng)


def _sort_lists(state: AnyState) -> Callable[[Range], None]:
    """Puts lists of words in an order by counts alone, so that a state rebuilt from z goes on as this one does."""
    return lambda words: lists.sort_lists(*words, *cast(SparseState, state)[1:4])


def _sparse_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    loads = Loads(25.0, 30.0 + _ENTRY * cast(SparseState, state).list_size)
    return _sweep_blocks(sweep_lists, corpus, state, prior, key, schedule, loads, _sort_lists(state))


def _words_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    return _sweep_blocks(_words_block, corpus, state, prior, key, schedule, finish=_sort_lists(state))


def _sparse_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_sparse.conditional(token, doc, corpus.words, corpus.doc_ptr, *cast(SparseState, state), *prior, weight)
    return weight


# -- auto ------------------------------------------------------------------------------------------------------------


_ON_LINE = 500  # from so many topics on the first ones are placed one after the other


class Shape(NamedTuple):
    """What the time of a sweep follows, on average over the tokens."""

    entries: float  # length of the list of a token's word
    topics: float  # number of topics in a token's document
    coming: float  # entries that are looked at when words are come to, word by word
    searched: float  # share of a list that draws from the prior search, word by word


class _Some(NamedTuple):
    """By which documents and tokens a corpus is judged."""

    docs: Int64Array
    words: Int32Array  # of the tokens
    coming: FloatArray  # how often the token's word is come to, word by word, for each of its tokens


@once
def _some(corpus: Corpus) -> _Some:
    def spread(n: int, most: int) -> Int64Array:
        """At most so many of 0 … n − 1, at equal distances."""
        few = min(n, most)
        return np.arange(few) * (n - 1) // max(few - 1, 1)

    words = corpus.words[spread(corpus.n_tokens, _TOKENS)]
    n_steps = len(steps_of(corpus, (0, corpus.n_docs)))
    return _Some(spread(corpus.n_docs, _DOCS), words, n_steps / corpus.word_counts[words])


def shape_of(corpus: Corpus, state: State | SparseState, prior: Prior) -> Shape:
    """By a look at some documents and tokens, which depend on the corpus alone."""
    some = _some(corpus)
    topics, length = counts.mean_topics(some.docs, corpus.doc_ptr, state.z, np.full(prior.n_topics, -1))
    pulled = float(prior.alpha.max(axis=0).sum())
    sizes, n = list_sizes(state, some.words), max(len(some.words), 1)
    return Shape(
        entries=float(np.sum(sizes)) / n,
        topics=topics,
        coming=float(np.sum(sizes * some.coming)) / n,  # not by BLAS, whose threads would take the cores
        searched=0.5 * pulled / (pulled + length),  # few draws come to that
    )


def _densely(prior: Prior) -> float:
    return _DENSE + _TOPIC * prior.n_topics


def _by_lists(entries: float) -> float:
    return _LISTS + _ENTRY * entries


def expected(corpus: Corpus, state: State | SparseState, prior: Prior) -> dict[str, float]:
    """What a token is expected to take in the next sweep, by sampler."""
    of = shape_of(corpus, state, prior)
    return {
        "dense": _densely(prior),
        "sparse": _by_lists(of.entries),
        "words": _WORDS + _OWN * of.topics + _COMING * of.coming + _ENTRY * of.searched * of.entries,
    }


def _auto_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    """With many topics each token's is drawn given those before it, so that no sweep meets lists of all topics.

    With few topics sweeps from random ones are quick, and such a start is the better one: what is placed first binds
    what comes after (docs/samplers.md has figures). From there words are in about as many topics as they can be, and
    counts have at once the form that the first sweep will like.
    """
    if prior.n_topics >= _ON_LINE:
        return place_on_line(corpus, prior, key)
    sizes = np.minimum(corpus.word_counts[_some(corpus).words], prior.n_topics)
    in_lists = _by_lists(float(np.sum(sizes)) / max(len(sizes), 1)) < _densely(prior)
    return (_sparse_init if in_lists else _dense_init)(corpus, prior, key)


def _auto_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    """Counts stay in the form that the sweep liked; both forms are functions of z, so a resumed run decides alike."""
    counted = cast(State | SparseState, state)
    costs = expected(corpus, counted, prior)
    quickest = min(costs, key=costs.__getitem__)
    if quickest == "dense":
        return _dense_sweep(corpus, as_dense(counted), prior, key, schedule)
    sweep = _sparse_sweep if quickest == "sparse" else _words_sweep
    return sweep(corpus, as_lists(corpus, counted), prior, key, schedule)


def _auto_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    of = _dense_conditional if isinstance(state, State) else _sparse_conditional
    return of(corpus, state, prior, token)


# -- the joint -------------------------------------------------------------------------------------------------------


@once
def _parts(corpus: Corpus) -> tuple[list[Range], list[Range]]:
    """Documents and words in parts for threads, which depend on the corpus alone: sums are added up in one order."""
    n = -(-corpus.n_tokens // _AT_ONCE) or 1
    return cut(corpus.doc_lengths, n), cut(corpus.word_counts, n)


def log_joint_words(corpus: Corpus, state: State | SparseState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w | z, β), φ integrated out."""
    of_words = prior.beta, prior.boost_row, prior.boost

    def of_part(words: Range) -> float:
        if isinstance(state, State):
            return counts.log_joint_words(*words, state.word_topic, *of_words)
        return counts.log_joint_lists(*words, *state[1:4], *of_words)

    parts = run_parallel(of_part, _parts(corpus)[1], n_jobs)
    return counts.log_joint_totals(state.topic, prior.beta_sum) + sum(parts)


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β), parameters integrated out."""
    alpha = prior.alpha, prior.alpha.sum(axis=1), prior.alpha_row

    def of_part(docs: Range) -> float:
        return counts.log_joint_documents(*docs, corpus.doc_ptr, state.z, *alpha, np.zeros(prior.n_topics, np.int64))

    documents = sum(run_parallel(of_part, _parts(corpus)[0], n_jobs))
    return documents + log_joint_words(corpus, cast(State | SparseState, state), prior, n_jobs)


register(Kernel("dense", _dense_init, rebuild_counts, _dense_sweep, log_joint, _dense_conditional, exact=True))
register(Kernel("sparse", _sparse_init, rebuild_lists, _sparse_sweep, log_joint, _sparse_conditional, exact=True))
register(Kernel("words", _sparse_init, rebuild_lists, _words_sweep, log_joint, _sparse_conditional, exact=True))
register(Kernel("auto", _auto_init, rebuild_lists, _auto_sweep, log_joint, _auto_conditional, exact=True))

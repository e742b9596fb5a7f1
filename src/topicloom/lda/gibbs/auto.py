"""The registered samplers: how each starts, sweeps, and is cut into blocks for threads."""

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import count_lists as lists
from topicloom.engine import counts
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, ShardProgress, register
from topicloom.engine.shards import Draw, Loads, MakeDraw, Range, start_shards, sweep_shards
from topicloom.engine.soft_counts import dense_scratch
from topicloom.engine.state import (
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
from topicloom.engine.threads import cut, run_parallel
from topicloom.lda.gibbs import dense as gibbs_dense
from topicloom.lda.gibbs import sparse as gibbs_sparse
from topicloom.lda.gibbs import topic_lines as kept
from topicloom.lda.gibbs.by_word import steps_of, sweep_words
from topicloom.lda.gibbs.scratch import new_topics, own_room
from topicloom.lda.gibbs.start import place_on_line
from topicloom.numerics.rng import Purpose, stream

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
_AT_ONCE = 1 << 17  # tokens in a part of a sum over documents or words


def _dense_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
    scratch, work = (*dense_scratch(prior), own_room(corpus, words)), np.zeros(2, np.int64)

    def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
        gibbs_dense.sweep_block(
            *docs, *words, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, *scratch, rng, work
        )  # fmt: skip
        return work

    return draw


def _first_topics(corpus: Corpus, prior: Prior, key: Key) -> AnyArray:
    """Topics drawn from the prior, seed words toward their topics."""
    z = new_assignments(corpus, prior.n_topics)
    counts.draw_from_prior(
        corpus.words, corpus.doc_ptr, np.cumsum(prior.alpha, axis=1), prior.alpha_row, prior.beta, prior.beta_sum,
        prior.boost_row, prior.boost, np.empty(prior.n_topics), stream(key.seed, Purpose.START, key.chain), z,
    )  # fmt: skip
    return z


# -- dense -----------------------------------------------------------------------------------------------------------


def _dense_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return rebuild_counts(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def _dense_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_dense.conditional(token, doc, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, weight)
    return weight


# -- sparse ----------------------------------------------------------------------------------------------------------


def _sparse_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return rebuild_lists(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def lists_draw(
    corpus: Corpus, words: Range, prior: Prior, kernel: Callable[..., None] = gibbs_sparse.sweep_block
) -> Draw:
    """Draws blocks document by document."""
    topics, room, work = new_topics(prior), own_room(corpus, words), np.zeros(2, np.int64)

    def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
        kept.fill(state.topic, prior.beta_sum, topics.kept)
        by_word = cast(SparseState, state)[:4]
        kernel(*docs, *words, corpus.words, corpus.doc_ptr, *by_word, *prior.by_lists, *topics, room, rng, work)
        state.topic[:] = topics.kept[:, kept.TOTAL]
        return work

    return draw


def _words_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
    return lambda docs, state, rng: sweep_words(corpus, docs, words, cast(SparseState, state), prior, rng)


def _sort_lists(state: AnyState) -> Callable[[Range], None]:
    """Puts lists of words in an order by counts alone, so that a state rebuilt from z goes on as this one does."""
    return lambda words: lists.sort_lists(*words, *cast(SparseState, state)[1:4])


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


# -- sweeps ----------------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """How one of the samplers sweeps."""

    form: Callable[[Corpus, State | SparseState], AnyState]  # of the counts that it likes
    make_draw: MakeDraw
    loads: Callable[[AnyState, Prior], Loads]
    in_pieces: bool  # whether its documents may come in more pieces at no cost
    finish: Callable[[AnyState], Callable[[Range], None]] | None = None


_WAYS = {
    "dense": _Way(
        lambda _, state: as_dense(state),
        _dense_draw,
        lambda _, prior: Loads(25.0, 20.0 + _TOPIC * prior.n_topics),
        in_pieces=True,
    ),
    "sparse": _Way(
        as_lists,
        lists_draw,
        lambda state, _: Loads(25.0, 30.0 + _ENTRY * cast(SparseState, state).list_size),
        in_pieces=True,
        finish=_sort_lists,
    ),
    "words": _Way(as_lists, _words_draw, lambda *_: Loads(), in_pieces=False, finish=_sort_lists),
}
_SETTLED, _RECUT = 10, 10  # sweeps after which a cut is kept for more than one, and made anew at each so many


def _is_last(sweep: int) -> bool:
    """Whether blocks are cut anew after a sweep, and auto looks again which way is the quickest."""
    return sweep < _SETTLED or sweep % _RECUT == 0


def _sweeps(
    choose: Callable[[Corpus, State | SparseState, Prior], str],
) -> Callable[..., tuple[AnyState, Info, ShardProgress | None]]:
    """``Sampler.run`` of a sampler that has one way to sweep, or chooses one.

    Counts stay in the form that a sweep liked; all forms are functions of z, so a resumed run goes on alike.
    """
    names = list(_WAYS)

    def run(
        corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule, n_sweeps: int = 1,
        progress: ShardProgress | None = None,
    ) -> tuple[AnyState, Info, ShardProgress | None]:  # fmt: skip
        sweep, stop = key.sweep, key.sweep + n_sweeps
        while sweep < stop:
            number = int(progress.way[0]) if progress else names.index(choose(corpus, cast(State, state), prior))
            way = _WAYS[names[number]]
            state = way.form(corpus, cast(State, state))
            if progress is None:
                loads = way.loads(state, prior)
                progress = start_shards(corpus, prior.n_topics, schedule.n_shards, loads, way.in_pieces, number)
            meets = progress.unseen.shape[1] == 1  # all parts have seen all when a sweep ends
            until = sweep + 1
            while until < stop and not (meets or _is_last(until - 1)):
                until += 1
            finish = way.finish(state) if way.finish else None
            progress, info = sweep_shards(
                progress,
                way.make_draw,
                corpus,
                state,
                prior,
                key._replace(sweep=sweep),
                schedule,
                until - sweep,
                finish,
            )
            if meets or _is_last(until - 1):
                progress = None
            sweep = until
        return state, info, progress

    return run


def _quickest(corpus: Corpus, state: State | SparseState, prior: Prior) -> str:
    costs = expected(corpus, state, prior)
    return min(costs, key=costs.__getitem__)


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


def _register(
    name: str, init: Callable[[Corpus, Prior, Key], AnyState], restore: Callable[..., AnyState],
    conditional: Callable[[Corpus, AnyState, Prior, int], FloatArray],
    choose: Callable[[Corpus, State | SparseState, Prior], str],
) -> None:  # fmt: skip
    run = _sweeps(choose)

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        return run(corpus, state, prior, key, schedule)[:2]

    names = list(_WAYS)
    ways = range(names.index(name), names.index(name) + 1) if name in names else range(len(names))
    register(Sampler(name, init, restore, sweep, log_joint, conditional, exact=True, sweeps=run, ways=ways))


_register("dense", _dense_init, rebuild_counts, _dense_conditional, lambda *_: "dense")
_register("sparse", _sparse_init, rebuild_lists, _sparse_conditional, lambda *_: "sparse")
_register("words", _sparse_init, rebuild_lists, _sparse_conditional, lambda *_: "words")
_register("auto", _auto_init, rebuild_lists, _auto_conditional, _quickest)

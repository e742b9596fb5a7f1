"""The registered samplers: how each starts, sweeps, and is cut into blocks for threads."""

from collections.abc import Callable
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import INIT, SWEEP, Info, Kernel, Key, Prior, Schedule, register
from topicloom.inference.long_words import (
    Choice,
    LongWords,
    Topics,
    candidates,
    choose,
    keep,
    limits,
    mean_work,
    new_rows,
    part_of,
)
from topicloom.inference.parallel import cut, private, run_in_place
from topicloom.inference.state import (
    AnyState,
    SparseState,
    State,
    as_dense,
    as_lists,
    new_assignments,
    new_lists,
    rebuild_counts,
    rebuild_lists,
)
from topicloom.kernels import counts, gibbs_dense, gibbs_sparse, lists, long_words
from topicloom.kernels.gibbs_start import place_tokens
from topicloom.kernels.lanes import LANES
from topicloom.kernels.rng import stream

# One block of a sweep: (documents from, to, words from, to), state with its own totals, prior, stream. Returns how
# many tokens changed and how many weights were computed.
Range = tuple[int, int]
Block = Callable[[Corpus, Range, Range, AnyState, Prior, AnyArray], Int64Array]


def dense_scratch(prior: Prior) -> tuple[FloatArray, FloatArray, Int32Array, FloatArray]:
    """What the dense kernel writes into, apart from what other threads write."""
    numbers = np.zeros(prior.n_topics)
    return private(numbers), private(numbers), private(numbers.astype(np.int32)), private(np.zeros(LANES + 1))


def _dense_block(corpus: Corpus, docs: Range, words: Range, state: AnyState, prior: Prior, rng: AnyArray) -> Int64Array:
    work = np.zeros(2, np.int64)
    gibbs_dense.sweep_block(
        *docs, *words, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, *dense_scratch(prior), rng, work
    )  # fmt: skip
    return work


def _sweep_blocks(
    block: Block, corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule,
    loads: Int64Array | None = None,
) -> tuple[AnyState, Info]:  # fmt: skip
    """One sweep, as n rounds of n blocks that touch disjoint documents and disjoint words.

    In round r shard s has its own documents and the words of part s + r. So all counts but the topic totals are
    owned by one shard; each shard moves its own copy of the totals, and the copies are added up after the round. With
    one shard this is the plain sweep. A thread has the same words in every round: their counts are read at random
    and stay in its cache, while documents are read in order. ``loads`` says what the words' tokens cost, if not all the
    same, so that the blocks of a round take about equally long.
    """
    n = schedule.n_shards
    docs = cut(corpus.doc_lengths, n)
    words = cut(corpus.word_counts if loads is None else loads, n) if n > 1 else [(0, corpus.n_words)]
    n = max(len(docs), len(words))
    work = np.zeros(2, np.int64)
    for r in range(n):
        tasks = [
            (state if n == 1 else state._replace(topic=private(state.topic)), (w - r) % n, docs[(w - r) % n], words[w])
            for w in range(len(words))
            if (w - r) % n < len(docs)
        ]

        def run(task: tuple[AnyState, int, Range, Range], r: int = r) -> Int64Array:
            own_state, s, own_docs, own_words = task
            rng = private(stream(key.seed, SWEEP, key.chain, key.sweep, r, s))
            return block(corpus, own_docs, own_words, own_state, prior, rng)

        work += np.sum(run_in_place(run, tasks, schedule.n_jobs), axis=0)
        if n > 1:
            state.topic[:] += np.sum([own.topic - state.topic for own, *_ in tasks], axis=0)
    return state, Info(int(work[0]), int(work[1]))


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
    return _sweep_blocks(_dense_block, corpus, state, prior, key, schedule)


def _dense_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_dense.conditional(token, doc, corpus.words, corpus.doc_ptr, *cast(State, state), *prior, weight)
    return weight


# -- sparse ----------------------------------------------------------------------------------------------------------


_STEADY = 45  # what a token costs beside its weights, in weights


def _sparse_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    return rebuild_lists(corpus, _first_topics(corpus, prior, key), prior.n_topics)


def _sparse_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    lists = cast(SparseState, state)
    return _list_sweep(corpus, lists, prior, key, schedule, choose(corpus, lists, prior))


def _by_lists(prior: Prior) -> tuple[FloatArray, Int32Array, FloatArray, Int32Array, FloatArray]:
    """What kernels that work by lists take of the prior: Σβ is with what is kept of the topics."""
    return prior.alpha, prior.alpha_row, prior.beta, prior.boost_row, prior.boost


def sweep_lists(
    corpus: Corpus, docs: Range, words: Range, state: SparseState, prior: Prior, long: LongWords, topics: Topics,
    rng: AnyArray, kernel: Callable[..., None] = gibbs_sparse.sweep_block,
) -> Int64Array:  # fmt: skip
    """One block of a sweep by lists."""
    work = np.zeros(2, np.int64)
    kernel(
        *docs, *words, corpus.words, corpus.doc_ptr, *state[:4], *_by_lists(prior), *long, *topics,
        *limits(long, words, state, topics), rng, work,
    )  # fmt: skip
    state.topic[:] = topics.kept[:, long_words.TOTAL]
    return work


def _list_sweep(
    corpus: Corpus, state: SparseState, prior: Prior, key: Key, schedule: Schedule, choice: Choice
) -> tuple[AnyState, Info]:
    """A sweep by words' lists, in which tokens of the chosen words are drawn by their documents' topics."""
    long, parts = new_rows(prior, choice.words), dict[Range, LongWords]()
    of_lists = state.list_ptr, state.list_size, state.entries
    if len(long.words):
        long_words.fill_rows(long.words, long.rows, *of_lists)

    def block(
        corpus: Corpus, docs: Range, words: Range, own: AnyState, prior: Prior, rng: AnyArray
    ) -> Int64Array:  # fmt: skip
        listed = cast(SparseState, own)
        topics = keep(listed.topic, prior)
        if words not in parts:  # in the first round; later ones go on with what the part of the words has
            parts[words] = part_of(long, words, listed, topics)
        return sweep_lists(corpus, docs, words, listed, prior, parts[words], topics, rng)

    def order(words: Range) -> None:
        """By counts alone, so that a state rebuilt from z goes on as this one does."""
        if len(long.words):
            long_words.renew_lists(*words, long.words, long.rows, *of_lists)
        lists.sort_lists(*words, *of_lists)

    loads = (corpus.word_counts * (_STEADY + choice.work)).astype(np.int64)
    _, info = _sweep_blocks(block, corpus, state, prior, key, schedule, loads)
    run_in_place(order, cut(corpus.word_counts, schedule.n_shards), schedule.n_jobs)
    return state, info


def _sparse_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    weight = np.empty(prior.n_topics)
    doc = int(corpus.token_docs[token])
    gibbs_sparse.conditional(token, doc, corpus.words, corpus.doc_ptr, *cast(SparseState, state), *prior, weight)
    return weight


# -- auto ------------------------------------------------------------------------------------------------------------


_ON_LINE = 500  # from so many topics on the first ones are placed one after the other


def prefers_dense(n_topics: int, work: float) -> bool:
    """Whether looking at all topics is quicker than at so many entries of lists and topics of documents.

    Such an entry costs about as much as seven topics of the dense loop, which reads memory in order and works on
    several topics at a time, and a token as much as six entries more: ``benchmarks/crossover.py`` measures the line,
    which is not the same on all machines.
    """
    return work > n_topics / 7 - 6


def place_first(
    corpus: Corpus, state: SparseState, prior: Prior, long: LongWords, rng: AnyArray,
    kernel: Callable[..., None] = place_tokens,
) -> None:  # fmt: skip
    """Fill z, lists, rows and totals."""
    topics = keep(np.zeros(prior.n_topics, np.int64), prior)
    kernel(corpus.words, corpus.doc_ptr, *state[:4], *_by_lists(prior), *long, *topics, rng)
    state.topic[:] = topics.kept[:, long_words.TOTAL]


def place_on_line(corpus: Corpus, prior: Prior, key: Key) -> SparseState:
    """First topics, each token's drawn given those before it."""
    state = new_lists(corpus, new_assignments(corpus, prior.n_topics), prior.n_topics)
    long = new_rows(prior, candidates(corpus, prior))
    place_first(corpus, state, prior, long, stream(key.seed, INIT, key.chain))
    everything = 0, corpus.n_words
    long_words.renew_lists(*everything, long.words, long.rows, *state[1:4])
    lists.sort_lists(*everything, *state[1:4])
    return state


def _auto_init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
    """With many topics each token's is drawn given those before it, so that no sweep meets lists of all topics.

    With few topics sweeps from random ones are quick, and such a start is the better one: what is placed first binds
    what comes after (docs/samplers.md has figures).
    """
    if prior.n_topics < _ON_LINE:
        return _sparse_init(corpus, prior, key)
    return place_on_line(corpus, prior, key)


def _auto_sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
    """Counts stay in the form that the sweep liked; both forms are functions of z, so a resumed run decides alike."""
    counted = cast(State | SparseState, state)
    choice = choose(corpus, counted, prior)
    if prefers_dense(prior.n_topics, mean_work(corpus, choice)):
        return _dense_sweep(corpus, as_dense(counted), prior, key, schedule)
    return _list_sweep(corpus, as_lists(corpus, counted), prior, key, schedule, choice)


def _auto_conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    of = _dense_conditional if isinstance(state, State) else _sparse_conditional
    return of(corpus, state, prior, token)


# -- the joint -------------------------------------------------------------------------------------------------------


def log_joint(corpus: Corpus, state: AnyState, prior: Prior) -> float:
    """log p(w, z | α, β), parameters integrated out."""
    of_documents = prior.alpha, prior.alpha.sum(axis=1), prior.alpha_row, np.zeros(prior.n_topics, np.int64)
    documents = counts.log_joint_documents(corpus.doc_ptr, state.z, *of_documents)
    of_words = (prior.beta, prior.beta_sum, prior.boost_row, prior.boost)
    if isinstance(state, State):
        return documents + counts.log_joint_words(*state[1:], *of_words)
    return documents + counts.log_joint_lists(*state[1:], *of_words)


register(Kernel("dense", _dense_init, rebuild_counts, _dense_sweep, log_joint, _dense_conditional, exact=True))
register(Kernel("sparse", _sparse_init, rebuild_lists, _sparse_sweep, log_joint, _sparse_conditional, exact=True))
register(Kernel("auto", _auto_init, rebuild_lists, _auto_sweep, log_joint, _auto_conditional, exact=True))

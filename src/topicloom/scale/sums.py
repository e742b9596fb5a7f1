"""What is added up over documents and words that lie in workers, in the order in which one process adds it up."""

from collections.abc import Callable

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine import counts
from topicloom.engine.blocks import Range
from topicloom.engine.estimates import ESTIMATORS, Counts, Estimator
from topicloom.engine.prior import Prior
from topicloom.lda.gibbs.joint import parts_of_sums
from topicloom.scale.chain import ShardedChain
from topicloom.scale.cluster import Ref

_CELLS = 1 << 22  # of rows of counts that are made at a time


def log_joint(corpus: Corpus, state: ShardedChain, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β), as ``lda.gibbs.joint.log_joint``."""
    docs, words = state.of.ranges(corpus), parts_of_sums(corpus)[1]

    def found() -> float:
        state.set_prior(prior)
        state.count_parts()
        documents = sum(_sums(docs, state.shards, _caller(state, state.worker_of, "log_joint_documents")))
        parts = _sums(words, state.words, _caller(state, state.home, "log_joint_words"))
        return documents + float(counts.log_joint_totals(state.topic, prior.beta_sum) + sum(parts))

    return state.safely(found)


def _caller(state: ShardedChain, worker_of: Callable[[int], int], method: str) -> Callable[..., list[list[float]]]:
    def call(asked: list[tuple[int, list[Range], float]]) -> list[list[float]]:
        return state.get(state.call(worker_of(i), method, i, ranges, total) for i, ranges, total in asked)

    return call


def _sums(ranges: list[Range], held: list[Range], call: Callable[..., list[list[float]]]) -> list[float]:
    """A sum over each of the ranges, where the held ranges lie in workers.

    A sum that goes beyond a held range is continued by the next one's worker, so that no addition changes its place.
    """
    pieces = [_within(each, held) for each in ranges]
    whole = [[n for n, found in enumerate(pieces) if len(found) == 1 and found[0][0] == i] for i in range(len(held))]
    asked = [(i, [ranges[n] for n in numbers], 0.0) for i, numbers in enumerate(whole) if numbers]
    out = [0.0] * len(ranges)
    for (i, _, _), found in zip(asked, call(asked), strict=True):
        for n, value in zip(whole[i], found, strict=True):
            out[n] = value
    for n, of_range in enumerate(pieces):
        if len(of_range) > 1:
            for i, piece in of_range:
                out[n] = call([(i, [piece], out[n])])[0][0]
    return out


def _within(each: Range, held: list[Range]) -> list[tuple[int, Range]]:
    """The pieces of a range that are held, each with the number of what holds it."""
    cuts = ((i, (max(each[0], start), min(each[1], stop))) for i, (start, stop) in enumerate(held))
    return [(i, piece) for i, piece in cuts if piece[0] < piece[1]]


def topic_counts(
    corpus: Corpus, state: ShardedChain, prior: Prior, estimator: Estimator = "cgs_p", *,
    docs: bool = True, words: bool = True, n_jobs: int = 1,
) -> Counts:  # fmt: skip
    """Expected topic counts, as ``engine.estimates.topic_counts``."""
    check_choice("estimator", estimator, ESTIMATORS)

    def found() -> Counts:
        state.set_prior(prior)
        by_word = None
        if words or estimator == "cgs_p":
            state.count_parts()
            by_word = np.empty((corpus.n_words, prior.n_topics)) if words else None
            if estimator == "cgs_p":
                _soft_counts(state, by_word, docs=docs)
            elif by_word is not None:
                for w, some in _pieces(state):  # one at a time: together they are as large as the result
                    by_word[slice(*some)] = state.get([state.call(state.home(w), "rows", w, some)])[0].counts
        return Counts(_of_documents(state, estimator == "cgs_p") if docs else None, by_word)

    return state.safely(found)


def _pieces(state: ShardedChain) -> list[tuple[int, Range]]:
    """Words in pieces whose rows are not large, each with its part: a part may have nearly all words."""
    most = max(1, _CELLS // state.n_topics)
    return [
        (w, (first, min(first + most, stop)))
        for w, (start, stop) in enumerate(state.words)
        for first in range(start, stop, most)
    ]


def _soft_counts(state: ShardedChain, by_word: FloatArray | None, *, docs: bool) -> None:
    """Each piece goes through all shards in their order, one shard behind the piece before it."""
    n, pieces, words = len(state.shards), _pieces(state), by_word is not None
    if docs:
        state.get(state.call(state.worker_of(s), "start_estimate", s) for s in range(n))
    rows: list[Ref] = [None] * len(pieces)
    out: list[Ref] = [None] * len(pieces)
    for stage in range(n + len(pieces) - 1):
        for p in range(max(0, stage - n + 1), min(len(pieces), stage + 1)):
            w, some = pieces[p]
            if p == stage:
                rows[p] = state.call(state.home(w), "rows", w, some)
            s = stage - p
            out[p] = state.call(state.worker_of(s), "add_estimate", s, state.topic, rows[p], out[p], words)
            if s < n - 1:
                continue
            rows[p] = None
            if p >= n:  # fetched as soon as the pieces after it are under way, so that few wait
                _take(state, pieces, out, p - n, by_word)
    for p in range(max(0, len(pieces) - n), len(pieces)):
        _take(state, pieces, out, p, by_word)


def _take(
    state: ShardedChain, pieces: list[tuple[int, Range]], out: list[Ref], p: int, by_word: FloatArray | None
) -> None:  # fmt: skip
    found, out[p] = state.get([out[p]])[0], None
    if by_word is not None:
        by_word[slice(*pieces[p][1])] = found


def _of_documents(state: ShardedChain, soft: bool) -> FloatArray:
    out = state.of.no_counts(state.corpus, state.beside, state.n_topics)
    start = 0
    for s in range(len(state.shards)):  # one at a time: together they are as large as the result
        found = state.get([state.call(state.worker_of(s), "estimate", s, soft)])[0]
        out[start : start + len(found)] = found
        start += len(found)
    return out

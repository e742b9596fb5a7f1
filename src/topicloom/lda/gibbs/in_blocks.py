"""Samplers that sweep in blocks of documents and words (``engine.shards``): dense, sparse, by word, and auto.

Each says in a ``BlockSampler`` how it draws a block; the sweeps around that are written here, once.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Range
from topicloom.engine.exact_shards import sweep_exactly
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, ShardProgress
from topicloom.engine.shards import Loads, MakeDraw, start_shards, sweep_shards
from topicloom.engine.state import AnyState
from topicloom.lda.gibbs.joint import log_joint
from topicloom.lda.gibbs.of_documents import PLAIN, OfDocuments

_SETTLED, _RECUT = 10, 10  # sweeps after which a cut is kept for more than one, and made anew at each so many


class BlockSampler(NamedTuple):
    """How a sampler draws blocks."""

    number: int  # by which a checkpoint names it
    form: Callable[[Corpus, AnyState], AnyState]  # the same counts in the form that it takes
    make_draw: MakeDraw
    loads: Callable[[Corpus, Prior], Loads]  # never by the state: a sweep whose cut follows from z is not exact
    in_pieces: bool  # whether its documents may come in more pieces at no cost
    finish: Callable[[AnyState], Callable[[Range], None]] | None = None


class Blocks(NamedTuple):
    """How a sampler sweeps in blocks."""

    samplers: Mapping[str, BlockSampler]
    choose: Callable[[Corpus, AnyState, Prior], str] | None  # which of several comes next
    from_prior: Callable[[Corpus, Prior], bool]  # whether first topics are drawn from the prior, document by document
    of_documents: OfDocuments = PLAIN
    beside: Any = None  # what documents have beside their tokens


def _is_last(sweep: int) -> bool:
    """Whether blocks are cut anew after a sweep, and auto looks again which sampler is the quickest."""
    return sweep < _SETTLED or sweep % _RECUT == 0


def sampler_in_blocks(
    name: str,
    init: Callable[[Corpus, Prior, Key], AnyState],
    restore: Callable[..., AnyState],
    conditional: Callable[[Corpus, AnyState, Prior, int], FloatArray],
    samplers: Mapping[str, BlockSampler],
    choose: Callable[[Corpus, AnyState, Prior], str] | None = None,
    from_prior: Callable[[Corpus, Prior], bool] = lambda *_: True,
    of_documents: OfDocuments = PLAIN,
    beside: Any = None,
) -> Sampler:
    """A sampler that draws blocks in one way, or chooses among several.

    Counts stay in the form that the last sweep took; all forms are functions of z, so a resumed run goes on alike.
    """
    blocks = Blocks(samplers, choose, from_prior, of_documents, beside)
    sweeps = sweeps_of(blocks, _here)

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        state, info, _ = sweeps(corpus, state, prior, key, schedule)
        return state, info

    known = [sampler.number for sampler in samplers.values()]
    numbers = range(min(known), max(known) + 1)
    return Sampler(
        name, init, restore, sweep, log_joint, conditional, exact=True, sweeps=sweeps, block_samplers=numbers,
        blocks=blocks,
    )  # fmt: skip


def _here(state: AnyState, progress: ShardProgress, schedule: Schedule) -> Callable[..., tuple[ShardProgress, Info]]:
    """What goes through sweeps in this process."""
    exactly = schedule.exact and len(progress.words) > 1  # one part has nothing to share
    return sweep_exactly if exactly else sweep_shards


def sweeps_of(
    blocks: Blocks, where: Callable[[Any, ShardProgress, Schedule], Callable[..., tuple[ShardProgress, Info]]]
) -> Callable[..., Any]:
    """Sweeps in blocks, as a ``Sampler`` has them.

    ``where`` gives what goes through them, as ``engine.exact_shards`` does here: they may be drawn in other processes.
    """
    samplers, choose = blocks.samplers, blocks.choose
    by_number = {sampler.number: sampler for sampler in samplers.values()}
    only = next(iter(samplers.values()))

    def sweeps(
        corpus: Corpus, state: Any, prior: Prior, key: Key, schedule: Schedule, n_sweeps: int = 1,
        progress: ShardProgress | None = None,
    ) -> tuple[AnyState, Info, ShardProgress | None]:  # fmt: skip
        sweep, stop = key.sweep, key.sweep + n_sweeps
        while sweep < stop:
            if progress is not None:
                sampler = by_number[int(progress.sampler[0])]
            else:
                sampler = only if choose is None else samplers[choose(corpus, state, prior)]
            state = sampler.form(corpus, state)
            if progress is None:
                loads = sampler.loads(corpus, prior)
                progress = start_shards(
                    corpus, prior.n_topics, schedule.n_shards, loads, sampler.in_pieces, sampler.number
                )
            meets = progress.unseen.shape[1] == 1  # all parts have seen all when a sweep ends
            until = sweep + 1
            while until < stop and not (meets or _is_last(until - 1)):
                until += 1
            finish = sampler.finish(state) if sampler.finish else None
            first = key._replace(sweep=sweep)
            progress, info = where(state, progress, schedule)(
                progress, sampler.make_draw, corpus, state, prior, first, schedule, until - sweep, finish
            )
            if meets or _is_last(until - 1):
                progress = None
            sweep = until
        return state, info, progress

    return sweeps

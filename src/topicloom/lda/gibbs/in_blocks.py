"""Samplers that sweep in blocks of documents and words (``engine.shards``): dense, sparse, by word, and auto.

Each says in a ``BlockSampler`` how it draws a block; the sweeps around that are written here, once.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Range
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule, ShardProgress
from topicloom.engine.shards import Loads, MakeDraw, start_shards, sweep_shards
from topicloom.engine.state import AnyState
from topicloom.lda.gibbs.joint import log_joint

_SETTLED, _RECUT = 10, 10  # sweeps after which a cut is kept for more than one, and made anew at each so many


class BlockSampler(NamedTuple):
    """How a sampler draws blocks."""

    number: int  # by which a checkpoint names it
    form: Callable[[Corpus, AnyState], AnyState]  # the same counts in the form that it takes
    make_draw: MakeDraw
    loads: Callable[[AnyState, Prior], Loads]
    in_pieces: bool  # whether its documents may come in more pieces at no cost
    finish: Callable[[AnyState], Callable[[Range], None]] | None = None


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
) -> Sampler:
    """A sampler that draws blocks in one way, or chooses among several.

    Counts stay in the form that the last sweep took; all forms are functions of z, so a resumed run goes on alike.
    """
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
                loads = sampler.loads(state, prior)
                progress = start_shards(
                    corpus, prior.n_topics, schedule.n_shards, loads, sampler.in_pieces, sampler.number
                )
            meets = progress.unseen.shape[1] == 1  # all parts have seen all when a sweep ends
            until = sweep + 1
            while until < stop and not (meets or _is_last(until - 1)):
                until += 1
            finish = sampler.finish(state) if sampler.finish else None
            first = key._replace(sweep=sweep)
            progress, info = sweep_shards(
                progress, sampler.make_draw, corpus, state, prior, first, schedule, until - sweep, finish
            )
            if meets or _is_last(until - 1):
                progress = None
            sweep = until
        return state, info, progress

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        return sweeps(corpus, state, prior, key, schedule)[:2]

    numbers = range(min(by_number), max(by_number) + 1)
    return Sampler(
        name, init, restore, sweep, log_joint, conditional, exact=True, sweeps=sweeps, block_samplers=numbers
    )  # fmt: skip

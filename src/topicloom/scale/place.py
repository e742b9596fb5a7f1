"""A fit on workers: what is refused, and the sampler whose states lie there."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from topicloom.corpus.corpus import Corpus
from topicloom.engine import places
from topicloom.engine.prior import Prior
from topicloom.engine.run import Chain
from topicloom.engine.sampler import Key, Sampler
from topicloom.engine.shards import document_shards
from topicloom.errors import InputError, MemoryLimitError, WorkersLostWarning, counted, warn
from topicloom.lda.gibbs.in_blocks import Blocks, sweeps_of
from topicloom.lda.memory_on_workers import Fit, enough_workers, on_workers, text
from topicloom.scale import sums
from topicloom.scale.chain import ShardedChain
from topicloom.scale.cluster import Cluster, StoreFullError, WorkersLostError

_TRIES = 20  # losses of workers without progress in between, after which a fit gives up
_WHOLE = {  # why a sampler does not run on workers, which have some documents and some words at a time
    "mh": "proposes to a token the topics of random other tokens of its word, which lie in all documents",
    "partial": "draws the words of all topics in every sweep, and each worker would need all of them at once",
    "warp": "goes through all tokens of each word in every sweep, and so through the documents of all workers",
}
_PAUSE, _LONGEST = 0.1, 30.0  # seconds until there may be room where results are kept


class Workers:
    """A place for chains: the workers of a cluster."""

    def __init__(self, cluster: Cluster, memory: int | None = None) -> None:
        self.cluster, self.memory = cluster, memory

    @contextmanager
    def hold(self, model: Any, problem: Any) -> Iterator[places.Stay]:
        """A fit of a model on the workers, for as long as it lasts. One in tasks stays here, and sends them out."""
        if problem.sampler.in_tasks:
            yield places.Here(problem)
            return
        _check(model, problem)
        if self.memory is not None:
            _check_memory(model, problem, self.cluster.n_workers, self.memory)
        held = Held(self.cluster, problem)
        try:
            yield held
        finally:
            self.cluster.stop()


def _check(model: Any, problem: Any) -> None:
    kind = type(model).__name__
    if problem.sampler.blocks is None:
        why = _WHOLE.get(problem.sampler.name)
        reason = f" (the sampler {problem.sampler.name!r} {why})" if why else ""
        raise InputError(
            f"{kind} with these parameters does not run on a cluster{reason}; what does is LDA, CompoundLDA by its "
            "default method and LabeledLDA, with the samplers auto, dense, sparse and words, and VariationalLDA with "
            "the methods scvb0, svb and vb. Fit it outside of the with block."
        )
    if problem.sampled.weights is not None:
        raise InputError(f"{kind} on a cluster takes whole counts, and the corpus has weights.")


def _fit_of(problem: Any) -> Fit:
    names, plan = set(problem.sampler.blocks.samplers), problem.plan
    sampler = "auto" if len(names) > 1 else "dense" if names == {"labeled"} else names.pop()
    n_topics = problem.sizes.get("K") or problem.prior().n_topics
    return Fit(
        n_topics, sampler, problem.n_chains, averaged=plan.burn_in is not None, soft=plan.estimator == "cgs_p"
    )  # fmt: skip


def _needs(problem: Any, n_workers: int) -> str:
    return str(on_workers(problem.sampled, _fit_of(problem), problem.plan.schedule.n_shards, n_workers))


def _check_memory(model: Any, problem: Any, n_workers: int, memory: int) -> None:
    """Refuse a fit whose workers would need more than they may have."""
    fit, n_shards = _fit_of(problem), problem.plan.schedule.n_shards
    plan = on_workers(problem.sampled, fit, n_shards, n_workers)
    if plan.worker <= memory:
        return
    enough = enough_workers(problem.sampled, fit, n_shards, memory)
    if enough is None:
        remedy = (
            "No number of workers would suffice, since each knows all words; give more memory, or use fewer topics."
        )
    else:
        shards = f" with n_shards={enough[1]}" if enough[1] > n_shards else ""
        remedy = f"{counted(enough[0], 'workers')}{shards} would suffice, or more memory for each."
    raise MemoryLimitError(
        f"{type(model).__name__} with {counted(fit.n_topics, 'topics')} and {counted(n_shards, 'shards')} on "
        f"{counted(plan.n_workers, 'workers')} needs about {text(plan.worker)} per worker, and "
        f"worker_memory={memory} allows {text(memory)}. {remedy} topicloom.memory.estimate(..., n_workers=...) says "
        "what a fit needs."
    )


def _by_itself(finish: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """What ends a part's sweep, as the worker calls it, with a state of its own."""
    return None if finish is None else lambda state: finish


class Held:
    """A fit, stated for the workers."""

    here = False

    def __init__(self, cluster: Cluster, problem: Any) -> None:
        self.cluster, self.n_shards = cluster, problem.plan.schedule.n_shards
        self._sampler: Sampler = problem.sampler
        self._corpus: Corpus = problem.sampled
        self._plan = problem.plan
        self.chains: dict[int, ShardedChain] = {}
        self._lost = 0
        self.n_started = 0
        self.problem = problem._replace(
            sampler=self._elsewhere(problem.sampler),
            threads_by_chain=False,
            note=lambda: _needs(problem, cluster.n_workers),
        )

    # -- workers -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        wanted = len(document_shards(self._corpus, self.n_shards))
        self.n_started = self.cluster.start(wanted, self._corpus.word_counts)

    def recover(self, lost: WorkersLostError) -> None:
        """Start workers anew, and bring all chains to where they were."""
        while True:
            self._lost += 1
            if self._lost > _TRIES:
                raise InputError(
                    f"workers were lost {_TRIES} times in a row without progress, the last one so: {lost}. The fit "
                    "gives up."
                ) from lost
            what = "a worker was lost"
            if isinstance(lost, StoreFullError):  # by others, too, who may make room
                time.sleep(min(_PAUSE * 2**self._lost, _LONGEST))
                what = "the object store was full"
            try:
                self._start()
                warn(
                    f"{what} ({lost}); the fit repeats the sweeps since the last copy of its topics, on "
                    f"{counted(self.n_started, 'workers')}. Its result does not change.",
                    WorkersLostWarning,
                )
                for chain in self.chains.values():
                    chain.start_again()
                return
            except WorkersLostError as again:
                lost = again

    def made_progress(self) -> None:
        """What was asked of the workers has been done: losses are counted from here on."""
        self._lost = 0

    # -- chains --------------------------------------------------------------------------------------------------

    def _chain(self, corpus: Corpus, index: int, prior: Prior) -> ShardedChain:
        if not self.chains:
            self._start()
        self.chains[index] = ShardedChain(self, corpus, index, prior, self.n_shards, self._sampler.blocks)
        return self.chains[index]

    def _elsewhere(self, sampler: Sampler) -> Sampler:
        """The same sampler for states that lie in workers."""
        blocks: Blocks = sampler.blocks

        def init(corpus: Corpus, prior: Prior, key: Key) -> ShardedChain:
            chain = self._chain(corpus, key.chain, prior)
            if blocks.from_prior(corpus, prior):
                chain.start_from_prior(prior, key)
            else:
                chain.start_from(sampler.init(corpus, prior, key).z)
            return chain

        def there(state: ShardedChain, progress: Any, schedule: Any) -> Callable[..., Any]:
            return state.sweep_shards

        own = {name: each._replace(finish=_by_itself(each.finish)) for name, each in blocks.samplers.items()}
        sweeps = sweeps_of(blocks._replace(samplers=own), there)
        return replace(
            sampler, init=init, sweeps=sweeps, log_joint=sums.log_joint, topic_counts=sums.topic_counts
        )  # fmt: skip

    def take(self, chains: Sequence[Chain]) -> None:
        """Send the topics of chains that were begun in this process to the workers."""
        for chain in chains:
            if not isinstance(chain.state, ShardedChain):
                there = self._chain(self._corpus, chain.index, chain.prior)
                there.start_from(chain.state.z)
                chain.state = there

    def bring_home(self, chains: Sequence[Chain]) -> None:
        """States of this process, and the counts that will be published."""
        for chain in chains:
            if chain.kept is None:
                chain.last = sums.topic_counts(
                    self._corpus, chain.state, chain.prior, self._plan.estimator, docs=False
                )  # fmt: skip
            z = chain.state.all_topics()
            chain.state = self._sampler.restore(self._corpus, z, chain.prior.n_topics)

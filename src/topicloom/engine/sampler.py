"""What a sampler is: everything that differs between models, so that loop, checkpoints and estimates are written once.

Four kinds of data are kept apart. The *Corpus* never changes. The *Prior* is chosen or learned. The *State* is latent
and is what a checkpoint saves; its counts always equal what ``restore`` makes of z. *Scratch* lives inside a sweep and
is never saved.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws, estimates, learn_priors, probes
from topicloom.engine.checks import TOPICS, Recorded, check_topics
from topicloom.engine.multipath import agreement
from topicloom.engine.prior import Prior
from topicloom.errors import InputError


class Key(NamedTuple):
    """Where in a run a sweep stands: with the seed, all its random numbers follow from this."""

    seed: int
    chain: int
    sweep: int


class Schedule(NamedTuple):
    """How a sweep is made: all of it is part of the model, except for the number of threads, which changes nothing."""

    n_shards: int = 1  # 0: as many as the corpus asks for
    n_jobs: int = 1
    n_mh: int = 2  # steps per token, of samplers that propose and accept
    exact: bool = True  # whether parts know their shares of the topics (``engine.exact_shards``) or lag behind


class Info(NamedTuple):
    """What a sweep reports."""

    changed: int  # tokens whose topic changed
    work: int  # weights that were computed, the measure of a sweep's cost
    detail: Any = None  # what a sampler's own ``after_sweep`` needs to know of it


class ShardProgress(NamedTuple):
    """Where sweeps on several shards stand: the cut into blocks, and the moves that parts have not seen of each other.

    ``engine.shards`` says how. It is latent as the state is: a chain that has one and goes on needs it.
    """

    sampler: Int64Array  # [1] the number of the sampler that draws the blocks, of one that chooses among several
    docs: Int64Array  # [shards, pieces, 2] from, to
    words: Int64Array  # [parts, 2]
    unseen: Int64Array  # [parts, delay, K] what totals have moved by in a part's last steps, which others have not seen


class Restored(NamedTuple):
    """What a chain has from its file beside trace and kept samples."""

    state: Any
    prior: Any
    extra: Any = None


# -- what samplers of topics have in common --------------------------------------------------------------------------


def record_topics(sampler: "Sampler", corpus: Corpus, chain: Any, info: Info, plan: Any) -> dict[str, Any]:
    """What is recorded of a chain of topics after a sweep."""
    found: dict[str, Any] = {
        "log_joint": sampler.final_value(sampler, corpus, chain, plan),
        "changed": info.changed,
        "alpha_sum": float(chain.prior.alpha.sum(axis=1).mean()),
        "beta_mean": float(chain.prior.beta.mean()),
    }
    if sampler.by_token:
        prior, z = chain.prior, chain.state.z
        found["topic_sizes"] = chain.state.topic.copy()
        found["probes"] = probes.measure(corpus, z, found["topic_sizes"], lambda d: prior.alpha[prior.alpha_row[d]])
    return found | ({"agreement": agreement(chain.state.z, plan.n_paths)} if plan.n_paths > 1 else {})


def joint_of_paths(sampler: "Sampler", corpus: Corpus, chain: Any, plan: Any) -> float:
    """log p(w, z) of all paths together, divided by their number."""
    return float(sampler.log_joint(corpus, chain.state, chain.prior, plan.schedule.n_jobs) / plan.n_paths)


def assignments_and_prior(chain: Any) -> dict[str, AnyArray]:
    """z and the prior: all that a checkpoint needs of a sampler whose counts follow from z."""
    return {"z": chain.state.z, **chain.prior._asdict()}


def restore_assignments(sampler: "Sampler", corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    return Restored(sampler.restore(corpus, arrays["z"], prior.n_topics), prior)


def summed_counts(arrays: dict[str, AnyArray], n_samples: int) -> estimates.Counts:
    return estimates.Counts(arrays["doc"], arrays["word"], n_samples, arrays.get("eta"))


def _n_topics(state: Any) -> int:
    return len(state.topic)


def _no_more(corpus: Corpus, state: Any, extra: Any) -> int:
    return 0


def sweep_by_sweep(
    sweep: Callable[..., tuple[Any, Info]], corpus: Corpus, state: Any, prior: Any, key: Key, schedule: Schedule,
    n_sweeps: int = 1, progress: ShardProgress | None = None,
) -> tuple[Any, Info, ShardProgress | None]:  # fmt: skip
    """Sweeps of a sampler that has no progress from one to the next."""
    for number in range(key.sweep, key.sweep + n_sweeps):
        state, info = sweep(corpus, state, prior, key._replace(sweep=number), schedule)
    return state, info, None


# -- the protocol ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampler:
    """A sampler, or another way to move a chain. What is left out is as of LDA's samplers.

    ``sweep`` consumes the state it is given (its arrays are reused) and returns the next one. With several shards a
    ``sweep`` stands by itself; a chain's sweeps are those of ``run``. ``restore`` makes a state of assignments from a
    checkpoint or another program. ``exact`` says whether the posterior is invariant under ``sweep``; the tests that
    apply follow from it. ``conditional`` gives one token's weights as ``sweep`` would use them, for those
    tests.
    """

    name: str
    init: Callable[..., Any]  # (corpus, prior, key) -> state
    restore: Callable[..., Any]  # (corpus, z, n_topics) -> state
    sweep: Callable[..., tuple[Any, Info]]  # (corpus, state, prior, key, schedule)
    log_joint: Callable[..., float]  # (corpus, state, prior, n_jobs)
    conditional: Callable[..., FloatArray]  # (corpus, state, prior, token)
    exact: bool
    sweeps: Callable[..., tuple[Any, Info, ShardProgress | None]] | None = None  # as ``run``, without threads' meeting
    topic_counts: Callable[..., Any] = estimates.topic_counts  # (corpus, state, prior, estimator, docs, words, n_jobs)
    draw: Callable[..., draws.Drawn] = draws.draw_topics  # (corpus, counts, prior, n_paths): what a sample says
    draw_shapes: Callable[..., draws.Shapes] = draws.topic_shapes  # (corpus, prior, n_paths)
    first_extra: Callable[[], Any] | None = None  # what a chain has beside its state, before the first sweep
    after_sweep: Callable[..., None] = learn_priors.after_sweep  # (corpus, chain, info, plan)
    every_sweep: bool = False  # whether there is something to do after each sweep
    converges: bool = False  # whether ``after_sweep`` may end a chain
    record: Callable[..., dict[str, Any]] = record_topics  # (sampler, corpus, chain, info, plan)
    recorded: Recorded = TOPICS  # what that gives
    final_value: Callable[..., float] = joint_of_paths  # (sampler, corpus, chain, plan): what chains are compared by
    to_arrays: Callable[[Any], dict[str, AnyArray]] = assignments_and_prior  # (chain): state, prior, extra
    from_arrays: Callable[..., Restored] = restore_assignments  # (sampler, corpus, arrays)
    kept_from: Callable[..., Any] = summed_counts  # (arrays, n_samples): kept samples
    check: Callable[..., None] = check_topics  # (file, corpus, index): refuse arrays that are not what they must be
    by_token: bool = True  # whether z has one entry for each token
    n_topics: Callable[[Any], int] = _n_topics  # (state): of topics, or of a model's states
    more_probes: Callable[..., int] = _no_more  # (corpus, state, extra): what is recorded beside ``engine.probes``
    block_samplers: range = range(0)  # numbers that its ``ShardProgress`` may name
    blocks: Any = None  # how it sweeps in blocks, which may be drawn in other processes (``lda.gibbs.in_blocks``)
    in_tasks: bool = False  # whether what it does is done in tasks, which an executor may take (``corpus._executors``)
    # (corpus, state, prior, key, schedule, n_sweeps = 1, progress = None): sweeps from that of the key on; the report
    # is that of the last one. In how many calls they are made changes nothing, if each is given the progress that the
    # one before returned.
    run: Callable[..., tuple[Any, Info, ShardProgress | None]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", self.sweeps or partial(sweep_by_sweep, self.sweep))


_SAMPLERS: dict[str, Sampler] = {}


def register(sampler: Sampler) -> Sampler:
    """Make a sampler available by name; every contract test then runs on it."""
    _SAMPLERS[sampler.name] = sampler
    return sampler


def registered(name: str) -> Sampler:
    if name not in _SAMPLERS:
        raise InputError(f"sampler={name!r} is not known; choose one of {', '.join(map(repr, sorted(_SAMPLERS)))}.")
    return _SAMPLERS[name]


def registered_names() -> list[str]:
    return sorted(_SAMPLERS)

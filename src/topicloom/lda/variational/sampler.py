"""Variational inference in the form of a sampler, so that the one loop runs it.

A sweep is an iteration over a whole corpus, or a pass over it in minibatches. Nothing is drawn: what follows a sweep
are learned priors and the question whether the run has converged. ``log_joint`` is the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import LARGEST_PRIOR, ROUNDING, VARIATIONAL, check_prior
from topicloom.engine.prior import Prior
from topicloom.engine.run import Chain, Plan
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule
from topicloom.errors import InputError
from topicloom.files.checks import Contents, Expected
from topicloom.lda.variational import stochastic
from topicloom.lda.variational.batch import DOCUMENTS_ALONE, MODES, Mode, bound, bytes_needed, iterate, start
from topicloom.lda.variational.priors import learn_priors
from topicloom.lda.variational.state import PairIndex, VariationalState, Work, pair_index, word_prior
from topicloom.lda.variational.stochastic import STOCHASTIC_MODES, Steps, StochasticMode, StochasticState
from topicloom.numerics.rng import Purpose, stream

ALL_MODES: tuple[str, ...] = (*MODES, *STOCHASTIC_MODES)
_FRESH = 20  # iterations in which documents of VB start afresh: later they stay near where they were
_SETTLED = 1e-2  # relative change of a learned prior below which it does not hold up convergence


class Settings(NamedTuple):
    """How a run is made; all of it is part of the model."""

    mode: str
    tol: float = 1e-3  # share of the tokens that an iteration may move and still count as converged
    doc_tol: float = 1e-3
    doc_rounds: int = 10
    steps: Steps = Steps()  # of stochastic modes
    name: str = ""  # by which messages call it, if not by the mode

    @property
    def settled(self) -> float:
        """Relative change of a learned prior that does not hold up convergence."""
        return max(_SETTLED, 10 * self.tol)

    def work(self, schedule: Schedule, fresh: bool = False) -> Work:
        return Work(self.doc_tol, self.doc_rounds, schedule.n_shards, schedule.n_jobs, fresh)


@dataclass
class Movement:
    """A chain's ``extra``: how far it moved when it last did."""

    change: float = np.inf  # share of tokens that moved in the last iteration
    prior_change: float = np.inf  # relative, of the priors when they were last learned
    value: float = np.nan  # of stochastic modes, the documents' part of the bound in the last pass


@dataclass(frozen=True)
class Collections:
    """What documents in collections add to an iteration: see ``compound.vem``."""

    start: Callable[[VariationalState, Prior], VariationalState]
    fit: Callable[[PairIndex, VariationalState, Prior, bool], tuple[VariationalState, Prior, float]]
    bound: Callable[[PairIndex, VariationalState, Prior, int], float]
    check: Callable[[Contents, Corpus], None]


# -- memory --------------------------------------------------------------------------------------------------------


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping, where the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def memory_note(corpus: Corpus, mode: str, n_topics: int, n_chains: int = 1, name: str | None = None) -> str:
    """What a run will need, in words; raises if it is more than there is."""
    if mode in STOCHASTIC_MODES:
        needed = 2 * 8 * corpus.n_words * n_topics * n_chains
        what = f"{corpus.n_words:,} words × {n_topics:,} topics"
    else:
        needed = bytes_needed(cast(Mode, mode), corpus, n_topics) * n_chains
        what = f"{len(corpus.pairs.word):,} distinct document/word pairs × {n_topics:,} topics"
    note = f'method="{name or mode}" needs {_size(needed)} for {what}'
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(
            f'{note}, and {_size(free)} are free. Use method="scvb0" or "svb", which need memory for words × '
            "topics alone, or fewer topics."
        )
    return note


# -- samplers --------------------------------------------------------------------------------------------------------


def variational_sampler(settings: Settings, corpus: Corpus | None, collections: Collections | None = None) -> Sampler:
    """The sampler of a mode, for a corpus. A stochastic mode that is fed in parts has none."""
    if settings.mode in STOCHASTIC_MODES:
        return _stochastic_sampler(settings)
    return _batch_sampler(settings, corpus, collections)


def _batch_sampler(settings: Settings, corpus: Corpus | None, collections: Collections | None) -> Sampler:
    mode = cast(Mode, settings.mode)

    @cache
    def pairs() -> PairIndex:
        assert corpus is not None
        return pair_index(corpus)

    def init(corpus: Corpus, prior: Prior, key: Key) -> VariationalState:
        state = start(pairs(), mode, prior, key.seed, key.chain)
        return state if collections is None else collections.start(state, prior)

    def sweep(
        corpus: Corpus, state: VariationalState, prior: Prior, key: Key, schedule: Schedule
    ) -> tuple[VariationalState, Info]:
        work = settings.work(schedule, fresh=key.sweep <= _FRESH)
        state, change = iterate(pairs(), state, mode, prior, work)
        return state, Info(_moved(corpus, change), 0, change)

    def log_joint(corpus: Corpus, state: VariationalState, prior: Prior, n_jobs: int = 1) -> float:
        if collections is not None:
            return collections.bound(pairs(), state, prior, n_jobs)
        return bound(pairs(), state, mode, prior, n_jobs)

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        learns, moved, own = plan.learns(chain.sweep), 0.0, chain.extra
        if collections is not None:
            chain.state, chain.prior, moved = collections.fit(pairs(), chain.state, chain.prior, learns)
        if learns:
            chain.state, chain.prior, change = learn_priors(
                pairs(),
                chain.state,
                mode,
                chain.prior,
                alpha=plan.learn_alpha,
                beta=plan.learn_beta,
                symmetric=plan.symmetric_alpha,
            )
            own.prior_change = max(change, moved)
        own.change = info.detail
        chain.converged = _is_settled(chain, plan, settings)

    def check(file: Contents, corpus: Corpus, number: int) -> None:
        file.sizes["M"] = len(corpus.pairs.word)
        if collections is None:
            check_prior(file)
        else:
            collections.check(file, corpus)
        _check_changes(file)
        file.expect(_state(mode, with_collections=collections is not None), "state_")
        _check_expected_counts(file, corpus)

    return _sampler(settings, VariationalState, init, sweep, log_joint, after_sweep, check)


def _stochastic_sampler(settings: Settings) -> Sampler:
    mode, steps = cast(StochasticMode, settings.mode), settings.steps

    def init(corpus: Corpus | None, prior: Prior, key: Key) -> StochasticState:
        return stochastic.start(prior, key.seed, key.chain)

    def sweep(
        corpus: Corpus, state: StochasticState, prior: Prior, key: Key, schedule: Schedule
    ) -> tuple[StochasticState, Info]:
        """All batches; every pass has its own order of the documents, and the prior is learned on the way."""
        before, old, total, work = state.counts * state.scale[0], prior, 0.0, settings.work(schedule)
        order = stream(key.seed, Purpose.BATCH_ORDER, key.chain, key.sweep - 1)
        for docs in stochastic.batches(corpus.n_docs, steps.batch_size, order):
            batch = stochastic.take_batch(corpus, docs)
            prior, value = stochastic.learn_batch(batch, state, mode, prior, steps, work)
            total += value
        if steps.learn_beta:
            prior = stochastic.learn_beta(state, mode, prior)
        after = state.counts * state.scale[0]
        change = float(np.abs(after - before).sum() / (2 * max(after.sum(), 1e-300)))
        moves = [np.abs(new - was).sum() / was.sum() for new, was in ((prior.alpha, old.alpha), (prior.beta, old.beta))]
        return state, Info(_moved(corpus, change), 0, (prior, Movement(change, float(max(moves)), total)))

    def log_joint(corpus: Corpus, state: StochasticState, prior: Prior, n_jobs: int = 1) -> float:
        return stochastic.topics_part(state, mode, prior)

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        chain.prior, chain.extra = info.detail
        chain.converged = _is_settled(chain, plan, settings)

    def check(file: Contents, corpus: Corpus | None, number: int) -> None:
        check_prior(file)
        _check_changes(file)
        file.expect(_STOCHASTIC, "state_")
        found = file.arrays["state_counts"].sum(axis=0) * file.arrays["state_scale"][0]
        file.sums_to("state_counts", found, file.arrays["state_topic"], ROUNDING)

    return _sampler(settings, StochasticState, init, sweep, log_joint, after_sweep, check)


def _sampler(
    settings: Settings, kind: type, init: Any, sweep: Any, log_joint: Any, after_sweep: Any, check: Any
) -> Sampler:
    """What all variational modes share."""

    def final_value(sampler: Sampler, corpus: Corpus, chain: Chain, plan: Plan) -> float:
        """The bound as the chain stands; that of a stochastic mode has the documents' part of its last pass."""
        part = log_joint(corpus, chain.state, chain.prior, plan.schedule.n_jobs)
        return float(chain.extra.value + part) if settings.mode in STOCHASTIC_MODES else float(part)

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, float]:
        return {
            "log_joint": final_value(sampler, corpus, chain, plan),
            "changed": info.changed,
            "alpha_sum": float(chain.prior.alpha.sum(axis=1).mean()),
            "beta_mean": float(chain.prior.beta.mean()),
            "change": chain.extra.change,
        }

    def to_arrays(chain: Chain) -> dict[str, AnyArray]:
        own = chain.extra
        arrays: dict[str, AnyArray] = {f"state_{name}": a for name, a in chain.state._asdict().items()}
        arrays |= chain.prior._asdict()
        arrays["changes"] = np.array([own.change, own.prior_change, own.value])
        return arrays

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        fields = cast(Any, kind)._fields  # what files of versions that lack it need not have is left out
        state = kind(**{name: arrays[key] for name in fields if (key := f"state_{name}") in arrays})
        prior = Prior(**{name: arrays[name] for name in Prior._fields})
        return Restored(state, prior, Movement(*map(float, arrays["changes"])))

    return Sampler(
        settings.mode, init, _none, sweep, log_joint, _none, exact=False, first_extra=Movement,
        after_sweep=after_sweep, every_sweep=True, converges=True, record=record, recorded=VARIATIONAL,
        final_value=final_value, to_arrays=to_arrays, from_arrays=from_arrays, check=check, by_token=False,
        in_tasks=settings.mode in DOCUMENTS_ALONE,
    )  # fmt: skip


def _none(*args: Any) -> Any:
    raise NotImplementedError("variational inference draws no topics")


def _moved(corpus: Corpus, change: float) -> int:
    total = corpus.n_tokens if corpus.weights is None else float(corpus.pairs.count.sum())
    return round(change * total) if np.isfinite(change) else 0


def _is_settled(chain: Chain, plan: Plan, settings: Settings) -> bool:
    own: Movement = chain.extra
    if not np.isfinite(own.change):
        raise InputError(
            f'method="{settings.name or settings.mode}" came to numbers that are not finite in iteration '
            f"{chain.sweep}: priors and counts are too large or too small for each other. Bring priors nearer to 1, or "
            "scale the counts."
        )
    wanted = plan.learn_alpha or plan.learn_beta or plan.learn_more
    unsettled = wanted and own.prior_change > settings.settled
    return own.change < settings.tol and not unsettled


def word_counts(chain: Chain) -> FloatArray:
    """β + E[n_vk] [V, K]."""
    if hasattr(chain.state, "scale"):
        return stochastic.pseudo_counts(chain.state, chain.prior)
    word = chain.state.word
    return np.where(word > 0, word, word_prior(chain.prior))  # what rounding has taken from a tiny prior


# -- checkpoints -----------------------------------------------------------------------------------------------------

_STOCHASTIC = {
    "counts": Expected("f8", ("V", "K"), low=0),
    "scale": Expected("f8", (1,), high=1, positive=True),
    "topic": Expected("f8", ("K",), low=0),
    "batches": Expected("i8", (1,), low=0),
}


def _state(mode: str, with_collections: bool) -> dict[str, Expected]:
    """Arrays that a mode does not need have no rows. Sums that are kept up to date may be off by their rounding."""
    collapsed, vem, cvb = mode in ("cvb0", "cvb", "cvb_exact"), with_collections, mode == "cvb"
    low = -1e-6
    return {
        "gamma": Expected("f4" if mode in ("cvb0", "cvb") else "f8", ("M" if collapsed else 0, "K"), low, 1 - low),
        "doc": Expected("f8", ("D", "K"), low),
        "word": Expected("f8", ("V", "K"), low),
        "topic": Expected("f8", ("K",), positive=True),
        "doc_var": Expected("f8", ("D" if cvb else 0, "K"), -ROUNDING),
        "word_var": Expected("f8", ("V" if cvb else 0, "K"), -ROUNDING),
        "topic_var": Expected("f8", ("K",), -ROUNDING),
        "tau": Expected("f8", ("R", "K") if vem else (0, 0), positive=True, optional=not vem),
        "hyper": Expected("f8", (1, "K of hyper") if vem else (0, 0), positive=True, optional=not vem),
    }


def _check_changes(file: Contents) -> None:
    if "kept" in file.info:  # which earlier versions did not write
        file.whole("kept", high=0)
    file.expect({"changes": Expected("f8", (3,), finite=False)})
    if not np.all(file.arrays["changes"][:2] >= 0):
        file.fail("the array 'changes' has a negative change, or none")


def _check_expected_counts(file: Contents, corpus: Corpus) -> None:
    """Whether every document and word has its tokens and its prior in expected counts, and topics their sum."""
    arrays, pairs = file.arrays, corpus.pairs
    doc, word = arrays["state_doc"].sum(axis=1), arrays["state_word"].sum(axis=1)
    alpha, beta = arrays["alpha"].sum(axis=1)[arrays["alpha_row"]], file.sizes["K"] * arrays["beta"]
    beta[arrays["boost_row"] >= 0] += arrays["boost"].sum(axis=1)[arrays["boost_row"][arrays["boost_row"] >= 0]]
    of_docs = np.diff(np.append(0.0, np.cumsum(pairs.count))[pairs.ptr])
    of_words = np.bincount(pairs.word, pairs.count, minlength=len(word))
    file.sums_to("state_topic", arrays["state_word"].sum(axis=0), arrays["state_topic"], ROUNDING)
    if len(arrays["state_gamma"]):
        file.sums_to("state_gamma", arrays["state_gamma"].sum(axis=1), 1.0, ROUNDING)
        file.sums_to("state_doc", doc, of_docs + alpha, ROUNDING)
        file.sums_to("state_word", word, of_words + beta, ROUNDING)
    elif np.any(doc - of_docs > LARGEST_PRIOR) or np.any(word - of_words > LARGEST_PRIOR):
        file.fail("the arrays 'state_doc' and 'state_word' have more than the corpus and its priors")
    elif file.info["sweep"] == 0:
        return  # it has yet to look at the corpus
    elif np.any(doc < of_docs * (1 - ROUNDING)) or np.any(word < of_words * (1 - ROUNDING)):
        file.fail("the arrays 'state_doc' and 'state_word' have less than the corpus")

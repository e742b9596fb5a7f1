"""Samplers of compound LDA: any sampler of LDA, and after each of its sweeps a draw of the collections' mixtures."""

from dataclasses import replace
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array
from topicloom.compound import mixtures
from topicloom.compound.mixtures import Mixing, Mixtures
from topicloom.corpus.corpus import Corpus
from topicloom.engine import learn_priors
from topicloom.engine.checks import check_kept, check_prior, check_tokens
from topicloom.engine.run import Chain, Plan
from topicloom.engine.sampler import (
    Info,
    Key,
    Restored,
    Sampler,
    assignments_and_prior,
    record_topics,
    restore_assignments,
)
from topicloom.files.checks import Contents, Expected

N_COLLECTIONS = 16  # at most so many are compared with the next
_PREFIX = "mixtures_"  # of arrays in a checkpoint
_ARRAYS = {
    "pi": Expected("f8", ("R", "K"), positive=True),
    "log_pi": Expected("f8", ("R", "K"), high=1e-6),
    "phi": Expected("f8", ("R", "K")),
    "log_step": Expected("f8", ("R",)),
    "acceptance": Expected("f8", ("R",), low=0, high=1),
    "gamma": Expected("f8", (1,), positive=True),
    "alpha": Expected("f8", ("K",), positive=True),
    "sweeps": Expected("i8", ("S",), low=1),
    "draws": Expected("f8", ("S", "R", "K"), low=0, high=1 + 1e-6),
    "gammas": Expected("f8", ("S",), positive=True),
    "alphas": Expected("f8", ("S",), positive=True),
}


def with_mixtures(sampler: Sampler, mixing: Mixing, start: Mixtures, rows: Int32Array) -> Sampler:
    """A sampler of LDA whose documents have the rows of α given by their collections' mixtures.

    A chain's ``extra`` are its ``Mixtures``, which begin as ``start``. ``rows`` has the collection of each document.
    """

    def after_sweep(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
        own, learns = chain.extra, plan.learns(chain.sweep)
        if plan.keeps(chain.sweep):
            own.keep(chain.prior.alpha)
        key = Key(plan.seed, chain.index, chain.sweep)
        chain.prior = mixtures.step(
            corpus, chain.state.z, chain.prior, own, mixing, key, learns, plan.schedule.n_jobs
        )  # fmt: skip
        learn_priors.after_sweep(corpus, chain, info, plan)

    def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, Any]:
        found = record_topics(sampler, corpus, chain, info, plan)
        found["probes"] = np.concatenate((found["probes"], mixture_probes(chain.extra.pi)))
        return found | ({"acceptance": float(chain.extra.acceptance.mean())} if mixing.method == "mgs" else {})

    def to_arrays(chain: Chain) -> dict[str, AnyArray]:
        own = mixtures.to_arrays(chain.extra)
        return assignments_and_prior(chain) | {_PREFIX + name: a for name, a in own.items()}

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        own = {name.removeprefix(_PREFIX): a for name, a in arrays.items() if name.startswith(_PREFIX)}
        return restore_assignments(sampler, corpus, arrays)._replace(extra=mixtures.from_arrays(own))

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        check_prior(file, rows)
        check_tokens(file)
        _check_mixtures(file, check_kept(file, corpus))

    return replace(
        sampler,
        first_extra=lambda: _copy(start),
        after_sweep=after_sweep,
        every_sweep=True,
        record=record,
        more_probes=lambda corpus, state, extra: len(mixture_probes(extra.pi)),
        to_arrays=to_arrays,
        from_arrays=from_arrays,
        check=check,
    )


def mixture_probes(pi: FloatArray) -> FloatArray:
    """How alike the mixtures of collections are, each and the next: Σ_k π_jk π_lk, whatever topics' numbers are."""
    some = pi[: N_COLLECTIONS + 1]
    return np.asarray(np.sum(some[:-1] * some[1:], axis=1))


def mixture_probe_names(n_collections: int) -> list[str]:
    return [f"similarity, collections {j} and {j + 1}" for j in range(min(n_collections - 1, N_COLLECTIONS))]


def _copy(start: Mixtures) -> Mixtures:
    """Mixtures of a chain of its own."""
    copied: Any = {name: array.copy() for name, array in vars(start).items() if isinstance(array, np.ndarray)}
    return replace(start, sweeps=[], draws=[], gammas=[], alphas=[], **copied)


def _check_mixtures(file: Contents, n_kept: int) -> None:
    file.expect(_ARRAYS, _PREFIX)
    shape = ("R", "K") if n_kept else (0, 0)
    file.expect({"kept": Expected("f8", shape, positive=True)}, _PREFIX)
    file.sums_to(f"{_PREFIX}pi", file.arrays[f"{_PREFIX}pi"].sum(axis=1), 1.0)
    file.sums_to(f"{_PREFIX}draws", file.arrays[f"{_PREFIX}draws"].sum(axis=2), 1.0)
    sweeps = file.arrays[f"{_PREFIX}sweeps"]
    if np.any(np.diff(sweeps) <= 0) or np.any(sweeps > file.whole("sweep")):
        file.fail(f"the array {_PREFIX + 'sweeps'!r} does not rise to the chain's sweep")
    rows = file.arrays[f"{_PREFIX}gamma"][0] * file.arrays[f"{_PREFIX}pi"]
    file.sums_to("alpha", file.arrays["alpha"], rows)

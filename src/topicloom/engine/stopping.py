"""When to stop: chains are compared by what does not depend on topics' numbers, at sweeps that are fixed beforehand.

Chains are looked at after ``first`` sweeps, and then each time the number has doubled. So a fit that stops by itself
equals one whose ``max_iter`` was the number it stopped at, and it resumes exactly: when to look follows from the rule,
and what is seen from the traces.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_number, check_whole, shown
from topicloom.engine.run import Trace
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.evaluation.convergence import Summary, Verdict

LEAST_RECORDS = 4  # per chain, after those that are discarded
_NATS = 0.1  # by which the joint log probability of a whole corpus must change to be looked at
_NEGLIGIBLE = {"alpha_sum": 1e-4, "beta_mean": 0.0, "probes": 1e-4}  # the same of other quantities


@dataclass(frozen=True)
class Converged:
    """A value of ``max_iter``: make sweeps until the chains agree. ``max_iter="auto"`` is ``Converged()``.

    Parameters
    ----------
    max_rhat : float, default=1.05
        The largest R-hat that is taken as agreement.
    min_ess : float, default=None
        The smallest effective sample size that is enough. None is 100 per chain.
    first : int, default=200
        Sweeps before the chains are first compared. They are compared again each time the number has doubled.
    max_sweeps : int, default=10_000
        The most sweeps of a chain.

    Examples
    --------
    >>> from topicloom import LDA, Converged
    >>> from topicloom.datasets import bars
    >>> rule = Converged(max_rhat=1.2, min_ess=20, first=100, max_sweeps=400)
    >>> model = LDA(5, n_chains=4, max_iter=rule, trace_every=2, random_state=0).fit(bars(n_docs=60).corpus)
    >>> model.n_iter_ in (100, 200, 400)
    True
    """

    max_rhat: float = 1.05
    min_ess: float | None = None
    first: int = 200
    max_sweeps: int = 10_000

    def looks(self) -> Iterator[int]:
        """The sweeps after which chains are compared.

        Yields
        ------
        int

        Examples
        --------
        >>> from topicloom import Converged
        >>> list(Converged(first=100, max_sweeps=500).looks())
        [100, 200, 400, 500]
        """
        sweeps = min(self.first, self.max_sweeps)
        while sweeps < self.max_sweeps:
            yield sweeps
            sweeps *= 2
        yield self.max_sweeps

    def next_look(self, done: int) -> int:
        """The first of these sweeps that is not before another.

        Parameters
        ----------
        done : int
            Sweeps made.

        Returns
        -------
        int
        """
        return next((sweeps for sweeps in self.looks() if sweeps >= done), self.max_sweeps)

    def look_after(self, done: int) -> int | None:
        """The next of these sweeps after another.

        Parameters
        ----------
        done : int
            Sweeps after which the chains were compared.

        Returns
        -------
        int or None
            None if that was the last.
        """
        return next((sweeps for sweeps in self.looks() if sweeps > done), None)


MaxIter = int | Literal["auto"] | Converged
"""Sweeps to make: so many, or until chains agree."""


def stopping_rule(max_iter: Any) -> Converged | None:
    """The rule that a parameter ``max_iter`` stands for; None if it is a number of sweeps."""
    if isinstance(max_iter, str) and max_iter == "auto":
        return Converged()
    return max_iter if isinstance(max_iter, Converged) else None


def from_saved(max_iter: Any) -> Any:
    """A parameter ``max_iter`` as it was given, from what JSON has of it."""
    return Converged(**max_iter) if isinstance(max_iter, dict) else max_iter


def most_sweeps(max_iter: Any) -> int:
    """The most sweeps that a parameter ``max_iter`` allows."""
    rule = stopping_rule(max_iter)
    return int(max_iter) if rule is None else rule.max_sweeps


def first_sweeps(max_iter: Any) -> int:
    """Sweeps to make before there is anything to decide."""
    rule = stopping_rule(max_iter)
    return int(max_iter) if rule is None else rule.next_look(1)


def check_max_iter(model: Any) -> None:
    """Whether a model's ``max_iter`` is a number of sweeps, or a rule that its chains can be judged by."""
    rule = stopping_rule(model.max_iter)
    if rule is None:
        if isinstance(model.max_iter, str):
            raise InputError(f'max_iter={shown(model.max_iter)} must be a whole number, "auto" or a Converged(...).')
        check_whole("max_iter", model.max_iter, 1)
        return
    if not model._samples:
        raise InputError(
            f"max_iter={shown(model.max_iter)} compares chains that draw samples, and this method draws none: it stops "
            "when it has converged. Give a whole number, the most iterations."
        )
    if check_number("max_rhat of max_iter", rule.max_rhat, 1.0, math.inf) == 1.0:
        raise InputError("max_iter: max_rhat=1 is reached by no chains; give a number above 1, for instance 1.05.")
    if rule.min_ess is not None:
        check_number("min_ess of max_iter", rule.min_ess, 0.0, 1e15)
    for name in ("first", "max_sweeps"):
        check_whole(f"{name} of max_iter", getattr(rule, name), 1)
    if model.n_chains < 2:
        raise InputError(
            f"max_iter={shown(model.max_iter)} stops when chains agree, which needs several: use n_chains=4."
        )
    first, burn_in, needed = rule.next_look(1), getattr(model, "burn_in", None), LEAST_RECORDS * model.trace_every
    least = 2 * needed if burn_in is None else burn_in + needed
    if first < least:
        raise InputError(
            f"max_iter: after {first} sweeps there are too few records to compare chains by, one in "
            f"trace_every={model.trace_every}; give Converged(first={least}) or more."
        )


# -- what chains are compared by ---------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """What the chains of a model say about its convergence."""

    n_draws: int  # recorded sweeps per chain that are judged
    table: "Summary"
    verdict: "Verdict"


def discarded(sweeps: int, burn_in: int | None) -> int:
    """Sweeps at the start of a chain that are not judged: half of them, unless the model has a burn-in."""
    return sweeps // 2 if burn_in is None else burn_in


def late_records(traces: Sequence[Trace], first: int) -> list[Int64Array]:
    """Which records of each trace are of sweep ``first`` or later: the last ones, as many of each chain."""
    late = [np.flatnonzero(np.array(trace.sweep) >= first) for trace in traces]
    n_draws = min(map(len, late))
    return [which[len(which) - n_draws :] for which in late]


def judge(
    traces: Sequence[Trace],
    groups: Sequence[Sequence[int]],
    late: Sequence[Int64Array],
    rule: Converged,
    *,
    sweeps_per_draw: int,
    names: Sequence[str] | None = None,
) -> Judged:
    """Compare chains by what they have recorded. ``groups`` are those that draw from the same posterior."""
    from topicloom.evaluation.convergence import summary, verdict  # which most fits do not need

    named = [
        (name if len(groups) == 1 else f"{name}, chains of group {number}", values)
        for number, group in enumerate(groups)
        for name, values in _quantities([(traces[i], late[i]) for i in group], names)
    ]
    table = summary(np.stack([values for _, values in named], axis=2), [name for name, _ in named])
    found = verdict(table, max_rhat=rule.max_rhat, min_ess=rule.min_ess, sweeps_per_draw=sweeps_per_draw)
    return Judged(len(late[0]), table, found)


def _quantities(
    chains: list[tuple[Trace, Int64Array]], names: Sequence[str] | None
) -> Iterator[tuple[str, FloatArray]]:
    """Names and draws [chains, draws] of what is compared; what changes by next to nothing is left out.

    Where topics are perfectly apart, a learned α goes on falling toward 0 for ever, and all that follows from it moves
    in its sixth digit. R-hat sees the trend, and nobody would.
    """

    def draws(name: str) -> FloatArray:
        return np.array([np.asarray(getattr(trace, name), float)[which] for trace, which in chains])

    joint = draws("log_joint")
    yield "log joint probability", joint if np.ptp(joint) > _NATS else np.full_like(joint, joint.mean())
    for name, text in (("alpha_sum", "sum of α"), ("beta_mean", "mean of β")):
        if all(getattr(trace, name) for trace, _ in chains) and np.ptp(draws(name)) > _NEGLIGIBLE[name]:
            yield text, draws(name)
    values = draws("probes")
    names = [f"quantity {i}" for i in range(values.shape[2])] if names is None else names
    if len(names) != values.shape[2]:
        raise InputError(f"the model has {values.shape[2]} numbers per record, expected {len(names)}; fit it again.")
    for i, name in enumerate(names):
        if np.ptp(values[:, :, i]) > _NEGLIGIBLE["probes"]:
            yield name, values[:, :, i]

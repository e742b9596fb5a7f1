"""Whether chains agree, and how many draws they are worth: R-hat, effective sample sizes, errors of estimates.

All functions take draws of shape (n_chains, n_draws), or (n_chains, n_draws, n_quantities) for many quantities at
once, and return a float or an array of shape (n_quantities,). The rules at the edges are the same for all:

- A quantity with a draw that is NaN or infinite has NaN everywhere. Other quantities are not affected.
- A quantity that never changes, in any chain, has nothing to estimate: its R-hat is NaN, its effective sample size
  the number of draws, its errors are 0. This is no alarm, and ``verdict`` passes over it.
- If no chain changes but the chains differ, R-hat is infinite.
- Chains are compared by their halves, so that one chain is enough. Its R-hat tells whether its first half differs from
  its second, which shows a trend. It cannot tell what another chain would find.
- Of an odd number of draws the middle one is left out of R-hat and effective sample sizes.

Estimators are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), with the values that ArviZ gives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_length, check_number, check_whole, items, texts
from topicloom.corpus.frames import to_frame
from topicloom.errors import InputError, counted
from topicloom.evaluation._draws import (
    autocorrelation_of,
    check_draws,
    ess_bulk_of,
    ess_mean_of,
    ess_tail_of,
    mcse_mean_of,
    mcse_quantile_of,
    mcse_sd_of,
    of_blocks,
    rhat_of,
    summary_of,
)

_ESS_PER_CHAIN = 100  # what Vehtari et al. (2021) ask for


def rhat(draws: Any) -> FloatArray:
    """R-hat: how much wider all chains together are than each chain. 1 if they agree, larger if they do not.

    This is the larger of two: of the ranks of the draws, which shows chains at different places, and of the ranks of
    their distances to the median, which shows chains of different width. Each is computed over the halves of chains.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)
        At least 4 draws per chain. With one chain, its first half is compared with its second.

    Returns
    -------
    float or array of shape (n_quantities,)
        NaN for a quantity that never changes, infinite if it changes between chains only.

    Raises
    ------
    InputError
        If there are fewer than 4 draws per chain, or draws is no array of numbers with two or three dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> print(f"{rhat(draws):.3f}")
    1.005
    >>> draws[0] += 2  # one chain is elsewhere
    >>> print(f"{rhat(draws):.1f}")
    1.3
    """
    return of_blocks(check_draws(draws), rhat_of)


def ess_bulk(draws: Any) -> FloatArray:
    """Effective sample size of the centre of the distribution: that of the ranks, as quantiles of the normal.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)

    Returns
    -------
    float or array of shape (n_quantities,)
        Number of independent draws that are worth as much. It can exceed the number of draws if they alternate.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 500)).cumsum(axis=1)  # each draw depends on the one before
    >>> bool(ess_bulk(draws) < 20)
    True
    """
    return of_blocks(check_draws(draws), ess_bulk_of)


def ess_tail(draws: Any) -> FloatArray:
    """Effective sample size of the tails: the smaller of those of the 5% and the 95% quantile.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)

    Returns
    -------
    float or array of shape (n_quantities,)

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> bool(ess_tail(draws) > 1000)
    True
    """
    return of_blocks(check_draws(draws), ess_tail_of)


def ess_mean(draws: Any) -> FloatArray:
    """Effective sample size of the mean: that of the draws themselves.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)

    Returns
    -------
    float or array of shape (n_quantities,)

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 500, 2))
    >>> ess_mean(draws).shape
    (2,)
    """
    return of_blocks(check_draws(draws), ess_mean_of)


def mcse_mean(draws: Any) -> FloatArray:
    """Monte Carlo standard error of the mean of all draws.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)

    Returns
    -------
    float or array of shape (n_quantities,)

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 2500))  # 1 / √10000
    >>> print(f"{mcse_mean(draws):.2f}")
    0.01
    """
    return of_blocks(check_draws(draws), mcse_mean_of)


def mcse_sd(draws: Any) -> FloatArray:
    """Monte Carlo standard error of the standard deviation of all draws.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)

    Returns
    -------
    float or array of shape (n_quantities,)

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 2500))  # 1 / √20000
    >>> print(f"{mcse_sd(draws):.3f}")
    0.007
    """
    return of_blocks(check_draws(draws), mcse_sd_of)


def mcse_quantile(draws: Any, prob: float) -> FloatArray:
    """Monte Carlo standard error of a quantile of all draws.

    It is half the distance between the two draws that enclose the quantile in 68% of cases (one standard error to
    each side), by the effective sample size at this quantile.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)
    prob : float
        Which quantile, between 0 and 1: 0.5 is the median.

    Returns
    -------
    float or array of shape (n_quantities,)

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 2500))
    >>> bool(mcse_quantile(draws, 0.95) > mcse_quantile(draws, 0.5))
    True
    """
    if check_number("prob", prob, 0.0, 1.0) in (0.0, 1.0):
        raise InputError(f"prob={prob} is an end of the draws, whose error is not known; give one between 0 and 1.")
    return of_blocks(check_draws(draws), lambda block: mcse_quantile_of(block, float(prob)))


def autocorrelation(draws: Any, max_lag: int | None = None) -> FloatArray:
    """Correlation of each chain's draws with those ``lag`` draws later.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)
    max_lag : int, default=None
        The largest lag, less than the number of draws. None is all of them.

    Returns
    -------
    array of shape (n_chains, max_lag + 1) or (n_chains, max_lag + 1, n_quantities)
        1 at lag 0, and less and less certain at long ones. NaN for a chain that never changes.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.tile([1.0, 0.0], 50)[None]  # alternates
    >>> print(autocorrelation(draws, 2).round(2))
    [[ 1.   -0.99  0.98]]
    """
    array = check_draws(draws)
    n_draws = array.shape[1]
    lags = n_draws if max_lag is None else check_whole("max_lag", max_lag, 0) + 1
    if lags > n_draws:
        raise InputError(f"max_lag={max_lag} but there are {n_draws} draws per chain; expected at most {n_draws - 1}.")
    return of_blocks(array, lambda block: autocorrelation_of(block, lags))


# -- all of them in a table, and in words ---------------------------------------------------------------------


class SummaryRow(NamedTuple):
    """One quantity of a summary."""

    name: str
    mean: float
    sd: float
    mcse: float
    q5: float
    q95: float
    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True, eq=False)
class Summary:
    """The measures of each quantity, in arrays of shape (n_quantities,)."""

    names: tuple[str, ...]
    n_chains: int
    n_draws: int  # per chain
    mean: FloatArray
    sd: FloatArray
    mcse: FloatArray  # of the mean
    q5: FloatArray
    q95: FloatArray
    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray

    def rows(self) -> list[SummaryRow]:
        """One row per quantity."""
        columns = [getattr(self, name).tolist() for name in SummaryRow._fields[1:]]
        return [SummaryRow(*row) for row in zip(self.names, *columns, strict=True)]

    def to_frame(self, frame: Any = None) -> Any:
        """The rows as a table. ``frame`` is "pandas", "polars", "pyarrow" or "rows"; by default what is installed."""
        return to_frame({"name": self.names, **{name: getattr(self, name) for name in SummaryRow._fields[1:]}}, frame)


def summary(draws: Any, names: Sequence[str] | None = None) -> Summary:
    """Mean, deviation, error of the mean, 5% and 95% quantiles, R-hat and effective sample sizes of each quantity.

    Parameters
    ----------
    draws : array of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)
    names : sequence of str, default=None
        One name per quantity. By default they are numbered from 0.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> table = summary(np.random.default_rng(1).normal(size=(4, 500, 2)), ["a", "b"])
    >>> [(row.name, round(row.rhat, 1)) for row in table.rows()]
    [('a', 1.0), ('b', 1.0)]
    """
    array = check_draws(draws)
    stacked = array if array.ndim == 3 else array[:, :, None]
    n_chains, n_draws, n_quantities = stacked.shape
    named = texts("names", items("names", map(str, range(n_quantities)) if names is None else names))
    check_length("names", len(named), n_quantities, "quantities")
    return Summary(named, n_chains, n_draws, *of_blocks(stacked, summary_of))


@dataclass(frozen=True)
class Verdict:
    """What a summary means. ``str(verdict)`` is its text."""

    agree: bool  # no R-hat is above what is wanted
    enough: bool  # no effective sample size is below what is wanted
    more_sweeps: int | None  # to run per chain, at least; None if it cannot be estimated
    text: str
    line: str = ""  # the same in short

    def __str__(self) -> str:
        return self.text


def verdict(
    table: Summary, *, max_rhat: float = 1.05, min_ess: float | None = None, sweeps_per_draw: int = 1
) -> Verdict:
    """Whether the chains of a summary agree and their draws are enough, in words, and how many sweeps are left to run.

    Parameters
    ----------
    table : Summary
    max_rhat : float, default=1.05
        The largest R-hat that is taken as agreement. 1.01 is strict.
    min_ess : float, default=None
        The smallest effective sample size, of bulk and of tails, that is enough. None is 100 per chain.
    sweeps_per_draw : int, default=1
        Sweeps from one draw to the next.

    Returns
    -------
    Verdict

    Notes
    -----
    The sweeps left to run are those after which the worst quantity would be as wanted: the effective sample size grows
    like the number n of draws, and R-hat - 1 falls like 1/n. Both hold for chains that move over the same region, and
    neither for chains that are stuck in different ones, which no number of sweeps may bring together. The estimate is
    as rough as an R-hat of few draws is. It keeps the draws that there are: if the first of them come from before the
    chains had settled, leave these out instead.

    Quantities that never change are passed over. One with a draw that is NaN or infinite cannot be judged, and then
    the chains do not count as agreeing.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> print(verdict(summary(draws, ["bits"])))
    The chains agree: the largest R-hat is 1.005 (of bits) and the smallest effective sample size 1,952 (of bits).
    >>> draws[0] += 2
    >>> result = verdict(summary(draws, ["bits"]))
    >>> result.agree, result.more_sweeps
    (False, 20000)
    """
    if check_number("max_rhat", max_rhat, 1.0, math.inf) == 1.0:
        raise InputError("max_rhat=1 is reached by no chains; give a number above 1, for instance 1.05.")
    wanted = _ESS_PER_CHAIN * table.n_chains if min_ess is None else check_number("min_ess", min_ess, 0.0, 1e15)
    check_whole("sweeps_per_draw", sweeps_per_draw, 1)
    unknown = np.isnan(table.mean)
    if unknown.any():
        found, first = counted(int(unknown.sum()), "quantities"), table.names[int(unknown.argmax())]
        text = f"The chains cannot be judged: draws of {found} are NaN or infinite (the first is {first})."
        remedy = " Find out where they come from, or leave these quantities out."
        return Verdict(False, False, None, text + remedy, text)
    sizes = np.where(np.isnan(table.rhat), np.inf, np.minimum(table.ess_bulk, table.ess_tail))
    if np.isinf(sizes).all():
        text = "No quantity changes in any chain, so that there is nothing to compare."
        return Verdict(True, True, 0, text, text)
    return _judged(table, sizes, float(max_rhat), float(wanted), int(sweeps_per_draw))


def _judged(table: Summary, sizes: FloatArray, max_rhat: float, min_ess: float, sweeps_per_draw: int) -> Verdict:
    """The verdict over quantities that change."""
    widest, fewest = int(np.nanargmax(table.rhat)), int(sizes.argmin())
    largest, smallest = float(table.rhat[widest]), float(sizes[fewest])
    agree, enough = largest <= max_rhat, smallest >= min_ess
    factor = max((largest - 1) / (max_rhat - 1), min_ess / smallest, 1.0)
    more = None if math.isinf(largest) else _rounded_up(table.n_draws * (factor - 1) * sweeps_per_draw)
    who = "The chains" if table.n_chains > 1 else "The halves of the one chain"
    found = "do not agree yet" if not agree else "agree" if enough else "agree, but the draws are few"
    # Rounded away from what is wanted, so that 1.0501 is not shown as 1.050 where at most 1.05 is.
    shown = "infinite" if more is None else f"{largest if agree else math.ceil(largest * 1000) / 1000:.3f}"
    of_rhat = table.names[widest] + ("" if agree else f"; at most {max_rhat:g} is wanted")
    of_size = table.names[fewest] + ("" if enough else f"; at least {math.ceil(min_ess):,} is wanted")
    sentences = [
        f"{who} {found}: the largest R-hat is {shown} (of {of_rhat}) and the smallest effective sample size "
        f"{math.floor(smallest):,} (of {of_size})."
    ]
    if more is None:
        sentences.append("Each chain keeps to values of its own there, so that the sweeps to run cannot be estimated.")
    elif more:
        sentences.append(
            f"Run at least about {more:,} more {'sweep' if more == 1 else 'sweeps'} per chain: the effective sample "
            "size grows like the number n of sweeps, and R-hat - 1 falls like 1/n."
        )
    if not agree and table.n_chains > 1:
        sentences.append("If R-hat does not fall then, the chains are in different regions and may stay there.")
    if table.n_chains == 1:
        sentences.append("One chain cannot show what another would find: run several.")
    left = f", about {more:,} more sweeps per chain are needed" if more and table.n_chains > 1 else ""
    line = f"{who} {found}: R-hat up to {shown}, effective sample size from {math.floor(smallest):,} on{left}."
    if table.n_chains == 1:
        line = f"One chain cannot show whether another would find the same. {line} Run 4 chains."
    return Verdict(agree, enough, more, " ".join(sentences), line)


def _rounded_up(number: float) -> int:
    """To a whole number of at most two digits that are not 0."""
    step = 10 ** max(0, math.floor(math.log10(number)) - 1) if number > 0 else 1
    return math.ceil(number / step) * step

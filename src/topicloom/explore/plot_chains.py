"""How far results can be trusted: chains along their sweeps, numbers of topics compared, calibration."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_array, as_numbers, check_choice, check_number, check_whole, shown
from topicloom.diagnostics.search_result import SCORES, TopicSearch
from topicloom.errors import InputError
from topicloom.evaluation.convergence import autocorrelation as autocorrelation_of
from topicloom.evaluation.convergence import rhat
from topicloom.evaluation.labels import calibration_bins, label_calibration
from topicloom.evaluation.trends import TopicWeights, bucket_histogram, time_entropy
from topicloom.explore.plot_style import COLORS, GREY, axes_of, color, date_axis, legend_outside, style, tidy

_QUANTITIES = {
    "log_joint": "log joint probability",
    "alpha_sum": "sum of α",
    "beta_mean": "mean of β",
    "changed": "tokens that changed their topic",
    "agreement": "agreement between paths",
    "acceptance": "acceptance of Langevin steps",
    "change": "change of an iteration",
}


def convergence(
    model: Any, quantity: str = "log_joint", *, autocorrelation: bool = False, discard: int | None = None,
    max_lag: int | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """What each chain recorded along its sweeps, with R-hat in the title.

    Parameters
    ----------
    model : fitted model
        Of any kind that topicloom fits.
    quantity : str, default="log_joint"
        What to show, of what a model's ``trace_`` has: "log_joint", "alpha_sum", "beta_mean", "changed", "agreement"
        (several paths), "acceptance" (compound LDA by "mgs"), "change" (variational).
    autocorrelation : bool, default=False
        Show instead how much records depend on those some sweeps before.
    discard : int, default=None
        Sweeps left out of R-hat and autocorrelation, drawn in grey. None: ``burn_in``, or half of the sweeps.
    max_lag : int, default=None
        The longest lag of autocorrelations, in records. None: at most 50, and half of the records.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Records far from those that are judged, as of the first sweeps, are cut off.

    Notes
    -----
    R-hat is ``topicloom.diagnostics.rhat`` over the records that are not discarded. Models that draw nothing
    (variational, Baum-Welch) have none: their title says how many iterations were made.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> texts = ["sun moon sun", "loan bank loan"] * 20
    >>> model = LDA(2, n_chains=2, max_iter=40, trace_every=1, random_state=0).fit(texts)
    >>> ax = plots.convergence(model, "log_joint", discard=20)
    >>> ax.get_xlabel(), len(ax.lines)
    ('sweep', 2)
    """
    check_choice("quantity", quantity, tuple(_QUANTITIES))
    if not hasattr(model, "traces_"):
        raise InputError(f"model is {shown(model)}; give a fitted model of topicloom.")
    sweeps = [np.array(trace.sweep, np.int64) for trace in model.traces_]
    values = [np.array(getattr(trace, quantity), np.float64) for trace in model.traces_]
    if not all(len(own) > 0 and len(own) == len(at) for own, at in zip(values, sweeps, strict=True)):
        known = [name for name in _QUANTITIES if all(getattr(trace, name) for trace in model.traces_)]
        raise InputError(f"the chains have no record of {quantity!r}; choose one of {', '.join(map(repr, known))}.")
    draws_nothing = all(trace.change for trace in model.traces_) or getattr(model, "method", "") in ("em", "vem")
    first = 0 if draws_nothing else _discarded(model, discard)
    late = _late(sweeps, values, first)
    ax = axes_of(ax, (7.5, 3.6))
    name = "log probability or its bound" if draws_nothing and quantity == "log_joint" else _QUANTITIES[quantity]
    if autocorrelation:
        _draw_lags(ax, late, max_lag, model.trace_every)
    else:
        _draw_traces(ax, sweeps, values, first, "iteration" if draws_nothing else "sweep")
        if not draws_nothing:
            _show_kept(ax, late)
        ax.set_ylabel(name)
    ax.set_title(f"{name}: {_verdict(model, late, draws_nothing)}", fontsize="medium", loc="left")
    tidy(ax)
    if len(values) > 1:
        legend_outside(ax)
    return ax


def _discarded(model: Any, discard: int | None) -> int:
    sweeps = int(model.n_iter_)
    if discard is None:
        return sweeps // 2 if getattr(model, "burn_in", None) is None else int(model.burn_in)
    if check_whole("discard", discard, 0) >= sweeps:
        raise InputError(f"discard={discard} leaves none of {sweeps} sweeps; give a smaller number.")
    return discard


def _late(sweeps: list[Any], values: list[FloatArray], first: int) -> FloatArray:
    """Records [chains, n] of sweeps from ``first`` on; of longer chains the last ones."""
    late = [own[at >= first] for own, at in zip(values, sweeps, strict=True)]
    n = min(map(len, late))
    return np.array([own[len(own) - n :] for own in late])


def _verdict(model: Any, late: FloatArray, draws_nothing: bool) -> str:
    if draws_nothing:
        return f"{model.n_iter_} iterations"
    if late.shape[1] < 4:
        return "too few records for R-hat"
    return f"R-hat {float(rhat(late)):.3f}"


def _draw_traces(ax: Any, sweeps: list[Any], values: list[FloatArray], first: int, step: str) -> None:
    if first > 0:
        ax.axvspan(min(at[0] for at in sweeps), first, color="0.93", lw=0, zorder=0, label="left out of R-hat")
    for i, (at, own) in enumerate(zip(sweeps, values, strict=True)):
        ax.plot(at, own, style(i), color=color(i), lw=1.1, label=f"chain {i}")
    ax.set_xlabel(step)
    ax.margins(x=0.01)


def _show_kept(ax: Any, late: FloatArray) -> None:
    """Cut what lies far from the records that are judged, which are then at least half of the picture."""
    low, high = float(late.min()), float(late.max())
    bottom, top = ax.get_ylim()
    if high > low:
        ax.set_ylim(max(bottom, low - 0.9 * (high - low)), min(top, high + 0.9 * (high - low)))


def _draw_lags(ax: Any, late: FloatArray, max_lag: int | None, every: int) -> None:
    n = late.shape[1]
    if n < 4:
        raise InputError(f"there are {n} records after those discarded; autocorrelations need at least 4.")
    found = autocorrelation_of(late, min(50, n // 2) if max_lag is None else max_lag)
    ax.axhline(0.0, color=GREY, lw=0.8)
    for i, own in enumerate(found):
        ax.plot(every * np.arange(len(own)), own, style(i), color=color(i), lw=1.1, marker=".", label=f"chain {i}")
    ax.set(xlabel="sweeps between two records", ylabel="autocorrelation", ylim=(min(-0.2, float(found.min())), 1.05))


# -- how many topics ---------------------------------------------------------------------------------------------


def search(found: TopicSearch, measure: str = "completion", *, ax: Any = None) -> Any:
    """What a search over numbers of topics found: a score against the number, with standard errors.

    Parameters
    ----------
    found : TopicSearch
        As ``topicloom.diagnostics.search_topics`` returns it.
    measure : str, default="completion"
        "completion", which the recommendation comes from, "left_to_right", or one of ``found.measures``.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The recommended range is shaded, numbers that were dropped early are crosses at the bottom.

    Notes
    -----
    Bars of "completion" are standard errors of the difference to the highest score, which the range comes from; the
    highest has none. Those of other measures are their own standard errors.

    Examples
    --------
    >>> from topicloom.datasets import bars
    >>> from topicloom.diagnostics import search_topics
    >>> from topicloom.explore import plots
    >>> corpus = bars(n_docs=60).corpus
    >>> found = search_topics(corpus, [2, 4], n_chains=1, max_iter=10, random_state=0)
    >>> plots.search(found, "c_npmi").get_ylabel()
    'c_npmi'
    """
    check_choice("measure", measure, (*SCORES, *found.measures))
    if measure == "completion":
        values, errors, name = found.completion, found.difference_se, "held-out log-likelihood per token"
    elif measure == "left_to_right":
        values, errors, name = found.left_to_right, found.left_to_right_se, "left-to-right log-likelihood per token"
    else:
        values, errors, name = found.measures[measure], found.measures_se[measure], measure
    ax = axes_of(ax, (7.5, 3.8))
    kept = np.isfinite(values)
    if not kept.any():
        raise InputError(f"no number of topics has a value of {measure!r}.")
    low, high = found.recommended
    edge = 0.4 * float(np.diff(found.n_topics).min()) if len(found.n_topics) > 1 else 0.5
    ax.axvspan(low - edge, high + edge, color=COLORS[0], alpha=0.12, lw=0, label="recommended")
    ax.errorbar(
        found.n_topics[kept], values[kept], yerr=np.nan_to_num(errors[kept]), marker="o", capsize=3, color=COLORS[0]
    )
    if found.dropped:
        places = [one.n_topics for one in found.dropped]
        bottom = ax.get_xaxis_transform()
        ax.plot(places, [0.03] * len(places), "x", color=GREY, transform=bottom, label="dropped early")
    ax.set(xlabel="number of topics", ylabel=name)
    ax.locator_params(axis="x", integer=True)
    tidy(ax)
    legend_outside(ax)
    return ax


# -- calibration -------------------------------------------------------------------------------------------------


def calibration(true: Any, probability: AnyArray, *, n_bins: int = 10, ax: Any = None) -> Any:
    """Probabilities of labels against what happens: on the line if they are right.

    Parameters
    ----------
    true : array or sparse matrix of shape (n_docs, n_labels)
        1 where a document has a label, otherwise 0.
    probability : array of shape (n_docs, n_labels)
        What was predicted.
    n_bins : int, default=10
        Groups of (document, label) pairs of equal size, by probability, as of
        ``topicloom.evaluation.label_calibration``.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The title has the calibration error.

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.calibration([[0, 1], [0, 1]], [[0.1, 0.7], [0.3, 0.9]], n_bins=2)
    >>> ax.get_title(loc="left")
    'calibration error 0.200, 2 pairs per mark'
    """
    bins = calibration_bins(true, probability, n_bins)
    error = label_calibration(true, probability, n_bins)["calibration_error"]
    ax = axes_of(ax, (5.0, 4.6))
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--", label="perfect")
    ax.plot(bins.expected, bins.observed, "o-", color=COLORS[0], ms=5, lw=1.2, label="predicted")
    top = 1.05 * max(0.02, float(bins.expected.max()), float(bins.observed.max()))
    ax.set(xlabel="mean probability of a group", ylabel="share of true labels", xlim=(0, top), ylim=(0, top))
    ax.set_title(f"calibration error {error:.3f}, {bins.size.min():,} pairs per mark", fontsize="medium", loc="left")
    ax.set_aspect("equal")
    tidy(ax)
    return ax


def ranks(ranks: AnyArray, n_draws: int, *, n_bins: int = 10, level: float = 0.99, ax: Any = None) -> Any:
    """Histogram of the ranks of true values among draws (simulation-based calibration): flat if draws are right.

    Parameters
    ----------
    ranks : array of shape (n_trials,)
        Of each trial the number of draws below the true value, from 0 to ``n_draws``.
    n_draws : int
        Draws per trial.
    n_bins : int, default=10
        Bars. ``n_draws + 1`` must be a multiple, so that all bars expect the same.
    level : float, default=0.99
        Probability with which a bar lies in the grey band if ranks are uniform. Of ten bars one lies outside a band of
        0.99 in about one of ten plots.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.ranks([0, 3, 7, 9, 4, 6, 1, 8, 2, 5], n_draws=9, n_bins=5)
    >>> [int(bar.get_height()) for bar in ax.patches[:5]]
    [2, 2, 2, 2, 2]
    """
    found = as_array("ranks", ranks)
    most = check_whole("n_draws", n_draws, 1)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu" or found.min() < 0 or found.max() > most:
        raise InputError(f"ranks must be whole numbers from 0 to n_draws={most}, one per trial.")
    if (most + 1) % check_whole("n_bins", n_bins, 1):
        raise InputError(f"n_bins={n_bins} must divide n_draws + 1 = {most + 1}, so that all bars expect the same.")
    if not 0 < check_number("level", level, 0.0, 1.0) < 1:
        raise InputError(f"level={level} must lie between 0 and 1, for instance 0.99.")
    counts = np.bincount(found * n_bins // (most + 1), minlength=n_bins)
    at_most = scipy.special.bdtr(np.arange(len(found) + 1), len(found), 1.0 / n_bins)
    low, high = np.searchsorted(at_most, [(1 - level) / 2, (1 + level) / 2])
    ax = axes_of(ax, (6.0, 3.2))
    step = (most + 1) / n_bins
    edges = np.arange(n_bins) * step
    ax.bar(edges, counts, width=step, align="edge", color=COLORS[5], edgecolor="white")
    ax.axhspan(low, high, color="0.4", alpha=0.3, lw=0, zorder=2, label=f"{level:.0%} of uniform ranks")
    ax.axhline(len(found) / n_bins, color="0.2", lw=0.8, zorder=3)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="rank of the true value", ylabel="trials", xlim=(0, most + 1))
    tidy(ax)
    legend_outside(ax)
    return ax


# -- models over time --------------------------------------------------------------------------------------------


def entropy_over_time(models: Mapping[str, TopicWeights], *, ax: Any = None) -> Any:
    """Entropy of the topics of each period, one line per model.

    Parameters
    ----------
    models : mapping of str to TopicWeights
        As ``topicloom.evaluation.topic_weights`` returns them, by name.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.evaluation import topic_weights
    >>> from topicloom.explore import plots
    >>> found = topic_weights([[1.0, 0.0], [0.5, 0.5], [0.3, 0.7]], [1990, 1990, 1991])
    >>> plots.entropy_over_time({"two topics": found}).get_ylabel()
    'entropy of topics (nats)'
    """
    if not models:
        raise InputError("models is empty; give at least one model's topic weights.")
    ax = axes_of(ax, (7.5, 3.6))
    for i, (name, found) in enumerate(models.items()):
        ax.plot(found.times, time_entropy(found.weights), style(i), color=color(i), lw=1.1, label=name)
    ax.set(xlabel="time", ylabel="entropy of topics (nats)")
    tidy(ax)
    legend_outside(ax)
    date_axis(ax, as_array("times", next(iter(models.values())).times))
    return ax


def bucket_lengths(
    models: Mapping[str, AnyArray], *, topic_weight: Mapping[str, AnyArray] | None = None, bins: int = 40,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Histogram of bucket lengths, one line per model: many short ones where topics are concentrated in time.

    Parameters
    ----------
    models : mapping of str to array of shape (n_topics, n_buckets)
        As ``topicloom.evaluation.bucket_lengths`` returns them, by name.
    topic_weight : mapping of str to array of shape (n_topics,), default=None
        How much each topic counts.
    bins : int, default=40
        Bars between 0 and the longest length.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> plots.bucket_lengths({"two topics": [[1.0, 3.0], [2.0, 2.0]]}, bins=4).get_xlabel()
    'length of a bucket'
    """
    check_whole("bins", bins, 1)
    if not models:
        raise InputError("models is empty; give at least one model's bucket lengths.")
    ax = axes_of(ax, (7.5, 3.6))
    longest = max(float(np.nanmax(as_numbers("lengths", lengths))) for lengths in models.values())
    for i, (name, lengths) in enumerate(models.items()):
        weight = None if topic_weight is None else topic_weight[name]
        shares, edges = bucket_histogram(lengths, np.linspace(0.0, longest, bins + 1), weight)
        ax.stairs(shares, edges, color=color(i), ls=style(i), label=name)
    ax.set(xlabel="length of a bucket", ylabel="share of buckets")
    tidy(ax)
    legend_outside(ax)
    return ax

"""Plots of shares, effects, chains, searches and calibration: bands are the intervals, and dates can be read."""

import itertools
from typing import Any

import numpy as np
import pytest

from topicloom import LDA, CompoundLDA, VariationalLDA
from topicloom.diagnostics import rhat
from topicloom.diagnostics.search_result import TopicSearch
from topicloom.diagnostics.search_rounds import Dropped
from topicloom.errors import InputError
from topicloom.evaluation import LabelPrevalence, draw_interval, label_calibration, label_prevalence, topic_weights
from topicloom.evaluation.convergence import autocorrelation
from topicloom.explore import plots


def texts_of(labels: Any) -> list[str]:
    return [label.get_text() for label in labels]


def band(collection: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edge of a filled band, by x."""
    points = collection.get_paths()[0].vertices
    at = np.unique(points[:, 0])
    edges = [[points[points[:, 0] == x, 1].min(), points[points[:, 0] == x, 1].max()] for x in at]
    low, high = np.array(edges).T
    return low, high


def ends(container: Any, axis: int) -> np.ndarray:
    """Ends of error bars [n, 2]."""
    (bars,) = container.lines[2]
    return np.array([segment[:, axis] for segment in bars.get_segments()])


# -- over time ---------------------------------------------------------------------------------------------------


def test_bands_are_the_intervals_of_a_compound_model(plt: Any, compound: CompoundLDA) -> None:
    ax = plots.over_time(compound, [2, 0], level=0.8)
    found = draw_interval(compound.pi_draws_, 0.8)
    for line, fill, k in zip(ax.lines, ax.collections, (2, 0), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [2001, 2002, 2003, 2004])
        np.testing.assert_array_equal(line.get_ydata(), found.mean[:, k])
        low, high = band(fill)
        np.testing.assert_allclose(low, found.lower[:, k])
        np.testing.assert_allclose(high, found.upper[:, k])
    assert texts_of(ax.get_legend().get_texts()) == [plots.labels(compound)[k] for k in (2, 0)]
    (above,) = ax.child_axes
    assert [bar.get_height() for bar in above.patches] == [12, 12, 12, 12]
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1  # outside


def of_labels(model: LDA, labels: list[Any]) -> LabelPrevalence:
    """The library's own intervals, straight from the arrays."""
    alpha = model.alpha_
    size = model.corpus_.doc_lengths + alpha.sum()
    return label_prevalence(model.doc_topic_, labels, size, base=alpha)


def test_times_of_a_model_without_collections(plt: Any, lda: LDA) -> None:
    ax = plt.figure(layout="constrained").subplots()
    assert plots.over_time(lda, unit="M", ax=ax) is ax
    months = lda.corpus_.times.astype("M8[M]")
    found = of_labels(lda, months.tolist())
    assert len(ax.lines) == 3
    for k, (line, fill) in enumerate(zip(ax.lines, ax.collections, strict=True)):
        np.testing.assert_array_equal(line.get_xdata(orig=True).astype("M8[M]"), np.unique(months))
        np.testing.assert_allclose(line.get_ydata(), found.mean[:, k])
        low, high = band(fill)
        np.testing.assert_allclose(low, found.lower[:, k])
        np.testing.assert_allclose(high, found.upper[:, k])
    counts = [np.count_nonzero(months == month) for month in np.unique(months)]
    assert [bar.get_height() for bar in ax.child_axes[0].patches] == counts
    yearly = plots.over_time(lda, [0], times=1990 + np.arange(48) // 10)
    np.testing.assert_array_equal(yearly.lines[0].get_xdata(), range(1990, 1995))


@pytest.mark.parametrize(
    ("times", "width"),
    [
        (np.arange("2001-03", "2019-08", 3, dtype="M8[M]"), 3.5),
        (np.datetime64("2020-02-27") + np.arange(40), 8.0),
        (np.datetime64("2024-05-01T08") + np.arange(60), 3.5),
        (np.arange(1790, 2021, 3), 3.5),
        (np.array([1990, 1991]), 8.0),
    ],
    ids=["months", "days", "hours", "years", "two"],
)
def test_dates_do_not_overlap(plt: Any, times: Any, width: float) -> None:
    means = np.random.default_rng(0).dirichlet(np.ones(4), len(times))
    ax = plt.figure(figsize=(width, 3), layout="constrained").subplots()
    plots.draw_over_time(times, means, counts=np.ones(len(times)), ax=ax)
    ax.figure.draw_without_rendering()
    low, high = sorted(ax.get_xlim())
    ticks = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    boxes = [label.get_window_extent() for at, label in ticks if low <= at <= high and label.get_text()]
    assert len(boxes) >= 2
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))


# -- by group ----------------------------------------------------------------------------------------------------


def test_groups_have_the_intervals_of_the_model(plt: Any, compound: CompoundLDA) -> None:
    ax = plots.by_group(compound, [1, 2])
    found = draw_interval(compound.pi_draws_)
    for j, container in enumerate(ax.containers):
        np.testing.assert_array_equal(container.lines[0].get_xdata(), found.mean[j, [1, 2]])
        np.testing.assert_allclose(ends(container, 0), np.stack((found.lower, found.upper), -1)[j, [1, 2]])
    assert texts_of(ax.get_yticklabels()) == [plots.labels(compound)[k] for k in (1, 2)]
    assert texts_of(ax.get_legend().get_texts()) == [f"{year} (12)" for year in (2001, 2002, 2003, 2004)]
    figure = plots.group_panels(compound, columns=2)
    assert len(figure.axes) == 4
    for k, panel in enumerate(figure.axes[:3]):
        heights, bars = panel.containers[1], panel.containers[0]
        np.testing.assert_allclose([bar.get_height() for bar in heights], found.mean[:, k])
        np.testing.assert_allclose(ends(bars, 1), np.stack((found.lower, found.upper), -1)[:, k])
    assert texts_of(figure.axes[2].get_xticklabels())[0] == "2001 (12)"


def test_groups_that_are_put_together_and_labels_of_documents(plt: Any, compound: CompoundLDA) -> None:
    merged = plots.by_group(compound, groups=lambda year: "early" if year < 2003 else "late")
    rows = compound.prevalence(lambda year: "early" if year < 2003 else "late", frame="pandas")
    for container, label in zip(merged.containers, ("early", "late"), strict=True):
        own = rows[rows["collection"] == label]
        np.testing.assert_array_equal(container.lines[0].get_xdata(), own["mean"])
        np.testing.assert_allclose(ends(container, 0), own[["lower", "upper"]])
    assert texts_of(merged.get_legend().get_texts()) == ["early (24)", "late (24)"]
    by_label = plots.by_group(compound, groups=["odd", "even", "even"] * 16)
    assert texts_of(by_label.get_legend().get_texts()) == ["even (32)", "odd (16)"]


def test_groups_of_a_model_without_collections(plt: Any, lda: LDA) -> None:
    ax = plt.figure().subplots()
    assert plots.by_group(lda, ax=ax) is ax
    found = of_labels(lda, list(lda.corpus_.groups or ()))
    for j, container in enumerate(ax.containers):
        np.testing.assert_allclose(container.lines[0].get_xdata(), found.mean[j])
        np.testing.assert_allclose(ends(container, 0), np.stack((found.lower, found.upper), -1)[j])
    assert texts_of(ax.get_legend().get_texts()) == ["a (12)", "b (24)", "c (12)"]


# -- effects -----------------------------------------------------------------------------------------------------


def test_effects(plt: Any, compound: CompoundLDA) -> None:
    ax = plt.figure().subplots()
    assert plots.effects(compound, 2004, 2001, ax=ax) is ax
    trends = plots.effects(compound)
    for drawn, rows in (
        (ax, compound.differences(2004, 2001, frame="pandas")),
        (trends, compound.trends(frame="pandas")),
    ):
        ordered = rows.sort_values("mean", ascending=False)
        np.testing.assert_array_equal([c.lines[0].get_xdata()[0] for c in drawn.containers], ordered["mean"])
        np.testing.assert_allclose(np.concatenate([ends(c, 0) for c in drawn.containers]), ordered[["lower", "upper"]])
        names = plots.labels(compound)
        assert texts_of(drawn.get_yticklabels()) == [names[k] for k in ordered["topic"]]
        assert texts_of(drawn.texts) == [*(f"{p:.2f}" for p in ordered["probability"]), "P(> 0)"]
        held = (ordered["lower"] <= 0) & (ordered["upper"] >= 0)
        assert [c.lines[0].get_markerfacecolor() == "white" for c in drawn.containers] == held.tolist()
    assert "per unit, 2001 to 2004" in trends.get_xlabel()


# -- chains ------------------------------------------------------------------------------------------------------


def test_convergence(plt: Any, lda: LDA) -> None:
    ax = plots.convergence(lda)
    for line, trace in zip(ax.lines, lda.traces_, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), trace.sweep)
        np.testing.assert_array_equal(line.get_ydata(), trace.log_joint)
    late = np.array([np.array(trace.log_joint)[np.array(trace.sweep) >= 20] for trace in lda.traces_])
    assert ax.get_title(loc="left") == f"log joint probability: R-hat {rhat(late):.3f}"
    low, high = ax.get_ylim()
    assert low < late.min() < late.max() < high
    assert np.ptp(late) > 0.3 * (high - low)
    assert texts_of(ax.get_legend().get_texts()) == ["left out of R-hat", "chain 0", "chain 1"]
    lags = plots.convergence(lda, autocorrelation=True, discard=10, max_lag=5)
    late = np.array([np.array(trace.log_joint)[np.array(trace.sweep) >= 10] for trace in lda.traces_])
    np.testing.assert_allclose([line.get_ydata() for line in lags.lines[1:]], autocorrelation(late, 5))
    assert plots.convergence(lda, "alpha_sum", ax=ax) is ax
    with pytest.raises(InputError, match="have no record of 'acceptance'; choose one of 'log_joint'"):
        plots.convergence(lda, "acceptance")
    with pytest.raises(InputError, match="discard=40 leaves none of 40 sweeps"):
        plots.convergence(lda, discard=40)


@pytest.mark.filterwarnings("ignore:.*converge")
def test_convergence_of_iterations(plt: Any, lda: LDA) -> None:
    model = VariationalLDA(2, max_iter=3, trace_every=1, random_state=0).fit(lda.corpus_)
    ax = plots.convergence(model)
    assert ax.get_title(loc="left") == "log probability or its bound: 3 iterations"
    assert ax.get_xlabel() == "iteration"


def search_result() -> TopicSearch:
    nan, three = np.nan, np.arange(4) >= 1
    values = np.array([nan, -2.5, -2.0, -2.1])
    errors = np.array([nan, 0.2, 0.0, 0.15])
    blank = np.full(4, nan)
    return TopicSearch(
        np.array([2, 4, 8, 16]), values, errors + 0.5, errors, blank, values + 2.0, errors, blank, blank,
        {"c_v": values / 3}, {"c_v": errors / 3}, three, (8, 16), (8, 16), 2.0,
        (Dropped(2, *[0] * (len(Dropped._fields) - 1)),), (), 10, 100, 0, "",
    )  # fmt: skip


def test_search(plt: Any) -> None:
    found = search_result()
    ax = plots.search(found)
    (container,) = ax.containers
    np.testing.assert_array_equal(container.lines[0].get_xdata(), [4, 8, 16])
    np.testing.assert_array_equal(container.lines[0].get_ydata(), found.completion[1:])
    np.testing.assert_allclose(np.diff(ends(container, 1)).ravel(), 2 * found.difference_se[1:])
    assert texts_of(ax.get_legend().get_texts()) == ["recommended", "dropped early"]
    low, high = ax.patches[0].get_x(), ax.patches[0].get_x() + ax.patches[0].get_width()
    assert 4 < low < 8
    assert 16 < high < 20
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    np.testing.assert_array_equal(crosses.get_xdata(), [2])
    assert plots.search(found, "c_v", ax=ax) is ax
    assert ax.get_ylabel() == "c_v"
    with pytest.raises(InputError, match="measure='best' is not known"):
        plots.search(found, "best")
    with pytest.raises(InputError, match="no number of topics has a value of 'left_to_right'"):
        plots.search(found, "left_to_right")


# -- calibration -------------------------------------------------------------------------------------------------


def test_calibration(plt: Any) -> None:
    rng = np.random.default_rng(0)
    p = rng.random((50, 4))
    true = (rng.random((50, 4)) < p).astype(int)
    ax = plots.calibration(true, p, n_bins=4)
    marks = ax.lines[1]
    order = np.argsort(p, axis=None)
    np.testing.assert_allclose(marks.get_xdata(), p.ravel()[order].reshape(4, 50).mean(axis=1))
    np.testing.assert_allclose(marks.get_ydata(), true.ravel()[order].reshape(4, 50).mean(axis=1))
    error = label_calibration(true, p, 4)["calibration_error"]
    assert ax.get_title(loc="left") == f"calibration error {error:.3f}, 50 pairs per mark"


def test_ranks(plt: Any) -> None:
    from scipy import stats

    found = np.random.default_rng(0).integers(0, 20, 300)
    ax = plt.figure().subplots()
    assert plots.ranks(found, 19, n_bins=5, level=0.95, ax=ax) is ax
    bars = [patch for patch in ax.patches if patch.get_width() == 4]
    assert [bar.get_height() for bar in bars] == np.histogram(found, [0, 4, 8, 12, 16, 20])[0].tolist()
    (shade,) = [patch for patch in ax.patches if patch.get_width() != 4]
    low, high = stats.binom(300, 0.2).ppf([0.025, 0.975])
    assert (shade.get_y(), shade.get_y() + shade.get_height()) == (low, high)
    for wrong, message in (
        ({"ranks": [20], "n_draws": 19}, "whole numbers from 0 to n_draws=19"),
        ({"ranks": [0.5], "n_draws": 19}, "whole numbers from 0"),
        ({"ranks": [1], "n_draws": 19, "n_bins": 3}, "must divide n_draws \\+ 1 = 20"),
        ({"ranks": [1], "n_draws": 19, "level": 1.0}, "must lie between 0 and 1"),
    ):
        with pytest.raises(InputError, match=message):
            plots.ranks(**wrong)


def test_models_over_time(plt: Any) -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    found = topic_weights(theta, [1, 1, 2, 2, 3, 3])
    ax = plots.entropy_over_time({"one": found, "other": found})
    logs = -(found.weights * np.log(found.weights)).sum(axis=1)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), logs)
    lengths = np.array([[0.5, 2.5], [1.0, 2.0]])
    drawn = plots.bucket_lengths({"one": lengths}, topic_weight={"one": np.array([3.0, 1.0])}, bins=5)
    np.testing.assert_allclose(drawn.patches[0].get_data().values, np.array([0, 3, 1, 0, 4]) / 8 + [0, 0, 0, 0, 0])


def test_what_cannot_be_drawn_is_refused(plt: Any, lda: LDA, compound: CompoundLDA) -> None:
    plain = LDA(2, max_iter=2, random_state=0).fit(["sun moon", "moon bank"] * 3)
    mean = np.full((2, 3), 1 / 3)
    cases: list[tuple[Any, str]] = [
        (lambda: plots.over_time(plain), "corpus has no times; give times="),
        (lambda: plots.by_group(plain), "corpus has no groups; give groups="),
        (lambda: plots.effects(lda), "effects need a CompoundLDA, .* not LDA"),
        (lambda: plots.effects(compound, 2001), "a difference needs two collections"),
        (lambda: plots.draw_over_time([2, 1], mean), "2 rising numbers or dates"),
        (lambda: plots.draw_over_time([1, 2], mean, mean), "give both or none"),
        (lambda: plots.draw_over_time([1, 2], mean, mean, mean[:, :2]), r"upper has shape \(2, 2\); expected 2 × 3"),
        (lambda: plots.draw_over_time([1, 2], mean, counts=[1]), "one for each of 2 times"),
        (lambda: plots.draw_by_group(mean, groups=["a"]), "groups has 1 entry for 2 groups"),
        (lambda: plots.draw_by_group(mean, counts=[1]), "one for each of 2 groups"),
        (lambda: plots.draw_group_panels(mean, labels=["a"]), "labels has 1 entry for 3 topics"),
        (lambda: plots.draw_effects([1.0], [0.0, 1.0], [2.0]), "one number for each topic"),
        (lambda: plots.draw_effects([1.0], [0.0], [2.0], probability=[1, 1]), "one for each of 1 topic"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()

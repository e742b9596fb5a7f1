"""What hidden Markov models, supervised topics and collections have beside topics."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers, check_number, check_whole
from topicloom.errors import InputError
from topicloom.evaluation.topics import top_words
from topicloom.explore.plot_style import (
    COLORS,
    GREY,
    axes_of,
    check_labels,
    chosen_topics,
    color,
    labels,
    panels_of,
)  # fmt: skip
from topicloom.explore.plot_topics import word_bars
from topicloom.medlda.supervised import SupervisedTopics

# -- hidden Markov models ----------------------------------------------------------------------------------------


def transitions(model: Any, *, states: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Probabilities of moving from state to state as a matrix; each row sums to 1.

    Parameters
    ----------
    model : fitted HMM
    states : sequence of str, default=None
        Names of the states. None: their numbers with the likeliest symbols.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom import HMM
    >>> from topicloom.explore import plots
    >>> model = HMM(2, max_iter=20, random_state=0).fit([list("ababab"), list("abba")] * 5)
    >>> plots.transitions(model, states=["vowel", "consonant"]).get_ylabel()
    'from'
    """
    moves, names = _moves(model), _state_names(model, states)
    n = len(names)
    ax = axes_of(ax, (3.6 + 0.5 * n, 2.2 + 0.5 * n))
    image = ax.imshow(moves, cmap="viridis", vmin=0.0, vmax=1.0)
    if n <= 12:
        _numbers_in_cells(ax, moves, "{:.2f}", moves < 0.6)
    ax.set_xticks(np.arange(n), names, rotation=45 if n > 1 else 0, ha="right" if n > 1 else "center")
    ax.set_yticks(np.arange(n), names)
    ax.tick_params(length=0, labelsize="small")
    ax.set(xlabel="to", ylabel="from")
    ax.figure.colorbar(image, ax=ax, label="probability", shrink=0.8)
    return ax


def transition_graph(model: Any, *, states: Sequence[str] | None = None, least: float = 0.05, ax: Any = None) -> Any:
    """States in a circle, with an arrow for each move, as wide as it is likely.

    Parameters
    ----------
    model : fitted HMM
    states : sequence of str, default=None
        As of ``transitions``.
    least : float, default=0.05
        Moves less likely than this are left out.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Circles are the larger the more time the chain spends in a state in the long run. Beside each is how likely the
        chain is to stay.

    Examples
    --------
    >>> from topicloom import HMM
    >>> from topicloom.explore import plots
    >>> model = HMM(2, max_iter=20, random_state=0).fit([list("ababab"), list("abba")] * 5)
    >>> ax = plots.transition_graph(model, states=["vowel", "consonant"], least=0.1)
    >>> [text.get_text() for text in ax.texts if text.get_text().isdigit()]
    ['0', '1']
    """
    moves, names = _moves(model), _state_names(model, states)
    check_number("least", least, 0.0, 1.0)
    n, stay = len(names), np.diagonal(moves)
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    at = np.stack((np.cos(angle), np.sin(angle)), axis=1) * (n > 1)
    ax = axes_of(ax, (6.5, 6.0))
    size = 900.0 + 5000.0 * _stationary(moves)
    for i in range(n):
        for j in range(n):
            if i != j and moves[i, j] >= least:
                ax.annotate("", at[j], at[i], zorder=1, arrowprops={
                    "arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.18", "lw": 0.6 + 5.0 * moves[i, j],
                    "color": color(i), "alpha": 0.75, "mutation_scale": 10 + 14 * moves[i, j],
                    "shrinkA": np.sqrt(size[i]) / 2, "shrinkB": np.sqrt(size[j]) / 2,
                })  # fmt: skip
    ax.scatter(at[:, 0], at[:, 1], s=size, c=[color(i) for i in range(n)], alpha=1.0, edgecolor="white", zorder=2)
    for i, (x, y) in enumerate(at):
        ax.annotate(str(i), (x, y), ha="center", va="center", color="white", zorder=3, fontweight="bold")
        away = 0.5 * np.sqrt(size[i]) + 4.0  # points from the centre, away from all arrows
        ax.annotate(
            f"{names[i]}\nstays {stay[i]:.0%}", (x, y), textcoords="offset points", fontsize="small", zorder=3,
            xytext=(away * x, away * y if n > 1 else away), ha="left" if x > 0.3 else "right" if x < -0.3 else "center",
            va="top" if y < -0.3 else "bottom" if y > 0.3 or n == 1 else "center",
        )  # fmt: skip
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.4, 1.4))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def emissions(model: Any, *, n_symbols: int = 8, columns: int = 4) -> Any:
    """Bars of the likeliest symbols of each state, one panel per state.

    Parameters
    ----------
    model : fitted HMM
    n_symbols : int, default=8
        Symbols of each state.
    columns : int, default=4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure
        With one axes per state.

    Examples
    --------
    >>> from topicloom import HMM
    >>> from topicloom.explore import plots
    >>> model = HMM(2, max_iter=20, random_state=0).fit([list("ababab"), list("abba")] * 5)
    >>> len(plots.emissions(model, n_symbols=2).axes)
    2
    """
    n_states = len(_moves(model))
    n = min(check_whole("n_symbols", n_symbols, 1), model.emission_.shape[1])
    best, often = top_words(model.emission_, n), _stationary(_moves(model))
    figure, panels = panels_of(n_states, columns, (2.4, 0.45 + 0.22 * n))
    for k, ax in enumerate(panels):
        word_bars(ax, [_symbol(model.alphabet_[v]) for v in best[k]], model.emission_[k, best[k]], color(k))
        ax.set_title(f"state {k} ({often[k]:.0%} of the time)", fontsize="small", loc="left")
    return figure


def _moves(model: Any) -> FloatArray:
    if not hasattr(model, "transition_"):
        raise InputError(f"{type(model).__name__} has no transitions; give a fitted HMM.")
    return np.asarray(model.transition_, np.float64)


def _stationary(moves: FloatArray) -> FloatArray:
    """Share of time in each state in the long run; where there are several answers, that of an even start."""
    share = np.full(len(moves), 1.0 / len(moves))
    lazy = 0.5 * (moves + np.eye(len(moves)))  # the same answer, and no going to and fro
    for _ in range(10_000):
        after = np.einsum("i,ij->j", share, lazy)
        if np.abs(after - share).max() < 1e-12:
            break
        share = after
    return np.asarray(share / share.sum())


def _state_names(model: Any, states: Sequence[str] | None) -> list[str]:
    if states is not None:
        return check_labels("states", states, len(model.transition_), "state")
    best = top_words(model.emission_, min(3, model.emission_.shape[1]))
    return [f"{k}: {' '.join(_symbol(model.alphabet_[v]) for v in row)}" for k, row in enumerate(best.tolist())]


def _symbol(symbol: Any) -> str:
    return "␣" if symbol == " " else str(symbol)


# -- supervised topics -------------------------------------------------------------------------------------------


def classes(model: Any, topics: Sequence[int | str] | None = None, *, n_words: int = 4, ax: Any = None) -> Any:
    """Which topics speak for and against each class of a MedLDA model: a heat map of the weights.

    Parameters
    ----------
    model : fitted MedLDAClassifier or MedLDARegressor
    topics : sequence of int or str, default=None
        None: all, up to the 30 with the largest weights.
    n_words : int, default=4
        Words in a topic's name.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        One row per topic, one column per class. Of two classes there is one column, toward the second; of numbers one,
        toward higher ones.

    Examples
    --------
    >>> from topicloom import MedLDAClassifier
    >>> from topicloom.explore import plots
    >>> texts, labels = ["sun moon sun", "loan bank loan", "goal team goal"] * 10, ["sky", "money", "sport"] * 10
    >>> model = MedLDAClassifier(3, max_iter=10, burn_in=5, random_state=0).fit(texts, labels)
    >>> [label.get_text() for label in plots.classes(model).get_xticklabels()]
    ['money', 'sky', 'sport']
    """
    if not isinstance(model, SupervisedTopics):
        raise InputError(f"{type(model).__name__} has no weights of topics; give a fitted MedLDA model.")
    if len(model._groups) > 1:
        raise InputError(
            'with multi_class="ovr" each class has topics of its own, which stand in no common table; use '
            'class_topics(), or fit with multi_class="multitask".'
        )
    weights = np.asarray(model.coef_).T  # [K, tasks]
    directions = [(name, task) for name, task, sign in model._directions() if sign > 0]
    names = labels(model, n_words)
    chosen = chosen_topics(topics, model, np.abs(weights).max(axis=1), 30)
    shown = weights[chosen][:, [task for _, task in directions]]
    best = shown.max(axis=1)
    # Topics that speak for the same class stand together, and last those that speak for none.
    by_class = np.lexsort((-best, shown.argmax(axis=1), best <= 0.1 * np.abs(shown).max()))
    order = by_class if topics is None else np.arange(len(chosen))
    return draw_weights(
        shown[order], [names[k] for k in chosen[order]], [str(name) for name, _ in directions], ax=ax
    )  # fmt: skip


def draw_weights(weights: AnyArray, rows: Sequence[str], columns: Sequence[str], *, ax: Any = None) -> Any:
    """A table of weights as a heat map: orange above 0, purple below.

    Parameters
    ----------
    weights : array of shape (n_rows, n_columns)
        What the colours show.
    rows, columns : sequences of str
        Names of the rows and of the columns.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.draw_weights([[1.2, -0.4], [-0.8, 0.3]], ["sport", "law"], ["left", "right"])
    >>> [text.get_text() for text in ax.texts]
    ['1.2', '−0.4', '−0.8', '0.3']
    """
    values = as_numbers("weights", weights)
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"weights has shape {values.shape}; expected rows × columns.")
    n, m = values.shape
    of_rows, of_columns = check_labels("rows", rows, n, "row"), check_labels("columns", columns, m, "column")
    ax = axes_of(ax, (3.8 + 0.65 * m, 1.6 + 0.27 * n))
    most = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
    if m <= 10:
        _numbers_in_cells(ax, values, "{:.1f}", np.abs(values) > 0.65 * most)
    ax.set_xticks(np.arange(m), of_columns, rotation=45 if m > 1 else 0, ha="right" if m > 1 else "center")
    ax.set_yticks(np.arange(n), of_rows)
    ax.tick_params(length=0, labelsize="small")
    ax.figure.colorbar(image, ax=ax, label="weight", shrink=0.8)
    return ax


def _numbers_in_cells(ax: Any, values: FloatArray, form: str, white: AnyArray) -> None:
    for (i, j), value in np.ndenumerate(values):
        text = form.format(round(float(value), 2) + 0.0)
        ax.text(
            j, i, "0.0" if text == "-0.0" else text.replace("-", "−"), ha="center", va="center", fontsize="x-small",
            color="white" if white[i, j] else "black",
        )  # fmt: skip


# -- collections -------------------------------------------------------------------------------------------------


def simplex(trace: AnyArray, truth: AnyArray | None = None, *, ax: Any = None) -> Any:
    """The way of one collection's mixture of three topics, in a triangle.

    Parameters
    ----------
    trace : array of shape (n_draws, 3)
        Such as ``model.pi_trace_[1][:, j]`` of a ``CompoundLDA`` with three topics.
    truth : array of shape (3,), default=None
        A mixture to mark.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Later draws are lighter.

    Examples
    --------
    >>> from topicloom.explore import plots
    >>> ax = plots.simplex([[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3]], truth=[0.3, 0.3, 0.4])
    >>> [text.get_text() for text in ax.texts]
    ['topic 0', 'topic 1', 'topic 2']
    """
    way = as_numbers("trace", trace)
    if way.ndim != 2 or way.shape[1] != 3:
        raise InputError(f"trace has shape {way.shape}; a triangle shows sweeps × 3 topics.")
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
    ax = axes_of(ax, (5.0, 4.4))
    outline = corners[[0, 1, 2, 0]]
    ax.plot(outline[:, 0], outline[:, 1], color="0.6", lw=0.8)
    points = np.einsum("sk,kx->sx", way, corners)
    ax.plot(points[:, 0], points[:, 1], lw=0.4, alpha=0.6, color=GREY)
    ax.scatter(points[:, 0], points[:, 1], c=np.arange(len(points)), cmap="viridis", s=8, zorder=2)
    if truth is not None:
        x, y = np.einsum("k,kx->x", as_numbers("truth", truth), corners)
        ax.scatter([x], [y], marker="x", s=80, lw=2, color=COLORS[1], zorder=3)
    for k, (x, y) in enumerate(corners):
        ax.annotate(f"topic {k}", (x, y), textcoords="offset points", xytext=(0, -10 if k < 2 else 5), ha="center")
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax

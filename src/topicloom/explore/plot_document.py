"""One document: its words coloured by their topics, and the shares of these."""

from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_whole, shown
from topicloom.errors import InputError
from topicloom.explore.plot_style import axes_of, color, labels

_FONT = 10.0  # points
_LINE = 1.75  # heights of a line
_WORDS_WIDE = 0.66  # part of the axes that the words take; bars have the rest


def document(
    model: Any, document: int = 0, X: Any = None, *, n_topics: int = 5, n_words: int = 120, ax: Any = None
) -> Any:
    """The words of a document coloured by topic, and beside them the largest topics' shares.

    Parameters
    ----------
    model : fitted topic model
    document : int, default=0
        Number of the document in the training corpus, or in ``X``.
    X : corpus, matrix or list of texts, default=None
        New documents. None: those of the fit.
    n_topics : int, default=5
        Topics with a colour of their own, the document's largest; at most 7.
    n_words : int, default=120
        Words shown, from the start.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into. None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Of the words. The shares are in its child axes, ``ax.child_axes[0]``.

    Notes
    -----
    A word has the colour of its likeliest topic, p(k | word, document) ∝ φ_kv θ_dk, and is the stronger the likelier
    that topic is. Words of other topics have no colour. A corpus that does not keep the order of its texts shows each
    word once, with its count.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.explore import plots
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["sun moon sun", "loan bank loan"] * 20)
    >>> plots.document(model, 0, ["sun moon bank"]).get_title(loc="left")
    'document 0'
    """
    if not 1 <= check_whole("n_topics", n_topics, 1) <= 7:
        raise InputError(f"n_topics={n_topics} must be from 1 to 7, since there are seven colours.")
    check_whole("n_words", n_words, 1)
    corpus = model.corpus_ if X is None else model._new_corpus(X)
    if isinstance(document, bool) or not isinstance(document, int | np.integer) or not 0 <= document < corpus.n_docs:
        raise InputError(f"document {shown(document)} does not exist; they are numbered 0 to {corpus.n_docs - 1}.")
    one = corpus.select([document])
    theta = model.doc_topic_[document] if X is None else np.asarray(model.transform(one))[0]
    texts, words, cut = _tokens(one, n_words)
    best, share = word_topics(model.topic_word_[:, words], theta)
    largest = np.argsort(-theta, kind="stable")[: min(n_topics, len(theta))]
    tone = {int(k): color(i) for i, k in enumerate(largest)}
    ax = axes_of(ax, (9.0, 4.0))
    ax.set_axis_off()
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    _write(ax, texts, [(tone.get(int(k)), float(p)) for k, p in zip(best, share, strict=True)], cut)
    name = f"document {document}" if one.ids is None else f"document {document} ({one.ids[0]})"
    ax.set_title(name, fontsize="medium", loc="left")
    names = labels(model)
    _share_bars(ax, [names[k] for k in largest], theta[largest], [tone[int(k)] for k in largest])
    return ax


def word_topics(phi: FloatArray, theta: FloatArray) -> tuple[Int64Array, FloatArray]:
    """The likeliest topic of each word, and its probability, from φ [K, n] of these words and θ [K]."""
    weight = phi * theta[:, None]
    best = weight.argmax(axis=0)
    return best, np.take_along_axis(weight, best[None], axis=0)[0] / weight.sum(axis=0)


def _tokens(one: Any, n_words: int) -> tuple[list[str], Int64Array, bool]:
    """Words as they are shown, their numbers, and whether there are more."""
    if one.ordered:
        words = one.words[:n_words]
        return [one.vocabulary[v] for v in words], words.astype(np.int64), one.n_tokens > n_words
    words, counts = np.unique(one.words, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:n_words]
    shown_words = [
        one.vocabulary[v] + (f" ×{n}" if n > 1 else "") for v, n in zip(words[order], counts[order], strict=True)
    ]
    return shown_words, words[order].astype(np.int64), len(words) > n_words


def _write(ax: Any, texts: list[str], tones: list[tuple[str | None, float]], cut: bool) -> None:
    """Words line by line, as wide as they are when drawn; with … at the end if there are more."""
    figure = ax.figure
    figure.draw_without_rendering()  # so that the axes have their final size
    box = ax.get_window_extent()
    point = figure.dpi / 72.0
    x, y, line = 0.0, 1.0, _LINE * _FONT * point / box.height
    blank = 0.45 * _FONT * point / box.width
    for written, (text, (tone, share)) in enumerate(zip(texts, tones, strict=True)):
        patch = None if tone is None else {"facecolor": tone, "alpha": 0.12 + 0.45 * share, "lw": 0, "pad": 1.5}
        word = ax.text(x, y, text, fontsize=_FONT, va="top", bbox=patch)
        width = word.get_window_extent().width / box.width
        if x > 0 and x + width > _WORDS_WIDE:
            x, y = 0.0, y - line
            word.set_position((x, y))
        if y - line < 0 and written + 1 < len(texts):  # the last line
            word.set_text("…")
            word.set_bbox(None)
            return
        x += width + blank
    if cut:
        ax.text(x, y, "…", fontsize=_FONT, va="top")


def _share_bars(ax: Any, names: list[str], shares: FloatArray, tones: list[str]) -> None:
    bars = ax.inset_axes((0.7, 0.0, 0.3, min(1.0, 0.2 * len(names))))
    at = np.arange(len(names))
    bars.barh(at, shares, color=tones, alpha=0.65, height=0.45)
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        bars.text(0.0, i - 0.3, f"{name} ({share:.0%})", fontsize="small", va="bottom")
    bars.set_ylim(len(names) - 0.5, -0.8)
    bars.set(yticks=[], xticks=[])
    bars.spines[:].set_visible(False)

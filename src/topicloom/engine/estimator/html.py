"""What notebooks show of a fitted model: its topics with their sizes, the verdict on its chains, its parameters."""

from typing import Any, TypeAlias

import numpy as np

from topicloom import _html
from topicloom._types import FloatArray
from topicloom.engine.estimator import parameters, tables
from topicloom.errors import counted

_WORDS = 8  # of a topic
_MOST = 200  # topics in the table
_MOST_OF_VALUE = 120  # characters of a parameter


Content: TypeAlias = tuple[list[str], list[_html.Html]]  # facts about a model, and what it has learned


class ShownInNotebooks:
    """What notebooks ask a model for, in front of scikit-learn's base class: its box of parameters is shown unless the
    model is fitted. (Of a fitted one it would read every attribute, so that all would be computed.)
    """

    def _repr_html_inner(self) -> str:
        shown: str = model_html(self) if hasattr(self, "seed_") else super()._repr_html_inner()  # type: ignore[misc]
        return shown

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if hasattr(self, "seed_") and hasattr(self, "_repr_html_"):  # it is not if scikit-learn is set to plain text
            return {"text/plain": repr(self), "text/html": model_html(self)}
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return bundle

    def _html_content(self) -> Content:
        """Sizes of a fitted model in words, and what it has learned as HTML."""
        return [], []


def model_html(model: Any) -> str:
    """A fitted model."""
    chains = len(model.traces_)
    facts, parts = model._html_content()
    facts += [
        counted(int(model.n_iter_), "sweeps"),
        counted(chains, "chains") if chains > 1 else "",
        "interrupted" if model.interrupted_ else "",
    ]
    told = getattr(model, "verdict_", None)
    said = [] if not told else [_html.verdict(str(told), getattr(told, "agree", None))]
    return _html.box(type(model).__name__, facts, *said, *parts, _parameters(model))


def topic_content(model: Any) -> Content:
    """Sizes and topics of a topic model."""
    sizes = (
        (len(model.topic_word_), "topics"), (len(model.empty_docs_), "documents"), (len(model.vocabulary_), "words"),
    )  # fmt: skip
    names = getattr(model, "topic_names_", None)
    names = names if names and any(name is not None for name in names) else None
    if names is None and hasattr(model, "label_counts_"):  # topics are labels
        names = model.classes_.tolist()
    return [counted(n, what) for n, what in sizes], [
        _topics_table(model.topic_word_, _tokens(model), model.vocabulary_, names)
    ]


def _tokens(model: Any) -> FloatArray:
    """Tokens of each topic: as the published chain recorded them last, otherwise as far as its counts tell."""
    recorded = model.trace_.topic_sizes if model.traces_ else []
    if recorded:
        return np.asarray(recorded[-1], np.float64)
    return np.asarray(np.maximum(model._by_word.sum(axis=0) - model.beta_.sum(), 0.0))


def _topics_table(topics: FloatArray, sizes: FloatArray, vocabulary: Any, names: Any) -> _html.Html:
    """Topics [K, V] with their share of the tokens, the largest ones if there are very many, and likeliest words."""
    n = len(topics)
    shares = np.asarray(sizes, float) / max(float(np.sum(sizes)), 1e-300)
    shown = np.sort(np.argsort(-shares, kind="stable")[:_MOST])
    words = tables.top_words(topics[shown], vocabulary, _WORDS)
    largest = float(shares.max(initial=0.0))
    columns = [("topic", True), ("name", False), ("share", False), ("words", False)]
    rows = [
        [str(k), _name(names, k), _html.bar(float(shares[k]), largest), " ".join(_html.cut(word, 40) for word in own)]
        for k, own in zip(shown.tolist(), words, strict=True)
    ]
    if names is None:
        columns.pop(1)
        rows = [[row[0], *row[2:]] for row in rows]
    parts = [_html.table(columns, rows, height="24em")]
    if n > _MOST:
        parts.append(_html.note(f"The {_MOST} largest of {n:,} are shown."))
    return _html.join(parts)


def state_content(initial: FloatArray, transition: FloatArray, emission: Any, symbols: Any) -> Content:
    """Sizes and states of a hidden Markov model; without symbols, ``emission`` has a few words on each state."""
    if symbols is None:
        likeliest, what = emission, "emits"
    else:
        likeliest = tables.top_words(emission, [_html.cut(str(symbol), 40) for symbol in symbols], _WORDS)
        what = "symbols"
    columns = [("state", True), ("starts", True), ("stays", False), ("next", False), (what, False)]
    rows = []
    for k, own in enumerate(likeliest[:_MOST]):
        away = np.where(np.arange(len(initial)) == k, -1.0, transition[k])
        after = int(np.argmax(away))
        to = f"{after} ({transition[k, after]:.0%})" if len(initial) > 1 else "–"
        rows.append([str(k), f"{initial[k]:.0%}", _html.bar(float(transition[k, k])), to, " ".join(own)])
    sizes = [counted(len(initial), "states"), *([] if symbols is None else [counted(len(symbols), "symbols")])]
    return sizes, [_html.table(columns, rows, height="24em")]


def _name(names: Any, k: int) -> str:
    return "" if names is None or names[k] is None else _html.cut(str(names[k]), 60)


def _parameters(model: Any) -> _html.Html:
    """All parameters; those that are not at their defaults in bold."""
    cls: Any = type(model)
    rows, changed = [], 0
    for name, known in parameters.parameters_of(cls).items():
        value = getattr(model, name)
        own = repr(value) != repr(known.default)
        changed += own
        text = _html.escape(_html.cut(" ".join(repr(value).split()), _MOST_OF_VALUE))
        rows.append([name, _html.Html(f"<b>{text}</b>") if own else text])
    title = f"Parameters ({changed} changed)" if changed else "Parameters"
    return _html.folded(title, _html.table([("parameter", False), ("value", False)], rows, height="20em"))

"""What notebooks show of a corpus: its sizes, what is known of its documents, and the first of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from topicloom import _html
from topicloom.errors import counted

if TYPE_CHECKING:
    from topicloom.corpus.corpus import Corpus

_DOCUMENTS = 5
_WORDS = 16  # of a document
_LENGTH = 40  # characters of a word, an id, a label
_EXAMPLES = 4


def corpus_html(corpus: "Corpus") -> str:
    """A corpus."""
    sizes = ((corpus.n_docs, "documents"), (corpus.n_words, "words"), (corpus.n_tokens, "tokens"))
    lengths = corpus.doc_lengths
    empty = int(np.count_nonzero(lengths == 0))
    facts = [counted(n, what) for n, what in sizes]
    facts.append("in the order of the text" if corpus.ordered else "order of words not known")
    facts.append(f"{empty:,} without a word" if empty else "")
    about = (
        f"Documents have {number_range(lengths)} tokens, median {float(np.median(lengths)):,.0f}"
        f"{'; each counts by its weight' if corpus.weights is not None else ''}."
    )
    known = [[name, _html.cut(text, 160)] for name, text in _known(corpus)]
    parts = [_html.note(about)]
    if known:
        parts.append(_html.table([("known of documents", False), ("", False)], known))
    parts.append(_first_documents(corpus))
    return _html.box("Corpus", facts, *parts)


def number_range(values: Any) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _known(corpus: "Corpus") -> list[tuple[str, str]]:
    """What is known of documents, in words."""
    told: dict[str, Callable[[Any], str]] = {
        "ids": lambda ids: _examples(ids[:_EXAMPLES], len(ids)),
        "labels": lambda sets: _distinct([label for labels in sets for label in labels], "labels"),
        "groups": lambda groups: _distinct(groups, "groups"),
        "responses": lambda numbers: f"{np.min(numbers):g} to {np.max(numbers):g}",
        "times": _span,
        "unknown": lambda counts: f"{counted(int(counts.sum()), 'tokens')} outside the vocabulary",
    }
    return [(name, tell(getattr(corpus, name))) for name, tell in told.items() if getattr(corpus, name) is not None]


def _distinct(values: Any, plural: str) -> str:
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    most = sorted(counts, key=lambda value: -counts[value])[:_EXAMPLES]
    return f"{counted(len(counts), plural)}: {_examples(most, len(counts))}" if counts else f"no {plural}"


def _examples(some: Any, n: int) -> str:
    return ", ".join(_html.cut(str(value), _LENGTH) for value in some) + (", …" if n > len(some) else "")


def _span(times: Any) -> str:
    if times.dtype.kind != "M":
        return f"{min(times.tolist())} to {max(times.tolist())}"
    whole_days = bool(np.all(times == times.astype("M8[D]")))
    ends = np.array([times.min(), times.max()]).astype("M8[D]" if whole_days else "M8[s]")
    return " to ".join(map(str, ends)).replace("T", " ")


def _first_documents(corpus: "Corpus") -> _html.Html:
    """The first documents: their texts if they are kept, otherwise their first words."""
    rows, texts = [], getattr(corpus, "texts", None)
    for d in range(min(_DOCUMENTS, corpus.n_docs)):
        words = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        text = " ".join(_html.cut(corpus.vocabulary[v], _LENGTH) for v in words[:_WORDS].tolist())
        text += " …" if len(words) > _WORDS else ""
        if texts is not None and texts[d]:
            text = _html.cut(" ".join(str(texts[d])[:1000].split()), 160)
        name = str(d) if corpus.ids is None else _html.cut(corpus.ids[d], _LENGTH)
        rows.append([name, f"{len(words):,}", text])
    more = corpus.n_docs - len(rows)
    columns = [
        ("document" if corpus.ids is None else "id", False),
        ("tokens", True),
        ("text" if texts else "words", False),
    ]
    below = [_html.note(f"and {more:,} more")] if more else []
    return _html.join([_html.table(columns, rows), *below])

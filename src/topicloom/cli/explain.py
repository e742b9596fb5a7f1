"""``explain``: which words of new documents speak for a topic, a label or a class."""

import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import Jobs, ModelDir, load_topics, say
from topicloom.cli._tables import Output, rows_of
from topicloom.cli.results import GroupColumn, collection_columns, tell_unknown, unknown_words_told
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from rich.text import Text

    from topicloom.corpus import Corpus
    from topicloom.engine.estimator.explained import Asked, Explained

_SHOWN = 5  # documents, unless some are named
_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_FOR, _AGAINST = "green", "red"
_STRONG = 0.5  # share of the largest contribution from which a word is bold
_NARROW = 40


def explain(
    directory: ModelDir,
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="New documents.", show_default=False)],
    reading: Reading,
    output: Output,
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document", "-d", metavar="ID|NUMBER", help="Name or number (from 0) of a document; may be repeated."
        ),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="NUMBER|NAME", help="Name or number of a topic to explain; may be repeated."
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="NAME", help="Label or class to explain; may be repeated."),
    ] = None,
    best: Annotated[
        int, typer.Option(help="Without --topic and --label: how many of each document to explain, best first.")
    ] = 3,
    words: Annotated[
        int, typer.Option("--words", "-w", help="Words that speak for each, and as many that speak against it.")
    ] = 10,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Give every word in the order of the text, in --csv, --json and --parquet.")
    ] = False,
    text_length: Annotated[int, typer.Option(help="Characters of each text to show; 0 for none.")] = 1000,
    group_column: GroupColumn = None,
    jobs: Jobs = -1,
) -> None:
    """Show which words of new documents speak for a topic, a label or a class, and which against it.

    Words of the text are coloured as in the table. Of topics and labels, a word has the colour of the one that it
    speaks for most. Of classes and numbers, green words speak for the first and red ones against it. Without colours,
    words have marks.
    """
    from topicloom.engine.estimator.explained import ask, explained, token_columns, word_columns

    if tokens and not output.asked:
        raise InputError("--tokens says what --csv, --json and --parquet give; add one of them.")
    model = load_topics(directory).set_params(n_jobs=jobs)
    asked = ask(model, None if topic is None else [_number(one, model) for one in topic], label, best, words)
    wanted = ["id_column", *collection_columns(model)]
    corpus = reading.read_new(input, model, wanted, keep_texts=True, group_column=group_column)
    tell_unknown(corpus)
    rows = _rows(corpus, document, None if output.asked else _SHOWN)
    corpus = corpus.select(rows)
    with unknown_words_told():
        found = list(explained(model, corpus, asked))
    columns = token_columns(model, asked, corpus, found) if tokens else word_columns(model, asked, found)
    columns["document"] = [rows[d] for d in columns["document"]]

    def shown() -> None:
        for one in found:
            _show(model, asked, corpus, one, text_length)

    def document_of() -> dict[str, Any]:
        return {"directory": str(directory), "tokens" if tokens else "words": rows_of(columns)}

    output.show(columns, shown, document_of)


def _number(given: str, model: Any) -> int | str:
    """A number, unless a topic has that number for a name."""
    return int(given) if given.isascii() and given.isdecimal() and given not in model.topic_names_ else given


def _rows(corpus: "Corpus", named: list[str] | None, most: int | None) -> list[int]:
    """Numbers of the documents to explain."""
    if named is None:
        n = corpus.n_docs if most is None else min(most, corpus.n_docs)
        if n < corpus.n_docs:
            say(f"{n} of {corpus.n_docs} documents are shown; name others with --document, or use --csv for all.")
        return list(range(n))
    number = {} if corpus.ids is None else {name: d for d, name in reversed(list(enumerate(corpus.ids)))}
    found = []
    for name in named:
        d = number.get(name, int(name) if name.isascii() and name.isdecimal() and len(name) < 12 else -1)
        if not 0 <= d < corpus.n_docs:
            known = "" if corpus.ids is None else f"; the first is named {corpus.ids[0]!r}"
            raise InputError(
                f"--document {name}: there is no such document; they are numbered 0 to {corpus.n_docs - 1}{known}."
            )
        found.append(d)
    return found


# -- one document on a terminal ----------------------------------------------------------------------------------------


def _show(model: Any, asked: "Asked", corpus: "Corpus", one: "Explained", text_length: int) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=sys.stdout, markup=False, highlight=False)
    console = console if console.width >= _NARROW else Console(file=sys.stdout, width=_NARROW, highlight=False)
    signed = asked.by_label and model._LABELS in ("class", "response")
    n_tokens = int(corpus.doc_lengths[one.row])
    console.print(Text(f"{_plain(one.id)}  ({counted(n_tokens, 'known words')})", style="bold"))
    if text_length > 0 and n_tokens:
        text = _text(corpus, one, asked, signed, text_length, marked=console.color_system is None)
        if text is not None:
            console.print(Padding(text, (0, 0, 0, 2)))
    console.print(_table(model, asked, one, signed))


def _table(model: Any, asked: "Asked", one: "Explained", signed: bool) -> Any:
    from rich.table import Table
    from rich.text import Text

    numbered = not signed and len(one.targets) > 1
    kind = model._LABELS if asked.by_label else "topic"
    away = signed or bool((one.added < 0).any())
    table = Table()
    for heading in ["", kind] if numbered else [kind]:
        table.add_column(heading)
    table.add_column("value", justify="right", no_wrap=True)
    for heading in ["words for it", *(["words against it"] if away else [])]:
        table.add_column(heading, ratio=1)
    names = model.topic_names_
    for t, target in enumerate(one.targets):
        colour = _FOR if signed else _COLOURS[t % len(_COLOURS)]
        order = one.order(t, asked.top)
        listed = [[i for i in order if one.added[i, t] > 0], [i for i in order if one.added[i, t] < 0]]
        cells = [
            Text("  ".join(f"{_plain(one.words[i])}({abs(one.added[i, t]):.3f})" for i in own), style=style)
            for own, style in zip(listed, (colour, _AGAINST), strict=True)
        ]
        named = (
            str(target.name) if asked.by_label or not names[target.column] else f"{target.name} {names[target.column]}"
        )
        head = [Text(f"{t + 1}")] if numbered else []
        table.add_row(*head, Text(_plain(named)), f"{one.values[t]:.3f}", *cells[: 2 if away else 1])
    return table


def _text(corpus: "Corpus", one: "Explained", asked: "Asked", signed: bool, length: int, marked: bool) -> "Text | None":
    """The document with its listed words in colours or, where there are none, with marks; None if it has no order."""
    from rich.text import Text

    from topicloom.engine.estimator.explained import tokens_in_order

    if corpus.weights is not None or not (corpus.ordered or corpus.texts is not None):
        return None
    tokens, styles = tokens_in_order(corpus, one.row), _styles(one, asked, signed)
    placed = corpus.texts is not None and all(start >= 0 for start, _, _ in tokens)
    whole = _plain(corpus.texts[one.row]) if placed and corpus.texts is not None else " ".join(w for _, _, w in tokens)
    out, at, end = Text(), 0, 0
    for start, stop, word in tokens:
        if not placed:
            start, stop = end, end + len(word)
            end = stop + 1
        if stop > length:
            break
        out.append(whole[at:start])
        before, style, after = styles.get(word, ("", "", ""))
        out.append(f"{before}{whole[start:stop]}{after}" if marked else whole[start:stop], style=style)
        at = stop
    out.append(whole[at:length] + ("…" if len(whole) > length else ""))
    return out


def _styles(one: "Explained", asked: "Asked", signed: bool) -> dict[str, tuple[str, str, str]]:
    """Of each word that the table lists: a mark before it, its style, a mark after it."""
    found: dict[str, tuple[str, str, str]] = {}
    strongest: dict[str, float] = {}
    for t in range(1 if signed else len(one.targets)):
        order = one.order(t, asked.top)
        largest = max((abs(float(one.added[i, t])) for i in order), default=0.0)
        for i in order:
            added, word = float(one.added[i, t]), one.words[i]
            if added == 0.0 or abs(added) <= strongest.get(word, 0.0):
                continue
            strongest[word] = abs(added)
            colour = (_FOR if added > 0 else _AGAINST) if signed else _COLOURS[t % len(_COLOURS)]
            style = f"bold {colour}" if abs(added) >= _STRONG * largest else colour
            mark = ("+" if added > 0 else "-", "") if signed else ("", f"[{t + 1}]" if len(one.targets) > 1 else "*")
            found[word] = mark[0], style, mark[1]
    return found


def _plain(text: str) -> str:
    """The text without characters that control terminals, each replaced by a blank so that places stay."""
    return "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)

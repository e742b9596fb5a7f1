"""``docs`` and ``name``: the documents of a topic, and its name."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from topicloom.cli._run import Json, ModelDir, load_topics, say, show_json
from topicloom.cli._tables import Output, one_line, rows_of
from topicloom.errors import InputError, counted

_NARROW = 40  # columns below which texts are not broken any more


def docs(
    directory: ModelDir,
    output: Output,
    topic: Annotated[
        str, typer.Option("--topic", "-t", metavar="NUMBER|NAME", help="Number or name of a topic.", show_default=False)
    ],
    n: Annotated[int, typer.Option("--n", "-n", help="Documents to show.")] = 10,
    text_length: Annotated[int, typer.Option(help="Characters of each text; 0 for none.")] = 300,
    whole: Annotated[bool, typer.Option("--whole", help="Show the whole texts.")] = False,
) -> None:
    """Show the documents with the largest share of a topic, with their texts if the model keeps them.

    The table for programs has the columns document, id, share, tokens, text.
    """
    from topicloom.engine.estimator.tables import best_docs

    model = load_topics(directory)
    number = model._topic_number(_topic(topic, model))
    columns = best_docs(model.corpus_, model.doc_topic_, number, n, text_length=None if whole else text_length)
    rows = rows_of(columns)
    output.show(
        columns,
        lambda: _show(f"Topic {number}: {model.topic_labels(8)[number]}", rows),
        lambda: {
            "topic": number,
            "name": model.topic_names_[number],
            "label": model.topic_labels()[number],
            "documents": rows,
        },
    )
    if "text" not in columns and text_length > 0:
        say("the model keeps no texts; fit again with --keep-texts to see them.")


def _topic(given: str, model: Any) -> int | str:
    """A number, unless a topic has that number for a name."""
    is_number = given.isascii() and given.isdecimal() and given not in model.topic_names_
    return int(given) if is_number else given


def _show(title: str, documents: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=sys.stdout, markup=False, highlight=False)
    console = console if console.width >= _NARROW else Console(file=sys.stdout, width=_NARROW, highlight=False)
    console.print(Text(one_line(title)))
    for found in documents:
        console.print()
        console.print(Text(f"{found['share']:6.1%}  {one_line(found['id'])}  ({counted(found['tokens'], 'words')})"))
        if found.get("text"):
            console.print(Padding(Text(one_line(found["text"])), (0, 0, 0, 8)))


def name(
    directory: ModelDir,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.json | TOPIC=NAME…",
            help="A file of names that the explorer exported, or TOPIC=NAME with a topic's number or name, such as "
            "3=space. An empty name removes a name.",
            show_default=False,
        ),
    ],
    any_model: Annotated[
        bool, typer.Option("--any-model", help="Accept names that were exported for another model.")
    ] = False,
    json: Json = False,
) -> None:
    """Give names to a model's topics. Names are kept with the model; numbers do not change."""
    import topicloom
    from topicloom.files.directories import save_names

    model: Any = topicloom.load(directory)
    single = len(names) == 1 and "=" not in names[0]
    given = Path(names[0]) if single else dict(_pair(text, model) for text in names)
    model.set_topic_names(given, any_model=any_model)
    save_names(model._stored, model._names_part())
    kept = {str(k): found for k, found in enumerate(model.topic_names_) if found is not None}
    if json:
        show_json({"directory": str(directory), "names": kept})
    else:
        say(f"{counted(len(kept), 'topics')} of {len(model.topic_names_)} have a name in {directory}.")


def _pair(text: str, model: Any) -> tuple[int, str]:
    """A topic's number and the name that it is to have. The name that it has may hold "=" itself."""
    cuts = [cut for cut, letter in enumerate(text) if letter == "="]
    if not cuts:
        raise InputError(f"{text!r}: expected a topic and a name, as in 3=space, or one JSON file.")
    cut = next((cut for cut in cuts if text[:cut] in model.topic_names_), cuts[0])
    return model._topic_number(_topic(text[:cut], model)), text[cut + 1 :]

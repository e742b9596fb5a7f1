"""``explore``: a page that shows a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import load_topics, say
from topicloom.cli.files import _STATE, _kind
from topicloom.cli.results import read_truth
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.mallet import MalletState


def explore(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL…", help="One or more models' directories, or a MALLET state file.", show_default=False
        ),
    ],
    reading: Reading,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.", metavar="FILE")] = Path("topics.html"),
    texts: Annotated[
        Path | None,
        typer.Option(
            help="File that the model was fitted to, for texts of documents (default: those that the model keeps).",
            metavar="FILE",
        ),
    ] = None,
    documents: Annotated[
        int,
        typer.Option(help="Most documents on the page: the best of each topic and a sample of the others. 0 for none."),
    ] = 2000,
    all_documents: Annotated[bool, typer.Option("--all", help="Put all documents on the page.")] = False,
    text_length: Annotated[int, typer.Option(help="Cut texts after this many characters.")] = 10_000,
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Leave the texts out; documents show their words only.")
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(help="Held-out documents with labels, to show how well they are predicted.", metavar="FILE"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    level: Annotated[float, typer.Option(help="Probability of intervals.")] = 0.9,
) -> None:
    """Write a page that shows a model: one HTML file that opens in any browser, without a network.

    Several models are shown side by side, with the flows between their topics.
    """
    from topicloom.explore import explore as of_model
    from topicloom.explore import explore_models, explore_state

    if no_texts and texts is not None:
        raise InputError("--no-texts leaves out what --texts reads; give one of them.")
    options: dict[str, Any] = {
        "documents": None if all_documents else documents, "text_length": text_length, "title": title, "level": level,
    }  # fmt: skip
    if held_out is not None and len(inputs) > 1:
        raise InputError("--held-out is for one model of labels or classes; leave it out.")
    kinds = [_kind(path, reading.format if len(inputs) == 1 and texts is None else None) for path in inputs]
    for path, kind in zip(inputs, kinds, strict=True):
        if kind == "corpus":
            raise InputError(f"{path} is a corpus, which has no topics; give a model's directory or a MALLET state.")
        if kind == _STATE and len(inputs) > 1:
            raise InputError(f"{path} is a MALLET state, and only models are compared; give it alone.")
    if kinds == [_STATE]:
        if held_out is not None:
            raise InputError("--held-out is for models of labels or classes, and a state has none; leave it out.")
        from topicloom.mallet import read_state

        state = read_state(inputs[0])
        page = explore_state(state, out, texts=_texts(texts, no_texts, reading, _AsModel(state)), **options)
    elif len(inputs) == 1:
        model = _load(inputs[0])
        if held_out is not None:
            options["held_out"] = _held_out(model, reading, held_out)
        page = of_model(model, out, texts=_texts(texts, no_texts, reading, model), **options)
    else:
        models = {str(path): load_topics(path) for path in inputs}
        if len(models) < len(inputs):
            raise InputError("a directory is given twice; each model is compared with others.")
        first = next(iter(models.values()))
        page = explore_models(models, out, texts=_texts(texts, no_texts, reading, first), **options)
    say(f"the page is {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser.")


def _held_out(model: Any, reading: Reading, path: Path) -> Any:
    if not hasattr(model, "label_report"):
        raise InputError(f"--held-out is for models of labels or classes, and {type(model).__name__} is none.")
    return read_truth(model, reading, path, None)


def _load(path: Path) -> Any:
    import topicloom

    return topicloom.load(path)


class _AsModel:
    """What is needed of a model, or of a state, to read a file."""

    def __init__(self, state: "MalletState") -> None:
        self.vocabulary_, self._text_options, self._reading = state.corpus.vocabulary, None, None


def _texts(path: Path | None, left_out: bool, reading: Reading, model: Any) -> Sequence[str] | bool | None:
    """Texts of a file, read as the fit read its own; None for those that the model keeps."""
    if path is None:
        return False if left_out else None
    if not hasattr(model, "vocabulary_"):
        raise InputError("--texts is for models of texts, and this one is of sequences; leave it out.")
    if not reading.holds_texts(path):
        raise InputError(f"{path} holds no texts; give the files of texts that the model was fitted on.")
    return reading.read_new(path, model, keep_texts=True).texts

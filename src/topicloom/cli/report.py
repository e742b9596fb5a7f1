"""``report``: the explorer, with diagnostics and how the model was made."""

from pathlib import Path
from typing import Annotated, Any

import typer

from topicloom.cli._run import Json, ModelDir, say, show_json


def report(
    directory: ModelDir,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.", show_default=False)],
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Write a page about a model: the explorer, diagnostics, parameters, and the command that makes it again."""
    import topicloom
    from topicloom.explore.report import command_of, write_report

    model: Any = topicloom.load(directory)
    path = write_report(model, out, title=title)
    if json:
        show_json({"page": str(path), "bytes": path.stat().st_size, "command": command_of(model)})
    else:
        say(f"the page is {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser.")

"""``region-sets``: the regions, or other features, of each topic."""

from pathlib import Path
from typing import Annotated, Any

import typer

from topicloom.cli._run import ModelDir, load_topics, say
from topicloom.cli._tables import Output, show_table


def region_sets(
    directory: ModelDir,
    output: Output,
    method: Annotated[
        str, typer.Option(help="otsu: scores above Otsu's threshold; top: the highest scores.", metavar="otsu|top")
    ] = "otsu",
    top: Annotated[int, typer.Option("--top", help="Features per topic, with --method top.")] = 2000,
    smooth: Annotated[
        bool,
        typer.Option(
            "--smooth/--no-smooth",
            help="Give regions that all topics share a low score, or score by probability alone.",
        ),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder to write one BED file per topic to.", show_default=False
        ),
    ] = None,
) -> None:
    """Choose the regions that belong to each topic, and write them as BED files.

    Without --out this works for genes and other features as well.
    """
    from topicloom import cells

    sets = cells.feature_sets(load_topics(directory), method, n_top=top, smooth=smooth)
    files = [] if out is None else cells.write_region_sets(out, sets)
    if out is not None:
        say(f"{len(files)} BED files are in {out}.")

    def shown() -> None:
        columns = [("topic", True), ("name", False), ("features", True), ("threshold", True), ("first", False)]
        rows = []
        for k, name in enumerate(sets.topics):
            members = sets.members(k)
            rows.append([str(k), name, f"{len(members):,}", f"{sets.thresholds[k]:.3g}", " ".join(members[:3])])
        show_table(None, columns, rows)

    def document() -> list[dict[str, Any]]:
        return [
            {
                "topic": k,
                "name": name,
                "threshold": float(sets.thresholds[k]),
                "features": sets.members(k),
                "file": str(files[k]) if files else None,
            }
            for k, name in enumerate(sets.topics)
        ]

    header = ("topic", "name", "rank", "feature", "score")
    output.show(lambda: dict(zip(header, map(list, zip(*sets.rows(), strict=True)), strict=True)), shown, document)

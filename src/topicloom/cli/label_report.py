"""``label-report``: how well each label or class is predicted."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import Jobs, Json, ModelDir, load_topics, show_json, show_table
from topicloom.cli.results import read_truth, unknown_words_told, write_rows
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.evaluation import LabelReport

_ORDERS = ("support", "f1", "name", "calibration")


def label_report(
    directory: ModelDir,
    input: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Documents that were held out, with labels.", show_default=False)
    ],
    reading: Reading,
    sort: Annotated[str, typer.Option(help="support, f1, name or calibration (the worst first).")] = "support",
    label_column: Annotated[str | None, typer.Option(help="Column that holds labels (default: as in the fit).")] = None,
    level: Annotated[float, typer.Option(help="Probability of the limits of expected documents.")] = 0.95,
    jobs: Jobs = -1,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table: label, support, precision, recall, …")] = False,
) -> None:
    """Show how well each label or class of held-out documents is predicted.

    Columns are the number of documents with the label, precision, recall, F1 and, of a model that has probabilities,
    how many documents with the label were expected. A mark (!) says that their number is outside the limits in
    brackets, within which it should lie: the label's probabilities are too low or too high.
    """
    if sort not in _ORDERS:
        raise InputError(f"--sort {sort}: not known; choose {', '.join(_ORDERS)}.")
    model = load_topics(directory).set_params(n_jobs=jobs)
    if not hasattr(model, "label_report"):
        raise InputError(
            f"{directory} holds a model of the kind {type(model).__name__}, which predicts no labels or classes; "
            "topicloom evaluate scores it."
        )
    corpus = read_truth(model, reading, input, label_column)
    with unknown_words_told():
        found: LabelReport = model.label_report(corpus, level=level)
    if found.expected is None and sort == "calibration":
        raise InputError("--sort calibration needs probabilities, and the hinge loss has none; sort by f1.")
    order = found.order(sort)
    columns = {name: [values[k] for k in order] for name, values in found.columns().items()}
    rows = list(zip(*columns.values(), strict=True))
    if csv:
        write_rows(sys.stdout, list(columns), rows)
    elif json:
        labels = [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]
        show_json({"directory": str(directory), **_summary(found), "labels": labels})
    else:
        _show(found, order)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)


def _summary(found: "LabelReport") -> dict[str, Any]:
    bins = found.calibration
    calibration = None if bins is None else {name: values.tolist() for name, values in bins._asdict().items()}
    return {
        "documents": found.n_documents, "without_prediction": found.without_prediction,
        "without_label": found.without_label, "averages": found.averages, "calibration": calibration,
    }  # fmt: skip


def _show(found: "LabelReport", order: list[int]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = [["docs"], ["prec."], ["recall"], ["F1"], *([] if found.expected is None else [["expected docs"], [""]])]
    for k in order:
        values = [f"{found.support[k]}", *(f"{own[k]:.2f}" for own in (found.precision, found.recall, found.f1))]
        if found.expected is not None and found.lower is not None and found.upper is not None:
            inside = found.lower[k] <= found.support[k] <= found.upper[k]
            values += [f"{found.expected[k]:.1f} ({found.lower[k]}–{found.upper[k]})", "" if inside else "!"]
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    table, console = Table(), Console(file=sys.stdout, markup=False, highlight=False)
    widths = [max(map(len, column)) for column in columns]
    room = max(console.width - sum(width + 3 for width in widths) - 4, 10)
    table.add_column("label", no_wrap=True)
    for heading, *_ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for k, row in zip(order, list(zip(*columns, strict=True))[1:], strict=True):
        name = Text(str(found.names[k]))
        name.truncate(room, overflow="ellipsis")
        table.add_row(name, *row)
    console.print(table)
    rows = [[name, *(f"{own[m]:.3f}" for m in ("precision", "recall", "f1"))] for name, own in found.averages.items()]
    show_table(None, [("average", False), ("precision", True), ("recall", True), ("F1", True)], rows)
    if found.calibration is not None:
        bins = [[f"{p:.1%}", f"{share:.1%}", f"{n:,}"] for p, share, n in zip(*found.calibration, strict=True) if n]
        show_table(None, [("probability", True), ("is so", True), ("documents × labels", True)], bins)
    unpredicted, unlabelled = f"{found.without_prediction:.1%}", f"{found.without_label:.1%}"
    console.print(f"{found.n_documents} documents; {unpredicted} have no predicted label, {unlabelled} have no label.")

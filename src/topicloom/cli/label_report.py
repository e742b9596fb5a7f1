"""``label-report``: how well each label or class is predicted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import Jobs, ModelDir, load_topics
from topicloom.cli._tables import Output, rows_of, show_table, table_width
from topicloom.cli.results import read_truth, unknown_words_told
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.evaluation import LabelReport

_ORDERS = ("support", "f1", "name", "calibration")


def label_report(
    directory: ModelDir,
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="Held-out documents with labels.", show_default=False)],
    reading: Reading,
    output: Output,
    sort: Annotated[
        str, typer.Option(help="Order of the rows: support, f1, name or calibration (worst first).")
    ] = "support",
    label_column: Annotated[str | None, typer.Option(help="Column that holds labels (default: as in the fit).")] = None,
    level: Annotated[float, typer.Option(help="Probability of the limits in brackets.")] = 0.95,
    jobs: Jobs = -1,
) -> None:
    """Show how well each label or class of held-out documents is predicted.

    Columns are the number of documents with the label, precision, recall and F1. Of a model with probabilities there is
    also the number of documents that it expects to have the label, with limits in brackets. A mark (!) shows that the
    actual number is outside the limits: the probabilities of the label are too low or too high.
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
    output.show(
        columns,
        lambda: _show(found, order),
        lambda: {"directory": str(directory), **_summary(found), "labels": rows_of(columns)},
    )


def _summary(found: "LabelReport") -> dict[str, Any]:
    bins = found.calibration
    calibration = None if bins is None else {name: values.tolist() for name, values in bins._asdict().items()}
    return {
        "documents": found.n_documents, "without_prediction": found.without_prediction,
        "without_label": found.without_label, "averages": found.averages, "calibration": calibration,
    }  # fmt: skip


def _show(found: "LabelReport", order: list[int]) -> None:
    headings = [("label", False), *((name, True) for name in ("docs", "prec.", "recall", "F1"))]
    headings += [] if found.expected is None else [("expected", True)]
    labels = []
    for k in order:
        values = [f"{found.support[k]}", *(f"{own[k]:.2f}" for own in (found.precision, found.recall, found.f1))]
        if found.expected is not None and found.lower is not None and found.upper is not None:
            inside = found.lower[k] <= found.support[k] <= found.upper[k]
            values.append(f"{found.expected[k]:.1f} ({found.lower[k]}–{found.upper[k]}){' ' if inside else '!'}")
        labels.append([str(found.names[k]), *values])
    widths = [max(map(len, column)) for column in zip(*[[name for name, _ in headings], *labels], strict=True)]
    room = max(table_width() - sum(width + 3 for width in widths[1:]) - 4, 10)
    for row in labels:  # a line per label: whole names are in --csv and --json
        row[0] = row[0] if len(row[0]) <= room else f"{row[0][: room - 1]}…"
    show_table(None, headings, labels)
    rows = [[name, *(f"{own[m]:.3f}" for m in ("precision", "recall", "f1"))] for name, own in found.averages.items()]
    show_table(None, [("average", False), ("precision", True), ("recall", True), ("F1", True)], rows)
    if found.calibration is not None:
        bins = [[f"{p:.1%}", f"{share:.1%}", f"{n:,}"] for p, share, n in zip(*found.calibration, strict=True) if n]
        show_table(None, [("probability", True), ("is so", True), ("documents × labels", True)], bins)
    unpredicted, unlabelled = f"{found.without_prediction:.1%}", f"{found.without_label:.1%}"
    typer.echo(f"{found.n_documents} documents; {unpredicted} have no predicted label, {unlabelled} no label.")

"""``fit-supervised``, and what ``predict`` and ``evaluate`` do with such a model: MedLDA for classes and numbers."""

import json as json_text
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting, Sweeps
from topicloom.cli._reading import Inputs, Reading
from topicloom.cli._run import Jobs, say
from topicloom.cli._tables import Columns, Output, columns_of, show_table, write_csv
from topicloom.cli.fitting import Quiet, fit_to, read_for, show_fitted
from topicloom.cli.results import as_text, tell_unknown, unknown_words_told
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from topicloom.corpus import Corpus
    from topicloom.medlda.supervised import SupervisedTopics


@dataclass(frozen=True)
class Supervision:
    """Model"""

    task: Annotated[str, Option(help="What to predict: classes (or label sets), or numbers.")] = "classes"
    topics: Annotated[
        int | None, Option("--topics", "-k", help="Number of topics (default: 40 for classes, 10 for numbers).")
    ] = None
    sweeps: Sweeps = 40
    burn_in: Annotated[int, Option(help="Average over samples from this sweep on.")] = 20
    thin: Annotated[int, Option(help="Sweeps between the samples that are averaged.")] = 5
    chains: Annotated[
        int | None,
        Option(help="Independent chains, whose predictions are averaged (default: 1 for classes, 4 for numbers)."),
    ] = None
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0
    loss: Annotated[
        str | None,
        Option(help="Loss for classes: hinge or logistic. For numbers: epsilon_insensitive or squared."),
    ] = None
    loss_weight: Annotated[float | None, Option(help="Weight of the loss relative to the words.")] = None
    weight_precision: Annotated[float | None, Option(help="Prior precision of the classifier's weights.")] = None
    multi_class: Annotated[
        str | None, Option(help="How several classes are learned: multitask or ovr (one against the rest).")
    ] = None
    class_weight: Annotated[
        list[str] | None,
        Option(
            metavar="balanced|CLASS=WEIGHT",
            help="Weight of a class's own documents in the loss, one option per class; or balanced.",
        ),
    ] = None
    weight_column: Annotated[
        str | None, Option(help="Column that holds a weight for each document's loss, 0 or more.")
    ] = None
    calibrate: Annotated[
        bool | None,
        Option(
            "--calibrate/--no-calibrate",
            help="Refit the classifier's weights on topics found as for new documents (the default).",
            show_default=False,
        ),
    ] = None
    epsilon: Annotated[float | None, Option(help="Largest error of a number that costs nothing.")] = None
    sampler: Annotated[str, Option(help="Sampler: auto, mh or dense.")] = "auto"
    shards: Annotated[int, Option(help="Parts of a sweep that threads share.")] = 1
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def build(self, **others: Any) -> "SupervisedTopics":
        from topicloom.models import MedLDAClassifier, MedLDARegressor

        if self.task not in ("classes", "numbers"):
            raise InputError(f"--task {self.task}: not known; choose classes or numbers.")
        wrong = ("epsilon",) if self.task == "classes" else ("multi_class", "class_weight")
        for name in wrong:
            if getattr(self, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} is not for --task {self.task}; leave it out.")
        names = ("loss", "multi_class", "epsilon", "loss_weight", "weight_precision", "calibrate")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.class_weight is not None:
            given["class_weight"] = _class_weights(self.class_weight)
        if self.topics is not None:
            given["n_components"] = self.topics
        if self.chains is not None:
            given["n_chains"] = self.chains
        kind: Any = MedLDAClassifier if self.task == "classes" else MedLDARegressor
        model: SupervisedTopics = kind(
            max_iter=self.sweeps, burn_in=self.burn_in, thin=self.thin, random_state=self.seed,
            sampler=self.sampler, n_shards=self.shards, checkpoint_every=self.checkpoint_every, **given, **others,
        )  # fmt: skip
        return model

    def reading_weights(self, cutting: Cutting) -> Cutting:
        """Options by which the column of weights is read, too: as numbers, in a role that this task has no use for."""
        if self.weight_column is None:
            return cutting
        role = self._weight_role
        if getattr(cutting, f"{role}_column") is not None:
            raise InputError(f"--weight-column is read in place of --{role}-column here; leave the latter out.")
        columns: dict[str, Any] = {f"{role}_column": self.weight_column}
        return replace(cutting, **columns)

    def take_weights(self, corpus: "Corpus") -> tuple["Corpus", Any]:
        """The corpus without the column of weights, and the weights."""
        if self.weight_column is None:
            return corpus, None
        role = self._weight_role
        weights = getattr(corpus, f"{role}s")
        if weights is not None and weights.dtype.kind not in "iuf":
            raise InputError(f"--weight-column {self.weight_column}: it holds dates, expected numbers.")
        reading = dict(corpus.reading or {})
        command = dict(reading.get("command", {}))
        command["options"] = {k: v for k, v in command.get("options", {}).items() if k != f"{role}_column"}
        known = {k: v for k, v in reading.items() if k not in (role, f"{role}_column")} | {"command": command}
        emptied: dict[str, Any] = {"reading": known, f"{role}s": None}
        return replace(corpus, **emptied), weights

    @property
    def _weight_role(self) -> str:
        return "response" if self.task == "classes" else "time"


def _class_weights(given: list[str]) -> Any:
    """ "balanced", or weights by class."""
    if given == ["balanced"]:
        return "balanced"
    weights: dict[str, float] = {}
    for entry in given:
        name, _, number = entry.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--class-weight {entry}: give balanced, or CLASS=WEIGHT once per class.")
    return weights


def fit_supervised(
    input: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    supervision: Supervision,
    output: Output,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn topics that predict the documents' classes or numbers (MedLDA).

    Checkpoints are kept in DIR; `topicloom resume DIR` continues from the last one.
    """
    model = supervision.build(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    read = read_for(model, input, out, reading, supervision.reading_weights(cutting), quiet)
    corpus, weights = supervision.take_weights(read)
    targets, option = (corpus.labels, "label") if supervision.task == "classes" else (corpus.responses, "response")
    if targets is None:
        raise InputError(
            f"the documents have no {option}s to learn from; name the column that holds them with --{option}-column."
            + reading.columns_of(input)
        )
    fit_to(model, corpus, out, sample_weight=weights)

    def shown() -> None:
        rows = [[str(name), str(k), f"{weight:.2f}", words] for name, k, weight, words in model.class_topic_rows(2, 8)]
        show_table(None, [("class", False), ("topic", True), ("weight", True), ("words", False)], rows)
        say(f"{counted(model.n_iter_, 'sweeps')}; the model is in {out}.")

    show_fitted(model, out, quiet, output, lambda: model._class_topic_columns(2, 8), shown, {})


def predict_numbers(model: Any, corpus: "Corpus", out: Path | None, output: Output) -> None:
    """A number for each document: id and prediction."""
    tell_unknown(corpus)
    with unknown_words_told():
        numbers = model.predict(corpus).tolist()
    ids = [str(d) for d in range(corpus.n_docs)] if corpus.ids is None else list(corpus.ids)
    records = [{"id": name, "prediction": value} for name, value in zip(ids, numbers, strict=True)]
    columns = columns_of(records, ("id", "prediction"))
    if out is not None:
        from topicloom.corpus._lines import replacing

        with replacing(out) as file:
            if out.suffix == ".csv":
                with as_text(file) as text:
                    write_csv(text, columns)
            else:
                for record in records:
                    file.write(json_text.dumps(record, ensure_ascii=False).encode() + b"\n")
        say(f"predictions of {counted(corpus.n_docs, 'documents')} are in {out}.")
    show_predictions(output, out, corpus.n_docs, lambda: columns, lambda: records)


def show_predictions(
    output: Output,
    out: Path | None,
    n_docs: int,
    columns: Callable[[], Columns],
    records: Callable[[], Iterable[dict[str, Any]]],
) -> None:
    """Predictions on standard output, unless they are in a file and are not asked for."""
    if output.asked or out is None:
        output.show(
            columns,
            lambda: write_csv(sys.stdout, columns()),
            lambda: {
                "documents": n_docs,
                "out": None if out is None else str(out),
                "predictions": list(records()) if out is None else None,
            },
        )


def supervised_scores(model: Any, corpus: "Corpus") -> dict[str, float]:
    """How well a model predicts what the documents are."""
    with unknown_words_told():
        if model._kind == "regression":
            found: dict[str, float] = model.regression_report(corpus)
            return found
        return {"micro_f1" if model._kind == "multilabel" else "accuracy": model.score(corpus)}

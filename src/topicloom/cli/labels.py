"""``fit-labels`` and ``predict``: models whose topics are labels."""

import json as json_text
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting, Shards, Sweeps
from topicloom.cli._reading import Inputs, NewInputs, Reading
from topicloom.cli._run import Jobs, ModelDir, load_topics, say
from topicloom.cli._tables import Output, show_table, write_csv
from topicloom.cli.fitting import Quiet, fit_to, read_for, show_fitted
from topicloom.cli.results import as_text, tell_unknown, unknown_words_told
from topicloom.cli.supervised import predict_numbers, show_predictions
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from topicloom._types import AnyArray, FloatArray
    from topicloom.corpus import Corpus
    from topicloom.models import LabeledLDA

_SHOWN = 30  # labels that are shown after a fit
_MODELS = {"labeled": "LabeledLDA", "prior": "PriorLDA", "dependency": "DependencyLDA"}


@dataclass(frozen=True)
class Labeling:
    """Model"""

    model: Annotated[str, Option(help="labeled, prior (frequent labels are likelier) or dependency.")] = "prior"
    sweeps: Sweeps = 195
    burn_in: Annotated[int, Option(help="Average over samples from this sweep on.")] = 50
    thin: Annotated[int, Option(help="Sweeps between the samples that are averaged.")] = 5
    chains: Annotated[int, Option(help="Independent chains, which are averaged.")] = 1
    shards: Shards = "auto"
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0
    method: Annotated[str, Option(help="gibbs, or the variational method cvb0.")] = "gibbs"
    beta: Annotated[float, Option(help="Dirichlet prior of words.", metavar="B")] = 0.1
    ranking: Annotated[
        str, Option(help="Rank labels by probability, by counts (without the prior) or by theta (with the prior).")
    ] = "probability"
    label_rule: Annotated[
        str, Option(help="How many labels each document gets: auto, threshold, meta, count or proportional.")
    ] = "auto"
    n_labels: Annotated[int | None, Option(help="Labels per document, for the rule count.")] = None
    holdout: Annotated[
        float, Option(help="Share of the documents on which probabilities are calibrated; 0 for none.")
    ] = 0.2
    label_topics: Annotated[int | None, Option(help="Number of topics over labels, for dependency.")] = None
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def build(self, **others: Any) -> "LabeledLDA":
        from topicloom import models

        if self.model not in _MODELS:
            raise InputError(f"--model {self.model}: not known; choose labeled, prior or dependency.")
        if self.label_topics is not None and self.model != "dependency":
            raise InputError("--label-topics is for --model dependency; leave it out.")
        own = {} if self.model != "dependency" else {"n_label_topics": self.label_topics}
        kind: Any = getattr(models, _MODELS[self.model])
        model: LabeledLDA = kind(
            max_iter=self.sweeps, burn_in=self.burn_in, thin=self.thin, n_chains=self.chains, n_shards=self.shards,
            random_state=self.seed, method=self.method, topic_word_prior=self.beta, ranking=self.ranking,
            label_rule=self.label_rule, n_labels=self.n_labels, holdout=self.holdout,
            checkpoint_every=self.checkpoint_every, **own, **others,
        )  # fmt: skip
        return model


def fit_labels(
    input: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    labeling: Labeling,
    output: Output,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn the words of each label from documents with labels, to predict labels of new documents.

    Checkpoints are kept in DIR; `topicloom resume DIR` continues from the last one.
    """
    model = labeling.build(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    corpus = read_for(model, input, out, reading, cutting, quiet)
    if corpus.labels is None:
        raise InputError(
            "the documents have no labels to learn from; name the column that holds them with --label-column."
            + reading.columns_of(input)
        )
    fit_to(model, corpus, out)
    columns = partial(_label_words, model)

    def shown() -> None:
        rows = [[str(label), str(n), words] for label, n, words in zip(*columns().values(), strict=True)]
        show_table(None, [("label", False), ("documents", True), ("words", False)], rows[:_SHOWN])
        more = "" if len(rows) <= _SHOWN else f" (the {_SHOWN} most frequent of {len(rows)} are shown)"
        say(f"{counted(len(rows), 'labels')}{more}; the model is in {out}.")

    show_fitted(model, out, quiet, output, columns, shown, {"labels": len(model.classes_)})


def _label_words(model: "LabeledLDA") -> dict[str, list[Any]]:
    """Labels, the most frequent first, with their documents and likeliest words."""
    words = model.top_words(8)
    order = sorted(range(len(words)), key=lambda k: -int(model.label_counts_[k]))
    return {
        "label": [model.classes_.tolist()[k] for k in order],
        "documents": [int(model.label_counts_[k]) for k in order],
        "words": [" ".join(words[k]) for k in order],
    }


def predict(
    directory: ModelDir,
    input: NewInputs,
    reading: Reading,
    output: Output,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .csv or .jsonl file (default: csv on standard output).", metavar="FILE"),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also give the probability of every label.")
    ] = False,
    rule: Annotated[
        str | None,
        typer.Option(
            help="How many labels each document gets: auto, threshold, meta, count or proportional "
            "(default: as in the fit)."
        ),
    ] = None,
    n_labels: Annotated[int | None, typer.Option(help="Labels per document, for the rule count.")] = None,
    jobs: Jobs = -1,
) -> None:
    """Predict labels of new documents, best first, or their classes or numbers with a supervised model."""
    if out is not None and out.suffix not in (".csv", ".jsonl"):
        raise InputError(f"{out}: the name must end in .csv or .jsonl, which says what to write.")
    model = load_labeled(directory).set_params(n_jobs=jobs)
    if hasattr(model, "class_topics"):  # supervised topics, which have no rules
        if rule is not None or n_labels is not None:
            raise InputError("--rule and --n-labels are for models of labels; leave them out.")
        if probabilities and not hasattr(model, "predict_proba"):
            raise InputError("--probabilities needs a model fitted with --loss logistic.")
    if not hasattr(model, "predict_labels"):
        predict_numbers(model, reading.read_new(input, model, ["id_column"]), out, output)
        return
    changes = {name: value for name, value in {"label_rule": rule, "n_labels": n_labels}.items() if value is not None}
    model.set_params(**changes)._plan(model.seed_)
    corpus = reading.read_new(input, model, ["id_column"])
    tell_unknown(corpus)
    with unknown_words_told():
        labels = model.predict_labels(corpus)
        p = model.predict_proba(corpus) if probabilities else None
    if out is not None:
        from topicloom.corpus._lines import replacing

        with replacing(out) as file:
            if out.suffix == ".csv":
                with as_text(file) as text:
                    write_csv(text, _columns(corpus, labels, p, model.classes_))
            else:
                for record in _records(corpus, labels, p, model.classes_):
                    file.write(json_text.dumps(record, ensure_ascii=False).encode() + b"\n")
        say(f"labels of {counted(corpus.n_docs, 'documents')} are in {out}.")
    records = partial(_records, corpus, labels, p, model.classes_)
    show_predictions(output, out, corpus.n_docs, lambda: _columns(corpus, labels, p, model.classes_), records)


def load_labeled(directory: Path) -> "LabeledLDA":
    model = load_topics(directory)
    if not hasattr(model, "predict_labels") and not hasattr(model, "class_topics"):
        raise InputError(
            f"{directory} holds a model of the kind {type(model).__name__}, which has no labels to predict; "
            "fit one with: topicloom fit-labels, or fit-supervised."
        )
    found: LabeledLDA = model
    return found


def _records(
    corpus: "Corpus", labels: list[tuple[Any, ...]], p: "FloatArray | None", classes: "AnyArray"
) -> Iterator[dict[str, Any]]:
    for d, own in enumerate(labels):
        record: dict[str, Any] = {"id": str(d) if corpus.ids is None else corpus.ids[d], "labels": list(own)}
        if p is not None:
            record["probabilities"] = dict(zip(map(str, classes.tolist()), p[d].tolist(), strict=True))
        yield record


def _columns(
    corpus: "Corpus", labels: list[tuple[Any, ...]], p: "FloatArray | None", classes: "AnyArray"
) -> dict[str, list[Any]]:
    """Ids, the label (a JSON list if there are several), probabilities."""
    columns: dict[str, list[Any]] = {"id": [], "labels": []}
    columns |= {} if p is None else {f"p_{name}": p[:, k].tolist() for k, name in enumerate(classes.tolist())}
    for record in _records(corpus, labels, None, classes):
        own = [str(name) for name in record["labels"]]
        listed = len(own) > 1 or any(name[:1] == "[" for name in own)
        text = json_text.dumps(own, ensure_ascii=False) if listed else "".join(own)
        columns["id"].append(record["id"])
        columns["labels"].append(text)
    return columns


def label_measures(model: "LabeledLDA", corpus: "Corpus", measures: list[str] | None) -> dict[str, float]:
    """How well a model predicts the labels that documents have."""
    from topicloom import evaluation
    from topicloom.engine.estimator.label_sets import beside, true_labels

    if corpus.labels is None:
        raise InputError("the documents have no labels to compare with; name their column with --label-column.")
    truth = true_labels(corpus.labels, corpus.n_docs, model.classes_)
    if not truth.any():
        raise InputError("no document has a label to compare with.")
    unseen = truth.shape[1] - len(model.classes_)
    if unseen:
        say(f"labels of these documents that the model has never seen: {unseen}; they count as missed.")
    with unknown_words_told():
        counts, alpha = model._fold_all(corpus)
    scores = evaluation.label_set_scores(truth, beside(truth, model._predict(corpus, counts, alpha)))
    scores |= evaluation.label_ranking_scores(truth, beside(truth, model._scores(counts, alpha)))
    scores |= evaluation.label_calibration(truth, beside(truth, model._probability(counts)))
    wanted = list(scores) if measures is None else measures
    for name in wanted:
        if name not in scores:
            raise InputError(f"--measures {name}: not known; choose some of {', '.join(scores)}.")
    return {name: scores[name] for name in wanted}

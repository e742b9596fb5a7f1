"""``topics`` and ``evaluate``: what a fitted model says."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import Jobs, ModelDir, load_topics, say
from topicloom.cli._tables import Output, show_table
from topicloom.errors import InputError, UnknownWordsWarning, counted

if TYPE_CHECKING:
    from topicloom._types import FloatArray
    from topicloom.corpus import Corpus
    from topicloom.models import LDA

NewInput = Annotated[
    list[Path] | None, typer.Argument(metavar="[INPUT]", help="Held-out documents.", show_default=False)
]

GroupColumn = Annotated[
    str | None, typer.Option(help="Column that holds collections (default: as in the fit).", show_default=False)
]


# -- topics --------------------------------------------------------------------------------------------------------


def topics(
    directory: ModelDir,
    output: Output,
    words: Annotated[int, typer.Option("--words", "-w", help="Words of each topic.")] = 10,
) -> None:
    """Show the topics of a model: their shares of the corpus and their most probable words.

    The table for programs has one row per topic and rank: topic, rank, word, probability.
    """
    model = load_topics(directory)
    output.show(lambda: topic_words(model, words), lambda: show_topics(model, words), lambda: _topics(model, words))


def _topics(model: "LDA", n_words: int) -> list[dict[str, Any]]:
    shares = topic_shares(model)
    return [
        {
            "topic": k,
            "name": model.topic_names_[k],
            "share": float(shares[k]),
            "alpha": float(model.alpha_[k]),
            "words": [{"word": word, "probability": p} for word, p in best],
        }
        for k, best in enumerate(_best_words(model, n_words))
    ]


def topic_words(model: "LDA", n_words: int) -> dict[str, Any]:
    """Columns of a table with a line for each topic and rank."""
    from topicloom.engine.estimator.tables import word_columns

    return word_columns(model.topic_word_, model.vocabulary_, n_words, model.topic_names_)


def show_topics(model: "LDA", n_words: int) -> None:
    shares, names = topic_shares(model), model.topic_names_
    labels = all(model._own_names())  # topics are labels
    rows = [
        [
            *([] if labels else [str(k)]), *([names[k] or ""] if any(names) else []), f"{shares[k]:.1%}",
            " ".join(word for word, _ in best),
        ]
        for k, best in enumerate(_best_words(model, n_words))
    ]  # fmt: skip
    heading = [("label", False)] if labels else [("topic", True), *([("name", False)] if any(names) else [])]
    show_table(None, [*heading, ("share", True), ("words", False)], rows)


def topic_shares(model: "LDA") -> "FloatArray":
    """Share of the corpus's tokens in each topic."""
    import numpy as np

    from topicloom.evaluation import topic_sizes

    if getattr(model, "seed_words", None) is not None:  # the counts of the model include the seeds' weight
        return topic_sizes(model.doc_topic_, model.corpus_.doc_lengths)
    tokens = np.maximum(model.components_.sum(axis=1) - model.beta_.sum(), 0.0)
    return np.asarray(tokens / tokens.sum())


def _best_words(model: "LDA", n_words: int) -> list[list[tuple[str, float]]]:
    from topicloom.engine.estimator.tables import top_word_numbers

    phi = model.topic_word_
    numbers = top_word_numbers(phi, n_words)
    return [[(model.vocabulary_[v], float(phi[k, v])) for v in row] for k, row in enumerate(numbers.tolist())]


# -- what commands on new documents share ------------------------------------------------------------------------------


def collection_columns(model: Any) -> list[str]:
    """Columns that a model of collections reads as in the fit."""
    return ["group_column"] if hasattr(model, "collections_") else []


@contextmanager
def as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    """A text view of a binary file, which stays open."""
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()


def unknown_share(corpus: "Corpus") -> float:
    unknown = 0 if corpus.unknown is None else int(corpus.unknown.sum())
    return unknown / max(unknown + corpus.n_tokens, 1)


def tell_unknown(corpus: "Corpus") -> None:
    say_unknown(unknown_share(corpus), corpus.n_docs, int(corpus.empty_docs.sum()))


def say_unknown(unknown: float, n_docs: int, empty: int) -> None:
    verbs = ("has", "gets") if empty == 1 else ("have", "get")
    known = f"{verbs[0]} no known word and {verbs[1]} the prior's mean"
    note = f"; {counted(empty, 'documents')} {known}" if empty else ""
    share = f"{unknown:.1%} of the words in {counted(n_docs, 'documents')}"
    say(f"{share} are unknown to the model{note}.")


@contextmanager
def unknown_words_told() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWordsWarning)
        yield


# -- evaluation ----------------------------------------------------------------------------------------------------

_NEED_INPUT = ("perplexity", "left-to-right")
_MEASURES = (*_NEED_INPUT, "coherence", "diversity")


def evaluate(
    directory: ModelDir,
    reading: Reading,
    output: Output,
    input: NewInput = None,
    measures: Annotated[
        str | None,
        typer.Option(
            help=f"Some of {','.join(_MEASURES)} (default: all but left-to-right, which is slow).", metavar="M[,M…]"
        ),
    ] = None,
    coherence: Annotated[str, typer.Option(help="c_npmi, u_mass or c_v.")] = "c_npmi",
    words: Annotated[int, typer.Option("--words", "-w", help="Words of each topic for coherence.")] = 10,
    particles: Annotated[int, typer.Option(help="Particles, for left-to-right.")] = 20,
    label_column: Annotated[str | None, typer.Option(help="Column that holds labels (default: as in the fit).")] = None,
    group_column: GroupColumn = None,
    response_column: Annotated[
        str | None, typer.Option(help="Column that holds numbers to predict (default: as in the fit).")
    ] = None,
    jobs: Jobs = -1,
) -> None:
    """Score a model: what it predicts of held-out documents, and how good its topics are.

    Perplexity is by completion: one half of each document gives the topics, the words of the other half are scored.
    Coherence is measured in the training corpus. A model that predicts labels is scored by them: F1 of the label sets,
    measures of the ranking, calibration.
    """
    from topicloom import evaluation

    model = load_topics(directory).set_params(n_jobs=jobs)
    if hasattr(model, "class_topics"):
        _evaluate_supervised(directory, model, reading, input, label_column, response_column, output)
        return
    if hasattr(model, "predict_labels"):
        _evaluate_labels(directory, model, reading, input, measures, label_column, output)
        return
    wanted = _wanted(measures, bool(input))
    held_out = None
    if input:
        held_out = reading.read_new(input, model, collection_columns(model), group_column=group_column)
        tell_unknown(held_out)
    scores: dict[str, float] = {}
    per_topic: dict[str, list[float]] = {}
    if "perplexity" in wanted:
        with unknown_words_told():
            scores["perplexity"] = model.perplexity(held_out)
    if "left-to-right" in wanted:
        assert held_out is not None
        logs = evaluation.left_to_right(
            model.topic_word_, model.alpha_, held_out, n_particles=particles, seed=model.seed_, n_jobs=jobs
        )
        scores["left-to-right log-likelihood"] = float(logs.sum())
        scores["left-to-right log-likelihood/token"] = float(logs.sum()) / max(held_out.n_tokens, 1)
    if "coherence" in wanted:
        values = evaluation.coherence(
            model.topic_word_,
            model.corpus_,
            coherence,  # type: ignore[arg-type]  # checked there
            n_words=words,
        )
        scores[f"coherence {coherence}"] = float(values.mean())
        per_topic[f"coherence {coherence}"] = values.tolist()
    if "diversity" in wanted:
        scores["diversity"] = evaluation.topic_diversity(model.topic_word_, min(25, len(model.vocabulary_)))
    _show_scores(scores, {"directory": str(directory), "scores": scores, "by_topic": per_topic}, output)


def _show_scores(scores: dict[str, float], document: dict[str, Any], output: Output) -> None:
    def shown() -> None:
        rows = [[name, f"{value:.4f}"] for name, value in scores.items()]
        show_table(None, [("measure", False), ("value", True)], rows)

    output.show({"measure": list(scores), "value": list(scores.values())}, shown, document)


def read_truth(
    model: Any,
    reading: Reading,
    input: Path | Sequence[Path],
    label_column: str | None,
    response_column: str | None = None,
) -> "Corpus":
    """Documents with the labels, classes or numbers that a model is to predict."""
    role = "response" if getattr(model, "_kind", None) == "regression" else "label"
    corpus = reading.read_new(
        input, model, [f"{role}_column"], label_column=label_column, response_column=response_column
    )
    if getattr(corpus, f"{role}s") is None:
        raise InputError(
            f"the documents have no {role}s to compare with; name their column with --{role}-column."
            + reading.columns_of(input)
        )
    tell_unknown(corpus)
    return corpus


def _evaluate_supervised(
    directory: Path,
    model: Any,
    reading: Reading,
    input: list[Path] | None,
    label_column: str | None,
    response_column: str | None,
    output: Output,
) -> None:
    from topicloom.cli.supervised import supervised_scores

    if not input:
        raise InputError("a supervised model is scored on documents with classes or numbers; give a file of them.")
    corpus = read_truth(model, reading, input, label_column, response_column)
    scores = supervised_scores(model, corpus)
    _show_scores(scores, {"directory": str(directory), "scores": scores}, output)


def _evaluate_labels(
    directory: Path,
    model: Any,
    reading: Reading,
    input: list[Path] | None,
    measures: str | None,
    label_column: str | None,
    output: Output,
) -> None:
    from topicloom.cli.labels import label_measures

    if not input:
        raise InputError("a model of labels is scored on documents with labels; give a file of them.")
    corpus = read_truth(model, reading, input, label_column)
    wanted = None if measures is None else [name.strip() for name in measures.split(",")]
    scores = label_measures(model, corpus, wanted)
    _show_scores(scores, {"directory": str(directory), "scores": scores}, output)


def _wanted(measures: str | None, has_input: bool) -> list[str]:
    if measures is None:
        return ["perplexity", "coherence", "diversity"] if has_input else ["coherence", "diversity"]
    wanted = [name.strip() for name in measures.split(",")]
    for name in wanted:
        if name not in _MEASURES:
            raise InputError(f"--measures {name}: not known; choose some of {', '.join(_MEASURES)}.")
        if name in _NEED_INPUT and not has_input:
            raise InputError(f"--measures {name} scores held-out documents; give a file of them after the directory.")
    return wanted

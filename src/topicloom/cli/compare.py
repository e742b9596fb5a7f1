"""``compare``: which of several models predicts held-out documents better, and how sure that is."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading
from topicloom.cli._run import Jobs, load_topics, say
from topicloom.cli._tables import Output, columns_of, show_table
from topicloom.cli.results import GroupColumn, collection_columns, tell_unknown, unknown_share, unknown_words_told
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.corpus import Corpus
    from topicloom.diagnostics.comparison import Comparison

_MEASURES = ("completion", "left-to-right", "annealed")
_COLUMNS = (
    "measure", "model", "per_token", "perplexity", "difference", "error", "documents_error", "fits_error",
    "monte_carlo_error", "n_fits", "ess", "verdict",
)  # fmt: skip
_SHORT = {"best": "best", "worse": "worse", "cannot be told apart": "unclear"}  # leaves room for models' names


def compare(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL_A MODEL_B [MODEL…]", help="Directories of models.", show_default=False),
    ],
    reading: Reading,
    output: Output,
    data: Annotated[
        Path | None,
        typer.Option("--data", "-d", help="Held-out documents (default: those of the fit).", metavar="FILE"),
    ] = None,
    measures: Annotated[
        str, typer.Option(help=f"Some of {','.join(_MEASURES)}; the last two are slow.", metavar="M[,M…]")
    ] = "completion",
    samples: Annotated[int, typer.Option(help="Samples per document, for completion.")] = 10,
    runs: Annotated[int, typer.Option(help="Independent runs, for left-to-right.")] = 8,
    particles: Annotated[int, typer.Option(help="Particles, for left-to-right and annealed.")] = 20,
    temperatures: Annotated[int, typer.Option(help="Steps from the prior to the posterior, for annealed.")] = 1000,
    group_column: GroupColumn = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers; the same seed gives the same scores.")] = 0,
    jobs: Jobs = -1,
) -> None:
    """Compare models on held-out documents: which predicts better, by how much per token, and how sure that is.

    Differences are paired over documents and have standard errors. The chains of a model count as several fits.
    Models must have the same vocabulary.
    """
    from topicloom.diagnostics.comparison import compare_all

    if len(directories) < 2:
        raise InputError("there is one model; give at least two directories to compare.")
    if len({path.resolve() for path in directories}) < len(directories):
        raise InputError("a directory is given twice; each model is compared with others.")
    wanted = _wanted(measures)
    models = {str(path): load_topics(path) for path in directories}
    corpus = _documents(models, reading, data, group_column)
    options: dict[str, dict[str, Any]] = {
        "completion": {"n_samples": samples},
        "left-to-right": {"n_runs": runs, "n_particles": particles},
        "annealed": {"temperatures": temperatures, "n_particles": particles},
    }
    found = {}
    for name in wanted:
        measure: Any = name.replace("-", "_")
        with unknown_words_told():
            found[name] = compare_all(models, corpus, measure, seed=seed, n_jobs=jobs, **options[name])
    records = [{"measure": name, **row} for name, of in found.items() for row in _plain(of)]
    output.show(
        columns_of(records, _COLUMNS),
        lambda: _show_all(found),
        lambda: _document(found, corpus, data),
    )


def _wanted(measures: str) -> list[str]:
    wanted = list(dict.fromkeys(name.strip() for name in measures.split(",")))
    for name in wanted:
        if name not in _MEASURES:
            raise InputError(f"--measures {name}: not known; choose some of {', '.join(_MEASURES)}.")
    return wanted


def _documents(models: dict[str, Any], reading: Reading, data: Path | None, group_column: str | None) -> "Corpus":
    """Held-out documents, or those of the fit if all models had the same."""
    first = next(iter(models.values()))
    if data is not None:
        columns = next((found for model in models.values() if (found := collection_columns(model))), [])
        corpus = reading.read_new(data, first, columns, group_column=group_column)
        tell_unknown(corpus)
        return corpus
    own: Corpus = first.corpus_
    if any(model.corpus_.fingerprint != own.fingerprint for model in models.values()):
        raise InputError("the models were fitted on different documents; give held-out ones with --data.")
    say("no --data: the documents of the fit are scored, which flatters models with more topics.")
    return own


def _plain(found: "Comparison") -> list[dict[str, Any]]:
    """Rows without NaN, which JSON does not have."""
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in found.rows()
    ]


def _document(found: dict[str, "Comparison"], corpus: "Corpus", data: Path | None) -> dict[str, Any]:
    return {
        "data": None if data is None else str(data),
        "documents": corpus.n_docs,
        "unknown_share": unknown_share(corpus),
        "measures": {
            name: {
                "tokens": int(of.tokens.sum()),
                "best": of.best,
                "models": _plain(of),
                "verdicts": _verdicts(of),
            }
            for name, of in found.items()
        },
    }


def _verdicts(found: "Comparison") -> list[str]:
    best = found.best
    return [found.difference(best, row["model"]).verdict for row in found.rows() if row["model"] != best]


def _show_all(found: dict[str, "Comparison"]) -> None:
    for name, of in found.items():
        _show(name, of)


def _show(name: str, found: "Comparison") -> None:
    rows = [
        [
            row["model"],
            f"{row['per_token']:.4f}",
            f"{row['perplexity']:.1f}",
            "" if row["verdict"] == "best" else f"{row['difference']:.4f} ± {row['error']:.4f}",
            _SHORT[row["verdict"]],
        ]
        for row in found.rows()
    ]
    headings = [("model", False), ("nats/token", True), ("perplexity", True), ("behind the best", True), ("", False)]
    scored = int((found.tokens > 0).sum())
    show_table(f"{name}: {int(found.tokens.sum()):,} tokens of {scored:,} documents", headings, rows)
    for verdict in _verdicts(found):
        typer.echo(f"{verdict}.")
    single = [row["model"] for row in found.rows() if row["n_fits"] == 1]
    if single:
        say(f"one fit of {', '.join(single)}: how much another fit would differ is not part of the error.")
    low = [row["model"] for row in found.rows() if row["ess"] is not None and row["ess"] < 2]
    if low and name == "annealed":
        say(f"annealed: one particle decides some document of {', '.join(low)}; give more --temperatures.")

"""``fit-collections`` and ``prevalence``: topics across collections of documents."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting, Reading
from topicloom.cli._run import Jobs, Json, ModelDir, say, show_json, show_table
from topicloom.cli.fitting import Quiet, fit_to, read_for, summary, tell_stopped
from topicloom.cli.results import write_rows
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.models import CompoundLDA


@dataclass(frozen=True)
class Compounding:
    """Model"""

    topics: Annotated[int, Option("--topics", "-k", help="Number of topics.")] = 10
    sweeps: Annotated[int, Option("--sweeps", "-n", help="Sweeps over the corpus.")] = 500
    inference: Annotated[str, Option(help="ags (auxiliary variables), mgs (Langevin dynamics) or vem.")] = "ags"
    concentration: Annotated[
        float | None, Option(help="How close documents are to their collection (default: learned).", metavar="G")
    ] = None
    collection_prior: Annotated[
        str, Option(help="Prior of the collections' mixtures, or 'learn'.", metavar="A|learn")
    ] = "1"
    beta: Annotated[float | None, Option(help="Prior of words (default: 1/topics, learned).", metavar="B")] = None
    burn_in: Annotated[int | None, Option(help="First sweep whose draws count (default: half of the sweeps).")] = None
    lag: Annotated[int, Option(help="Sweeps between draws.")] = 5
    sampler: Annotated[str, Option(help="Kernel that draws the topics.")] = "auto"
    shards: Annotated[int, Option(help="Parts of a sweep for threads to share; 1 is exact.")] = 1
    estimator: Annotated[str, Option(help="cgs_p (dense) or standard.")] = "cgs_p"
    chains: Annotated[int, Option(help="Independent chains; the likeliest is the model.")] = 1
    paths: Annotated[int, Option(help="Paths of a chain, which share their topics.")] = 1
    seed: Annotated[int, Option(help="The same seed gives the same model.")] = 0
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def build(self, **others: Any) -> "CompoundLDA":
        from topicloom.models import CompoundLDA

        try:
            alpha = None if self.collection_prior == "learn" else float(self.collection_prior)
        except ValueError:
            raise InputError(f"--collection-prior {self.collection_prior}: expected a number, or 'learn'.") from None
        return CompoundLDA(
            self.topics, max_iter=self.sweeps, inference=self.inference, concentration=self.concentration,  # type: ignore[arg-type]  # checked there
            collection_prior=alpha, topic_word_prior=self.beta, burn_in=self.burn_in, lag=self.lag,
            sampler=self.sampler, estimator=self.estimator, n_chains=self.chains, n_paths=self.paths,  # type: ignore[arg-type]
            n_shards=self.shards, random_state=self.seed, checkpoint_every=self.checkpoint_every, **others,
        )  # fmt: skip


def fit_collections(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="A corpus file or folder.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    compounding: Compounding,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn topics that collections of documents share, and how much of each collection every topic makes up.

    The collection of a document is its group: the column that --group-column names, or a folder's collection.txt.
    Checkpoints are kept in DIR; `topicloom resume DIR` goes on from the last one.
    """
    model = compounding.build(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    corpus = read_for(model, input, out, reading, cutting, quiet)
    if corpus.groups is None and not quiet:
        say("the documents have no groups, so that all are one collection; name their column with --group-column.")
    fit_to(model, corpus, out)
    if json:
        more = {"gamma": model.gamma_, "collections": [str(label) for label in model.collections_]}
        show_json(summary(model, out) | more)
    elif not quiet and not model.interrupted_:
        _show(model, 6, 0.9)
        say(f"{len(model.collections_)} collections, γ {model.gamma_:.2f}; the model is in {out}.")
    if model.interrupted_:
        tell_stopped(out, model.n_iter_)


def prevalence(
    directory: ModelDir,
    words: Annotated[int, typer.Option("--words", "-w", help="Words of each topic.")] = 6,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    difference: Annotated[
        str | None, typer.Option(help="Two collections: how they differ, topic by topic.", metavar="A,B")
    ] = None,
    trend: Annotated[bool, typer.Option("--trend", help="How topics rise and fall over the collections.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table with all digits.")] = False,
    json: Json = False,
) -> None:
    """Show how much of each collection every topic makes up, with intervals."""
    import topicloom

    model: Any = topicloom.load(directory)
    if not hasattr(model, "prevalence"):
        raise InputError(
            f"{directory} holds a model of the kind {type(model).__name__}, which has no collections; fit one with: "
            "topicloom fit-collections."
        )
    if difference is not None and trend:
        raise InputError("--difference and --trend are two questions; ask one at a time.")
    if difference is not None:
        names = {str(label): label for label in model.collections_}
        parts = difference.split(",")
        if len(parts) != 2 or any(part not in names for part in parts):
            raise InputError(f"--difference {difference}: expected two of {','.join(names)}, with a comma between.")
        frame = model.differences(names[parts[0]], names[parts[1]], level=level)
    elif trend:
        frame = model.trends(level=level)
    else:
        frame = model.prevalence(level=level)
    records = _records(frame)
    if json:
        show_json(records)
    elif csv:
        write_rows(sys.stdout, list(records[0]), ([*record.values()] for record in records))
    elif difference is not None or trend:
        _show_changes(model, records, words)
    else:
        _show(model, words, level)


def _records(frame: Any) -> list[dict[str, Any]]:
    """A row a record, with plain numbers."""
    import narwhals as nw

    table = nw.from_native(frame)
    found: list[dict[str, Any]] = table.rows(named=True)
    return found


def _show(model: Any, n_words: int, level: float) -> None:
    from topicloom.evaluation import draw_interval

    found = draw_interval(model.pi_draws_, level)
    best = model.top_words(n_words)
    rows = [
        [
            str(k),
            " ".join(best[k]),
            *(f"{m:.1%} ({lo:.1%}-{hi:.1%})" for m, lo, hi in zip(*(part[:, k] for part in found), strict=True)),
        ]
        for k in range(len(best))
    ]
    columns = [("topic", True), ("words", False), *((str(label), True) for label in model.collections_)]
    show_table(f"Shares of collections, with {level:.0%} intervals", columns, rows)


def _show_changes(model: Any, records: list[dict[str, Any]], n_words: int) -> None:
    best = model.top_words(n_words)
    records = sorted(records, key=lambda record: -float(record["mean"]))
    rows = [
        [
            str(record["topic"]),
            " ".join(best[int(record["topic"])]),
            f"{record['mean']:+.4f}",
            f"{record['lower']:+.4f} to {record['upper']:+.4f}",
            f"{record['probability']:.2f}",
        ]
        for record in records
    ]
    columns = [("topic", True), ("words", False), ("change", True), ("interval", True), ("P(> 0)", True)]
    show_table(None, columns, rows)

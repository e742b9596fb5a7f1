"""``fit-collections`` and ``prevalence``: topics across collections of documents."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting, Shards, Sweeps
from topicloom.cli._reading import Inputs, Reading
from topicloom.cli._run import Jobs, ModelDir, load_topics, say
from topicloom.cli._tables import Output, rows_of, show_table, table_width
from topicloom.cli.fitting import Quiet, fit_to, read_for, show_fitted
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from topicloom.models import CompoundLDA


@dataclass(frozen=True)
class Compounding:
    """Model"""

    topics: Annotated[int, Option("--topics", "-k", help="Number of topics.")] = 10
    sweeps: Sweeps = 500
    method: Annotated[
        str, Option(help="ags (auxiliary variables), mgs (Langevin dynamics) or vem (variational EM).")
    ] = "ags"
    concentration: Annotated[
        float | None, Option(help="How close documents are to their collection (default: learned).", metavar="G")
    ] = None
    collection_prior: Annotated[
        str, Option(help="Prior of the collections' mixtures: a number, or learn.", metavar="A|learn")
    ] = "1"
    beta: Annotated[
        float | None, Option(help="Dirichlet prior of words (default: learned from 1/topics on).", metavar="B")
    ] = None
    burn_in: Annotated[int | None, Option(help="First sweep whose draws are kept (default: half of the sweeps).")] = (
        None
    )
    thin: Annotated[int, Option(help="Sweeps between draws.")] = 5
    sampler: Annotated[str, Option(help="Sampler; auto picks one by the data.")] = "auto"
    shards: Shards = "auto"
    estimator: Annotated[str, Option(help="How topics are computed from the samples: cgs_p (dense) or standard.")] = (
        "cgs_p"
    )
    chains: Annotated[int, Option(help="Independent chains. The likeliest becomes the model; all are kept.")] = 1
    paths: Annotated[int, Option(help="Paths per chain, which share their topics.")] = 1
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def build(self, **others: Any) -> "CompoundLDA":
        from topicloom.models import CompoundLDA

        try:
            alpha = None if self.collection_prior == "learn" else float(self.collection_prior)
        except ValueError:
            raise InputError(f"--collection-prior {self.collection_prior}: expected a number, or 'learn'.") from None
        return CompoundLDA(
            self.topics, max_iter=self.sweeps, method=self.method, concentration=self.concentration,  # type: ignore[arg-type]  # checked there
            collection_prior=alpha, topic_word_prior=self.beta, burn_in=self.burn_in, thin=self.thin,
            sampler=self.sampler, estimator=self.estimator, n_chains=self.chains, n_paths=self.paths,  # type: ignore[arg-type]
            n_shards=self.shards, random_state=self.seed, checkpoint_every=self.checkpoint_every, **others,
        )  # fmt: skip


def fit_collections(
    input: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    compounding: Compounding,
    output: Output,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn topics that collections of documents share, and the share of each topic in each collection.

    The collection of a document is its group: the column --group-column, or collection.txt in a folder.
    Checkpoints are kept in DIR; `topicloom resume DIR` continues from the last one.
    """
    model = compounding.build(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    corpus = read_for(model, input, out, reading, cutting, quiet)
    if corpus.groups is None:
        corpus = corpus.with_metadata(groups=["all"] * corpus.n_docs)
        if not quiet:
            say(
                "the documents have no groups, so that all are one collection; name their column with --group-column."
                + reading.columns_of(input)
            )
    fit_to(model, corpus, out)

    def shown() -> None:
        _show(model, 6, 0.9)
        say(f"{counted(len(model.collections_), 'collections')}, γ {model.gamma_:.2f}; the model is in {out}.")

    more = {"gamma": model.gamma_, "collections": [_plain(label) for label in model.collections_]}
    show_fitted(model, out, quiet, output, lambda: model._prevalence_columns(None, 0.9), shown, more)


def prevalence(
    directory: ModelDir,
    output: Output,
    words: Annotated[int, typer.Option("--words", "-w", help="Words of each topic.")] = 6,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    difference: Annotated[
        str | None, typer.Option(help="Show how two collections differ, topic by topic.", metavar="A,B")
    ] = None,
    trend: Annotated[bool, typer.Option("--trend", help="Show how topics rise and fall over the collections.")] = False,
) -> None:
    """Show the share of each topic in each collection, with intervals.

    Collections come in order: numbers and dates by their value, other names sorted. A trend is the slope of a line
    through the collections, in which each counts with its documents.
    """
    model = load_topics(directory)
    if not hasattr(model, "prevalence"):
        raise InputError(
            f"{directory} holds a model of the kind {type(model).__name__}, which has no collections; fit one with: "
            "topicloom fit-collections."
        )
    if difference is not None and trend:
        raise InputError("--difference and --trend are two questions; ask one at a time.")
    columns: dict[str, Any]
    shown: Callable[[], None]
    if difference is not None:
        columns = model._difference_columns(*_two(model, difference), level)
        shown = partial(_show_changes, model, columns, words)
    elif trend:
        columns = model._trend_columns(level=level)
        shown = partial(_show_trend, model, columns, words)
    else:
        columns, shown = model._prevalence_columns(None, level), partial(_show, model, words, level)
    about = {"order": _order(model), "unit": model._order().unit, "topics": rows_of(columns)}
    output.show(columns, shown, about if trend else None)


def _two(model: Any, difference: str) -> list[Any]:
    """The two collections that are to be compared; a name may hold commas itself."""
    parts = difference.split(",")
    for cut in range(1, len(parts)):
        pair = [",".join(parts[:cut]), ",".join(parts[cut:])]
        found = [model.collections_[j] for j in model._known(pair) if j >= 0]
        if len(found) == 2:
            return found
    names = ",".join(str(model.collections_[j]) for j in model._order().numbers)
    raise InputError(f"--difference {difference}: expected two of {names}, with a comma between.")


def _plain(label: Any) -> Any:
    """A collection's name as JSON and csv have it."""
    return label if isinstance(label, str | int | float) else str(label)


def _order(model: Any) -> list[dict[str, Any]]:
    """Collections in the order of a trend: where each stands, and how much it counts."""
    numbers, times, _ = model._order()
    return [
        {
            "collection": _plain(model.collections_[j]),
            "at": i if times is None else times[i],
            "documents": int(model.collection_docs_[j]),
        }
        for i, j in enumerate(numbers)
    ]


def _about_trend(model: Any) -> str:
    import textwrap

    unit = model._order().unit or "collection, at equal distances"
    names = ", ".join(f"{entry['collection']} ({entry['documents']:,})" for entry in _order(model))
    text = f"Change of shares per {unit}. Order of the collections, and documents by which each counts: {names}"
    return textwrap.fill(text, table_width())


def _show(model: Any, n_words: int, level: float) -> None:
    """Shares of collections: a column for each if they fit beside each other, otherwise a line for each."""
    from topicloom._layout import wrapped
    from topicloom.evaluation import draw_interval

    found, best, order = draw_interval(model.pi_draws_, level), _topics(model, n_words), model._order().numbers
    names = [str(model.collections_[j]) for j in order]
    shares = [zip(*(100 * part[j] for part in found), strict=True) for j in order]
    cells = [[f"{mean:.1f} ({lower:.1f}-{upper:.1f})" for mean, lower, upper in own] for own in shares]
    title = f"Shares of collections in percent, with {level:.0%} intervals"
    widths = [max(map(len, [name, *own])) + 3 for name, own in zip(names, cells, strict=True)]
    if sum(widths) + _ROOM_FOR_WORDS <= table_width():
        rows = [[str(k), best[k], *(own[k] for own in cells)] for k in range(len(best))]
        show_table(title, [("topic", True), ("words", False), *((name, True) for name in names)], rows)
        return
    width = max(len(cell) for own in cells for cell in own)
    headings = [(f"topic {k}\n{wrapped(best[k], width)}", True) for k in range(len(best))]
    rows = [[name, f"{model.collection_docs_[j]:,}", *own] for name, j, own in zip(names, order, cells, strict=True)]
    show_table(title, [("collection", False), ("docs", True), *headings], rows)


def _topics(model: Any, n_words: int) -> list[str]:
    """A topic's name or, if it has none, its likeliest words."""
    return [name or " ".join(words) for name, words in zip(model.topic_names_, model.top_words(n_words), strict=True)]


_ROOM_FOR_WORDS = 40  # columns for topics' numbers and words


def _show_trend(model: Any, columns: dict[str, Any], n_words: int) -> None:
    typer.echo(_about_trend(model))
    _show_changes(model, columns, n_words)


def _show_changes(model: Any, columns: dict[str, Any], n_words: int) -> None:
    best = _topics(model, n_words)
    records = sorted(rows_of(columns), key=lambda record: -float(record["mean"]))
    rows = [
        [
            str(record["topic"]),
            best[int(record["topic"])],
            f"{record['mean']:+.2g}",
            f"{record['lower']:+.2g} to {record['upper']:+.2g}",
            f"{record['probability']:.2f}",
        ]
        for record in records
    ]
    headings = [("topic", True), ("words", False), ("change", True), ("interval", True), ("P(> 0)", True)]
    show_table(None, headings, rows)

"""``search-topics``: how many topics, as a range."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting
from topicloom.cli._reading import Inputs, Reading, listed
from topicloom.cli._run import INTERRUPTED, Jobs, say
from topicloom.cli._tables import Output, columns_of, show_table, table_width
from topicloom.cli.fitting import Quiet
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.diagnostics import TopicSearch

_WIDE = 110  # columns of a terminal that the whole table needs


@dataclass(frozen=True)
class Searching:
    """Search"""

    topics: Annotated[
        str,
        Option(
            "--topics",
            "-k",
            help="Numbers of topics to compare, with commas between them.",
            metavar="K,K…",
            show_default=False,
        ),
    ]
    sweeps: Annotated[int, Option("--sweeps", "-n", help="Sweeps per chain.")] = 150
    chains: Annotated[int, Option(help="Chains per number of topics.")] = 4
    folds: Annotated[
        int,
        Option(
            help="1 holds out a share of the documents once. More cut them into parts, and each is held out in turn."
        ),
    ] = 1
    test_share: Annotated[float, Option(help="Share of the documents to hold out.")] = 0.2
    halving: Annotated[
        bool, Option("--halving/--no-halving", help="Drop hopeless numbers early, or give every number all sweeps.")
    ] = True
    tell_apart: Annotated[float, Option(help="Smallest difference that counts, in standard errors.")] = 2.0
    alpha: Annotated[
        float | None, Option(help="Dirichlet prior of documents (default: learned from 1/topics on).", metavar="A")
    ] = None
    beta: Annotated[
        float | None, Option(help="Dirichlet prior of words (default: learned from 1/topics on).", metavar="B")
    ] = None
    learn: Annotated[
        bool | None,
        Option(
            "--learn/--fixed",
            help="Learn both priors, or none (default: those that are not given).",
            show_default=False,
        ),
    ] = None
    sampler: Annotated[str, Option(help="Sampler; auto picks one by the data.")] = "auto"
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same result.")] = 0
    keep: Annotated[
        Path | None,
        Option(help="Folder that keeps finished fits, so that the same command can resume.", metavar="DIR"),
    ] = None

    def options(self) -> dict[str, Any]:
        return {
            "max_iter": self.sweeps,
            "n_chains": self.chains,
            "folds": self.folds,
            "test_share": self.test_share,
            "halving": self.halving,
            "tell_apart": self.tell_apart,
            "doc_topic_prior": self.alpha,
            "topic_word_prior": self.beta,
            "learn_priors": self.learn,
            "sampler": self.sampler,
            "random_state": self.seed,
            "checkpoint_dir": self.keep,
        }

    def numbers(self) -> list[int]:
        try:
            return [int(part) for part in self.topics.split(",")]
        except ValueError:
            raise InputError(
                f"--topics {self.topics}: expected whole numbers with commas between them, such as 5,10,20."
            ) from None


def search_topics(
    input: Inputs,
    searching: Searching,
    reading: Reading,
    cutting: Cutting,
    output: Output,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the whole result: .json.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="File for a picture: .png, .pdf or .svg (needs matplotlib).", metavar="FILE"),
    ] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Compare numbers of topics by what they predict of held-out documents, and recommend a range.

    There is no single right number. Numbers within one standard error of the best are recommended. The smallest of
    them that serves your purpose is a good choice.
    """
    numbers = searching.numbers()
    if plot is not None:
        from topicloom.explore.plot_style import pyplot

        pyplot()  # refuses before the search if matplotlib is missing
    corpus = reading.read(input, **cutting.options(), n_jobs=jobs)
    if not quiet:
        say(f"read {listed(input)}: {corpus!r}")
    from topicloom.diagnostics import search_topics as run

    try:
        found = run(corpus, numbers, n_jobs=jobs, verbose=int(not quiet), **searching.options())
    except KeyboardInterrupt:
        say("interrupted." if searching.keep is None else "interrupted. Resume with the same command.")
        raise typer.Exit(INTERRUPTED) from None
    if out is not None:
        found.to_json(out)
    if plot is not None:
        from topicloom.explore import plots

        plots.search(found).figure.savefig(plot)
    output.show(lambda: columns_of(found.rows()), lambda: _show(found), found.as_dict)
    if not quiet:
        say(found.text)


def _show(found: "TopicSearch") -> None:
    columns = {"held out": ("completion", 4), "difference": ("difference", 4), "± error": ("difference_se", 4)}
    columns |= {"c_npmi": ("c_npmi", 3), "stability": ("stability", 2), "in use": ("topics_in_use", 1)}
    if table_width() >= _WIDE:
        columns |= {"exclusivity": ("exclusivity", 2), "diversity": ("diversity", 2), "dispersion": ("dispersion", 2)}
    rows = []
    for row in found.rows():
        values = ["–" if row[name] != row[name] else f"{row[name]:.{digits}f}" for name, digits in columns.values()]
        mark = f"dropped in round {row['dropped']}" if row["dropped"] else ""
        mark = "recommended" if row["within_one_se"] else "cannot be told apart" if row["cannot_tell_apart"] else mark
        rows.append([str(row["n_topics"]), *values, mark])
    show_table(None, [("topics", True), *((name, True) for name in columns), ("", False)], rows)

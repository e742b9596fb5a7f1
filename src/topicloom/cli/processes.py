"""``fit-hdp``: topics whose number is learned."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._options import Cutting, Sweeps
from topicloom.cli._reading import Inputs, Reading
from topicloom.cli._run import Jobs, say
from topicloom.cli._tables import Output
from topicloom.cli.fitting import Quiet, fit_to, read_for, show_fitted
from topicloom.cli.results import show_topics, topic_words
from topicloom.errors import counted

if TYPE_CHECKING:
    from topicloom.models import HDP


@dataclass(frozen=True)
class Process:
    """Model"""

    initial_topics: Annotated[int, Option(help="Number of topics to start with.")] = 10
    max_topics: Annotated[int, Option(help="There are never more topics.")] = 1000
    sweeps: Sweeps = 1000
    doc_concentration: Annotated[
        float | None, Option(help="How close documents are to the mean (default: learned).", metavar="A")
    ] = None
    topic_concentration: Annotated[
        float | None, Option(help="How many topics there are (default: learned).", metavar="G")
    ] = None
    beta: Annotated[float, Option(help="Dirichlet prior of words: the smaller, the more topics.", metavar="B")] = 0.1
    estimator: Annotated[str, Option(help="How topics are computed from the sample: cgs_p (dense) or standard.")] = (
        "cgs_p"
    )
    chains: Annotated[int, Option(help="Independent chains. The likeliest becomes the model; all are kept.")] = 1
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def build(self, **others: Any) -> "HDP":
        from topicloom.models import HDP

        return HDP(
            self.initial_topics, max_topics=self.max_topics, max_iter=self.sweeps,
            doc_concentration=self.doc_concentration, topic_concentration=self.topic_concentration,
            topic_word_prior=self.beta, estimator=self.estimator, n_chains=self.chains,  # type: ignore[arg-type]  # checked there
            random_state=self.seed, checkpoint_every=self.checkpoint_every, **others,
        )  # fmt: skip


def fit_hdp(
    input: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    process: Process,
    output: Output,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn topics, and how many there are (a hierarchical Dirichlet process).

    Checkpoints are kept in DIR; `topicloom resume DIR` continues from the last one.
    """
    model = process.build(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    fit_to(model, read_for(model, input, out, reading, cutting, quiet), out)

    def shown() -> None:
        show_topics(model, 10)
        say(f"{counted(model.n_iter_, 'sweeps')}, {counted(model.n_topics_, 'topics')}; the model is in {out}.")

    more = {name: getattr(model, f"{name}_") for name in ("doc_concentration", "topic_concentration")}
    show_fitted(model, out, quiet, output, lambda: topic_words(model, 10), shown, more)

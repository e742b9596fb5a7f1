"""``fit`` and ``resume``: runs that can be interrupted at any moment and resumed exactly."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._options import Cutting, Sampling
from topicloom.cli._reading import Inputs, Reading, listed
from topicloom.cli._run import INTERRUPTED, Jobs, quoted, say
from topicloom.cli._tables import Columns, Output
from topicloom.cli.results import show_topics, topic_words
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from topicloom.corpus.corpus import Corpus
    from topicloom.engine.estimator.topics import TopicModel

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")]
RunDir = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the run.", show_default=False)]


def fit(
    input: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    reading: Reading,
    cutting: Cutting,
    sampling: Sampling,
    output: Output,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Learn topics from a corpus.

    Checkpoints are kept in DIR. After Ctrl-C or a crash, `topicloom resume DIR` continues from the last one. The
    finished model is the same, bit for bit.
    """
    model = sampling.model(checkpoint_dir=out, n_jobs=jobs, verbose=0 if quiet else 1)
    fit_to(model, read_for(model, input, out, reading, cutting, quiet), out)
    _finish(model, out, quiet, output)


def read_for(model: Any, input: list[Path], out: Path, reading: Reading, cutting: Cutting, quiet: bool) -> "Corpus":
    """The corpus to fit a model to. Mistakes are reported before a long reading. How it was read is remembered."""
    check_out(out)
    model._plan(model.random_state)
    corpus = reading.read_to_fit(input, cutting.told(), **cutting.options(), n_jobs=model.n_jobs)
    if not quiet:
        say(f"read {listed(input)}: {corpus!r}")
    return corpus


def fit_to(model: Any, corpus: "Corpus", out: Path, **given: Any) -> None:
    """Fit a model that keeps its run in ``out``."""
    try:
        model.fit(corpus, **given)
    except KeyboardInterrupt:
        tell_stopped(out, None)


def check_out(out: Path) -> None:
    """Whether a run can start in this directory."""
    from topicloom.files.directories import is_free
    from topicloom.files.manifests import MANIFEST

    if not is_free(out):
        is_run = (out / MANIFEST).exists()
        go_on = f" To resume the run in it: topicloom resume {quoted(out)}." if is_run else ""
        raise InputError(f"{out} is not an empty directory; give another with --out.{go_on}")


def resume(
    directory: RunDir,
    output: Output,
    sweeps: Annotated[
        int | None, typer.Option("--sweeps", "-n", help="Sweeps in all (default: as in the fit).", show_default=False)
    ] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Resume an interrupted run, or give a finished model more sweeps."""
    from topicloom import models
    from topicloom.files.manifests import read_manifest

    manifest = read_manifest(directory)
    planned = manifest["params"].get("max_iter")
    if manifest["status"] == "finished" and sweeps in (None, planned):
        model = models.load(directory)
        if not quiet:
            done = counted(model.n_iter_, "sweeps")
            say(f"the run in {directory} is finished, with {done}; --sweeps N continues to N in all.")
    else:
        try:
            model = models.resume(directory, max_iter=sweeps, n_jobs=jobs, verbose=0 if quiet else 1)
        except KeyboardInterrupt:
            tell_stopped(directory, None)
    _finish(model, directory, quiet, output)


def _finish(model: Any, out: Path, quiet: bool, output: Output) -> None:
    if hasattr(model, "transition_"):
        from topicloom.cli import hmm

        hmm.finish(model, out, quiet, output)
        return

    def shown() -> None:
        show_topics(model, 10)
        say(f"{counted(model.n_iter_, 'sweeps')}, log joint/token {per_token(model):.4f}; the model is in {out}.")

    show_fitted(model, out, quiet, output, lambda: topic_words(model, 10), shown, {})


def show_fitted(
    model: Any,
    out: Path,
    quiet: bool,
    output: Output,
    columns: Callable[[], Columns],
    shown: Callable[[], None],
    more: dict[str, Any],
) -> None:
    """Print the table of a finished fit, or how to resume an interrupted one."""
    if output.asked or not (quiet or model.interrupted_):
        output.show(columns, shown, lambda: summary(model, out) | more)
    if model.interrupted_:
        tell_stopped(out, model.n_iter_)


def tell_stopped(out: Path, sweeps: int | None) -> None:
    from topicloom.files.manifests import MANIFEST

    if not (out / MANIFEST).exists():
        say("interrupted before the first sweep; nothing is kept.")
    else:
        after = "" if sweeps is None else f" after sweep {sweeps}"
        say(f"interrupted{after}. Resume with: topicloom resume {quoted(out)}")
    raise typer.Exit(INTERRUPTED)


def summary(model: "TopicModel", out: Path) -> dict[str, Any]:
    """What there is to say about a fitted model."""
    return {
        "directory": str(out),
        "status": "interrupted" if model.interrupted_ else "finished",
        "documents": len(model.empty_docs_),
        "words": len(model.vocabulary_),
        "topics": len(model.alpha_),
        "sweeps": model.n_iter_,
        "chains": len(model.traces_),
        "seed": model.seed_,
        "log_joint_per_token": per_token(model),
        "alpha_sum": float(model.alpha_.sum()),
        "beta": float(model.beta_.mean()),
        "fingerprint": model.fingerprint_,
        "verdict": model.verdict_,
    }


def per_token(model: "TopicModel") -> float:
    return float(model.log_joint_[model.best_chain_]) / max(model.corpus_.n_tokens, 1)

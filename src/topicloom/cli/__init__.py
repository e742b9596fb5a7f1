"""The command line. Everything heavy is imported inside the commands, so that ``topicloom --help`` is quick."""

from typing import Annotated

import typer

import topicloom
from topicloom.cli._run import as_command
from topicloom.cli.cells import region_sets
from topicloom.cli.collections import fit_collections, prevalence
from topicloom.cli.compare import compare
from topicloom.cli.demo import demo
from topicloom.cli.diagnose import diagnose
from topicloom.cli.documents import docs, name
from topicloom.cli.explain import explain
from topicloom.cli.explore import explore
from topicloom.cli.files import convert, info
from topicloom.cli.fitting import fit, resume
from topicloom.cli.hmm import decode, fit_hmm
from topicloom.cli.label_report import label_report
from topicloom.cli.labels import fit_labels, predict
from topicloom.cli.processes import fit_hdp
from topicloom.cli.report import report
from topicloom.cli.results import evaluate, topics
from topicloom.cli.search import search_topics
from topicloom.cli.supervised import fit_supervised
from topicloom.cli.transform import transform
from topicloom.cli.warmup import warmup

app = typer.Typer(
    name="topicloom",
    help="Fit topic models, look at them, and apply them to new documents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands = (demo, fit, fit_labels, fit_supervised, resume, transform, predict, topics, evaluate, convert, info, warmup)
for command in (
    *commands,
    fit_hdp,
    fit_collections,
    fit_hmm,
    decode,
    prevalence,
    diagnose,
    search_topics,
    compare,
    explain,
    explore,
    docs,
    name,
    report,
    label_report,
    region_sets,
):
    app.command()(as_command(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"topicloom {topicloom.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the ``topicloom`` command."""
    app(prog_name="topicloom")

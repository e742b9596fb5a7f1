"""``diagnose``: has a model converged?"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._run import Jobs, ModelDir, say
from topicloom.cli._tables import Output, columns_of, show_table
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.diagnostics.bootstrap import BootstrapStability
    from topicloom.diagnostics.fitted import Diagnosis


def diagnose(
    directory: ModelDir,
    output: Output,
    discard: Annotated[
        int | None,
        typer.Option(help="Sweeps of each chain to leave out (default: the burn-in, or half).", show_default=False),
    ] = None,
    max_rhat: Annotated[float, typer.Option(help="Largest R-hat that counts as agreement.")] = 1.05,
    min_ess: Annotated[
        float | None,
        typer.Option(help="Smallest effective sample size wanted (default: 100 per chain).", show_default=False),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            help="Fit again to this many samples of the documents, and count how many of the fits have each topic.",
            metavar="N",
        ),
    ] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Also write the tables to an HTML page.", metavar="FILE", show_default=False)
    ] = None,
    jobs: Jobs = -1,
) -> None:
    """Judge whether a model's chains have converged.

    Compared is what does not depend on the order of topics. The table for programs has one row per quantity or, with
    --bootstrap, per topic.
    """
    import topicloom
    from topicloom.diagnostics.fitted import diagnose as judge

    if bootstrap < 0 or bootstrap == 1:
        raise InputError(f"--bootstrap {bootstrap}: at least 2 samples are needed, for instance 20.")
    model: Any = topicloom.load(directory)
    found = judge(model, discard=discard, max_rhat=max_rhat, min_ess=min_ess)
    again = None
    if bootstrap:
        from topicloom.diagnostics import bootstrap_stability

        again = bootstrap_stability(model, n_samples=bootstrap, n_jobs=jobs, verbose=1)
    if html is not None:
        found.to_html(html, again)
        say(f"the page is {html}.")
    output.show(
        lambda: _quantities(found) if again is None else columns_of(again.rows()),
        lambda: _show(found, again),
        lambda: found.to_dict() | ({} if again is None else {"bootstrap": again.to_dict()}),
    )


def _quantities(found: "Diagnosis") -> dict[str, list[Any]]:
    names = ("quantity", "number", "mean", "rhat", "ess_bulk", "ess_tail")
    return {name: [row[i] for row in found.rows()] for i, name in enumerate(names)}


def _show(found: "Diagnosis", again: "BootstrapStability | None") -> None:
    _show_chains(found)
    if found.n_chains == 1 and found.quantities is not None:
        say("whether other chains would find the same cannot be known from one: fit again with --chains 4.")
    if again is not None:
        _show_samples(again)


def _show_chains(found: "Diagnosis") -> None:
    if found.quantities is not None:
        title = (
            f"{found.n_chains} chains of {found.sweeps:,} sweeps, the first {found.discarded:,} left out; "
            f"{found.n_draws:,} records per chain"
        )
        columns = [
            ("quantity", False),
            ("number", True),
            ("mean", True),
            ("R-hat", True),
            ("ESS", True),
            ("tail", True),
        ]
        rows = [
            [
                row.name, str(row.quantities), f"{row.mean:.4g}", _number(row.rhat, 3), _number(row.ess_bulk),
                _number(row.ess_tail),
            ]
            for row in found.rows()
        ]  # fmt: skip
        show_table(title, columns, rows)
    if found.topics:
        named = [("name", False)] if any(found.names) else []
        columns = [("topic", True), *named, ("share", True), ("chains", True), ("R-hat", True), ("ESS", True)]
        rows = [
            [
                str(row.topic), *([found.names[row.topic] or ""] if named else []), f"{row.share:.1%}",
                f"{row.chains} of {found.n_chains}",
                _number(row.rhat, 3) if row.comparable else "not comparable", _number(row.ess_bulk),
            ]
            for row in found.topics
        ]  # fmt: skip
        show_table("Topics of the published chain, by the chains that have them", columns, rows)
    typer.echo(found.verdict.text)


def _show_samples(found: "BootstrapStability") -> None:
    columns = [("topic", True), ("samples", True), (f"{found.level:.0%} interval", True), ("", False), ("words", False)]
    rows = [
        [
            str(row["topic"]), f"{row['share']:.0%}", f"{row['lower']:.0%} to {row['upper']:.0%}", row["kind"],
            row["name"] or row["words"],
        ]
        for row in found.rows()
    ]  # fmt: skip
    show_table(f"Topics by the share of {found.n_samples} samples of documents that have them", columns, rows)
    typer.echo(str(found))


def _number(value: float, digits: int = 0) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"

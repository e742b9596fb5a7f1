"""``fit-hmm`` and ``decode``: hidden Markov models of sequences in files."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._options import Sweeps
from topicloom.cli._run import Jobs, ModelDir, say
from topicloom.cli._tables import Columns, Output, show_table
from topicloom.errors import InputError, counted

if TYPE_CHECKING:
    from topicloom.models import HMM

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Sequences: a line each for symbols; a table of numbers with a line per place.",
        show_default=False,
    ),
]  # fmt: skip
Missing = Annotated[str, typer.Option("--missing", help="What stands for a missing symbol or number.", metavar="TEXT")]
Characters = Annotated[
    bool, typer.Option("--characters", help="Every character of a line is a symbol, and not every word.")
]
SequenceColumn = Annotated[
    str | None,
    typer.Option(
        "--sequence-column", help="Column of a table that names the sequence of a line (default: all are one).",
        show_default=False,
    ),
]  # fmt: skip
_MOST_SYMBOLS = 8


@dataclass(frozen=True)
class Starts:
    """Priors and starts"""

    initial_prior: Annotated[
        str, typer.Option(help="Dirichlet prior of first states: a number, or one per state.", metavar="A[,…]")
    ] = "1"
    transition_prior: Annotated[
        str,
        typer.Option(
            help="Dirichlet prior of following states: a number, one per state, or rows (1,1;0,1). 0: can never be.",
            metavar="A[,…][;…]|FILE.json",
        ),
    ] = "1"
    emission_prior: Annotated[
        str | None,
        typer.Option(
            help='Prior of what states emit: numbers as above, or JSON such as {"shape": 2} (default: weak).',
            metavar="B[,…][;…]|JSON|FILE.json", show_default=False,
        ),
    ] = None  # fmt: skip
    start_runs: Annotated[
        int | None,
        typer.Option(help="Short runs, of which the best goes on (default: 64/states, 8 to 32). 1 begins at random."),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            help='Values to begin at: {"transition": [[0.9, 0.1], [0.1, 0.9]]}. Columns of symbols are sorted.',
            metavar="JSON|FILE.json", show_default=False,
        ),
    ] = None  # fmt: skip
    fixed: Annotated[
        str | None,
        typer.Option(
            help="Parameters that stay at their values in --start.", metavar="initial,transition,emission",
            show_default=False,
        ),
    ] = None  # fmt: skip

    def options(self) -> dict[str, Any]:
        """What ``HMM`` calls them."""
        start = None if self.start is None else _as_json("--start", self.start)
        if start is not None and not isinstance(start, dict):
            raise InputError(f'--start {self.start}: expected values by name, such as {{"initial": [0.5, 0.5]}}.')
        if self.start_runs is not None:
            if self.start_runs < 1:
                raise InputError(f"--start-runs {self.start_runs} must be a whole number of at least 1.")
            start = {"n_runs": self.start_runs} | (start or {})
        return {
            "initial_prior": _rows("--initial-prior", self.initial_prior),
            "transition_prior": _rows("--transition-prior", self.transition_prior),
            "emission_prior": None if self.emission_prior is None else _rows("--emission-prior", self.emission_prior),
            "start": start,
            "fixed": None if self.fixed is None else self.fixed.split(","),
        }


def _rows(option: str, text: str) -> Any:
    """A number, a list or rows of numbers; or JSON."""
    if text.lstrip()[:1] in ("[", "{") or text.endswith(".json"):
        return _as_json(option, text)
    try:
        rows = [[float(x) for x in row.split(",")] for row in text.split(";")]
    except ValueError:
        raise InputError(
            f"{option} {text}: expected numbers, with commas between them and semicolons between rows."
        ) from None
    if len(rows) > 1:
        return rows
    return rows[0] if len(rows[0]) > 1 else rows[0][0]


def _as_json(option: str, text: str) -> Any:
    """JSON, given itself or in a file."""
    given = Path(text).read_text(encoding="utf-8-sig") if text.endswith(".json") else text
    try:
        return json.loads(given)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} {text}: this is not JSON ({error.msg}, line {error.lineno}).") from None


def fit_hmm(
    input: File,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Directory to make for the model.", show_default=False)
    ],
    output: Output,
    starts: Starts,
    states: Annotated[int, typer.Option("--states", "-k", help="Number of hidden states.")] = 2,
    emission: Annotated[
        str,
        typer.Option(help="What states emit.", metavar="categorical|gaussian|gaussian_full|poisson|multinomial"),
    ] = "categorical",
    method: Annotated[
        str, typer.Option(help="Sample, Baum-Welch, or collapsed expected counts.", metavar="gibbs|em|cvb0")
    ] = "gibbs",
    sampler: Annotated[
        str, typer.Option(help="How states are drawn.", metavar="collapsed|partial|blocked")
    ] = "collapsed",
    paths: Annotated[int, typer.Option(help="Coupled paths.")] = 1,
    chains: Annotated[int, typer.Option(help="Independent chains, of which the best is published.")] = 1,
    sweeps: Sweeps = 500,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    characters: Characters = False,
    missing: Missing = "NA",
    sequence_column: SequenceColumn = None,
    jobs: Jobs = -1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")] = False,
) -> None:
    """Learn a hidden Markov model from sequences.

    Symbols stand in a text file, a sequence per line, apart by spaces. Numbers stand in a CSV file with a header, a
    place per line.
    """
    from topicloom import HMM
    from topicloom.cli.fitting import check_out, tell_stopped

    if states < 1:
        raise InputError(f"--states {states} must be a whole number of at least 1.")
    given: Any = {"emission": emission, "method": method, "sampler": sampler, "n_paths": paths} | starts.options()
    model = HMM(
        states, **given, n_chains=chains, max_iter=sweeps, random_state=seed, checkpoint_dir=out, n_jobs=jobs,
        verbose=0 if quiet else 1,
    )  # fmt: skip
    check_out(out)
    model._plan(seed)
    X, lengths = read_sequences(input, emission, characters, missing, sequence_column)
    try:
        model.fit(X, lengths)
    except KeyboardInterrupt:
        tell_stopped(out, None)
    finish(model, out, quiet, output)


def finish(model: "HMM", out: Path, quiet: bool, output: Output) -> None:
    """Print the states of a fitted model, or how to resume an interrupted run."""
    from topicloom.cli.fitting import tell_stopped

    def shown() -> None:
        header = [("state", True), ("starts", True), ("stays", True), ("long run", True), ("emits", False)]
        rows = []
        for k in range(model.n_components):
            numbers = (model.initial_[k], model.transition_[k, k], model.stationary_[k])
            rows.append([str(k), *(f"{p:.1%}" for p in numbers), " ".join(emits(model, k))])
        show_table(None, header, rows)
        say(f"{counted(model.n_iter_, 'sweeps')}; the model is in {out}.")

    if output.asked or not (quiet or model.interrupted_):
        output.show(lambda: state_table(model), shown, lambda: summary(model, out))
    if model.interrupted_:
        tell_stopped(out, model.n_iter_)


def emits(model: "HMM", state: int) -> list[str]:
    """The likeliest symbols of a state, or its means."""
    if model.emission != "categorical":
        return model._state_words(state)
    order = (-model.emission_[state]).argsort(kind="stable")[:_MOST_SYMBOLS]
    return [f"{model.alphabet_[v]} ({model.emission_[state, v]:.0%})" for v in order]


def state_table(model: "HMM") -> Columns:
    """A row per state: where it starts, stays and leads, and what it emits."""
    from topicloom.hmm.values import own_names

    k = model.n_components
    columns: dict[str, Any] = {"state": list(range(k)), "initial": model.initial_, "stationary": model.stationary_}
    columns |= {f"to_{j}": model.transition_[:, j] for j in range(k)}
    names = list(map(str, model.alphabet_))
    for name in own_names(model.emission):
        values = getattr(model, f"{name}_").reshape(k, -1)
        for j in range(values.shape[1]):
            columns[f"{name}_{names[j] if names else j}"] = values[:, j]
    return columns


def summary(model: "HMM", out: Path) -> dict[str, Any]:
    """What there is to say about a fitted model."""
    from topicloom.hmm.values import own_names

    found = {
        name: getattr(model, f"{name}_").tolist() for name in ("initial", "transition", *own_names(model.emission))
    }
    return {
        "directory": str(out), "status": "interrupted" if model.interrupted_ else "finished",
        "states": model.n_components, "emission": model.emission, "alphabet": list(model.alphabet_),
        "sweeps": model.n_iter_, "chains": len(model.traces_), "seed": model.seed_,
        "log_joint": float(model.log_joint_[model.best_chain_]), "fingerprint": model.fingerprint_, **found,
        "stationary": model.stationary_.tolist(),
    }  # fmt: skip


def decode(
    directory: ModelDir,
    input: File,
    output: Output,
    method: Annotated[
        str,
        typer.Option(
            help="The most probable path, or the most probable state of each place.", metavar="viterbi|posterior"
        ),
    ] = "viterbi",
    characters: Characters = False,
    missing: Missing = "NA",
    sequence_column: SequenceColumn = None,
) -> None:
    """Hidden states of sequences, place by place, with their probabilities given the whole sequence."""
    import numpy as np

    import topicloom

    model: Any = topicloom.load(directory)
    if not hasattr(model, "transition_"):
        raise InputError(f"{directory} holds a model of the kind {type(model).__name__}, which has no states.")
    choices: Any = method
    X, lengths = read_sequences(input, model.emission, characters, missing, sequence_column)
    if lengths is None and model.emission == "categorical":
        X = [[_as_symbol(model, x) for x in own] for own in X]
    sizes = [len(own) for own in X] if lengths is None else lengths
    values, states = model.decode(X, choices, lengths=lengths)
    flat = np.concatenate(states) if lengths is None else states
    shares = model.predict_proba(X, lengths)
    probabilities = np.concatenate(shares) if lengths is None else shares
    columns = {
        "sequence": np.repeat(np.arange(len(sizes)), sizes),
        "place": np.concatenate([np.arange(size) for size in sizes]),
        "state": flat,
        "probability": probabilities[np.arange(len(flat)), flat],
    }

    def shown() -> None:
        ends = np.cumsum([0, *sizes])
        rows = [
            [str(s), f"{values[s]:.2f}", " ".join(map(str, flat[ends[s] : ends[s + 1]]))] for s in range(len(sizes))
        ]
        show_table(None, [("sequence", True), ("log probability", True), ("states", False)], rows)

    output.show(columns, shown)


def _as_symbol(model: "HMM", symbol: Any) -> Any:
    """A symbol of a file, which is text, as the model's alphabet has it."""
    if symbol is None or symbol in model.alphabet_:
        return symbol
    return next((own for own in model.alphabet_ if str(own) == symbol), symbol)


# -- files -------------------------------------------------------------------------------------------------------------


def read_sequences(
    path: Path, emission: str, characters: bool, missing: str, sequence_column: str | None
) -> tuple[Any, list[int] | None]:
    """Lists of symbols; or numbers end to end, and the lengths of their sequences."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        if emission == "categorical":
            if sequence_column is not None:
                raise InputError("--sequence-column is for tables of numbers; symbols stand a sequence per line.")
            lines = [line.rstrip("\r\n") for line in file]
            sequences = [list(line) if characters else line.split() for line in lines]
            found = [[None if x == missing else x for x in own] for own in sequences]
            if not found:
                raise InputError(f"{path} is empty; give a sequence per line.")
            return found, None
        if characters:
            raise InputError(f"--characters is for symbols, and --emission {emission} reads numbers; leave it out.")
        return _numbers(path, csv.reader(file), missing, sequence_column)


def _numbers(
    path: Path, rows: Iterator[list[str]], missing: str, sequence_column: str | None
) -> tuple[list[list[float]], list[int]]:
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path} is empty; give a header and a line per place.")
    if sequence_column is not None and sequence_column not in header:
        raise InputError(f"{path} has no column {sequence_column!r}; it has {', '.join(header)}.")
    at = None if sequence_column is None else header.index(sequence_column)
    values: list[list[float]] = []
    lengths: list[int] = []
    seen: dict[str | None, None] = {}
    last: str | None = None
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(f"{path}, line {number}: {len(row)} entries, expected {len(header)}.")
        own = None if at is None else row[at]
        if not lengths or own != last:
            if own in seen:
                raise InputError(
                    f"{path}, line {number}: sequence {own!r} goes on after another; sort the lines by it."
                )
            seen[own] = None
            lengths.append(0)
            last = own
        lengths[-1] += 1
        values.append([_number(path, number, x, missing) for f, x in enumerate(row) if f != at])
    return values, lengths


def _number(path: Path, line: int, text: str, missing: str) -> float:
    if text.strip() in ("", missing):
        return float("nan")
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {text!r} is not a number; --missing says what is missing.") from error

"""The field: seconds of every tool to one likelihood, for corpora of several kinds and numbers of topics.

A tool of others makes ``sweeps`` sweeps with each of several seeds. The goal is the highest log p(w, z) a token that
one of them then has, as a median of its seeds. Every tool goes on until it gets there, or until ``PATIENCE`` times the
time of ``sweeps`` sweeps; shown are medians over seeds, least and most. The best rival is the one that needs the fewest
seconds. Tools that can be stepped take turns sweep by sweep; the others make runs of several lengths.
"""

import csv
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from benchmarks import _corpora, _programs
from benchmarks._common import machine, rival, table, timed
from benchmarks._races import Curve, Point, Race
from benchmarks._tools import ALPHA, BETA, TOMOTOPY, say, shuffled, start
from topicloom.corpus import Corpus
from topicloom.errors import InputError

PATIENCE = 2.0  # times the sweeps that set the goal
MALLET = "MALLET"
BEHIND = 2.0  # times the quickest rival's seconds for as many sweeps: who takes more goes no further
FIRST = (2, 10)  # sweeps, by which a tool that cannot be stepped is judged
BYTES = {TOMOTOPY: 4, "topica": 20, "pyrmallet": 8}  # by cell of the table of topics and words, measured

Make = Callable[[int], _programs.Program]


class Runs:
    """Runs of one program with one seed, as one curve; longer ones where they are needed."""

    def __init__(self, name: str, program: _programs.Program, n_topics: int) -> None:
        self.name, self._program, self._n_topics = name, program, n_topics
        self._runs: dict[int, _programs.Run] = {}

    def make(self, *lengths: int) -> None:
        for sweeps in lengths:
            if sweeps not in self._runs:
                self._runs[sweeps] = self._program.run(self._n_topics, sweeps)

    def rate(self) -> float:
        """Seconds of a sweep, by the first ones."""
        few, many = FIRST
        self.make(few, many)
        between = (self._runs[many].seconds - self._runs[few].seconds) / (many - few)
        return between if between > 0 else self._runs[many].seconds / many

    def curve(self) -> Curve:
        found = _programs.joined([self._runs[sweeps] for sweeps in sorted(self._runs)])
        points = [Point(*point) for point in found.points]
        return Curve(self.name, points=points, per_sweep=(found.per_sweep, found.per_sweep), peak=found.peak)

    def reach(self, goal: float, sweeps: int, most: int) -> None:
        """Runs on both sides of the goal: ever longer ones until one is there, or shorter ones until one is not."""
        while self.curve().seconds_to(goal) is None and sweeps < most:
            sweeps = min(most, max(sweeps + 1, round(1.25 * sweeps)))
            self.make(sweeps)
        shorter = round(0.8 * sweeps)
        while shorter > 4 and self._level_before(goal) < shorter:
            self.make(shorter)
            shorter = round(0.8 * shorter)

    def _level_before(self, goal: float) -> int:
        """The longest run that is not beyond the goal."""
        return max((sweeps for sweeps, run in self._runs.items() if run.likelihood <= goal), default=0)


class Spread(NamedTuple):
    """A figure over seeds."""

    middle: float
    least: float
    most: float

    @classmethod
    def over(cls, values: Sequence[float]) -> "Spread":
        return cls(float(np.median(values)), min(values), max(values))

    def shown(self, digits: int = 2) -> str:
        most = f"{self.most:.{digits}f}" if np.isfinite(self.most) else "not reached"
        return f"{self.middle:.{digits}f} ({self.least:.{digits}f} to {most})"


@dataclass
class Cell:
    """One corpus and number of topics."""

    corpus: str
    n_topics: int
    n_tokens: int
    sweeps: int
    ours: list[str]
    curves: dict[str, list[Curve]] = field(default_factory=dict)  # by tool, one for each seed
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def rivals(self) -> list[str]:
        return [name for name in self.curves if name not in self.ours]

    def level(self, name: str) -> float:
        """The median over seeds of the likelihood after ``sweeps`` sweeps."""
        return float(np.median([at_sweep(curve, self.sweeps) for curve in self.curves[name]]))

    @property
    def goal(self) -> float:
        return max(self.level(name) for name in self.rivals or self.ours[:1])

    def seconds(self, name: str) -> Spread:
        found = [curve.seconds_to(self.goal) for curve in self.curves[name]]
        return Spread.over([np.inf if taken is None else taken for taken in found])

    def shown_seconds(self, name: str) -> str:
        found = self.seconds(name)
        if np.isfinite(found.middle):
            return found.shown()
        return f"> {np.median([curve.total for curve in self.curves[name]]):.2f}"

    def nanoseconds(self, name: str) -> float:
        """Per token and sweep: the median over seeds of the mean over sweeps, without the start."""
        return float(np.median([mean_sweep(curve) for curve in self.curves[name]])) / self.n_tokens * 1e9

    @property
    def best(self) -> str | None:
        """The rival that gets to the goal first."""
        return min(self.rivals, key=lambda name: self.seconds(name).middle, default=None)

    def may_be_best(self, name: str) -> bool:
        """Whether a tool that is short of the goal is worth longer runs: it sets the goal, or is not far behind."""
        totals = {other: np.median([curve.total for curve in self.curves[other]]) for other in self.rivals}
        return self.level(name) == self.goal or totals[name] < BEHIND * min(totals.values())

    def ratio(self) -> Spread | None:
        """How many times as many seconds the best rival needs as our first sampler: of medians, and seed by seed."""
        if self.best is None:
            return None
        mine, best = self.curves[self.ours[0]], self.curves[self.best]
        pairs = [(a.seconds_to(self.goal), b.seconds_to(self.goal)) for a, b in zip(mine, best, strict=True)]
        each = [b / a if a is not None and b is not None else np.nan for a, b in pairs]
        if np.isnan(each).all():
            return None
        middle = self.seconds(self.best).middle / self.seconds(self.ours[0]).middle
        return Spread(middle, float(np.nanmin(each)), float(np.nanmax(each)))


def at_sweep(curve: Curve, sweep: int) -> float:
    return [point.likelihood for point in curve.points if point.sweep <= sweep][-1]


def mean_sweep(curve: Curve) -> float:
    return float(np.mean(curve.seconds)) if curve.seconds else cast("tuple[float, float]", curve.per_sweep)[0]


# -- who takes part --------------------------------------------------------------------------------------------------


def rivals_there(mallet: Path | None) -> list[str]:
    """Those that are installed or have a path; pyrmallet stands for MALLET where that has none."""
    names = [name for name in (TOMOTOPY, "topica", "pyrmallet") if find_spec(name)]
    return names if mallet is None else [name for name in names if name != "pyrmallet"] + [MALLET]


def check(given: Namespace) -> None:
    """The rivals and corpora that are asked for, before the first race."""
    for name in given.rivals:
        if name != MALLET:
            rival(name)
        elif given.mallet is None:
            raise InputError("--rivals MALLET needs --mallet, the path of bin/mallet.")
    _corpora.check(given.corpus, given.data)


def maker(name: str, corpus: Corpus, folder: Path, given: Namespace) -> Make:
    def make(seed: int) -> _programs.Program:
        own = folder / f"{name}{seed}"
        own.mkdir()
        if name == MALLET:
            return _programs.Mallet(given.mallet, corpus, own, seed, given.clock)
        return cast("_programs.Program", _programs.PACKAGES[name](corpus, own, seed, given.clock))

    return make


def too_large(name: str, corpus: Corpus, n_topics: int, cap: float) -> str | None:
    """Why a tool cannot have so many topics and words, if it cannot."""
    needed = BYTES.get(name, 0) * n_topics * corpus.n_words / 1e9
    return f"about {needed:.0f} GB" if needed > cap else None


def too_slow(rates: dict[str, float], given: Namespace) -> dict[str, str]:
    """Rivals whose sweeps would take too long, by their first ones: in all, or beside the quickest rival's."""
    most = min(given.rival_cap, given.rival_share * given.sweeps * min(rates.values(), default=0.0))
    seconds = {name: rate * given.sweeps for name, rate in rates.items()}
    return {name: f"about {taken:,.0f}, by its first sweeps" for name, taken in seconds.items() if taken > most}


# -- one cell --------------------------------------------------------------------------------------------------------


def measure(name: str, corpus: Corpus, n_topics: int, given: Namespace, rivals: Sequence[str]) -> Cell:
    """All tools on one corpus with one number of topics."""
    ours = list(given.samplers)
    cell = Cell(name, n_topics, corpus.n_tokens, given.sweeps, ours)
    reasons = {other: too_large(other, corpus, n_topics, given.gigabytes) for other in rivals}
    cell.left_out = {other: reason for other, reason in reasons.items() if reason is not None}
    with tempfile.TemporaryDirectory() as folder:
        makers = {
            other: maker(other, corpus, Path(folder), given)
            for other in rivals
            if other != TOMOTOPY and other not in cell.left_out
        }
        runs = {other: [Runs(other, make(1), n_topics)] for other, make in makers.items()}
        tomotopy = TOMOTOPY in rivals and TOMOTOPY not in cell.left_out
        rates = {TOMOTOPY: second_sweep(corpus, n_topics, given.clock)} if tomotopy else {}
        for other, (first,) in runs.items():
            rates[other] = first.rate()
        cell.left_out |= too_slow(rates, given)
        stepped = [*ours, *([TOMOTOPY] if TOMOTOPY in rates and TOMOTOPY not in cell.left_out else [])]
        runs = {other: of_tool for other, of_tool in runs.items() if other not in cell.left_out}
        races = []
        for seed in range(1, given.seeds + 1):
            races.append(Race(corpus, n_topics, stepped, given.clock, seed))
            races[-1].run(given.sweeps, given.every, given.seconds_cap)
            for other, of_tool in runs.items():
                if seed > 1:
                    of_tool.append(Runs(other, makers[other](seed), n_topics))
                of_tool[-1].make(FIRST[0], max(5, given.sweeps))
            say(f"{name}, K = {n_topics}, seed {seed}: {', '.join([*stepped, *runs])}")
        collect(cell, races, runs)
        goal, most = cell.goal, round(PATIENCE * given.sweeps)
        for race in races:
            race.catch_up_by_sweeps(goal, most, given.every, [s for s in stepped if s in ours or cell.may_be_best(s)])
        for other, of_tool in runs.items():
            for one in of_tool:
                one.reach(goal, given.sweeps, most if cell.may_be_best(other) else given.sweeps)
        collect(cell, races, runs)
    return cell


def second_sweep(corpus: Corpus, n_topics: int, clock: str) -> float:
    """Seconds of tomotopy's second sweep."""
    tool = start(TOMOTOPY, corpus, n_topics)
    tool.sweep()
    return timed(tool.sweep, clock)


def collect(cell: Cell, races: Sequence[Race], runs: dict[str, list[Runs]]) -> None:
    cell.curves = {name: [race.curves[name] for race in races] for name in races[0].curves}
    cell.curves |= {name: [one.curve() for one in of_tool] for name, of_tool in runs.items()}


# -- the table -------------------------------------------------------------------------------------------------------


def row_of(cell: Cell, columns: Sequence[str], n_words: int) -> list[str]:
    ratio = cell.ratio()
    shown = [cell.shown_seconds(name) if name in cell.curves else cell.left_out.get(name, "") for name in columns]
    rates = [f"{cell.nanoseconds(name):.0f}" if name in cell.curves else "" for name in columns]
    return [
        cell.corpus, str(cell.n_topics), f"{cell.n_tokens:,}", f"{n_words:,}", f"{cell.goal:.4f}", *shown,
        cell.best or "", "" if ratio is None else ratio.shown(), *rates,
    ]  # fmt: skip


def head_of(columns: Sequence[str]) -> list[str]:
    return [
        "corpus", "K", "tokens", "words", "goal, log p(w, z) a token", *(f"{name}, s" for name in columns),
        "best rival", "its seconds over ours", *(f"{name}, ns" for name in columns),
    ]  # fmt: skip


def how(given: Namespace, rivals: Sequence[str]) -> str:
    text = (
        f"One thread, {given.seeds} seeds, seconds of {'processor' if given.clock == 'cpu' else 'wall'} time; median, "
        f"least and most over seeds; α = {ALPHA}, β = {BETA}, both fixed. The goal is the highest log p(w, z) a token "
        f"that any rival has after {given.sweeps} sweeps, each rival's a median over its seeds. The best rival is the "
        "one that is there in the fewest seconds; its seconds over ours are a ratio of medians, and from least to most "
        "the ratios of equal seeds. All log p(w, z) come from one program that reads every token's topic, and its time "
        "is not counted. Seconds are those of sweeps, ours with the time in which the first topics are drawn; what "
        f"others need before their first sweep is not counted. `ns` is per token and sweep. "
        f"A tool that is not at the goal goes on for {PATIENCE:g} times as many sweeps, unless it takes "
        f"{BEHIND:g} times the quickest rival's seconds and does not set the goal (`>`: not reached)."
    )
    stepless = [name for name in rivals if name != TOMOTOPY]
    if stepless:
        text += (
            f" {' and '.join(stepless)} cannot be stepped: runs of {FIRST[0]} and {given.sweeps} sweeps from the same "
            "start, and more, each a quarter longer or a fifth shorter than the one before, until the goal lies "
            "between two. Seconds are differences of runs, and lines join the runs."
        )
    if "pyrmallet" in rivals:
        text += (
            " pyrmallet gives no topics of tokens. Its counts by document and by word, which its probabilities after "
            "one sample give exactly, take their place; where its table of topics and words has more than "
            f"{_programs.Pyrmallet.own_from:,} cells, it is its own log p(w, z)."
        )
    return text + (
        f" A rival is left out where its {given.sweeps} sweeps would take more than {given.rival_cap:g} s, or more "
        f"than {given.rival_share:g} times the quickest rival's, by the first ones, or its table of topics and words "
        f"more than {given.gigabytes:g} GB; the cell then says so."
    )


def report(given: Namespace) -> str:
    """Every cell, written to files as soon as it is there; returns the text."""
    rivals = given.rivals
    columns = [*given.samplers, *rivals]
    versions = [rival(name) for name in rivals if name != MALLET]
    rows, notes, points = [], list[str](), list[list[str]]()
    text = ""
    for name in given.corpus:
        corpus = _corpora.named(name, given.data, given.tokens, most=given.most_tokens)
        corpus = shuffled(corpus) if given.shuffled else corpus
        notes.append(
            f"- {name}: {corpus.n_docs:,} documents of {corpus.n_tokens / corpus.n_docs:,.0f} tokens on average"
        )
        for n_topics in given.topics:
            started = time.process_time()
            cell = measure(name, corpus, n_topics, given, rivals)
            rows.append(row_of(cell, columns, corpus.n_words))
            points += points_of(cell)
            say(f"{' | '.join(rows[-1])} | in {time.process_time() - started:.0f} s of processor time")
            parts = [f"`python -m benchmarks.lda {given.shown}`", machine(*versions), how(given, rivals)]
            text = "\n\n".join([*parts, table(head_of(columns), rows), "\n".join(notes)]) + "\n"
            (given.out / f"{given.name}.md").write_text(f"# The field\n\n{text}", encoding="utf-8")
            write_points(points, given.out / f"{given.name}.csv")
    return text


def points_of(cell: Cell) -> list[list[str]]:
    return [
        [cell.corpus, str(cell.n_topics), name, str(seed), str(p.sweep), f"{p.seconds:.5f}", f"{p.likelihood:.6f}"]
        for name, curves in cell.curves.items()
        for seed, curve in enumerate(curves, start=1)
        for p in curve.points
    ]


def write_points(points: Sequence[Sequence[str]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["corpus", "topics", "tool", "seed", "sweep", "seconds", "log_joint_per_token"])
        writer.writerows(points)

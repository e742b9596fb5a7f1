"""Samplers of LDA side by side: seconds a sweep, seconds to a likelihood, memory, threads.

    python -m benchmarks.lda --data DIR --corpus kos nips news20 --topics 20 100 500 1000 --threads 1 2

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Our samplers and tomotopy, if it is
installed, take turns sweep by sweep, so that a busy machine slows all of them alike. MALLET and WarpLDA run where
``--mallet`` and ``--warplda`` say. The joint log probability a token, log p(w, z | α, β)/N, is computed by one program
from every tool's assignments, and its time is not counted. What a tool is worth is the time in which it gets as far
as tomotopy gets in ``--sweeps`` sweeps. A table, the points as CSV and a figure are written to ``--out``.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import _programs, _tools
from benchmarks._common import CLOCKS, figure, in_turn, machine, rival, save_figure, stolen, table, timed, without_paths
from benchmarks._tools import ALPHA, BETA, TOMOTOPY, Tool, likelihood, say, start, warm_up
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.errors import InputError, MissingExtraError
from topicloom.lda.gibbs import sampler_names

PATIENCE = 3.0  # a tool that has not got there is stopped after so many times the time of the one that set the goal


class Point(NamedTuple):
    sweep: int
    seconds: float
    likelihood: float


@dataclass
class Curve:
    """What a tool did: seconds of each sweep, and the likelihood along the way."""

    name: str
    start: float = 0.0  # seconds that the first topics took
    seconds: list[float] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    per_sweep: tuple[float, float] | None = None  # median and least, where it is not from ``seconds``
    peak: int | None = None
    first_call: float | None = None

    @property
    def rates(self) -> tuple[float, float]:
        return self.per_sweep or (float(np.median(self.seconds)), min(self.seconds))

    @property
    def total(self) -> float:
        return self.points[-1].seconds

    def seconds_to(self, goal: float) -> float | None:
        """When the likelihood first reached the goal, on straight lines between points; None if it did not."""
        for before, after in zip(self.points, self.points[1:], strict=False):
            if after.likelihood >= goal:
                share = (goal - before.likelihood) / (after.likelihood - before.likelihood)
                return before.seconds + max(share, 0.0) * (after.seconds - before.seconds)
        return None


# -- the race --------------------------------------------------------------------------------------------------------


class Race:
    """Tools on one corpus with one number of topics, in turn."""

    def __init__(self, corpus: Corpus, n_topics: int, names: Sequence[str], clock: str = "wall") -> None:
        self._corpus, self._n_topics, self._clock = corpus, n_topics, clock
        self.curves = {name: Curve(name, first_call=warm_up(name, corpus, n_topics)) for name in names}
        self._tools: dict[str, Tool] = {}
        for name in names:

            def begin(name: str = name) -> None:
                self._tools[name] = start(name, corpus, n_topics)

            taken = timed(begin, clock)
            self.curves[name].start = 0.0 if name == TOMOTOPY else taken
        rivals = self._tools.get(TOMOTOPY)
        if isinstance(rivals, _tools.Tomotopy) and not np.array_equal(rivals.words(corpus), corpus.words):
            raise InputError("tomotopy has put the words into another order; their topics cannot be compared.")
        for name in names:
            self._look(name)

    def _look(self, name: str) -> None:
        curve = self.curves[name]
        reached = likelihood(self._corpus, self._tools[name].topics(), self._n_topics)
        curve.points.append(Point(len(curve.seconds), curve.start + sum(curve.seconds), reached))

    def _sweep(self, name: str, look: bool) -> None:
        self.curves[name].seconds.append(timed(self._tools[name].sweep, self._clock))
        if look:
            self._look(name)

    def run(self, sweeps: int, every: int, cap: float) -> int:
        """Up to so many sweeps of every tool, or seconds of all together; returns how many sweeps were done."""
        names = list(self.curves)
        for sweep in range(1, sweeps + 1):
            spent = sum(sum(curve.seconds) for curve in self.curves.values())
            # The sweep is the last one if one more after it would be too much.
            last = sweep == sweeps or (sweep > 1 and spent * (sweep + 1) / (sweep - 1) > cap)
            for i in range(len(names)):  # who goes first changes
                self._sweep(names[(i + sweep) % len(names)], look=last or sweep % every == 0 or sweep < 4)
            if last:
                return sweep
        return sweeps

    def catch_up(self, goal: float, seconds: float, every: int) -> None:
        """Let those that have not reached the goal go on, in turn, until they have or the seconds are used up."""
        late = [name for name, curve in self.curves.items() if curve.seconds_to(goal) is None]
        while late:
            for name in late:
                self._sweep(name, look=len(self.curves[name].seconds) % every == 0)
            late = [
                name
                for name in late
                if self.curves[name].seconds_to(goal) is None and sum(self.curves[name].seconds) < seconds
            ]


def peak_of(name: str, data: Path, corpus: str, n_topics: int) -> int:
    """Bytes of memory of a chain and its corpus, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.lda", "--peak-of", name, "--data", str(data), "--corpus", corpus]
    done = subprocess.run([*command, "--topics", str(n_topics)], check=True, capture_output=True, text=True)
    return int(done.stdout)


def run_programs(given: argparse.Namespace, corpus: Corpus, n_topics: int, sweeps: int, goal: float) -> list[Curve]:
    """The curves of MALLET and WarpLDA, where they are given."""
    curves = []
    kinds: dict[str, tuple[Path | None, Any]] = {
        "MALLET": (given.mallet, _programs.Mallet),
        "WarpLDA": (given.warplda, _programs.WarpLDA),
    }
    for name, (path, kind) in kinds.items():
        if path is None:
            continue
        say(f"{name}, K = {n_topics}")
        with tempfile.TemporaryDirectory() as folder:
            program: _programs.Program = kind(path, corpus, Path(folder))
            lengths = sorted({max(1, sweeps // 10), max(2, sweeps // 2), max(3, sweeps)})
            found = _programs.trace(program, n_topics, lengths)
            if found.points[-1][2] < goal:  # WarpLDA's sweeps are quick, but do less
                found = _programs.trace(program, n_topics, [*lengths, 3 * sweeps, 10 * sweeps])
        points = [Point(*point) for point in found.points]
        curves.append(Curve(name, points=points, per_sweep=(found.per_sweep, found.per_sweep), peak=found.peak))
    return curves


# -- threads ---------------------------------------------------------------------------------------------------------


def race_threads(
    corpus: Corpus, n_topics: int, names: Sequence[str], threads: Sequence[int], turns: int, sweeps: int
) -> list[list[str]]:
    """A row for each tool and number of threads, and one for a single shard; our topics must not depend on threads.

    A turn is several sweeps, so that a chain finds its own data in the caches, and a core that had nothing to do is
    given to us again: on a machine that others use, too, the first sweeps on it take up to a fifth longer. Speed-ups
    are medians of ratios within a turn, whose sweeps are seconds apart: minutes differ by more than what is measured.
    One more row has as many chains at once as there are threads, which share nothing: no division of one chain's work
    can gain more than these do on the machine.
    """
    rows, shards = [], max(threads)

    def sweep_on(tool: Tool) -> None:
        tool.sweep(sweeps)

    for name in names:
        warm_up(name, corpus, n_topics, shards)
        ways = [(1, 1), *((shards, n) for n in threads)] if name != TOMOTOPY else [(1, n) for n in threads]
        tools = [start(name, corpus, n_topics, *way) for way in ways]
        apart = [start(name, corpus, n_topics) for _ in range(shards)] if name != TOMOTOPY else []
        with ThreadPoolExecutor(shards) as pool:
            work = [lambda tool=tool: sweep_on(tool) for tool in tools]
            if apart:
                work.append(lambda pool=pool, apart=apart: list(pool.map(sweep_on, apart)))
            seconds = np.array(in_turn(work, turns)) / sweeps
        topics = [tool.topics() for tool in tools]
        same = all(np.array_equal(topics[-1], other) for other in topics[-len(threads) :])
        if not same and name != TOMOTOPY:
            raise AssertionError(f"{name}: the topics depend on the number of threads")
        alone = seconds[ways.index((ways[-1][0], 1))]  # the same model on one thread
        for (parts, n), taken, found in zip(ways, seconds, topics, strict=False):
            reached = f"{likelihood(corpus, found, n_topics):.3f}"
            shown = "" if name == TOMOTOPY else str(parts)
            of_threads = times(taken, seconds[0], alone if n > 1 else None)
            rows.append([str(n_topics), name, shown, str(n), *of_threads, reached])
        if apart:
            row = [str(n_topics), f"{name}, {shards} chains at once", "1", str(shards)]
            rows.append([*row, *times(seconds[-1] / shards, seconds[0]), ""])
    return rows


def times(taken: FloatArray, one: FloatArray, alone: FloatArray | None = None) -> list[str]:
    """Seconds a sweep, median and least; how many times as fast as one shard, and as the same model on one thread."""
    faster = [f"{np.median(other / taken):.2f}" if other is not None else "" for other in (one, alone)]
    return [f"{np.median(taken):.4f}", f"{taken.min():.4f}", *faster]


# -- reports ---------------------------------------------------------------------------------------------------------

HEAD = [
    "K", "tool", "s a sweep, median", "least", "M tokens/s", "sweeps", "log p(w, z) a token", "s to the goal",
    "of the goal-setter's time", "memory, MB", "first call, s",
]  # fmt: skip
THREADS_HEAD = [
    "K", "tool", "shards", "threads", "s a sweep, median", "least", "times one shard's speed",
    "times its own on one thread", "log p(w, z) a token",
]  # fmt: skip


def rows_of(
    curves: Sequence[Curve], n_tokens: int, n_topics: int, sweeps: int, goal: float, own: float
) -> list[list[str]]:
    rows = []
    for curve in curves:
        median, least = curve.rates
        reached = [point.likelihood for point in curve.points if point.sweep <= sweeps][-1]
        needed = curve.seconds_to(goal)
        to_goal = f"> {curve.total:.1f}" if needed is None else f"{needed:.2f}"
        share = f"> {curve.total / own:.2f}" if needed is None else f"{needed / own:.2f}"
        rows.append(
            [
                str(n_topics), curve.name, f"{median:.4f}", f"{least:.4f}", f"{n_tokens / median / 1e6:.1f}",
                str(curve.points[-1].sweep), f"{reached:.3f}", to_goal, share,
                "" if curve.peak is None else f"{curve.peak / 1e6:.0f}",
                "" if curve.first_call is None else f"{curve.first_call:.1f}",
            ]
        )  # fmt: skip
    return rows


Results = dict[tuple[str, int], list[Curve]]


def draw(results: Results, path: Path) -> None:
    """Likelihood against seconds: a row for each corpus, a column for each number of topics."""
    corpora = list(dict.fromkeys(corpus for corpus, _ in results))
    topics = sorted({k for _, k in results})
    drawn, axes = figure((len(corpora), len(topics)))
    names = list(dict.fromkeys(curve.name for curves in results.values() for curve in curves))
    for (corpus, k), curves in results.items():
        panel = axes[corpora.index(corpus)][topics.index(k)]
        for curve in curves:
            points = [point for point in curve.points if point.sweep > 0]
            style = {"color": f"C{names.index(curve.name)}", "lw": 1.2, "ls": "-" if curve.seconds else "--"}
            panel.plot([p.seconds for p in points], [p.likelihood for p in points], label=curve.name, **style)
        panel.set(xscale="log", title=f"{corpus}, K = {k}", xlabel="seconds", ylabel="log p(w, z) a token")
        panel.legend(fontsize=7, loc="lower right")
    save_figure(drawn, path)


def write_points(results: Results, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["corpus", "topics", "tool", "sweep", "seconds", "log_joint_per_token"])
        for (corpus, k), curves in results.items():
            for curve in curves:
                for p in curve.points:
                    writer.writerow([corpus, k, curve.name, p.sweep, f"{p.seconds:.5f}", f"{p.likelihood:.6f}"])


# -- the command -----------------------------------------------------------------------------------------------------


def one_race(
    given: argparse.Namespace, name: str, corpus: Corpus, n_topics: int, tools: Sequence[str]
) -> tuple[list[Curve], list[list[str]], str]:
    """Curves, rows of the table and a line on the goal."""
    race = Race(corpus, n_topics, tools, given.clock)
    sweeps = race.run(given.sweeps, given.every, given.seconds_cap)
    setter = race.curves[TOMOTOPY if TOMOTOPY in race.curves else tools[0]]
    goal = setter.points[-1].likelihood
    own = setter.seconds_to(goal) or setter.total
    say(f"{name}, K = {n_topics}: {sweeps} sweeps each, goal {goal:.3f}")
    race.catch_up(goal, PATIENCE * own, given.every)
    curves = [*race.curves.values(), *run_programs(given, corpus, n_topics, sweeps, goal)]
    if not given.no_memory:
        for curve in race.curves.values():
            curve.peak = peak_of(curve.name, given.data, name, n_topics)
    note = f"K = {n_topics}: the goal, {goal:.4f}, is where {setter.name} is after {sweeps} sweeps ({own:.2f} s)."
    return curves, rows_of(curves, corpus.n_tokens, n_topics, sweeps, goal, own), note


def report(given: argparse.Namespace, tools: Sequence[str]) -> str:
    """Run everything, write points and figure, and return the text."""
    results: Results = {}
    rivals = [rival(TOMOTOPY)] if TOMOTOPY in tools else []
    text = [f"`python -m benchmarks.lda {given.shown}`", machine(*rivals), how(given, tools)]
    for name in given.corpus:
        corpus = _tools.read(given.data, name)
        corpus = _tools.shuffled(corpus) if given.shuffled else corpus
        sizes = f"{corpus.n_docs:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens"
        text.append(f"## {name}\n\n{sizes}; α = {ALPHA}, β = {BETA}.")
        rows, notes, thread_rows, shares = [], [], [], []
        for n_topics in given.topics:
            curves, more, note = one_race(given, name, corpus, n_topics, tools)
            results[name, n_topics] = curves
            rows += more
            notes.append(note)
            if max(given.threads) > 1:
                turns = given.thread_turns, given.turn_sweeps
                before, begun = stolen(), time.perf_counter()
                thread_rows += race_threads(corpus, n_topics, tools, sorted({1, *given.threads}), *turns)
                if before is not None:
                    lost = (stolen() or 0.0) - before
                    shares.append(f"{100 * lost / (time.perf_counter() - begun):.1f}% (K = {n_topics})")
            draw(results, given.out / f"{given.name}.png")
            write_points(results, given.out / f"{given.name}.csv")
        text += [table(HEAD, rows), "\n".join(f"- {note}" for note in notes)]
        if thread_rows:
            taken = f"{given.thread_turns} turns of {given.turn_sweeps} sweeps"
            said = "speed-ups are medians of ratios within a turn; equal shards gave equal bits"
            text.append(f"On threads, {taken}; {said}:")
            text.append(table(THREADS_HEAD, thread_rows))
            if shares:
                text.append(f"Of one core's time the host took {', '.join(shares)} for others meanwhile.")
    text.append(
        f"![likelihood against seconds]({given.name}.png)\n\nThe points are in [{given.name}.csv]({given.name}.csv)."
    )
    return "\n\n".join(text) + "\n"


def how(given: argparse.Namespace, tools: Sequence[str]) -> str:
    """What was measured, and what was not."""
    missing = [] if TOMOTOPY in tools else ["tomotopy is not installed, so the goal is set by our first sampler"]
    missing += [f"{name} was not given" for name in ("mallet", "warplda") if getattr(given, name) is None]
    said = (
        "One thread. Tools take turns sweep by sweep. Seconds are those of sweeps, from the first one on, and for our "
        "samplers those in which the first topics were drawn and counted; tomotopy's start is not counted. The first "
        "call, on a few documents before, compiles or loads what was compiled. A tool that is behind the goal "
        f"after the last common sweep goes on up to {PATIENCE:g} times the goal-setter's seconds (`>`: not reached). "
        "The column log p(w, z) is at the last common sweep."
        + (" Seconds are of processor time, the machine being shared." if given.clock == "cpu" else "")
    )
    if not given.no_memory:
        said += (
            " Memory is the largest resident size of a process of its own in its first two sweeps, corpus included, "
            "less what the process had before it read the corpus; for MALLET and WarpLDA it is the whole process."
        )
    return said + (f" Not measured: {'; '.join(missing)}." if missing else "")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lda", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="+", default=["kos"])
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--samplers", nargs="+", help=f"of {', '.join(sampler_names())} (default: all)")
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--every", type=int, default=5, help="sweeps between looks at the likelihood")
    parser.add_argument("--thread-turns", type=int, default=10, help="of each number of threads")
    parser.add_argument("--turn-sweeps", type=int, default=10, help="sweeps of such a turn")
    parser.add_argument("--seconds-cap", type=float, default=1e9, help="of all sweeps of one race together")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="cpu: for one thread on a shared machine")
    parser.add_argument("--mallet", type=Path, help="path of MALLET's bin/mallet")
    parser.add_argument("--warplda", type=Path, help="folder of WarpLDA's programs")
    parser.add_argument("--shuffled", action="store_true", help="tokens of a document in random order, as in texts")
    parser.add_argument("--no-memory", action="store_true", help="leave memory out")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--name", default="lda", help="of the files written to --out")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if min(given.sweeps, given.every, given.thread_turns, given.turn_sweeps, *given.topics, *given.threads) < 1:
        parser.error("--sweeps, --every, --thread-turns, --turn-sweeps, --topics and --threads must be at least 1")
    unknown = set(given.samplers or ()) - set(sampler_names())
    if unknown:
        parser.error(f"--samplers {' '.join(sorted(unknown))}: there are {', '.join(sampler_names())}")
    given.shown = without_paths(arguments)
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    if given.peak_of:
        print(_tools.own_peak(given.peak_of, given.data, given.corpus[0], given.topics[0]))
        return
    tools = [*(given.samplers or sampler_names()), *([TOMOTOPY] if find_spec(TOMOTOPY) else [])]
    given.out.mkdir(parents=True, exist_ok=True)
    text = report(given, tools)
    (given.out / f"{given.name}.md").write_text(f"# LDA\n\n{text}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

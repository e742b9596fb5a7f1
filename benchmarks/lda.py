"""Samplers of LDA side by side: seconds a sweep, seconds to a likelihood, memory, threads; and the field of tools.

    python -m benchmarks.lda --data DIR --corpus kos nips news20 --topics 20 100 500 1000 --threads 1 2
    python -m benchmarks.lda --field --clock cpu --data DIR --corpus kos news20:texts zipf:500000 cells:1000

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``; ``benchmarks._corpora`` says what
other names there are. Our samplers and tomotopy, if it is installed, take turns sweep by sweep, so that a busy machine
slows all of them alike. topica and pyrmallet, where installed, and MALLET and WarpLDA, where ``--mallet`` and
``--warplda`` say, make runs of several lengths. The joint log probability a token, log p(w, z | α, β)/N, is computed by
one program from every tool's assignments, and its time is not counted. What a tool is worth is the time in which it
gets as far as tomotopy gets in ``--sweeps`` sweeps. A table, the points as CSV and a figure are written to ``--out``.

``--field`` has one row for each corpus and number of topics, with several seeds; ``benchmarks._field`` says how its
goal is set. Rows are written as soon as they are there.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import _corpora, _field, _programs, _tools
from benchmarks._common import CLOCKS, figure, in_turn, machine, need, rival, save_figure, stolen, table, without_paths
from benchmarks._races import Curve, Point, Race
from benchmarks._tools import ALPHA, BETA, TOMOTOPY, Tool, likelihood, say, start, warm_up
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.errors import InputError, MissingExtraError
from topicloom.lda.gibbs import sampler_names

RIVALS = (TOMOTOPY, *_programs.PACKAGES, _field.MALLET)
PATIENCE = 3.0  # a tool that has not got there is stopped after so many times the time of the one that set the goal


def peak_of(name: str, given: argparse.Namespace, corpus: str, n_topics: int) -> int:
    """Bytes of memory of a chain and its corpus, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.lda", "--peak-of", name, "--corpus", corpus, "--topics", str(n_topics)]
    command += ["--tokens", str(given.tokens), *(["--data", str(given.data)] if given.data else [])]
    command += ["--most-tokens", str(given.most_tokens)] if given.most_tokens else []
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def run_programs(given: argparse.Namespace, corpus: Corpus, n_topics: int, sweeps: int, goal: float) -> list[Curve]:
    """The curves of tools that cannot be stepped, where they are given or installed."""
    curves = []
    kinds: dict[str, Callable[[Path], _programs.Program]] = {}
    if given.mallet is not None:
        kinds["MALLET"] = lambda folder: _programs.Mallet(given.mallet, corpus, folder, clock=given.clock)
    if given.warplda is not None:
        kinds["WarpLDA"] = lambda folder: _programs.WarpLDA(given.warplda, corpus, folder)
    for name in (name for name in given.rivals if name in _programs.PACKAGES):
        package = _programs.PACKAGES[name]
        kinds[name] = lambda folder, package=package: package(corpus, folder, clock=given.clock)  # type: ignore[misc]
    for name, kind in kinds.items():
        say(f"{name}, K = {n_topics}")
        with tempfile.TemporaryDirectory() as folder:
            program = kind(Path(folder))
            lengths = sorted({max(2, sweeps // 10), max(3, sweeps // 2), max(4, sweeps)})
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
            curve.peak = peak_of(curve.name, given, name, n_topics)
    note = f"K = {n_topics}: the goal, {goal:.4f}, is where {setter.name} is after {sweeps} sweeps ({own:.2f} s)."
    return curves, rows_of(curves, corpus.n_tokens, n_topics, sweeps, goal, own), note


def report(given: argparse.Namespace, tools: Sequence[str]) -> str:
    """Run everything, write points and figure, and return the text."""
    results: Results = {}
    rivals = [rival(name) for name in given.rivals if name != _field.MALLET]
    text = [f"`python -m benchmarks.lda {given.shown}`", machine(*rivals), how(given, tools)]
    for name in given.corpus:
        corpus = _corpora.named(name, given.data, given.tokens, most=given.most_tokens)
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
    missing = [] if TOMOTOPY in tools else ["tomotopy takes no part, so the goal is set by our first sampler"]
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
    said += "".join(f" {name} makes runs of three lengths." for name in given.rivals if name != TOMOTOPY)
    return said + (f" Not measured: {'; '.join(missing)}." if missing else "")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lda", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders; synthetic ones need none")
    parser.add_argument(
        "--corpus", nargs="+", default=["kos"], help="folders, NAME:texts (every word), zipf:WORDS, cells:PER_ROW"
    )
    parser.add_argument("--tokens", type=_corpora.whole, default=_corpora.TOKENS, help="of synthetic ones")
    parser.add_argument("--most-tokens", type=_corpora.whole, help="of the others: documents chosen at random")
    parser.add_argument("--field", action="store_true", help="one row a corpus and K: all tools' seconds to one goal")
    parser.add_argument("--seeds", type=int, default=3, help="of each tool in the field")
    parser.add_argument("--rivals", nargs="*", help=f"of {', '.join(RIVALS)} (default: those there are)")
    parser.add_argument("--rival-cap", type=float, default=600.0, help="seconds of a rival's sweeps, in the field")
    parser.add_argument("--rival-share", type=float, default=4.0, help="the same, as a multiple of the quickest's")
    parser.add_argument("--gigabytes", type=float, default=6.0, help="of a rival's table of topics and words")
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument(
        "--samplers", nargs="+", help=f"of {', '.join(sampler_names())} (default: all; in the field auto)"
    )
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
    parser.add_argument("--name", help="of the files written to --out (default: lda, of the field lda_field)")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    counts = (given.seeds, given.tokens, given.sweeps, given.every, given.thread_turns, given.turn_sweeps)
    if min(*counts, *given.topics, *given.threads) < 1:
        parser.error("sweeps, seeds, turns, topics, threads and tokens must be at least 1")
    given.name = given.name or ("lda_field" if given.field else "lda")
    given.samplers = given.samplers or (["auto"] if given.field else list(sampler_names()))
    if set(given.rivals or ()) - set(RIVALS):
        parser.error(f"--rivals {' '.join(given.rivals)}: there are {', '.join(RIVALS)}")
    if given.rivals is None:
        given.rivals = _field.rivals_there(given.mallet)
    unknown = set(given.samplers) - set(sampler_names())
    if unknown:
        parser.error(f"--samplers {' '.join(sorted(unknown))}: there are {', '.join(sampler_names())}")
    given.shown = without_paths(arguments)
    return given


def check(given: argparse.Namespace) -> None:
    """All that is needed, before the first race."""
    need("matplotlib")
    for path, find in ((given.mallet, _programs.mallet_path), (given.warplda, _programs.warplda_path)):
        if path is not None:
            find(path)
    _field.check(given)
    given.out.mkdir(parents=True, exist_ok=True)


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    if given.peak_of:
        load = partial(_corpora.named, given.corpus[0], given.data, given.tokens, most=given.most_tokens)
        print(_tools.own_peak(given.peak_of, load, given.topics[0]))
        return
    check(given)
    if given.field:
        print(_field.report(given))
        return
    tools = [*given.samplers, *(name for name in given.rivals if name == TOMOTOPY)]
    text = report(given, tools)
    (given.out / f"{given.name}.md").write_text(f"# LDA\n\n{text}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

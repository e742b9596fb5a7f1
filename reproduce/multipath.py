"""Kozdoba and Mannor, "Interdependent Gibbs samplers" (2018): table 1, the State of the Union, the HMM.

    python -m reproduce.multipath --data DIR [--sections table1 sotu hmm] [--runs 10] [--sweeps 500]
                                  [--sizes 1500 …] [--etas 1.0 0.1] [--cells FILE] [--figures FOLDER] [--quick]

table1: ten bands over a hundred words, documents of ten tokens, α = 1, the distance of the topics found to the true
ones by number of paths and of documents. The paper does not give η: without --etas the one that fits its table best is
looked for first, and tables are made at that and at 0.1. sotu: paragraphs of the addresses with 500 topics, yearly
entropies and lengths of buckets, one path against five. hmm: what ``reproduce.hmm`` prints. DIR holds one folder a
corpus; table1 needs none. With --cells results of table1 are kept in a file, and those that it has are not made again.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np

from reproduce import _multipath_sotu
from reproduce._common import note, run_sections, table
from topicloom import LDA
from topicloom.datasets import bands
from topicloom.errors import InputError
from topicloom.evaluation import topic_discrepancy

SIZES, PATHS = (1500, 3000, 6000, 9000), (1, 2, 3, 5)
PAPER = {
    1: (1.12, 0.79, 0.58, 0.43),
    2: (0.86, 0.59, 0.41, 0.32),
    3: (0.77, 0.54, 0.35, 0.29),
    5: (0.69, 0.46, 0.31, 0.24),
}
TRIED = (0.3, 0.5, 0.7, 1.0)  # η, when the one that fits best is looked for
TRIAL_SIZES, TRIAL_PATHS, TRIAL_RUNS = (1500, 6000), (1, 5), 2
LEAST_GAIN = 0.25
SECTIONS = ("table1", "sotu", "hmm")


@dataclass
class Cells:
    """Results of single runs, kept in a file if there is one."""

    file: Path | None = None
    found: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            self.found = json.loads(self.file.read_text())

    def disc(self, eta: float, size: int, n_paths: int, sweeps: int, seed: int) -> float:
        """Distance of one run's topics to the true ones. The documents of a size are the same in every run."""
        key = f"eta={eta:g} size={size} paths={n_paths} sweeps={sweeps} seed={seed}"
        if key not in self.found:
            data = bands(size, seed=0)
            model = LDA(
                10, doc_topic_prior=1.0, topic_word_prior=eta, n_paths=n_paths, sampler="sparse", estimator="standard",
                max_iter=sweeps, trace_every=sweeps, random_state=seed,
            ).fit(data.corpus)  # fmt: skip
            self.found[key] = topic_discrepancy(model.topic_word_, data.phi)
            note(f"table1: {key}: {self.found[key]:.3f}")
            if self.file is not None:
                self.file.write_text(json.dumps(self.found, indent=0))
        return self.found[key]


@dataclass(frozen=True)
class Options:
    data: Path
    runs: int
    sweeps: int
    sizes: Sequence[int]
    etas: Sequence[float] | None
    cells: Cells
    figures: Path | None
    sotu: _multipath_sotu.Budget
    quick: bool


# -- table 1 -------------------------------------------------------------------------------------------------------


def misfit(found: Sequence[float], paper: Sequence[float]) -> float:
    """Root mean square of log(ours / theirs)."""
    return float(np.sqrt(np.mean(np.log(np.asarray(found) / np.asarray(paper)) ** 2)))


def best_eta(options: Options) -> tuple[float, str]:
    sizes = [size for size in TRIAL_SIZES if size in options.sizes] or list(options.sizes[:1])
    runs = min(TRIAL_RUNS, options.runs)
    theirs = [PAPER[m][SIZES.index(size)] for m in TRIAL_PATHS for size in sizes]
    rows, fits = [], {}
    for eta in TRIED:
        ours = [
            float(np.mean([options.cells.disc(eta, size, m, options.sweeps, seed) for seed in range(runs)]))
            for m in TRIAL_PATHS
            for size in sizes
        ]
        fits[eta] = misfit(ours, theirs)
        rows.append([f"{eta:g}", *(f"{x:.2f}" for x in ours), f"{fits[eta]:.3f}"])
    rows.append(["paper", *(f"{x:.2f}" for x in theirs), ""])
    header = ["η", *(f"m = {m}, {size}" for m in TRIAL_PATHS for size in sizes), "root mean square log ratio"]
    best = min(fits, key=lambda eta: fits[eta])
    return best, f"Looking for η, means of {runs} runs:\n\n{table(header, rows)}\n\nη = {best:g} fits best."


def table_at(eta: float, options: Options) -> str:
    means: dict[tuple[int, int], float] = {}
    rows = []
    for m in PATHS:
        cells = []
        for size in options.sizes:
            each = [options.cells.disc(eta, size, m, options.sweeps, seed) for seed in range(options.runs)]
            means[m, size] = float(np.mean(each))
            sd = float(np.std(each, ddof=1)) if len(each) > 1 else 0.0
            cells.append(f"{means[m, size]:.2f} ± {sd:.2f} ({PAPER[m][SIZES.index(size)]:.2f})")
        rows.append([m, *cells])
    gains = {size: 1 - means[5, size] / means[1, size] for size in options.sizes}
    paper = [PAPER[m][SIZES.index(size)] for m, size in means]
    falls = all(means[a, s] > means[b, s] for s in options.sizes for a, b in pairwise(PATHS))
    held = "holds" if min(gains.values()) >= LEAST_GAIN else "DOES NOT HOLD"
    shown = ", ".join(f"{size}: {gain:.0%}" for size, gain in gains.items())
    return "\n\n".join(
        [
            f"**η = {eta:g}**: mean ± standard deviation of {options.runs} runs of {options.sweeps} sweeps (paper).",
            table(["paths", *(f"{size:,} documents" for size in options.sizes)], rows),
            f"- Five paths below one by at least {LEAST_GAIN:.0%} at every size: {held} ({shown}).\n"
            f"- More paths are always nearer: {'holds' if falls else 'DOES NOT HOLD'}.\n"
            f"- Root mean square log ratio to the paper's cells: {misfit(list(means.values()), paper):.3f}.",
        ]
    )


def table1(options: Options) -> str:
    if options.etas is not None:
        return "\n\n".join(table_at(eta, options) for eta in options.etas)
    best, text = best_eta(options)
    return "\n\n".join([text, table_at(best, options), table_at(0.1, options)])


# -- the others ----------------------------------------------------------------------------------------------------


def sotu(options: Options) -> str:
    return _multipath_sotu.section(options.data, options.sotu, options.figures)


def hmm(options: Options) -> str:
    """The HMM's experiment is a program of its own, which prints its results."""
    if find_spec("reproduce.hmm") is None:
        return "reproduce.hmm is not there."
    figures = [] if options.figures is None else ["--figures", str(options.figures)]
    import_module("reproduce.hmm").main([*figures, *(["--quick"] if options.quick else [])])
    return ""


PARTS: dict[str, tuple[str, Callable[[Options], str]]] = {
    "table1": ("Multipath Gibbs, table 1: distance of topics to the truth", table1),
    "sotu": ("Multipath Gibbs, figures 7 and 8: topics of the State of the Union over time", sotu),
    "hmm": ("Multipath Gibbs, figure 2: a hidden Markov model", hmm),
}


def parse(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m reproduce.multipath", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=500, help="of a run of table1")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), choices=SIZES)
    parser.add_argument("--etas", nargs="+", type=float, help="make table1 at these, without looking for the best")
    parser.add_argument("--cells", type=Path, help="file in which results of table1 are kept")
    parser.add_argument("--figures", type=Path, help="folder for figures (none are drawn without it)")
    parser.add_argument("--quick", action="store_true", help="small settings, to see that everything runs")
    given = parser.parse_args(arguments)
    if given.runs < 1 or given.sweeps < 1:
        parser.error("--runs and --sweeps must be at least 1")
    wanted = [name for name in SECTIONS if name in given.sections]
    if "sotu" in wanted and not (given.data / "sotu").is_dir():
        parser.error(f"{given.data} has no folder sotu")
    if given.quick:
        given.runs, given.sweeps, given.sizes = min(given.runs, 2), min(given.sweeps, 10), given.sizes[:1]
    budget = _multipath_sotu.QUICK if given.quick else _multipath_sotu.Budget()
    cells = Cells(given.cells)
    options = Options(
        given.data, given.runs, given.sweeps, given.sizes, given.etas, cells, given.figures, budget, given.quick
    )
    return options, wanted


def main(arguments: Sequence[str]) -> None:
    run_sections("reproduce.multipath", arguments, *parse(arguments), PARTS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")

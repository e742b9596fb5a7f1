"""Two versions of the package side by side: processor time per sweep, taken in turn.

Each version runs in a process of its own, from the source tree that it is given. In a turn both fit the same model to
the same corpus, with one thread; who goes first changes from turn to turn. Equal sweeps are compared with each other,
and the median of all ratios counts, so that a busy machine does little harm.

    python -m benchmarks.versions --data DATA --old ../before --new .
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from benchmarks._common import need_files, table
from topicloom._types import FloatArray
from topicloom.errors import InputError

# name: (corpus, class, parameters, sweeps)
CASES: dict[str, tuple[str, str, dict[str, Any], int]] = {
    **{
        f"lda {corpus} K = {k}": (corpus, "LDA", {"n_components": k}, sweeps)
        for corpus, sweeps in (("kos", 40), ("news20", 12))
        for k in (20, 100, 1000)
    },
    "lda news20 words K = 1000": ("news20", "LDA", {"n_components": 1000, "sampler": "words"}, 8),
    "lda kos mh K = 100": ("kos", "LDA", {"n_components": 100, "sampler": "mh"}, 20),
    "medlda K = 40": ("news20", "MedLDAClassifier", {"n_components": 40}, 8),
    "medlda dense K = 40": ("news20", "MedLDAClassifier", {"n_components": 40, "sampler": "dense"}, 4),
    "medlda K = 200": ("news20", "MedLDAClassifier", {"n_components": 200}, 6),
    **{
        f"variational {method}": ("kos", "VariationalLDA", {"n_components": 100, "method": method, "tol": 0.0}, sweeps)
        for method, sweeps in (("cvb0", 20), ("cvb", 10), ("vb", 8))
    },
    "hmm collapsed": ("symbols", "HMM", {"n_components": 20}, 20),
    "hmm blocked": ("symbols", "HMM", {"n_components": 20, "sampler": "blocked"}, 20),
    "hmm em": ("symbols", "HMM", {"n_components": 20, "method": "em", "tol": 0.0}, 20),
}


def _data(corpus: str, folder: Path) -> Any:
    """A corpus, with its labels, or sequences of symbols."""
    if corpus == "symbols":
        return [np.random.default_rng(0).integers(0, 50, 2000).tolist() for _ in range(50)]
    return topicloom.read(folder / corpus, format="folder")


def _model(kind: str, params: dict[str, Any], sweeps: int) -> Any:
    """By its present parameters, or by those of earlier versions."""
    common = {"max_iter": sweeps, "random_state": 1, "estimator": "standard", "trace_every": 10**6}
    if kind == "VariationalLDA" and not hasattr(topicloom, kind):
        kind, params = "LDA", {"inference": params["method"], **{k: v for k, v in params.items() if k != "method"}}
    if kind == "VariationalLDA" or "inference" in params:
        del common["estimator"]
    if kind.startswith("MedLDA"):
        common["burn_in"] = None
    try:
        return getattr(topicloom, kind)(**params, **common)
    except TypeError:
        params = {{"n_components": "n_states", "method": "inference"}.get(k, k): v for k, v in params.items()}
        return getattr(topicloom, kind)(**params, **common)


def _work(folder: Path) -> None:
    """Answer each line of a case's name by the seconds of its sweeps."""
    data: dict[str, Any] = {}
    for line in sys.stdin:
        corpus, kind, params, sweeps = CASES[line.strip()]
        if corpus not in data:
            data[corpus] = _data(corpus, folder)
        times: list[float] = []

        def clock(_: object, times: list[float] = times) -> None:
            times.append(time.process_time())

        model = _model(kind, params, sweeps)
        model.fit(data[corpus], callbacks=[clock])
        print(json.dumps(np.diff(times).tolist()), flush=True)


def _start(tree: Path, folder: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(Path.cwd())))}
    environment |= {"TOPICLOOM_QUIET": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "benchmarks.versions", "--worker", "--data", str(folder)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _turn(process: "subprocess.Popen[str]", case: str) -> FloatArray:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{case}\n")
    process.stdin.flush()
    return np.array(json.loads(process.stdout.readline()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--old", type=Path, help="source tree of the version before")
    parser.add_argument("--new", type=Path, default=Path(), help="source tree of the version after")
    parser.add_argument("--cases", nargs="+", default=list(CASES), help="parts of cases' names")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        _work(given.data)
        return
    if given.old is None:
        parser.error("give --old, the source tree of the version before")
    cases = [name for name in CASES if any(part in name for part in given.cases)]
    need_files(given.data, {CASES[name][0] for name in cases} - {"symbols"})
    for tree in (given.old, given.new):
        if not (tree / "src" / "topicloom").is_dir():
            raise InputError(f"{tree}: there is no src/topicloom in it.")
    processes = [_start(tree.resolve(), given.data) for tree in (given.old, given.new)]
    rows = []
    for case in cases:
        for process in processes:  # compiles, or loads what is compiled
            _turn(process, case)
        ratios, seconds = [], np.zeros((given.turns, 2))
        for turn in range(given.turns):
            order = (0, 1) if turn % 2 == 0 else (1, 0)
            found = {which: _turn(processes[which], case) for which in order}
            ratios.append(found[1] / found[0])
            seconds[turn] = [found[which].sum() for which in (0, 1)]
        every = np.concatenate(ratios)
        by_turn = np.median(np.array(ratios), axis=1)
        spread = f"{by_turn.min():.3f} to {by_turn.max():.3f}"
        medians = np.median(seconds, axis=0)
        rows.append([case, f"{medians[0]:.2f}", f"{medians[1]:.2f}", f"{np.median(every):.3f}", spread])
        print(" | ".join(rows[-1]), flush=True)
    print(table(["case", "old, s", "new, s", "new / old", "by turn"], rows))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")

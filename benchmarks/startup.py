"""How long a process takes to its first sweep: with nothing compiled yet, and when all is on disk.

    python -m benchmarks.startup [--topics 20 100] [--input corpus csr array] [--rounds 5]

Every line is of fresh processes (the median), from their start, the interpreter's own included, and without the making
of the corpus, 20,000 tokens. "empty" is the first fit after an install: Numba's cache is an empty folder. "full" is any
later process, whose kernels come from that folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import machine, table

INPUTS = {"corpus": "corpus", "csr": "corpus.to_matrix()", "array": "corpus.to_matrix().toarray()"}
CACHES = ("empty", "full")
CODE = """
import sys, time
from topicloom import LDA
imported = time.time()
from topicloom import datasets
from topicloom.engine import run as chain
corpus = datasets.zipf(20_000, 2_000, 20).corpus
X = {given}
made = time.time()
begun, advance = [], chain.advance
def noted(*args):
    begun.append(time.time())
    advance(*args)
chain.advance = noted
LDA({n_topics}, max_iter=2, random_state=0).fit(X)
done = time.time()
started, data = float(sys.argv[1]), made - imported
print(imported - started, begun[0] - started - data, begun[1] - started - data, done - started - data)
"""
TIMES = ("imported", "first sweep begins", "first sweep done", "fitted (2 sweeps)")


def seconds(given: str, n_topics: int, cache: Path | None = None) -> list[float]:
    """What one process says: seconds from its start to the points of ``TIMES``. Without ``cache`` it is Numba's own."""
    code = CODE.format(given=INPUTS[given], n_topics=n_topics)
    run = subprocess.run(
        [sys.executable, "-c", code, repr(time.time())],
        env=os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}),
        check=True,
        capture_output=True,
        text=True,
    )
    return [float(found) for found in run.stdout.split()]


def rows(topics: Sequence[int], inputs: Sequence[str], rounds: int) -> list[list[str]]:
    out = []
    for n_topics in topics:
        for given in inputs:
            with tempfile.TemporaryDirectory() as folder:
                empty = seconds(given, n_topics, Path(folder))  # and fills it
                full = [seconds(given, n_topics, Path(folder)) for _ in range(rounds)]
            for cache, found in zip(CACHES, (empty, np.median(full, axis=0)), strict=True):
                out.append([cache, str(n_topics), given, *(f"{value:.2f}" for value in found)])
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--input", nargs="+", choices=list(INPUTS), default=list(INPUTS))
    parser.add_argument("--rounds", type=int, default=5, help="processes with a full cache, of which the median")
    options = parser.parse_args(arguments)
    print(machine(), "Seconds from the start of the process.\n", flush=True)
    print(table(["cache", "K", "X", *TIMES], rows(options.topics, options.input, options.rounds)))


if __name__ == "__main__":
    main()

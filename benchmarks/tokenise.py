"""How fast texts become a corpus, on one process and on several; the corpora must be the same.

    python -m benchmarks.tokenise --data texts.jsonl.gz [more.jsonl.gz] [--repeat 10] [--jobs 1 2] [--rounds 3]

Each file has a JSON object with "text" per line. The sides take turns, and the medians are shown. Processor time is
that of the caller outside and inside of the cutting, and that of its workers. Where a machine is shared, walls say
little; "on free cores" is the least time that these processor times allow: outside + (inside + workers) / processes.
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks._common import machine, table
from topicloom.corpus import from_texts, text

HEADINGS = [
    "processes",
    "wall, s",
    "MB per s",
    "outside, s",
    "inside, s",
    "workers, s",
    "on free cores, s",
    "times as fast",
]


class Times(NamedTuple):
    """Seconds of one run."""

    wall: float
    outside: float
    inside: float
    workers: float

    def free(self, jobs: int) -> float:
        """Seconds that it takes at least if each process has a core."""
        return self.outside + (self.inside + self.workers) / jobs


def read_texts(paths: Sequence[Path], repeat: int) -> list[str]:
    found = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            found += [json.loads(line)["text"] for line in lines]
    return found * repeat


def run(texts: list[str], jobs: int, options: dict[str, Any]) -> tuple[Times, str]:
    """Times of one corpus, and its fingerprint."""
    inside = [0.0]
    number = text.number

    def watched(*args: Any) -> Any:
        start = time.process_time()
        found = number(*args)
        inside[0] = time.process_time() - start
        return found

    start, before = time.perf_counter(), os.times()
    with mock.patch.object(text, "number", watched):
        corpus = from_texts(texts, n_jobs=jobs, keep_texts=False, **options)
    wall, after = time.perf_counter() - start, os.times()
    own = after.user + after.system - before.user - before.system
    theirs = after.children_user + after.children_system - before.children_user - before.children_system
    return Times(wall, own - inside[0], inside[0], theirs), corpus.fingerprint


def rows(texts: list[str], jobs: Sequence[int], rounds: int, options: dict[str, Any]) -> list[list[str]]:
    found: dict[int, list[Times]] = {n: [] for n in jobs}
    prints = set()
    for turn in range(rounds):
        for i in range(len(jobs)):
            n = jobs[(i + turn) % len(jobs)]
            times, fingerprint = run(texts, n, options)
            found[n].append(times)
            prints.add(fingerprint)
    if len(prints) != 1:
        raise SystemExit("the corpora differ")
    size = sum(map(len, texts)) / 1e6
    median = {n: Times(*np.median(found[n], axis=0)) for n in jobs}
    base = median[jobs[0]].free(jobs[0])
    return [
        [
            str(n),
            f"{t.wall:.1f}",
            f"{size / t.wall:.1f}",
            *(f"{value:.2f}" for value in (t.outside, t.inside, t.workers, t.free(n))),
            f"{base / t.free(n):.2f}",
        ]
        for n, t in median.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--min-df", type=int, default=5)
    options = parser.parse_args(arguments)
    for path in options.data:
        if not path.is_file():
            parser.error(f"--data {path}: there is no such file")
    texts = read_texts(options.data, options.repeat)
    size = sum(map(len, texts)) / 1e6
    print(machine(), f"{len(texts):,} texts, {size:.0f} million characters, min_df={options.min_df}.\n", flush=True)
    print(table(HEADINGS, rows(texts, options.jobs, options.rounds, {"min_df": options.min_df})))


if __name__ == "__main__":
    main()

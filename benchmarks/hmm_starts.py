"""In how many of twenty seeds a hidden Markov model with two states finds the vowels of English letters.

    python -m benchmarks.hmm_starts --data DIR [--corpora sotu reuters21578] [--letters 20000] [--samples 2]
                                    [--first 0] [--seeds 20] [--starts default 1 10x15]

``DIR/NAME/texts.jsonl.gz`` has texts, a JSON object with "text" in a line. Letters are small a to z, all else is one
space. ``addresses`` comes with the package. Everything else is at its default. A run has found the vowels if a, e, i, o
and u are likelier in one state and t, n, s, r, h, l, d, c and m in the other. It has found the best mode if Baum-Welch
from its parameters ends within 5 of the highest log-likelihood of all runs on that sample, whatever their start.
"""

import argparse
import gzip
import json
import re
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._common import machine, table
from topicloom import HMM
from topicloom.datasets import addresses
from topicloom.errors import InputError

VOWELS, CONSONANTS = "aeiou", "tnsrhldcm"
APART = 500_000  # letters from the beginning of one sample to that of the next
NEAR = 5.0  # of log-likelihoods of one mode
METHODS: dict[str, dict[str, Any]] = {"em": {"method": "em"}, "gibbs": {}}


class Ended(NamedTuple):
    vowels: bool
    level: float  # log-likelihood that Baum-Welch comes to from there
    seconds: float  # of processor time


def letters(data: Path | None, name: str, first: int, n: int) -> list[str]:
    """A sample of a corpus."""
    found, size = [], 0
    for text in texts(data, name):
        found.append(re.sub("[^a-z]+", " ", text.lower()).strip())
        size += len(found[-1]) + 1
        if size >= first + n:
            break
    sample = " ".join(found)[first : first + n]
    if len(sample) < n:
        raise InputError(f"{name} has fewer than {first + n:,} letters; take fewer --samples or --letters.")
    return list(sample)


def texts(data: Path | None, name: str) -> Any:
    if name == "addresses":
        return iter(addresses().texts or ())
    if data is None:
        raise InputError(f"{name} needs --data, a folder with {name}/texts.jsonl.gz.")
    with gzip.open(data / name / "texts.jsonl.gz", "rt", encoding="utf-8") as lines:
        return iter([json.loads(line)["text"] for line in lines])


def has_vowels(model: HMM) -> bool:
    number = {letter: v for v, letter in enumerate(model.alphabet_)}
    second = model.emission_[1] > model.emission_[0]
    vowels, others = ([second[number[x]] for x in own if x in number] for own in (VOWELS, CONSONANTS))
    return bool((all(vowels) and not any(others)) or (all(others) and not any(vowels)))


def run(sample: list[str], method: str, start: Any, seed: int) -> Ended:
    model = HMM(2, **METHODS[method], start=start, random_state=seed, n_jobs=1)
    before = time.process_time()
    model.fit([sample])
    seconds = time.process_time() - before
    values = {name: getattr(model, f"{name}_") for name in ("initial", "transition", "emission")}
    best = HMM(2, method="em", start=values, max_iter=1000, random_state=0).fit([sample])
    return Ended(has_vowels(model), best.score([sample]), seconds)


def rows(sample: list[str], label: str, starts: Sequence[str], n_seeds: int) -> list[list[str]]:
    """A row per method; the starts are columns."""
    ended = {
        (method, start): [run(sample, method, read_start(start), seed) for seed in range(n_seeds)]
        for method in METHODS
        for start in starts
    }
    top = max(one.level for found in ended.values() for one in found)
    lines = []
    for method in METHODS:
        cells = []
        for start in starts:
            found = ended[method, start]
            cells += [
                str(sum(one.vowels for one in found)),
                str(sum(top - one.level < NEAR for one in found)),
                f"{np.median([one.seconds for one in found]):.2f}",
            ]
        lines.append([label, method, *cells])
        print(f"{label}, {method}: {cells}", file=sys.stderr, flush=True)
    return lines


def read_start(text: str) -> dict[str, int] | None:
    """``default``, a number of runs, or runs x iterations."""
    if text == "default":
        return None
    n_runs, _, n_iter = text.partition("x")
    return {"n_runs": int(n_runs)} | ({"n_iter": int(n_iter)} if n_iter else {})


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hmm_starts", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the corpora")
    parser.add_argument("--corpora", nargs="+", default=["addresses"])
    parser.add_argument("--letters", type=int, default=20_000, help="in a sample")
    parser.add_argument("--samples", type=int, default=1, help=f"of each corpus, {APART:,} letters apart")
    parser.add_argument("--first", type=int, default=0, help="number of the first sample")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--starts", nargs="+", default=["default", "1"], help="default, RUNS or RUNSxITERATIONS")
    given = parser.parse_args(arguments)
    if min(given.letters, given.samples, given.seeds) < 1:
        parser.error("--letters, --samples and --seeds must be at least 1")
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = []
    for name in given.corpora:
        for sample in range(given.first, given.first + given.samples):
            own = letters(given.data, name, sample * APART, given.letters)
            lines += rows(own, f"{name}, {sample * APART:,}", given.starts, given.seeds)
    print(f"`python -m benchmarks.hmm_starts`: {given.seeds} seeds, {given.letters:,} letters. {machine()}\n")
    header = ["corpus, first letter", "method"]
    for start in given.starts:
        header += [f"{start}: vowels", "best mode", "seconds"]
    print(table(header, lines))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")

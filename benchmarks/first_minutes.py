"""From a file of texts to topics: `topicloom fit` as a whole, beside other tools, reading and cutting included.

    python -m benchmarks.first_minutes [--data texts.jsonl.gz ...] [--documents 10000 100000] [--cores 1 2]

Each run is a process of its own, from its start until topics are written or printed: the interpreter, imports, the
file with one document per line, words, K topics, sweeps. Compiled code is on disk, as after a first fit, which is made
before; "empty" is a fit with nothing compiled. The same file is given to

- topicloom: ``topicloom fit texts.txt --out DIR``;
- tomotopy: lines, lower case, a regular expression, ``add_doc``, ``train``;
- pyrmallet: the lines, which it cuts itself in compiled code, and MALLET's sampler, by MALLET's author.

"to words" is the part up to the corpus, measured within processes of their own without a sweep. Texts are lines of real
ones (``--data``, files with a JSON object with "text" per line), repeated if they are too few, or made up. Processor
time is that of the process and its workers: where a machine is shared, walls say little. pyrmallet has one thread.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._common import machine, table

HEADINGS = [
    "documents",
    "MB",
    "cores",
    "tool",
    "to words: wall, s",
    "processor, s",
    "to topics: wall, s",
    "processor, s",
]
CUT = r"[^\W\d_]\w+"
TOOLS = {
    "topicloom": "topicloom",
    "topicloom, empty": "topicloom",
    "tomotopy": "tomotopy",
    "pyrmallet": "pyrmallet",
}
CODE = {
    "topicloom": """
import sys
if sweeps == 0:
    import topicloom
    print(topicloom.read(path, keep_texts=False, n_jobs=cores))
else:
    sys.argv = ["topicloom", "fit", path, "--out", out, "--topics", str(topics), "--sweeps", str(sweeps)]
    sys.argv += ["--jobs", str(cores), "--quiet", "--seed", "1"]
    from topicloom.cli import main
    main()
""",
    "tomotopy": """
import re, warnings
import tomotopy
find = re.compile(cut).findall
model = tomotopy.LDAModel(k=topics, seed=1)
with open(path, encoding="utf-8") as lines:
    for line in lines:
        words = find(line.lower())
        if words:
            model.add_doc(words)
if sweeps:
    warnings.simplefilter("ignore")
    model.train(sweeps, workers=cores)
    print([model.get_topic_words(k, top_n=10) for k in range(topics)])
""",
    "pyrmallet": """
import pyrmallet
from pyrmallet import _rust_mallet
with open(path, encoding="utf-8") as lines:
    texts = [line for line in lines]
if sweeps == 0:
    names = [str(d) for d in range(len(texts))]
    corpus = _rust_mallet.Corpus.from_strings(
        texts, doc_ids=names, stopwords=[], min_doc_freq=1, max_doc_fraction=1.0)
    print(corpus.num_types)
else:
    model = pyrmallet.LatentDirichletAllocation(topics, max_iter=sweeps, num_samples=1, sample_interval=1)
    model.fit(texts)
    best = model.components_.argsort(axis=1)[:, -10:]
    print([[model.feature_names_in_[v] for v in row] for row in best])
""",
}


class Task(NamedTuple):
    path: Path
    topics: int
    sweeps: int
    cores: int


def real_texts(paths: Sequence[Path]) -> list[str]:
    """Texts as lines, mixed."""
    found = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            found += [" ".join(json.loads(line)["text"].split()) for line in lines]
    random.Random(0).shuffle(found)
    return found


def made_texts() -> Iterator[str]:
    """Texts of some 200 words with Zipf's law."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfw"))
    words = ["".join(rng.choice(letters, n)) for n in rng.integers(2, 11, 100_000)]
    while True:
        numbers = np.minimum(rng.zipf(1.2, rng.integers(20, 400)), len(words)) - 1
        yield " ".join(words[v] for v in numbers)


def run(tool: str, task: Task, folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of a process."""
    values = {
        "path": str(task.path),
        "topics": task.topics,
        "sweeps": task.sweeps,
        "cores": task.cores,
        "cut": CUT,
    }
    with tempfile.TemporaryDirectory(dir=folder) as out:
        values["out"] = str(Path(out) / "model")
        env = os.environ | {"TOPICLOOM_QUIET": "1", "OMP_NUM_THREADS": "1"}
        if tool.endswith("empty"):
            env["NUMBA_CACHE_DIR"] = str(Path(out) / "compiled")
        code = "".join(f"{name} = {value!r}\n" for name, value in values.items()) + CODE[TOOLS[tool]]
        before, started = os.times(), time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=env, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def rows(path: Path, n_docs: int, options: argparse.Namespace, folder: Path) -> Iterator[list[str]]:
    """One line per tool and number of cores; tools take turns."""
    tools = [tool for tool in TOOLS if find_spec(TOOLS[tool]) is not None]
    sides = [(cores, tool) for cores in options.cores for tool in tools if cores == 1 or tool != "pyrmallet"]
    found: dict[tuple[int, str], list[list[float]]] = {side: [] for side in sides}
    for _ in range(options.rounds):
        for cores, tool in sides:
            task = Task(path, options.topics, options.sweeps, cores)
            words = run(tool, task._replace(sweeps=0), folder)
            found[cores, tool].append([*words, *(run(tool, task, folder) if task.sweeps else (np.nan, np.nan))])
    size = path.stat().st_size / 1e6
    for (cores, tool), seconds in found.items():
        median = np.median(seconds, axis=0)
        yield [f"{n_docs:,}", f"{size:.0f}", str(cores), tool, *("–" if np.isnan(v) else f"{v:.1f}" for v in median)]


def warm_up(n_topics: int, folder: Path) -> None:
    """Compile what the runs need: a text long enough for compiled cutting, and few tokens for all samplers."""
    from topicloom.corpus import _numbering

    path = folder / "few.txt"
    path.write_text("\n".join(["some words of a text"] * 50 + [" " * _numbering._COMPILED_CHARACTERS, "a few more"]))
    for cores in (1, 2):
        run("topicloom", Task(path, n_topics, 3, cores), folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", help="files of texts; without them texts are made up")
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--words", type=int, help="cut documents to so many words")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=50, help="0 for the corpus alone")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    print(machine(), f"K = {options.topics}, {options.sweeps} sweeps, median of {options.rounds}.\n", flush=True)
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory() as made:
        warm_up(options.topics, Path(made))
        for n_docs in options.documents:
            texts = cycle(real_texts(options.data)) if options.data else made_texts()
            path = Path(made) / "texts.txt"
            with path.open("w", encoding="utf-8") as file:
                for text in islice(texts, n_docs):
                    file.write((text if options.words is None else " ".join(text.split()[: options.words])) + "\n")
            lines += rows(path, n_docs, options, Path(made))
    print(table(HEADINGS, lines))


if __name__ == "__main__":
    main()

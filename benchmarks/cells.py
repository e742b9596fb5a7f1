"""Cells × regions: time and memory of LDA, from the matrix to topics of all cells.

    python -m benchmarks.cells --cells 20000 --regions 50000 --topics 50

Synthetic cells (``topicloom.datasets.synthetic_cells``) are written to an h5ad file. Each tool works in a process of
its own: topicloom on an AnnData object in memory, topicloom on the file (``topicloom.read``), tomotopy, and RustMallet
(``pyrmallet``), which has MALLET's sampler without Java; the last two where they are installed. A process first does
the same with a few cells, so that libraries and compiled code are there. Peak memory is what it takes beyond that:
reading the matrix, handing it over, sweeps, topics of all cells. Seconds are processor time; those of a sweep are taken
from two fits, with ``--sweeps`` sweeps and with one.
"""

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from benchmarks._common import forget_peak, machine, need, resident, rival, table, without_paths
from benchmarks._tools import say
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_cells
from topicloom.errors import InputError, MissingExtraError

ALPHA, BETA, SEED = 0.1, 0.01, 1
FRAGMENTS = 0.00976  # of a cell, as a share of the number of regions: 9.5 M entries of 20,000 × 50,000


def matrix_bytes(corpus: Corpus) -> int:
    """CSR with 4 bytes per value, 4 per column number and 4 per row."""
    return 8 * corpus.n_tokens + 4 * (corpus.n_docs + 1)


# -- one tool: from the file to the topics of all cells --------------------------------------------------------------


def ours_in_memory(file: Path, topics: int, sweeps: int) -> Any:
    import anndata

    adata = anndata.read_h5ad(file)
    model = topicloom.LDA(topics, max_iter=sweeps, doc_topic_prior=ALPHA, topic_word_prior=BETA, random_state=SEED)
    return model.fit(adata).doc_topic_, adata  # which a user still has


def ours_from_file(file: Path, topics: int, sweeps: int) -> Any:
    corpus = topicloom.read(file)
    model = topicloom.LDA(topics, max_iter=sweeps, doc_topic_prior=ALPHA, topic_word_prior=BETA, random_state=SEED)
    return model.fit(corpus).doc_topic_


def rows_of(file: Path) -> Iterator[Any]:
    """Numbers of the regions of each cell."""
    import anndata

    matrix = anndata.read_h5ad(file).X
    for d in range(matrix.shape[0]):
        yield matrix.indices[matrix.indptr[d] : matrix.indptr[d + 1]]


def letters(number: int) -> str:
    """A region's number as a word of letters, which every tokenizer keeps whole."""
    digits = []
    for _ in range(5):
        number, digit = divmod(number, 20)
        digits.append("bcdfghjklmnpqrstvwxz"[digit])
    return "q" + "".join(digits)


def tomotopy(file: Path, topics: int, sweeps: int) -> Any:
    model = rival("tomotopy").LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=SEED)
    model.optim_interval = 0
    for row in rows_of(file):
        if len(row):
            model.add_doc(list(map(str, row)))
    model.train(sweeps, workers=1)
    return np.array([doc.get_topic_dist() for doc in model.docs])


def rustmallet(file: Path, topics: int, sweeps: int) -> Any:
    texts = [" ".join(map(letters, row.tolist())) for row in rows_of(file)]
    model = rival("pyrmallet").LatentDirichletAllocation(
        topics, doc_topic_prior=ALPHA * topics, topic_word_prior=BETA, max_iter=sweeps, random_state=SEED,
        optimize_interval=0, num_samples=1, sample_interval=1, stopwords=[],
    )  # fmt: skip
    return model.fit(texts).doc_topic_distributions_


TOOLS: dict[str, Callable[[Path, int, int], Any]] = {
    "topicloom, AnnData in memory": ours_in_memory,
    "topicloom, from the file": ours_from_file,
    "tomotopy": tomotopy,
    "RustMallet": rustmallet,
}
PACKAGES = {"tomotopy": "tomotopy", "RustMallet": "pyrmallet"}


def child(given: argparse.Namespace) -> None:
    """Measure one tool; to be called in a process of its own."""
    work = TOOLS[given.child]
    work(given.small, given.topics, 3)
    gc.collect()
    before = resident()
    forget_peak()
    seconds = []
    for sweeps in (given.sweeps, 1):
        started = time.process_time()
        work(given.file, given.topics, sweeps)
        seconds.append(time.process_time() - started)
        if sweeps == given.sweeps:
            peak = resident("VmHWM") - before
    print(json.dumps({"peak": peak, "seconds": seconds}))


def run_child(name: str, arguments: Sequence[str], file: Path, small: Path) -> dict[str, Any]:
    say(name)
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cells", *arguments, "--child", name]
    done = subprocess.run([*command, "--file", str(file), "--small", str(small)], capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"the process {name!r} failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cells", description=__doc__.split("\n\n")[0])
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--regions", type=int, default=50_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=None, help="default: all that are installed")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--child", choices=list(TOOLS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--small", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if min(given.cells, given.regions, given.topics) < 1 or given.sweeps < 2:
        parser.error("--cells, --regions and --topics must be at least 1, --sweeps at least 2")
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    if given.child:
        child(given)
        return
    tools = given.tools or [name for name in TOOLS if name not in PACKAGES or find_spec(PACKAGES[name])]
    need("anndata", *(PACKAGES[name] for name in tools if name in PACKAGES))
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        file, small = Path(folder) / "cells.h5ad", Path(folder) / "small.h5ad"
        topics, fragments = given.topics, max(FRAGMENTS * given.regions, 1.0)
        started = time.process_time()
        data = synthetic_cells(given.cells, given.regions, topics, fragments_per_cell=fragments, seed=SEED)
        making = time.process_time() - started
        data.to_anndata().write_h5ad(file)
        synthetic_cells(100, given.regions, topics, fragments_per_cell=fragments).to_anndata().write_h5ad(small)
        size, corpus = matrix_bytes(data.corpus), data.corpus
        found = {name: run_child(name, arguments, file, small) for name in tools}
    rows = []
    for name, one in found.items():
        many, single = one["seconds"]
        per_sweep = (many - single) / (given.sweeps - 1)
        peak = one["peak"]
        rows.append([name, f"{per_sweep:.2f}", f"{many:.1f}", f"{peak / 1e6:.0f}", f"{peak / size:.1f}"])
    head = ["", "s per sweep", f"s in all, {given.sweeps} sweeps", "peak, MB", "of the matrix"]
    text = "\n\n".join(
        [
            f"`python -m benchmarks.cells {without_paths(arguments)}`".replace(" `", "`"),
            machine(*(rival(PACKAGES[name]) for name in tools if name == "tomotopy")),
            f"{corpus.n_docs:,} cells × {corpus.n_words:,} regions, {corpus.n_tokens:,} entries, all of them 1; "
            f"K = {topics}, fixed priors, one thread. The matrix has {size / 1e6:.0f} MB (CSR, 4 bytes per value, per "
            f"column number and per row), and was made in {making:.1f} s. Peaks are of the process beyond its "
            "libraries, and include the AnnData object where there is one. Seconds are processor time, reading and the "
            "topics of all cells included.",
            table(head, rows),
        ]
    )
    (given.out / "cells.md").write_text(f"# Cells × regions\n\n{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

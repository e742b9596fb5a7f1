"""Memory of a fit, in memory and with tokens and topics in files.

    python -m benchmarks.memory --tokens 1e8 --topics 1000

A synthetic corpus with Zipf's law is fitted by ``LDA`` twice, each time in a process of its own: held in memory, and
mapped from a file, with the operating system refusing the process more than ``--limit`` bytes of memory of its own
(RLIMIT_DATA: everything but pages of files, which the system takes back when it needs them). Reported are the largest
resident size, the largest part of it that is not pages of files (RssAnon), what ``topicloom.lda.memory`` says
beforehand, and that both models are the same, bit for bit.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._common import machine, resident, table, without_paths
from benchmarks._tools import ALPHA, BETA, say
from topicloom import LDA
from topicloom.corpus import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import zipf
from topicloom.errors import InputError
from topicloom.lda import memory
from topicloom.lda.gibbs import sampler_names

DOC_LENGTH, WORDS = 200.0, 50_000


class Watch:
    """The largest RssAnon of this process, looked up every so often while it works."""

    def __init__(self) -> None:
        self.largest, self._done = resident("RssAnon"), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._done.wait(0.02):
            self.largest = max(self.largest, resident("RssAnon"))

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def make(n_tokens: int) -> Corpus:
    return zipf(n_tokens, min(WORDS, n_tokens), 100, doc_length=DOC_LENGTH, seed=1).corpus


def fit(given: argparse.Namespace, corpus: Corpus) -> dict[str, Any]:
    """Fit and report; to be called in a process of its own."""
    plan = memory.estimate(corpus, given.topics, given.sampler)
    model = LDA(
        given.topics, doc_topic_prior=ALPHA, topic_word_prior=BETA, sampler=given.sampler, estimator=given.estimator,
        max_iter=given.sweeps, trace_every=given.sweeps, random_state=1,
    )  # fmt: skip
    started = time.perf_counter()
    with Watch() as watch:
        model.fit(corpus)
    return {
        "peak": resident("VmHWM"),
        "own": watch.largest,
        "seconds": time.perf_counter() - started,
        "sweeping": model.fit_seconds_,
        "fingerprint": model.fingerprint_,
        "planned": plan.peak,
        "said": str(plan),
    }


def child(given: argparse.Namespace) -> None:
    """One of three processes: make the file, fit in memory, fit from the file."""
    if given.child == "make":
        save_corpus(make(given.tokens), given.file, mapped=True)
        return
    if given.child == "mapped":
        resource.setrlimit(resource.RLIMIT_DATA, (given.limit, given.limit))
        corpus = load_corpus(given.file)
    else:
        corpus = make(given.tokens)
    print(json.dumps(fit(given, corpus)))


def run_child(name: str, arguments: Sequence[str], file: Path) -> dict[str, Any]:
    say(name)
    command = [sys.executable, "-m", "benchmarks.memory", *arguments, "--child", name, "--file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"the process {name!r} failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    def whole(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.split("\n\n")[0])
    parser.add_argument("--tokens", type=whole, default=10**6)
    parser.add_argument("--topics", type=whole, default=100)
    parser.add_argument("--sampler", default="auto", choices=sampler_names())
    parser.add_argument("--estimator", default="standard", choices=("standard", "cgs_p"))
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--limit", type=whole, default=2 * 10**9, help="bytes that the mapped fit may have")
    parser.add_argument("--folder", type=Path, help="where to put the file (default: a temporary folder)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--name", default="memory", help="of the file written to --out")
    parser.add_argument("--child", choices=("make", "memory", "mapped"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if min(given.tokens, given.topics, given.sweeps, given.limit) < 1:
        parser.error("--tokens, --topics, --sweeps and --limit must be at least 1")
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    if given.child:
        child(given)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        file = Path(folder) / "corpus.safetensors"
        run_child("make", arguments, file)
        size = file.stat().st_size
        found = {name: run_child(name, arguments, file) for name in ("memory", "mapped")}
    if found["memory"]["fingerprint"] != found["mapped"]["fingerprint"]:
        raise AssertionError("the model from the file is not the one from memory")
    rows = [
        [
            "in memory" if name == "memory" else f"in files, limit {given.limit / 1e9:.2f} GB",
            *(f"{one[key] / 1e9:.2f}" for key in ("peak", "own", "planned")),
            f"{one['sweeping'] / given.sweeps:.1f}",
            f"{one['seconds']:.0f}",
        ]
        for name, one in found.items()
    ]
    head = [
        "tokens and topics",
        "peak resident, GB",
        "of it not pages of files, GB",
        "said beforehand, GB",
        "s a sweep",
        "s in all",
    ]
    text = "\n\n".join(
        [
            f"`python -m benchmarks.memory {without_paths(arguments)}`",
            machine(),
            f"{given.tokens:,} tokens, {WORDS:,} words, documents of {DOC_LENGTH:.0f} tokens on average, "
            f"K = {given.topics:,}, sampler {given.sampler}, {given.sweeps} sweeps, {given.estimator} estimates. The "
            f"corpus's file has {size / 1e9:.2f} GB. Sizes include the interpreter and its libraries; what is said "
            "beforehand does not. Both models are the same, bit for bit.",
            table(head, rows),
            *(f"- {one['said']}" for one in found.values()),
        ]
    )
    (given.out / f"{given.name}.md").write_text(f"# Memory\n\n{text}\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")

"""One chain on Ray's workers beside the same chain on threads: seconds per sweep, bytes that travel, and memory.

    python -m benchmarks.scale --data DIR --corpus kos news20 --topics 100 1000 --workers 1 2 --shards 4
    python -m benchmarks.scale --synthetic 1e8 --topics 1000 --workers 2 --shards 4 --sweeps 5 --rounds 3
    python -m benchmarks.scale --synthetic 1e8 --topics 20 --sampler dense --workers 1 2 --shards 8 --limit 2.6e8

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``. Every corpus is first written to a
file, in a process of its own, and mapped from there. *Time*: threads (as many as the largest number of workers) and
Ray's actors take turns, ``--sweeps`` sweeps each; shown are medians over ``--rounds`` turns after ``--settle`` of them,
and the topics of all must be the same. *Travels*: the bytes of parts and of weights, as workers count them, beside the
formula of ``topicloom.memory``, and the topics that words have in lists, which have room for more. *Memory*: the
largest RssAnon (all but pages of files and of Ray's object store) of a worker and of the driver, in a fit in a process
of its own, beside the estimate. With ``--limit`` nothing else is done: the system refuses each worker more memory of
its own than that, and fits are tried with ``worker_memory`` and, where it refuses them, without.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import in_turn, machine, need_files, resident, table, without_paths
from benchmarks._tools import ALPHA, BETA, SEED, read, say, warm_up
from topicloom import LDA, datasets, scale
from topicloom.corpus import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.engine import places
from topicloom.engine.sampler import Key
from topicloom.engine.state import rebuild_lists
from topicloom.errors import InputError, MissingExtraError, counted
from topicloom.lda import memory
from topicloom.scale import place
from topicloom.scale.actors import RayCluster
from topicloom.scale.place import Workers
from topicloom.scale.tasks import needed_ray

DOC_LENGTH, WORDS = 200.0, 50_000


def model_of(given: argparse.Namespace, n_topics: int) -> LDA:
    return LDA(
        n_topics, doc_topic_prior=ALPHA, topic_word_prior=BETA, sampler=given.sampler, n_shards=given.shards,
        max_iter=given.sweeps, trace_every=given.sweeps, random_state=SEED, estimator=given.estimator,
        burn_in=given.burn_in,
    )  # fmt: skip


class Chain:
    """A chain that is in a place, or on so many threads of this process."""

    def __init__(self, model: LDA, corpus: Corpus, stack: ExitStack, place: Workers | None, n_threads: int = 1) -> None:
        stack.enter_context(places.using(place))
        self.corpus, self.problem = (
            corpus,
            stack.enter_context(places.staying(model, model._problem(corpus, SEED))).problem,
        )
        self.schedule = self.problem.plan.schedule._replace(n_jobs=n_threads)
        self.prior, self.done, self.progress = self.problem.prior(), 0, None
        self.state: Any = self.problem.sampler.init(corpus, self.prior, Key(SEED, 0, 0))

    def sweep(self, n: int) -> None:
        key = Key(SEED, 0, self.done + 1)
        self.done += n
        self.state, _, self.progress = self.problem.sampler.run(
            self.corpus, self.state, self.prior, key, self.schedule, n, self.progress
        )


def timed_rows(given: argparse.Namespace, name: str, corpus: Corpus, n_topics: int) -> list[list[str]]:
    model, rows = model_of(given, n_topics), []
    warm_up(given.sampler, corpus, n_topics, given.shards)
    with ExitStack() as stack:
        n_threads = max(given.workers)
        chains = [Chain(model, corpus, stack, None, n_threads)]
        chains += [Chain(model, corpus, stack, Workers(RayCluster(n))) for n in given.workers]
        work: list[Callable[[], object]] = [lambda chain=chain: chain.sweep(given.sweeps) for chain in chains]  # type: ignore[misc]
        in_turn(work, given.settle)
        before = [getattr(chain.state, "bytes_moved", 0) for chain in chains]
        seconds = np.array(in_turn(work, given.rounds)) / given.sweeps
        topics = np.asarray(chains[0].state.z)
        in_use = int(rebuild_lists(corpus, topics, n_topics).list_size.sum())
        names = [f"{n_threads} threads", *(f"Ray, {counted(n, 'workers')}" for n in given.workers)]
        for i, (chain, arm) in enumerate(zip(chains, names, strict=True)):
            if not np.array_equal(topics, np.asarray(chain.state.z)):
                raise AssertionError(f"{arm}: other topics than on threads")
            middle, moved = float(np.median(seconds[i])), getattr(chain.state, "bytes_moved", 0) - before[i]
            ratio = float(np.median(seconds[i] / seconds[0]))
            row = [name, f"{n_topics:,}", arm, f"{middle:.3g}", f"{middle / corpus.n_tokens * 1e9:.0f}", f"{ratio:.2f}"]
            if i:
                full = int(np.minimum(corpus.word_counts, n_topics).sum())
                plan = memory.estimate(
                    corpus, n_topics, given.sampler, n_shards=given.shards, n_workers=given.workers[i - 1]
                ).on_workers
                assert plan is not None
                row += [f"{moved / (given.rounds * given.sweeps) / 1e6:.2f}", f"{plan.travels / 1e6:.2f}"]
                row += [f"{in_use:,}", f"{full:,}"]
            rows.append([*row, "", "", "", ""][:10])
            say(" | ".join(rows[-1]))
    return rows


# -- memory ----------------------------------------------------------------------------------------------------------


class Watch:
    """The largest RssAnon of this process and of others, looked up every so often while a fit works."""

    def __init__(self) -> None:
        self.largest: dict[int, int] = {0: resident("RssAnon")}
        self.others: list[int] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._done.wait(0.003):
            for pid in [0, *self.others]:
                try:
                    self.largest[pid] = max(self.largest.get(pid, 0), resident("RssAnon", pid))
                except (OSError, InputError):  # it has ended
                    continue

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def allow(limit: int) -> None:
    """Let this process have so many bytes of its own, libraries included: the system refuses it more (RLIMIT_DATA).

    The system counts what is asked for, used or not. What a process asked for before and has not used, as room for the
    stacks of threads, comes on top.
    """
    import resource
    import signal

    for number in (signal.SIGABRT, signal.SIGSEGV):  # to end is what a process does that has no memory left
        signal.signal(number, signal.SIG_DFL)
    unused = resident("VmData") - resident("RssAnon")
    resource.setrlimit(resource.RLIMIT_DATA, (limit + unused, limit + unused))


class Watched(RayCluster):
    """Workers that are looked at from their start, and may have a limit."""

    def __init__(self, n_workers: int, watch: Watch, limit: int | None = None) -> None:
        super().__init__(n_workers)
        self.watch, self.limit = watch, limit

    def start(self, n_workers: int, *args: Any) -> int:
        there = super().start(n_workers, *args)
        self.watch.others = self.get([self.call(w, "process") for w in range(there)])
        if (limit := self.limit) is not None:
            self.get([actor.__ray_call__.remote(lambda _: allow(limit)) for actor in self._actors])
        return there


def fit(given: argparse.Namespace) -> dict[str, Any]:
    """Fit on workers and report; to be called in a process of its own."""
    model, corpus = model_of(given, given.topics[0]), load_corpus(given.file)
    n_workers = given.workers[0]
    if given.limit is not None:
        import resource

        place._TRIES = 2  # a fit for which there is not enough memory is given up soon
        stack = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, stack))  # of each thread, all of which counts as asked for
    with scale.ray(num_cpus=n_workers), Watch() as watch:
        cluster = Watched(n_workers, watch, given.limit)
        with places.using(Workers(cluster, given.limit if given.child == "fit" else None)):
            time.sleep(0.1)
            try:
                model.fit(corpus)
            except (MemoryError, InputError) as error:
                if given.limit is None:
                    raise
                return {"refused": f"{type(error).__name__}: {error}"}
    plan = memory.estimate(
        corpus, given.topics[0], given.sampler, n_shards=given.shards, n_workers=n_workers,
        estimator=given.estimator, averaged=given.burn_in is not None,
    ).on_workers  # fmt: skip
    assert plan is not None
    workers = [size for pid, size in watch.largest.items() if pid]
    return {
        "worker": max(workers), "driver": watch.largest[0], "planned": [plan.worker, plan.driver], "said": str(plan),
    }  # fmt: skip


def child(given: argparse.Namespace) -> None:
    if given.child == "make":
        if given.synthetic:
            corpus = datasets.zipf(given.synthetic, WORDS, 100, doc_length=DOC_LENGTH, seed=SEED).corpus
        else:
            corpus = read(given.data, given.corpus[0])
        save_corpus(corpus, given.file, mapped=True)
    else:
        print(json.dumps(fit(given)))


def run_child(name: str, given: argparse.Namespace, file: Path, **changes: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", "--child", name, "--file", str(file)]
    for option, value in {**vars(given), **changes}.items():
        if option not in ("child", "file", "shown", "folder") and value not in (None, []):
            values = value if isinstance(value, list) else [value]
            command += [f"--{option.replace('_', '-')}", *map(str, values)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"the process {name!r} failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    return found


def memory_rows(given: argparse.Namespace, name: str, file: Path, n_topics: int) -> list[list[str]]:
    rows = []
    for n in given.workers:
        found = run_child("fit", given, file, topics=[n_topics], workers=[n])
        pairs = zip((found["worker"], found["driver"]), found["planned"], strict=True)
        sizes = [f"{size / 1e6:.0f}" for pair in pairs for size in pair]
        rows.append([name, f"{n_topics:,}", str(n), *sizes])
        say(" | ".join(rows[-1]) + f" | {found['said']}")
    return rows


def limit_rows(given: argparse.Namespace, file: Path, n_topics: int) -> list[list[str]]:
    """Fits with ``worker_memory``, and without where it refuses them: the limit is there."""
    rows = []
    for n in given.workers:
        for name in ("fit", "fit-anyway"):
            found = run_child(name, given, file, topics=[n_topics], workers=[n])
            said = found.get("refused") or f"trained; {found['worker'] / 1e6:.0f} MB at most"
            rows.append([str(n), "yes" if name == "fit" else "no", said])
            say(" | ".join(rows[-1]))
            if "refused" not in found:
                break
    return rows


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    def whole(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds the corpora's folders")
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--synthetic", type=whole, default=0, help="tokens of a synthetic corpus")
    parser.add_argument("--topics", nargs="+", type=int, default=[100])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--sampler", default="auto", choices=("auto", "dense", "sparse", "words"))
    parser.add_argument("--estimator", default="standard", choices=("standard", "cgs_p"))
    parser.add_argument("--burn-in", type=int, help="sums over samples, in the fits whose memory is measured")
    parser.add_argument("--sweeps", type=int, default=10, help="of a turn")
    parser.add_argument("--settle", type=int, default=2, help="turns that are not counted")
    parser.add_argument("--rounds", type=int, default=5, help="turns that are; 0 measures memory alone")
    parser.add_argument("--limit", type=whole, help="bytes that the system allows each worker")
    parser.add_argument("--folder", type=Path, help="where to put the corpora's files (default: a temporary folder)")
    parser.add_argument("--child", choices=("make", "fit", "fit-anyway"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if bool(given.corpus) > bool(given.data) or not (given.corpus or given.synthetic):
        parser.error("give --synthetic, or --data and --corpus")
    if min(*given.topics, *given.workers, given.shards, given.sweeps) < 1:
        parser.error("--topics, --workers, --shards and --sweeps must be at least 1")
    given.shown = without_paths(arguments)
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    if given.child:
        child(given)
        return
    needed_ray()
    if given.corpus:
        need_files(given.data, given.corpus)
    times: list[list[str]] = []
    sizes: list[list[str]] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for name in [*given.corpus, *(["synthetic"] if given.synthetic else [])]:
            file = Path(folder) / f"{name}.corpus"
            own = (
                {"synthetic": given.synthetic, "corpus": []}
                if name == "synthetic"
                else {"synthetic": 0, "corpus": [name]}
            )
            run_child("make", given, file, **own)
            if given.limit is not None:
                found = limit_rows(given, file, given.topics[0])
                sizes_of = f"the corpus's file has {file.stat().st_size / 1e6:.0f} MB, a worker {given.limit / 1e6:.0f}"
                print(f"`python -m benchmarks.scale {given.shown}`\n\n{machine(needed_ray())}; {sizes_of}\n")
                print(table(["workers", "worker_memory given", "outcome"], found))
                return
            for n_topics in given.topics:
                sizes += memory_rows(given, name, file, n_topics)
                if given.rounds:
                    with scale.ray(num_cpus=sum(given.workers)):
                        times += timed_rows(given, name, load_corpus(file), n_topics)
    print(f"`python -m benchmarks.scale {given.shown}`\n\n{machine(needed_ray())}\n")
    if times:
        head = ["corpus", "K", "chain", "s per sweep", "ns per token", "over threads"]
        head += ["MB that travel per sweep", "by the formula", "entries in use", "there may be"]
        print(table(head, times), end="\n\n")
    head = ["corpus", "K", "workers", "largest worker, MB", "estimated", "driver, MB", "estimated"]
    print(table(head, sizes))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

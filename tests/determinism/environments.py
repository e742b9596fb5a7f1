"""The table: the digests of all cases in many environments, each in a process of its own."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from tests.determinism.cases import cases

ROOT = Path(__file__).parents[2]


class Environment(NamedTuple):
    """What must not matter."""

    name: str
    n_jobs: int = 1
    blas: int = 1
    hash_seed: str = "0"
    malloc: tuple[tuple[str, str], ...] = ()

    def variables(self) -> dict[str, str]:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(self.blas))
        return threads | {"PYTHONHASHSEED": self.hash_seed} | dict(self.malloc)


ONE_ARENA = (("MALLOC_ARENA_MAX", "1"),)
FILLED = (("MALLOC_PERTURB_", "165"), ("MALLOC_ARENA_MAX", "4"))  # a number that is read before it is set shows
MAPPED = (("MALLOC_MMAP_THRESHOLD_", "4096"), ("MALLOC_TOP_PAD_", "4112"))  # arrays lie elsewhere


ENVIRONMENTS = [
    Environment("1 job, 1 BLAS thread, hash seed 0"),
    Environment("2 jobs", n_jobs=2),
    Environment("3 jobs", n_jobs=3),
    Environment("4 jobs", n_jobs=4),
    Environment("2 BLAS threads", blas=2),
    Environment("4 jobs, 2 BLAS threads", n_jobs=4, blas=2),
    Environment("hash seed 1", hash_seed="1"),
    Environment("random hash seed, 2 BLAS threads", blas=2, hash_seed="random"),
    Environment("1 malloc arena, 3 jobs", n_jobs=3, malloc=ONE_ARENA),
    Environment("memory filled, 2 jobs", n_jobs=2, malloc=FILLED),
    Environment("memory mapped, 2 jobs, 2 BLAS threads", n_jobs=2, blas=2, malloc=MAPPED),
]


def digest(value: Any) -> str:
    """A hash of the bits of arrays and numbers, in lists and dictionaries too."""
    import numpy as np

    found = hashlib.blake2b(digest_size=8)

    def add(part: Any) -> None:
        if isinstance(part, dict):
            for key, own in part.items():
                add(key)
                add(own)
        elif isinstance(part, list | tuple):
            found.update(f"{len(part)} of".encode())
            for own in part:
                add(own)
        else:
            array = np.asarray(part)
            found.update(f"{array.dtype} {array.shape}".encode())
            found.update(repr(part).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())

    add(value)
    return found.hexdigest()


def digests(n_jobs: int, only: tuple[str, ...] = ()) -> dict[str, str]:
    """In this process: the digest of every result of every case."""
    found = {}
    for name, case in cases().items():
        if not only or any(text in name for text in only):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found |= {f"{name}: {what}": digest(value) for what, value in case(n_jobs)}
    return found


def blas_threads() -> int:
    """On how many threads BLAS computes here."""
    import numpy  # noqa: F401  (brings BLAS)
    from threadpoolctl import threadpool_info

    return max((int(own["num_threads"]) for own in threadpool_info() if own["user_api"] == "blas"), default=1)


def run_in(environment: Environment, only: tuple[str, ...] = ()) -> dict[str, str]:
    """The same in a process of its own, in that environment."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "digests.json"
        args = [sys.executable, "-m", "tests.determinism", "--worker", str(out), "--jobs", str(environment.n_jobs)]
        args += ["--blas", str(environment.blas)]
        args += [part for text in only for part in ("--only", text)]
        subprocess.run(args, cwd=ROOT, env=os.environ | environment.variables(), check=True)
        return dict(json.loads(out.read_text()))


def compare(environments: list[Environment], only: tuple[str, ...] = ()) -> int:
    """Print the table; returns how many digests differ in any environment from those of the first."""
    first: dict[str, str] = {}
    different: set[str] = set()
    print(f"{'environment':40} {'digests':>8} {'differ':>8} {'seconds':>8}", flush=True)
    for environment in environments:
        started = time.perf_counter()
        found = run_in(environment, only)
        first = first or found
        own = {name for name in first.keys() | found.keys() if first.get(name) != found.get(name)}
        seconds = time.perf_counter() - started
        print(f"{environment.name:40} {len(found):8} {len(own):8} {seconds:8.0f}", flush=True)
        different |= own
    for name in sorted(different):
        print(f"differs: {name}")
    print(f"{len(different)} of {len(first)} digests differ in {len(environments)} environments.")
    return len(different)

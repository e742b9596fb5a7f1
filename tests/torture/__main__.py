"""Kill fits, resumes and saves of every model, at random moments and before file operations.

    python -m tests.torture --kills 300 --every 1

Each kill must leave the same bits after resuming, the old model or the new one, or a directory that the next fit takes
as empty. Exits with 1 if one does not.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.torture.kills import Killed

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="at random moments")
    parser.add_argument("--every", type=int, default=1, help="kill before every so many-th file operation; 0: at none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="*", help="kinds of models (default: all)")
    parser.add_argument(
        "--reading", type=float, default=5.0, help="seconds of reading during saves, for each of 3 kinds"
    )
    parser.add_argument("--dir", type=Path, help="where directories are made (default: the system's temporary folder)")
    options = parser.parse_args()
    from tests.torture.cases import CASES
    from tests.torture.kills import OTHER, at_random, at_steps, prepare

    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=options.dir))
    prepared = [prepare(name, folder) for name in options.models or CASES]
    killed = show(f"{options.kills} kills with seed {options.seed}", at_random(prepared, options.kills, options.seed))
    if options.every:
        killed += show(f"kills before every {options.every}. file operation", at_steps(prepared, options.every))
    mixed = read(folder, options.reading) if options.reading > 0 else 0
    wrong = mixed or any(each.outcome == OTHER for each in killed)
    if not wrong:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


def show(title: str, kills: "Iterator[Killed]") -> "list[Killed]":
    """Tell what is wrong at once, and at the end how often kills of each stage of each model ended how."""
    from tests.torture.kills import OTHER, OUTCOMES

    begun = time.perf_counter()
    killed = []
    for each in kills:
        killed.append(each)
        if each.outcome == OTHER:
            print(f"{each.model}, {each.stage}, {each.moment}: {each.about}", flush=True)
    tally = Counter((each.model, each.stage, each.outcome) for each in killed)
    print(f"{title}\n{'model':<18}{'stage':<8}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES))
    for model, stage in dict.fromkeys((each.model, each.stage) for each in killed):
        row = [tally[model, stage, outcome] for outcome in OUTCOMES]
        print(f"{model:<18}{stage:<8}" + "".join(f"{count or '.':>11}" for count in row))
    totals = [sum(each.outcome == outcome for each in killed) for outcome in OUTCOMES]
    print(f"{'all':<26}" + "".join(f"{count:>11}" for count in totals))
    print(f"{len(killed)} kills in {time.perf_counter() - begun:.0f} s\n", flush=True)
    return killed


def read(folder: Path, seconds: float) -> int:
    from tests.torture.readers import read_during_saves

    mixed = 0
    for name in ("LDA", "LabeledLDA", "HMM"):
        found = read_during_saves(name, folder / f"read {name}", seconds)
        print(f"{name}, read during saves: " + ", ".join(f"{count} {what}" for what, count in found.items()))
        mixed += found["mixed"]
    return mixed


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):  # forked children have no threads
        os.execve(sys.executable, [sys.executable, "-m", "tests.torture", *sys.argv[1:]], {**os.environ, **ONE_THREAD})
    main()

"""``python -m tests.fuzz --cases 100000``, or ``--target mtx --seed 123`` for one case again."""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.harness import LIMIT_MB, LIMIT_SECONDS, run, table, targets, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="inputs over all targets")
    parser.add_argument("--target", action="append", help="this target alone (may be repeated)")
    parser.add_argument("--seed", type=int, help="run one case of one target in this process, and show what happens")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first case of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="child processes at a time")
    chosen = parser.parse_args()
    known = targets()
    names = chosen.target or sorted(known)
    unknown = set(names) - set(known)
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(known)}")
    if chosen.seed is not None:
        return again(names[0], chosen.seed)
    started = time.monotonic()
    tallies = run({name: known[name] for name in names}, chosen.cases, jobs=chosen.jobs, first_seed=chosen.first_seed)
    print(f"limits: {LIMIT_MB} MB above the start of a child, {LIMIT_SECONDS} s of processor time per case")
    print(table(tallies))
    print(f"{sum(tally.cases for tally in tallies.values())} cases in {time.monotonic() - started:.0f} s")
    for tally in tallies.values():
        for failure in tally.failures:
            print(failure)
    return int(any(tally.failed for tally in tallies.values()))


def again(name: str, seed: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-{seed}-"))
    module = targets()[name]
    write(name, module, seed, folder)
    print(f"the input is in {folder}", flush=True)
    try:
        print(module.attempt(folder))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

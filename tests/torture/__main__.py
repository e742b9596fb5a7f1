"""Kill fits, resumes and saves of every model at random moments: ``python -m tests.torture --kills 300``.

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
from pathlib import Path

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="*", help="kinds of models (default: all)")
    parser.add_argument(
        "--reading", type=float, default=5.0, help="seconds of reading during saves, for each of 3 kinds"
    )
    parser.add_argument("--dir", type=Path, help="where directories are made (default: the system's temporary folder)")
    options = parser.parse_args()
    from tests.torture.cases import CASES
    from tests.torture.kills import OTHER, OUTCOMES, STAGES, torture
    from tests.torture.readers import read_during_saves

    begun = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=options.dir))
    names = options.models or list(CASES)
    killed = torture(options.kills, options.seed, folder, print, names)
    tally = Counter((each.model, each.stage, each.outcome) for each in killed)
    print(f"{'model':<18}{'stage':<8}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES))
    for name in names:
        for stage in STAGES:
            row = [tally[name, stage, outcome] for outcome in OUTCOMES]
            if any(row):
                print(f"{name:<18}{stage:<8}" + "".join(f"{count or '.':>11}" for count in row))
    totals = [sum(each.outcome == outcome for each in killed) for outcome in OUTCOMES]
    print(f"{'all':<26}" + "".join(f"{count:>11}" for count in totals))
    taken = time.perf_counter() - begun
    print(f"{len(killed)} kills with seed {options.seed} in {taken:.0f} s, preparation included.")
    mixed = 0
    if options.reading > 0:
        for name in ("LDA", "LabeledLDA", "HMM"):
            found = read_during_saves(name, folder / f"read {name}", options.reading)
            print(f"{name}, read during saves: " + ", ".join(f"{count} {what}" for what, count in found.items()))
            mixed += found["mixed"]
    wrong = mixed or any(each.outcome == OTHER for each in killed)
    if not wrong:
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):  # forked children have no threads
        os.execve(sys.executable, [sys.executable, "-m", "tests.torture", *sys.argv[1:]], {**os.environ, **ONE_THREAD})
    main()

"""The table of digests: every model, sampler and method, in many environments, each in a process of its own.

``python -m tests.determinism`` (or ``make determinism``) prints how many digests differ from those of the first
environment, and ends with 1 if any does. A digest is a hash of the bits of one result: what a fit publishes, what a
model predicts, a score, a fingerprint. ``--only TEXT`` takes the cases whose name has the text.
"""

import argparse
import json
import sys
from pathlib import Path

from tests.determinism.environments import ENVIRONMENTS, blas_threads, compare, digests


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="Cases whose name has this text.")
    parser.add_argument("--jobs", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--blas", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    only = tuple(given.only)
    if given.worker is not None:
        if (threads := blas_threads()) != given.blas:
            print(f"this machine has {threads} and not {given.blas} threads of BLAS", file=sys.stderr)
        given.worker.write_text(json.dumps(digests(given.jobs, only)))
        return 0
    return 1 if compare(ENVIRONMENTS, only) else 0


if __name__ == "__main__":
    sys.exit(main())

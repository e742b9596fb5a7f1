"""What benchmarks share: optional rivals, timings taken in turn, tables."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import ModuleType

import numpy as np

import topicloom
from topicloom.errors import MissingExtraError


def rival(name: str) -> ModuleType:
    """Another tool's package."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"this benchmark compares with {name}, which is not installed; pip install 'topicloom[bench]'."
        ) from error


def timed(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def in_turn(work: Sequence[Callable[[], object]], rounds: int) -> list[list[float]]:
    """Seconds of each piece of work, one list a piece.

    They take turns, and who goes first changes from round to round, so that a busy machine slows all of them alike.
    """
    seconds: list[list[float]] = [[] for _ in work]
    for turn in range(rounds):
        for i in range(len(work)):
            which = (i + turn) % len(work)
            seconds[which].append(timed(work[which]))
    return seconds


def import_seconds(statement: str, repeats: int = 5) -> float:
    """Median time of an import statement in a fresh interpreter, without the interpreter's own start."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True) for _ in range(repeats)]
    return float(np.median([float(run.stdout) for run in runs]))


def machine(*rivals: ModuleType) -> str:
    """Versions and cores, to head the output."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    tools = [f"topicloom {topicloom.__version__}", *(f"{tool.__name__} {tool.__version__}" for tool in rivals)]
    return f"{', '.join(tools)}, Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores."


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table, first column left, all others right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---", *["---:"] * (len(header) - 1)]) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)

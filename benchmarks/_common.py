"""What benchmarks share: optional rivals, timings taken in turn, memory, tables and figures."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import topicloom
from topicloom.errors import InputError, MissingExtraError


def rival(name: str) -> ModuleType:
    """Another tool's package."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"this benchmark needs {name}, which is not installed; pip install 'topicloom[bench]' {name}."
        ) from error


def need(*names: str) -> None:
    """That packages are there: said before the first measurement, not after the last."""
    for name in names:
        rival(name)


def need_files(data: Path | None, names: Iterable[str], file: str = "docword.npz") -> None:
    """That corpora's folders are there, with a file in each; the other thing to be said first."""
    for name in names:
        if data is None or not (data / name / file).is_file():
            raise InputError(f"--data {data}: there is no {file} in a folder {name}.")


CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""The time that passes, or, where a machine is shared, the time that this process gets, all its threads together."""


def timed(do: Callable[[], object], clock: str = "wall") -> float:
    now = CLOCKS[clock]
    started = now()
    do()
    return now() - started


def in_turn(work: Sequence[Callable[[], object]], rounds: int, clock: str = "wall") -> list[list[float]]:
    """Seconds of each piece of work, one list a piece.

    They take turns, and who goes first changes from round to round, so that a busy machine slows all of them alike.
    """
    seconds: list[list[float]] = [[] for _ in work]
    for turn in range(rounds):
        for i in range(len(work)):
            which = (i + turn) % len(work)
            seconds[which].append(timed(work[which], clock))
    return seconds


def stolen() -> float | None:
    """Seconds of processor time, since the start, that this machine wanted and its host gave to others; if it is told.

    Where it grows between two looks the cores were not ours alone, and threads that work at once were slowed most.
    """
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
    except OSError:
        return None
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def resident(field: str = "VmRSS", process: int = 0) -> int:
    """Bytes of memory of a process, or of this one: VmRSS now, VmHWM at most, RssAnon without pages of files."""
    for line in Path(f"/proc/{process or 'self'}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise InputError(f"/proc/self/status has no {field}; memory is measured on Linux alone.")


def forget_peak() -> None:
    """Let VmHWM start anew from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def import_seconds(statement: str, repeats: int = 5) -> float:
    """Median time of an import statement in a fresh interpreter, without the interpreter's own start."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True) for _ in range(repeats)]
    return float(np.median([float(run.stdout) for run in runs]))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def version_of(tool: ModuleType) -> str:
    return str(getattr(tool, "__version__", "")) or version(tool.__name__)


def machine(*rivals: ModuleType) -> str:
    """Versions and cores, to head the output."""
    tools = [f"topicloom {topicloom.__version__}", *(f"{tool.__name__} {version_of(tool)}" for tool in rivals)]
    return f"{', '.join(tools)}, Python {platform.python_version()}, NumPy {np.__version__}, {cores()} cores."


def without_paths(arguments: Sequence[str]) -> str:
    """A command's arguments as anyone would give them: names in place of paths, and no ``--out``."""
    shown, before = [], ""
    names = {"--data": "DATA", "--mallet": "bin/mallet", "--warplda": "WARPLDA"}
    for part in arguments:
        if "--out" not in (part, before):
            shown.append(names.get(before, part))
        before = part
    return " ".join(shown)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table, first column left, all others right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---", *["---:"] * (len(header) - 1)]) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def figure(panels: tuple[int, int], size: tuple[float, float] = (4.6, 3.4)) -> tuple[Any, Any]:
    """A matplotlib figure with rows × columns of axes, drawn without a screen."""
    matplotlib = rival("matplotlib")
    matplotlib.use("Agg")
    rows, columns = panels
    pyplot = import_module("matplotlib.pyplot")
    whole = (size[0] * columns, size[1] * rows)
    drawn, axes = pyplot.subplots(rows, columns, figsize=whole, squeeze=False, layout="constrained")
    return drawn, axes


def save_figure(drawn: Any, path: Path) -> None:
    drawn.savefig(path, dpi=120, metadata={"Software": None})
    import_module("matplotlib.pyplot").close(drawn)

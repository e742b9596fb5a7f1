"""Cases in child processes with limits of memory and time. A child that dies or hangs costs one case, no more."""

import importlib
import mmap
import os
import pkgutil
import random
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import tests.fuzz

LIMIT_MB = 512
LIMIT_SECONDS = 10.0
_CASES_PER_CHILD = 2000
_PATIENCE = 20  # a case may wait for a processor this many times as long as it may use one
_BOARD = struct.Struct("qdd4q")  # seed, start and processor time of the running case; clean, read, other, memory


@dataclass
class Tally:
    """What became of a target's cases."""

    clean: int = 0
    read: int = 0
    other: int = 0
    crash: int = 0
    hang: int = 0
    memory: int = 0
    seconds: float = 0.0  # of processes, not of the clock
    failures: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.clean + self.read + self.failed

    @property
    def failed(self) -> int:
        return self.other + self.crash + self.hang + self.memory


@dataclass
class _Child:
    target: str
    seeds: range
    pid: int
    board: mmap.mmap
    log: Path
    folder: Path
    started: float


def targets() -> dict[str, ModuleType]:
    """Modules of the package that write and attempt."""
    found = {}
    for info in pkgutil.iter_modules(tests.fuzz.__path__):
        if info.name != "__main__" and not info.name.startswith("test_"):
            module = importlib.import_module(f"tests.fuzz.{info.name}")
            if hasattr(module, "attempt"):
                found[info.name] = module
    return found


def run(
    modules: Mapping[str, ModuleType], cases: int, *, jobs: int = 1, first_seed: int = 0, seconds: float = LIMIT_SECONDS
) -> dict[str, Tally]:
    """Split the cases over the targets and run them in ``jobs`` children at a time."""
    weights = {name: float(getattr(module, "SHARE", 1.0)) for name, module in modules.items()}
    tallies = {name: Tally() for name in modules}
    waiting: list[tuple[str, range]] = []
    for name, module in modules.items():
        getattr(module, "prepare", lambda: None)()
        last = first_seed + max(1, round(cases * weights[name] / sum(weights.values())))
        if hasattr(module, "n_cases"):
            last = min(last, module.n_cases())
        starts = range(first_seed, last, _CASES_PER_CHILD)
        waiting += [(name, range(start, min(start + _CASES_PER_CHILD, last))) for start in starts]
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    running: list[_Child] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as base:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, seeds = waiting.pop()
                running.append(_start(name, modules[name], seeds, Path(base)))
            time.sleep(0.005)
            for child in list(running):
                if rest := _look_at(child, tallies[child.target], running, seconds):
                    waiting.append((child.target, rest))
    return tallies


def _start(name: str, module: ModuleType, seeds: range, base: Path) -> _Child:
    board = mmap.mmap(-1, _BOARD.size)
    _BOARD.pack_into(board, 0, seeds.start, time.monotonic(), 0.0, 0, 0, 0, 0)
    folder = Path(tempfile.mkdtemp(dir=base))
    log = folder.with_name(folder.name + ".log")
    log.touch()
    started, pid = time.monotonic(), os.fork()
    if pid == 0:
        try:
            _work(name, module, seeds, board, folder, log)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(3)
    return _Child(name, seeds, pid, board, log, folder, started)


def _work(name: str, module: ModuleType, seeds: range, board: mmap.mmap, folder: Path, log: Path) -> None:
    """The child: one case after the other, with the board always up to date."""
    _limit_memory()
    counts = {"clean": 0, "read": 0, "other": 0, "memory": 0}
    inputs = folder / "in"
    for seed in seeds:
        _BOARD.pack_into(board, 0, seed, time.monotonic(), time.process_time(), *counts.values())
        inputs.mkdir()
        write(name, module, seed, inputs)
        try:
            outcome = module.attempt(inputs)
        except MemoryError:
            outcome = "memory"
            _note(log, f"memory: --target {name} --seed {seed}")
        except Exception as error:
            outcome = "other"
            _note(log, f"other: --target {name} --seed {seed}: {type(error).__name__}: {str(error)[:300]}")
        counts[outcome] += 1
        shutil.rmtree(inputs)
    _BOARD.pack_into(board, 0, seeds.stop, 0.0, 0.0, *counts.values())


def write(name: str, module: ModuleType, seed: int, folder: Path) -> None:
    """The input of one case."""
    if hasattr(module, "write_case"):
        module.write_case(seed, folder)
    else:
        module.write(random.Random(f"{name}:{seed}"), folder)


def _limit_memory() -> None:
    with open("/proc/self/statm", "rb") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (LIMIT_MB << 20), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _note(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text.replace("\n", " ") + "\n")


def _look_at(child: _Child, tally: Tally, running: list[_Child], seconds: float) -> range | None:
    """End a child that hangs; of one that has ended, take the counts and return the seeds it did not come to."""
    _, began, used, *_ = _BOARD.unpack_from(child.board, 0)
    pid, status = os.waitpid(child.pid, os.WNOHANG)
    waited = time.monotonic() - began
    hangs = pid == 0 and began > 0 and waited > seconds
    if hangs and waited < _PATIENCE * seconds:  # on a busy machine it may not have had its turn yet
        hangs = _processor_time(child.pid) - used > seconds
    if pid == 0 and not hangs:
        return None
    if hangs:
        os.kill(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
    seed, _, _, *counts = _BOARD.unpack_from(child.board, 0)
    running.remove(child)
    for name, count in zip(("clean", "read", "other", "memory"), counts, strict=True):
        setattr(tally, name, getattr(tally, name) + count)
    tally.seconds += time.monotonic() - child.started
    tally.failures += child.log.read_text(encoding="utf-8").splitlines()
    shutil.rmtree(child.folder)
    child.board.close()
    if seed >= child.seeds.stop and status == 0:
        return None
    what = "hang" if hangs else "crash"
    setattr(tally, what, getattr(tally, what) + 1)
    code = os.waitstatus_to_exitcode(status)
    tally.failures.append(f"{what}: --target {child.target} --seed {seed} (exit code {code})")
    return range(seed + 1, child.seeds.stop) if seed + 1 < child.seeds.stop else None


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(tallies: Mapping[str, Tally]) -> str:
    names = ("cases", "clean", "read", "other", "crash", "hang", "memory")
    total = Tally()
    for tally in tallies.values():
        for name in (*names[1:], "seconds"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
    lines = [f"{'target':<14}" + "".join(f"{name:>9}" for name in (*names, "seconds"))]
    for target, tally in (*sorted(tallies.items()), ("all", total)):
        numbers = "".join(f"{getattr(tally, name):>9}" for name in names)
        lines.append(f"{target:<14}{numbers}{tally.seconds:>9.1f}")
    return "\n".join(lines)

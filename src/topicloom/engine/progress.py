"""What long work shows while it runs: bars in a terminal and in a notebook, otherwise a line every few seconds.

All of it goes to standard error or, in a notebook, below the cell. Notebooks show HTML that is replaced in place, which
needs no widgets and stays in the saved notebook as it was last.
"""

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from topicloom.corpus.corpus import Corpus
from topicloom.engine.run import Callback, Chain, Plan

_LINE_SECONDS = 5.0  # between lines where there is no bar
_BAR_SECONDS = 0.25  # between changes of a bar in a notebook
_TEXT = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;font-variant-numeric:tabular-nums"


def announce(text: str) -> None:
    """A line on standard error, or below a notebook's cell, before and after long work."""
    if _in_notebook():
        displays: Any = import_module("IPython.display")
        page = f'<div style="{_TEXT};white-space:pre-line">{html.escape(text)}</div>'
        displays.display({"text/html": page, "text/plain": text}, raw=True)
        return
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


@contextmanager
def progress(show: bool, corpus: Corpus, chains: Sequence[Chain], plan: Plan) -> Iterator["Watch"]:
    """Show how far chains are, or do not. What is yielded has the callbacks that must be called after sweeps."""
    watch = (_watch_for_here() if show else Watch)(corpus.n_tokens, chains, plan.max_iter)
    watch.open()
    try:
        yield watch
    finally:
        watch.close()


class Watch:
    """How far chains are. An instance is a callback, which threads may call. This class shows nothing, others do."""

    hidden = True

    def __init__(self, n_tokens: int, chains: Sequence[Chain], total: int) -> None:
        self.n_tokens, self.total, self.more = max(n_tokens, 1), total, ""
        self.first = {chain.index: chain.sweep for chain in chains}
        self.sweep = dict(self.first)
        self.ended: set[int] = set()  # chains that have converged before the last sweep
        self.log_joint: dict[int, float] = {}
        self.last = chains[0].index if chains else 0  # the chain that was heard of last
        self.begun = time.monotonic()
        self._paced: tuple[float, int] | None = None  # when sweeps were first heard of, and how many were made by then
        self._lock = threading.Lock()

    @property
    def callbacks(self) -> Sequence[Callback]:
        """What is to be called after sweeps."""
        return () if self.hidden else (self,)

    def __call__(self, chain: Chain) -> None:
        """Note how far a chain is."""
        with self._lock:
            self.last, self.sweep[chain.index] = chain.index, chain.sweep
            if chain.converged:
                self.ended.add(chain.index)
            if chain.trace.log_joint:
                self.log_joint[chain.index] = chain.trace.log_joint[-1] / self.n_tokens
            if self._paced is None:
                self._paced = time.monotonic(), sum(self.sweep.values())
            self.show()

    def extend(self, total: int, note: str = "") -> None:
        """Give chains another number of sweeps than was planned, and say why or how they stand."""
        with self._lock:
            self.total, self.more = total, note
            self.ended.clear()
            self.show()

    def open(self) -> None:
        """Before the first sweep."""

    def show(self) -> None:
        """After some sweeps, or when the total has changed."""

    def close(self) -> None:
        """After the last sweep, or whatever ended the run."""

    # -- in words ------------------------------------------------------------------------------------------------

    def name(self, index: int) -> str:
        return "sweeps" if len(self.sweep) == 1 else f"chain {index}"

    def note(self, index: int) -> str:
        """The joint log probability of a chain as it was last recorded."""
        value = self.log_joint.get(index)
        return "" if value is None else f"log joint/token {value:.4f}"

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def left(self) -> float | None:
        """Seconds until all chains are done, at the pace so far; None before it is known.

        The first sweep of all is left out: kernels may be compiled for it.
        """
        since, before = self._paced or (0.0, 0)
        made = sum(self.sweep.values()) - before
        to_do = sum(max(self.total - sweep, 0) for index, sweep in self.sweep.items() if index not in self.ended)
        return to_do * (time.monotonic() - since) / made if self._paced and made > 0 else None

    def line(self) -> str:
        """Where the chain that was heard of last is, and the time left for all."""
        index, left = self.last, self.left()
        sweep = f"sweep {self.sweep[index]:,} of {self.total:,}"
        place = sweep if len(self.sweep) == 1 else f"chain {index}: {sweep}"
        parts = (place, self.note(index), self.more, "" if left is None else f"{duration(left)} left")
        return ", ".join(part for part in parts if part)

    def end(self) -> str:
        """What was done."""
        done = sorted(set(self.sweep.values()))
        sweeps = f"{done[0]:,}" if len(done) == 1 else f"{done[0]:,} to {done[-1]:,}"
        where = "" if len(self.sweep) == 1 else f" in each of {len(self.sweep)} chains"
        best = max(self.log_joint, key=lambda index: self.log_joint[index], default=-1)
        parts = (
            f"{sweeps} of {self.total:,} sweeps{where} in {duration(self.seconds())}", self.note(best), self.more,
        )  # fmt: skip
        return ", ".join(part for part in parts if part)


class Lines(Watch):
    """A line every few seconds and one at the end, for log files and whatever is not a terminal."""

    hidden = False

    def open(self) -> None:
        self._due = self.begun + _LINE_SECONDS

    def show(self) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _LINE_SECONDS
            _write(self.line())

    def close(self) -> None:
        _write(self.end())


class Bars(Watch):
    """A bar per chain in a terminal."""

    hidden = False

    def open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._tasks = {
            index: self._bar.add_task(self.name(index), total=self.total, completed=sweep, note="starting …")
            for index, sweep in self.sweep.items()
        }
        self._bar.start()

    def show(self) -> None:
        for index, task in self._tasks.items():
            if self.sweep[index] > self.first[index]:
                note = ", ".join(part for part in (self.note(index), self.more) if part)
                self._bar.update(task, total=self.total, completed=self.sweep[index], note=note)
            else:
                self._bar.update(task, total=self.total)

    def close(self) -> None:
        self._bar.stop()


class NotebookBars(Watch):
    """A bar per chain below a notebook's cell."""

    hidden = False

    def open(self) -> None:
        displays: Any = import_module("IPython.display")
        self._due = 0.0
        self._handle = displays.display(self._content(False), raw=True, display_id=True)

    def show(self) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _BAR_SECONDS
            self._handle.update(self._content(False), raw=True)

    def close(self) -> None:
        self._handle.update(self._content(True), raw=True)

    def _content(self, ended: bool) -> dict[str, str]:
        text = self.end() if ended else self.line() if self.sweep != self.first else "starting …"
        rows = "".join(
            f'<div style="display:flex;gap:.75em;align-items:center"><span style="min-width:4.5em">{self.name(index)}'
            f'</span><progress value="{sweep}" max="{max(self.total, 1)}" style="width:14em"></progress><span>'
            f"{sweep:,} of {self.total:,}</span><span>{self.note(index)}</span></div>"
            for index, sweep in self.sweep.items()
        )
        page = f'<div style="{_TEXT}">{rows}<div style="opacity:.75">{html.escape(text)}</div></div>'
        return {"text/html": page, "text/plain": text}


def _watch_for_here() -> Callable[[int, Sequence[Chain], int], Watch]:
    if _in_notebook():
        return NotebookBars
    from rich.console import Console

    return Bars if Console(stderr=True).is_interactive else Lines


def _in_notebook() -> bool:
    """Whether a kernel runs this, whose front end shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _write(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time in words, in the two largest units that matter."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"

"""Threads that exchange tasks when a core is slow. The kernels' side, and why, is in ``kernels.pace``."""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray
from topicloom.inference.parallel import private
from topicloom.kernels.pace import DONE, FROM, LINE, MET, PER, REACHED

_LEAST = 1 << 17  # tokens of a task: with fewer, what a meeting could save is less than it takes


class Watch(NamedTuple):
    """What kernels take: how far all tasks are, if that is told at all, and which one is theirs."""

    pace: FloatArray  # [n_tasks + 1, LINE], or no rows
    task: int


ALONE = Watch(np.zeros((0, LINE)), 0)


class Pace:
    """How far the tasks of a round are, for as many threads as tasks, and who has which."""

    def __init__(self, n_tasks: int, n_jobs: int, n_tokens: int) -> None:
        told = 1 < n_tasks <= n_jobs and n_tokens >= _LEAST * n_tasks**2
        self._pace = private(np.zeros((n_tasks + 1, LINE))) if told else ALONE.pace

    def begin(self, task: int, first: int, stop: int) -> Watch:
        """A task is begun, with tokens from the first on; those of other words are among them."""
        if not len(self._pace):
            return ALONE
        row = self._pace[task]
        row[[DONE, MET]] = 0.0
        row[[FROM, PER, REACHED]] = first, 1.0 / max(stop - first, 1), np.inf
        return Watch(self._pace, task)

    def reached(self, task: int, stop: int) -> int:
        """The document at which a task has stopped."""
        if not len(self._pace):
            return stop
        row = self._pace[task]
        reached, row[REACHED] = row[REACHED], np.inf
        if reached >= stop:
            row[DONE] = 1.0
            return stop
        return int(reached)

    def exchange(self, has: list[int]) -> list[int]:
        """Given the task of each thread: the quicker threads get the tasks that are further behind."""
        rows = self._pace[:-1]
        quickest = sorted(range(len(has)), key=lambda thread: rows[has[thread], MET] - rows[has[thread], DONE])
        behind = np.argsort(rows[:, DONE], kind="stable").tolist()
        rows[:, MET] = rows[:, DONE]
        self._pace[-1, 0] = 0.0
        return [task for _, task in sorted(zip(quickest, behind, strict=True))]

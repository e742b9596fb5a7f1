"""What a tool does on one corpus: its likelihood against seconds, and races of several tools in turn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks import _tools
from benchmarks._common import timed
from benchmarks._tools import SEED, TOMOTOPY, Tool, likelihood, start, warm_up
from topicloom.corpus import Corpus
from topicloom.errors import InputError


class Point(NamedTuple):
    sweep: int
    seconds: float
    likelihood: float


@dataclass
class Curve:
    """What a tool did: seconds of each sweep, and the likelihood along the way."""

    name: str
    start: float = 0.0  # seconds that the first topics took
    seconds: list[float] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    per_sweep: tuple[float, float] | None = None  # median and least, where it is not from ``seconds``
    peak: int | None = None
    first_call: float | None = None

    @property
    def rates(self) -> tuple[float, float]:
        return self.per_sweep or (float(np.median(self.seconds)), min(self.seconds))

    @property
    def total(self) -> float:
        return self.points[-1].seconds

    def seconds_to(self, goal: float) -> float | None:
        """When the likelihood first reached the goal, on straight lines between points; None if it did not."""
        for before, after in zip(self.points, self.points[1:], strict=False):
            if after.likelihood >= goal:
                share = (goal - before.likelihood) / (after.likelihood - before.likelihood)
                return before.seconds + max(share, 0.0) * (after.seconds - before.seconds)
        return None


# -- the race --------------------------------------------------------------------------------------------------------


class Race:
    """Tools on one corpus with one number of topics, in turn."""

    def __init__(
        self, corpus: Corpus, n_topics: int, names: Sequence[str], clock: str = "wall", seed: int = SEED
    ) -> None:
        self._corpus, self._n_topics, self._clock = corpus, n_topics, clock
        self.curves = {name: Curve(name, first_call=warm_up(name, corpus, n_topics)) for name in names}
        self._tools: dict[str, Tool] = {}
        for name in names:

            def begin(name: str = name) -> None:
                self._tools[name] = start(name, corpus, n_topics, seed=seed)

            taken = timed(begin, clock)
            self.curves[name].start = 0.0 if name == TOMOTOPY else taken
        rivals = self._tools.get(TOMOTOPY)
        if isinstance(rivals, _tools.Tomotopy) and not np.array_equal(rivals.words(corpus), corpus.words):
            raise InputError("tomotopy has put the words into another order; their topics cannot be compared.")
        for name in names:
            self._look(name)

    def _look(self, name: str) -> None:
        curve = self.curves[name]
        reached = likelihood(self._corpus, self._tools[name].topics(), self._n_topics)
        curve.points.append(Point(len(curve.seconds), curve.start + sum(curve.seconds), reached))

    def _sweep(self, name: str, look: bool) -> None:
        self.curves[name].seconds.append(timed(self._tools[name].sweep, self._clock))
        if look:
            self._look(name)

    def run(self, sweeps: int, every: int, cap: float) -> int:
        """Up to so many sweeps of every tool, or seconds of all together; returns how many sweeps were done."""
        names = list(self.curves)
        for sweep in range(1, sweeps + 1):
            spent = sum(sum(curve.seconds) for curve in self.curves.values())
            # The sweep is the last one if one more after it would be too much.
            last = sweep == sweeps or (sweep > 1 and spent * (sweep + 1) / (sweep - 1) > cap)
            for i in range(len(names)):  # who goes first changes
                self._sweep(names[(i + sweep) % len(names)], look=last or sweep % every == 0 or sweep < 4)
            if last:
                return sweep
        return sweeps

    def catch_up(self, goal: float, seconds: float, every: int) -> None:
        """Let those that have not reached the goal go on, in turn, until they have or the seconds are used up."""
        late = [name for name, curve in self.curves.items() if curve.seconds_to(goal) is None]
        while late:
            for name in late:
                self._sweep(name, look=len(self.curves[name].seconds) % every == 0)
            late = [
                name
                for name in late
                if self.curves[name].seconds_to(goal) is None and sum(self.curves[name].seconds) < seconds
            ]

    def catch_up_by_sweeps(self, goal: float, most: int, every: int, names: Sequence[str]) -> None:
        """The same for some of them, until each has made so many sweeps at most."""
        late = list(names)
        while late:
            late = [
                name
                for name in late
                if self.curves[name].seconds_to(goal) is None and len(self.curves[name].seconds) < most
            ]
            for name in late:
                done = len(self.curves[name].seconds) + 1
                self._sweep(name, look=done % every == 0 or done == most)

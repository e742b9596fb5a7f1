"""Workers as Ray actors."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from topicloom.errors import InputError, MemoryLimitError
from topicloom.lda.memory_on_workers import text
from topicloom.scale.cluster import Ref, StoreFullError, WorkersLostError
from topicloom.scale.tasks import needed_ray
from topicloom.scale.worker import Worker

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_PATIENCE = 60.0  # seconds for actors to start, after which those that have are enough


class RayCluster:
    """The workers of a Ray cluster that has been started or joined: at most one per CPU."""

    def __init__(self, n_workers: int | None = None, memory: int | None = None) -> None:
        self._ray = needed_ray()
        self._wanted, self._memory = n_workers, memory
        self._actors: list[Any] = []
        self._methods: dict[tuple[int, str], Any] = {}

    @property
    def n_workers(self) -> int:
        """As many as there are CPUs, with memory for each on its machine."""
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cpus = [int(one.get("CPU", 0)) for one in machines]
        n = sum(cpus) or 1
        if self._memory is not None:
            room = [one.get("memory", 0.0) for one in machines]
            n = sum(min(own, int(free // self._memory)) for own, free in zip(cpus, room, strict=True))
            if n == 0:
                raise MemoryLimitError(
                    f"worker_memory={self._memory} is {text(self._memory)}, and no machine of the cluster with a CPU "
                    f"has so much for Ray's workers; the largest has {text(int(max(room, default=0)))}. Ask for less, "
                    "or give ray start --memory more."
                )
        return n if self._wanted is None else min(self._wanted, n)

    def start(self, n_workers: int, *args: Any) -> int:
        ray, options = self._ray, {} if self._memory is None else {"memory": self._memory}
        with _losses(ray):
            kept = self._alive(self._actors)
            n, shared = min(n_workers, self.n_workers), [ray.put(arg) for arg in args]
            actor = ray.remote(Worker).options(num_cpus=1, scheduling_strategy="SPREAD", **options)
            started = [*kept, *(actor.remote(*shared) for _ in range(n - len(kept)))]
            there = self._alive(started)
        if not there:
            raise InputError(
                f"Ray started none of {n} workers within {_PATIENCE:.0f} s: a CPU of the cluster is needed for each"
                + ("." if self._memory is None else f", and {self._memory / 1e9:.2f} GB of memory.")
            )
        for one in {*self._actors, *started}.difference(there):
            ray.kill(one)
        self._actors, self._methods = there, {}
        return len(there)

    def _alive(self, started: list[Any]) -> list[Any]:
        """The actors that answer."""
        answers = {one.process.remote(): one for one in started}
        until, waiting, there = time.monotonic() + _PATIENCE, list(answers), []
        while waiting and (left := until - time.monotonic()) > 0:
            ready, waiting = self._ray.wait(waiting, num_returns=1, timeout=left)
            for ref in ready:
                try:
                    self._ray.get(ref)
                    there.append(answers[ref])
                except self._ray.exceptions.RayActorError:
                    continue
        return [one for one in started if one in there]

    def call(self, worker: int, method: str, *args: Any, returns: int = 1) -> Any:
        key = worker, method
        if key not in self._methods:
            self._methods[key] = getattr(self._actors[worker], method).options(num_returns=returns)
        return self._methods[key].remote(*args)

    def get(self, refs: list[Ref]) -> list[Any]:
        known = [i for i, ref in enumerate(refs) if isinstance(ref, self._ray.ObjectRef)]
        with _losses(self._ray):
            found = self._ray.get([refs[i] for i in known])
        out = list(refs)
        for i, value in zip(known, found, strict=True):
            out[i] = value
        return out

    def wait(self, refs: list[Ref]) -> None:
        with _losses(self._ray):
            self._ray.get(refs)  # arrays are not copied; what has been lost is noticed

    def put(self, value: Any) -> Ref:
        with _losses(self._ray):
            return self._ray.put(value)

    def stop(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors, self._methods = [], {}


@contextmanager
def _losses(ray: Any) -> Iterator[None]:
    """What Ray raises where a worker, a node or an object is gone, as ``WorkersLostError``; all else as it is."""
    failures = ray.exceptions
    gone = (
        failures.RayActorError, failures.ObjectLostError, failures.WorkerCrashedError, failures.NodeDiedError,
        failures.OutOfMemoryError, failures.RaySystemError, failures.GetTimeoutError,
    )  # fmt: skip
    full = failures.ObjectStoreFullError, failures.OutOfDiskError
    try:
        yield
    except full as error:
        raise StoreFullError(_said(error)) from None
    except gone as error:
        raise WorkersLostError(_said(error)) from None
    except failures.RayTaskError as error:
        if isinstance(error.cause, full):
            raise StoreFullError(_said(error.cause)) from None
        if isinstance(error.cause, gone):  # of a call that was to have its result
            raise WorkersLostError(_said(error)) from None
        if isinstance(error.cause, Exception):
            raise error.cause from None
        raise


def _said(error: BaseException) -> str:
    """What is known of an end, in one line without colours."""
    cause = getattr(error, "cause", None) or error
    text = " ".join(_COLOURS.sub("", str(cause)).split())
    at = text.find("The actor died because")
    return f"{type(cause).__name__}: {text[max(at, 0) :][:200]}"

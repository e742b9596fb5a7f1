"""An executor in this process that treats tasks as a cluster may: sent, repeated, and done in any order."""

import pickle
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any

import numpy as np
from joblib.externals.loky.cloudpickle_wrapper import dumps

from topicloom.corpus._executors import using


class ShuffledTasks:
    """Some tasks at a time, in random order, each by a worker of its own; some are done twice, as if one had died."""

    def __init__(self, n_workers: int = 4, seed: int = 0) -> None:
        self.n_workers, self.n_done, self.sent = n_workers, 0, 0
        self._order = np.random.default_rng(seed)

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Generator[Any, None, None]:
        given, packed = iter(tasks), dumps(function)
        self.sent += 1
        while some := [pickle.dumps(task) for task in islice(given, self.n_workers)]:
            found: dict[int, Any] = {}
            for i in [*self._order.permutation(len(some)).tolist(), *self._order.permutation(len(some))[:1].tolist()]:
                with using(None):
                    found[i] = pickle.loads(pickle.dumps(pickle.loads(packed)(pickle.loads(some[i]))))
                self.n_done += 1
            yield from (found[i] for i in range(len(some)))

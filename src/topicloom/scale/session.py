"""The context within which work runs on Ray."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from topicloom.corpus import _executors
from topicloom.corpus._checks import check_whole
from topicloom.engine import places
from topicloom.errors import InputError
from topicloom.scale.actors import RayCluster
from topicloom.scale.place import Workers
from topicloom.scale.tasks import RayExecutor, needed_ray

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent anywhere
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # devices stay as they are when a task asks for none
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # of calls that nobody waits for any more
}


@contextmanager
def ray(
    address: str | None = None, *, n_workers: int | None = None, worker_memory: int | None = None, **options: Any
) -> Iterator[None]:
    """Run fits, transforms and conversions of files on a Ray cluster, with the same results as in this process.

    A fit needs ``n_shards`` of at least the number of workers, since each holds one shard of the documents or several.
    Corpora of any size come from files (``convert_corpus``), which all machines must see under the same path. Ray is
    installed by ``pip install 'topicloom[ray]'``.

    Parameters
    ----------
    address : str, default=None
        None starts Ray on this machine, unless this process has started or joined it before. "auto" joins the cluster
        that this machine is part of; other addresses are those of ``ray.init``.
    n_workers : int, default=None
        How many workers there are at most; None takes one for each CPU of the cluster.
    worker_memory : int, default=None
        Bytes that each worker may use, some 120 MB of libraries included. A fit that needs more, by
        ``topicloom.memory.estimate``, is refused before it starts (``MemoryLimitError``), and Ray puts workers where
        this much memory is free. None takes what there is.
    **options
        Options of ``ray.init``.

    Returns
    -------
    context manager
        Fits and other work within it run on the cluster.

    Raises
    ------
    MissingExtraError
        If Ray is not installed.
    InputError
        If the cluster cannot be started or joined.

    Examples
    --------
    >>> import topicloom
    >>> with topicloom.scale.ray(num_cpus=2):  # doctest: +SKIP
    ...     model = topicloom.LDA(100, n_shards=8).fit("news.corpus")
    """
    for name, value in (("n_workers", n_workers), ("worker_memory", worker_memory)):
        if value is not None:
            check_whole(name, value, 1)
    for name, setting in _SETTINGS.items():
        os.environ.setdefault(name, setting)
    module = needed_ray()
    with ExitStack() as stack:
        if not module.is_initialized():
            _start(module, address, options)
            stack.callback(module.shutdown)
        elif address not in (None, "auto") or options:
            raise InputError(
                "this process has started or joined Ray already; leave out the address and options of ray.init, or "
                "call ray.shutdown() first."
            )
        stack.enter_context(places.using(Workers(RayCluster(n_workers, worker_memory), worker_memory)))
        stack.enter_context(_executors.using(RayExecutor(n_workers)))
        yield


def _start(module: Any, address: str | None, options: dict[str, Any]) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    own = {"include_dashboard": False} if address is None else {}
    with warnings.catch_warnings():  # Ray opens files that it does not close
        warnings.simplefilter("ignore")
        try:
            module.init(address or "local", **{**quiet, **own, **options})
        except (ConnectionError, ValueError, RuntimeError, TypeError) as error:
            where = "on this machine" if address is None else f"at {address!r}"
            said = " ".join(str(error).split())[:300]
            raise InputError(f"Ray cannot be started or joined {where} ({type(error).__name__}: {said}).") from error

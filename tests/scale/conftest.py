"""Ray, started once for all tests that need it, on one process of several."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

SETTINGS = {
    # It is noticed soon that a node has gone away.
    "health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
    # What the object store has no room for does not go to the disk.
    "local_fs_capacity_threshold": 0.0,
}  # fmt: skip
NO_LOCK = "tests with Ray lock a file and kill processes, which they cannot do on Windows"
NO_RAY = "Ray is not installed; pip install 'topicloom[ray]'"


class TwoNodes:
    """A cluster of two nodes on this machine, with two CPUs each."""

    def __init__(self, ray: Any) -> None:
        from ray.cluster_utils import Cluster

        self.ray = ray
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 2,
                "object_store_memory": 100 << 20,
                "include_dashboard": False,
                "_system_config": SETTINGS,
            },
        )
        self.address: str = self.cluster.address
        self.second: Any = None
        self.add_node()
        ray.init(self.address, logging_level=logging.ERROR, log_to_driver=False)
        self.wait_for_cpus()

    def add_node(self) -> None:
        self.second = self.cluster.add_node(num_cpus=2, object_store_memory=100 << 20)
        self.cluster.wait_for_nodes()
        if self.ray.is_initialized():
            self.wait_for_cpus()

    def wait_for_cpus(self) -> None:
        """Both nodes are there, and the scheduler knows it."""
        until = time.monotonic() + 60.0
        while self.ray.cluster_resources().get("CPU", 0) != 4:
            assert time.monotonic() < until, "the second node is not there"
            time.sleep(0.05)

    def lose_node(self) -> None:
        """The second node is gone at once, with all that runs on it."""
        self.cluster.remove_node(self.second, allow_graceful=False)

    def stop(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    """A cluster that this process has joined."""
    if sys.platform == "win32":
        pytest.skip(NO_LOCK)
    import fcntl

    # Nothing is sent anywhere, and devices stay as they are when a task asks for none.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")
    from topicloom.scale import actors

    actors._PATIENCE = 300.0  # Ray's workers have a low priority, and start slowly on a busy machine
    with warnings.catch_warnings():  # Ray opens files that it does not close, and announces changes of its own
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray", reason=NO_RAY)
    # Of several test processes at most one has Ray at a time.
    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = TwoNodes(ray)
        yield nodes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes.stop()

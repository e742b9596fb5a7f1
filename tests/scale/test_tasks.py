"""Tasks on Ray: results in order, errors as they are, workers that die."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from topicloom.corpus._executors import Executor, current_executor, using
from topicloom.errors import InputError
from topicloom.scale.tasks import RayExecutor

pytestmark = pytest.mark.ray


@pytest.fixture
def executor(ray_cluster: Any) -> Executor:
    return RayExecutor(2)


def test_results_are_in_order_and_few_tasks_are_under_way(executor: Executor) -> None:
    assert executor.n_workers == 2
    asked: list[int] = []

    def tasks() -> Iterator[int]:
        for i in range(20):
            asked.append(i)
            yield i

    results = executor.map(lambda i: i * i, tasks())
    assert next(results) == 0
    assert asked == [0, 1, 2, 3]
    assert list(results) == [i * i for i in range(1, 20)]


def test_an_error_of_a_task_is_raised_as_it_is(executor: Executor) -> None:
    def refuse(i: int) -> int:
        if i == 2:
            raise InputError("the third is refused.")
        return i

    results = executor.map(refuse, range(10))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(InputError, match=r"^the third is refused\.$"):
        next(results)


def test_a_task_whose_worker_is_killed_is_done_again(executor: Executor, tmp_path: Path) -> None:
    def die_once(i: int) -> int:
        mark = tmp_path / f"{i}"
        if i % 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    assert list(executor.map(die_once, range(4))) == [0, 1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "3"]


def test_a_task_that_kills_all_its_workers_is_given_up(ray_cluster: Any) -> None:
    with pytest.raises(InputError, match="started 1 times, and each time its worker ended before it was done"):
        list(RayExecutor(max_retries=0).map(lambda _: os.kill(os.getpid(), signal.SIGKILL), [0]))


def test_what_cannot_be_sent_is_refused(executor: Executor, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file, pytest.raises(InputError, match="cannot be sent to Ray's workers"):
        list(executor.map(lambda _: file.write("a"), [0]))


def test_an_executor_is_in_use_within_its_context_alone(executor: Executor) -> None:
    assert current_executor() is None
    with using(executor):
        assert current_executor() is executor
        with using(None):
            assert current_executor() is None
    assert current_executor() is None

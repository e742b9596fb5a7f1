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
    assert RayExecutor().n_workers == 4  # all CPUs of the cluster
    asked: list[int] = []

    def tasks() -> Iterator[int]:
        for i in range(20):
            asked.append(i)
            yield i

    results = RayExecutor(2).map(lambda i: i * i, tasks())
    assert next(results) == 0
    assert asked == [0, 1, 2, 3]  # two for each worker
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


def test_a_function_is_made_once_per_worker_and_kept_from_task_to_task(executor: Executor) -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, _: int) -> tuple[int, int]:
            self.calls += 1
            return os.getpid(), self.calls

    for _ in range(2):
        found = list(executor.map(Counting(), range(12)))
        workers = {pid for pid, _ in found}
        assert sum(max(calls for own, calls in found if own == pid) for pid in workers) == 12


def test_what_a_worker_cannot_import_is_refused(executor: Executor, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "only_here.py").write_text("def double(i):\n    return 2 * i\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(InputError, match=r"cannot be made again on .*only_here.*Install what it imports"):
        list(executor.map(only_here.double, [1]))

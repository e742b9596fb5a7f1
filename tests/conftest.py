"""The order of the tests, and no line about compiling among what they look at on standard error."""

import os

import pytest

os.environ["TOPICLOOM_QUIET"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads where nothing is said: two processes test at once


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ray first: all its tests are then on one process of several, which starts it once. Then mutants: they need few
    compiled kernels.

    Of two processes one begins with the first half of the tests and one with the second. While the one goes through
    the mutants the other compiles the package's kernels, and the first finds them compiled.
    """
    items.sort(key=lambda item: (item.get_closest_marker("ray") is None, not item.path.name.startswith("test_mutants")))

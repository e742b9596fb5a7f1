"""What the files of supervised models must hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.errors import StorageError
from topicloom.files.checks import SCALARS, Contents, Expected

N_MISSES = 1001  # quantiles of how far predictions of numbers are off

_SUPERVISED = {
    "by_words": Expected("f8", ("chains", "V", "K"), positive=True),
    "group_of": Expected("i", ("tasks",), low=0),
    "etas": Expected("f8", ("K", "tasks of chains")),
}


def _check_supervised(file: Contents, n_chains: Any) -> None:
    """Tasks in groups: all in one, or each in its own."""
    arrays = file.arrays
    file.expect(_SUPERVISED)
    groups = arrays["group_of"]
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    if len(groups) == 0 or not np.array_equal(
        groups, np.zeros_like(groups) if n_groups == 1 else np.arange(len(groups))
    ):
        file.fail("the array 'group_of' does not put all tasks into one group or each into its own")
    if file.sizes["chains"] != n_chains * n_groups or file.sizes["tasks of chains"] != n_chains * len(groups):
        file.fail(f"the array 'etas' does not have the tasks of n_chains={n_chains} chains")
    file.equals("by_word", arrays["by_words"][file.info["best_chain"]], "the published chain")


def check_classifier(file: Contents, n_chains: Any) -> None:
    _check_supervised(file, n_chains)
    classes = file.values("classes", "classes", SCALARS)
    file.expect({"kind": Expected("i", (1,), low=0, high=2)})
    kind = ("binary", "multiclass", "multilabel")[int(file.arrays["kind"][0])]
    _check_tasks(file, kind, len(classes), file.sizes["tasks"])


def _check_tasks(file: Contents, kind: str, n_classes: int, n_tasks: int) -> None:
    least = {"binary": 2, "multiclass": 3, "multilabel": 1}[kind]
    expected = 1 if kind == "binary" else n_classes
    if n_classes < least or (kind == "binary" and n_classes != 2) or n_tasks != expected:
        file.fail(f"it has {n_classes} classes and {n_tasks} tasks, which do not fit its kind, {kind}")


def check_regressor(file: Contents, n_chains: Any) -> None:
    _check_supervised(file, n_chains)
    file.expect({"unit": Expected("f8", (2,)), "misses": Expected("f8", ("quantiles",), optional=True)})
    misses = file.arrays.get("misses", np.zeros(0))
    if len(misses) not in (0, N_MISSES):
        file.fail(f"the array 'misses' has {len(misses)} quantiles, expected {N_MISSES}")
    if np.any(np.diff(misses) < 0):
        file.fail("the array 'misses' is not in ascending order")
    if file.sizes["tasks"] != 1 or file.arrays["unit"][1] <= 0:
        file.fail("a regression has one task and a positive scale")


def check_same_targets(path: Path, model: Any, targets: Any) -> None:
    """Whether the targets are of the kind that a model was fitted on."""
    classes = getattr(model, "classes_", targets.classes)
    n_tasks = sum(map(len, model._groups))
    if (
        targets.kind != model._kind
        or targets.target.shape[1] != n_tasks
        or not np.array_equal(classes, targets.classes)
    ):
        raise StorageError(f"{path} belongs to another model: it has other classes. Restore it from a copy.")


def check_targets(path: Path, arrays: Mapping[str, AnyArray], info: Any, n_docs: int, kinds: tuple[str, ...]) -> None:
    """What a supervised model learns from: −1 and 1 for each task, or numbers."""
    file = Contents(path, arrays, info)
    kind = file.choice("kind", kinds)
    file.number("centre")
    file.number("scale", positive=True)
    file.expect({"target": Expected("f8", ("D", "tasks")), "weight": Expected("f8", ("D",), low=0, optional=True)})
    target = arrays["target"]
    if len(target) != n_docs:
        raise StorageError(f"{path} has targets of {len(target)} documents; the corpus has {n_docs}.")
    classes = file.values("classes", "classes", SCALARS)
    file.expect_no_others()
    if kind == "regression":
        if classes or file.sizes["tasks"] != 1:
            file.fail("a regression has one task and no classes")
        return
    _check_tasks(file, kind, len(classes), file.sizes["tasks"])
    if np.any(np.abs(target) != 1) or (kind == "multiclass" and np.any((target > 0).sum(axis=1) != 1)):
        file.fail("the array 'target' does not hold 1 for a document's class and -1 for the others")

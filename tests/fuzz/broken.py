"""Targets with one bad case each, by which the tests see that the harness notices it and goes on.

``python -m tests.fuzz.broken`` runs them and prints what was counted, as JSON.
"""

import ctypes
import json
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from tests.fuzz import crafted
from tests.fuzz.harness import run
from tests.fuzz.naive import Expected, attempted
from topicloom.corpus.matrices import from_matrix
from topicloom.errors import InputError
from topicloom.files.checks import Contents

CASES, BAD = 5, 2
_HUGE = 1 << 30


def _hang() -> str:
    while True:
        pass


def _foreign() -> str:
    raise zlib.error("as zlib says it")


def _wrong_value() -> str:
    return attempted(lambda: from_matrix([[1, 2]]), lambda: Expected(counts=[{0: 1.0, 1: 3.0}]))


def _told_as_input() -> str:
    def read() -> Any:
        try:
            return np.ones(_HUGE)
        except MemoryError:
            raise InputError("there is too little memory") from None

    return attempted(read, Expected)


def _leave() -> str:
    os._exit(0)


_BAD: dict[str, Callable[[], Any]] = {
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "exit": _leave,
    "hang": _hang,
    "foreign": _foreign,
    "wrong value": _wrong_value,
    "memory": lambda: np.ones(_HUGE),
    "memory, told as input": _told_as_input,
    "none": lambda: "clean",
}


def _target(bad: Callable[[], Any]) -> ModuleType:
    def write_case(number: int, folder: Path) -> None:
        (folder / "in").write_text(str(number))

    def attempt(folder: Path) -> str:
        return cast(str, bad()) if (folder / "in").read_text() == str(BAD) else "read"

    return cast(ModuleType, SimpleNamespace(write_case=write_case, attempt=attempt, n_cases=lambda: CASES))


def unchecked() -> dict[str, Any]:
    """What comes of crafted directories if ranges of arrays are not checked."""
    Contents._check_range = lambda *_: None  # type: ignore[method-assign]
    return asdict(run({"crafted": crafted}, 600)["crafted"])


if __name__ == "__main__":
    found = (
        {"unchecked": unchecked()}
        if "--unchecked" in sys.argv
        else {name: asdict(run({name: _target(bad)}, CASES, seconds=0.5)[name]) for name, bad in _BAD.items()}
    )
    json.dump(found, sys.stdout)

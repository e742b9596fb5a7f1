"""Crafted model directories: one value is wrong and all digests are right. Each must end in a ``StorageError``.

Every case is listed, so that ``--cases`` beyond their number runs each of them once.
"""

import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.naive import refused
from tests.fuzz.wrong_manifests import manifest_mutations
from tests.fuzz.wrong_values import Arrays, Mutation, file_mutations
from tests.helpers.small_models import BASES, base, use
from topicloom.errors import StorageError
from topicloom.files.arrays import read_arrays, write_arrays
from topicloom.files.manifests import MANIFEST, signed

SHARE = 0.2


def prepare() -> None:
    """Fit all models and list what can be wrong with them, before there are children."""
    n_cases()


def n_cases() -> int:
    return len(_cases())


@cache
def _cases() -> list[tuple[str, str, str]]:
    """Base, file, and what is wrong in it; shuffled, so that the first ones are of all kinds."""
    found = [(name, *case) for name in BASES for case in sorted(_mutations(name))]
    random.Random(0).shuffle(found)
    return found


@cache
def _mutations(name: str) -> dict[tuple[str, str], Mutation | Callable[[dict[str, Any]], None]]:
    files, _ = base(name)
    found: dict[tuple[str, str], Any] = {}
    for file in files:
        if file.endswith(".safetensors"):
            arrays, info, _ = contents(name, file)
            found |= {(file, what): change for what, change in file_mutations(name, file, arrays, info).items()}
    manifest = json.loads(files[MANIFEST])
    return found | {(MANIFEST, what): change for what, change in manifest_mutations(name, manifest).items()}


@cache
def contents(name: str, file: str) -> tuple[Arrays, dict[str, Any], str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_bytes(base(name)[0][file])
        arrays, info, digest = read_arrays(path)
        return {key: array.copy() for key, array in arrays.items()}, info, digest


def write_case(number: int, folder: Path) -> None:
    name, file, what = _cases()[number]
    craft(name, file, what, folder / "model")
    (folder / "case.json").write_text(json.dumps({"base": name, "file": file, "what": what}))


def craft(name: str, file: str, what: str, folder: Path) -> None:
    """Write one crafted directory."""
    change: Any = _mutations(name)[file, what]
    if file != MANIFEST:
        write_changed(name, file, change, folder)
        return
    write_files(name, folder)
    about = json.loads(base(name)[0][MANIFEST])
    change(about)
    (folder / MANIFEST).write_text(json.dumps(signed(about)))


def write_files(name: str, folder: Path) -> None:
    folder.mkdir()
    for file, content in base(name)[0].items():
        (folder / file).write_bytes(content)


def write_changed(name: str, file: str, change: Mutation, folder: Path) -> None:
    """The directory with one file changed, and its digest wherever it stands."""
    write_files(name, folder)
    arrays, info, old = contents(name, file)
    arrays, info = dict(arrays), dict(info)
    change(arrays, info)
    new = write_arrays(folder / file, arrays, info)
    about = json.loads((folder / MANIFEST).read_text().replace(old, new))
    (folder / MANIFEST).write_text(json.dumps(signed(about)))


def attempt(folder: Path) -> str:
    case = json.loads((folder / "case.json").read_text())
    where = f"{case['base']}, {case['file']}, {case['what']}"
    try:
        use(folder / "model", case["base"])
    except StorageError as error:
        return refused(error)
    except MemoryError:
        raise
    except Exception as error:
        raise AssertionError(f"{where}: {type(error).__name__}, expected StorageError: {error}") from error
    raise AssertionError(f"{where}: accepted")

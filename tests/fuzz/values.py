"""Model directories with some values of an array drawn anew and all digests right.

Such values may be right ones by chance. Then the model is used, and nothing but an error of ours may come of it.
"""

import json
import random
from pathlib import Path

import numpy as np

from tests.fuzz.crafted import write_changed
from tests.fuzz.directories import prepare as prepare
from tests.fuzz.naive import OURS, refused
from tests.fuzz.wrong_values import Arrays
from tests.helpers.small_models import BASES, base, use

SHARE = 0.2
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, 5e-324, 1e-9, 1e9, float("nan"), float("inf"))
_WHOLE = (0, 1, -1, 2, 3, 7, 100, 2**15, 2**31 - 1, -(2**31), 2**62)


def write(rng: random.Random, folder: Path) -> None:
    name = rng.choice(BASES)
    file = rng.choice([file for file in sorted(base(name)[0]) if file.endswith(".safetensors")])
    write_changed(name, file, lambda arrays, info: _redraw(rng, arrays), folder / "model")
    (folder / "case.json").write_text(json.dumps({"base": name}))


def _redraw(rng: random.Random, arrays: Arrays) -> None:
    name = rng.choice(sorted(name for name, array in arrays.items() if array.size))
    array = arrays[name] = arrays[name].copy()
    np.seterr(over="ignore", invalid="ignore")
    flat = array.reshape(-1)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, other = rng.randrange(array.size), rng.randrange(array.size)
        how = rng.randrange(4)
        if how == 0:
            flat[at], flat[other] = flat[other].copy(), flat[at].copy()
        elif how == 1:
            flat[at] = flat[other]
        elif array.dtype.kind == "f":
            flat[at] = np.float64(rng.choice(_FLOATS) if how == 2 else flat[at] * rng.choice((-1, 0.5, 2, 1e3)))
        elif array.dtype.kind == "b":
            flat[at] = not flat[at]
        else:
            limits = np.iinfo(array.dtype)
            value = rng.choice(_WHOLE) if how == 2 else int(flat[at]) + rng.choice((-1, 1))
            flat[at] = min(max(value, int(limits.min)), int(limits.max))


def attempt(folder: Path) -> str:
    case = json.loads((folder / "case.json").read_text())
    try:
        use(folder / "model", case["base"])
    except OURS as error:
        return refused(error)
    return "read"

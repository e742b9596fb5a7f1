"""Model directories with damaged bytes: every file of every kind of model, finished and running.

Such a directory is refused, or read as the model that it was before.
"""

import json
import random
from pathlib import Path

from tests.fuzz.naive import OURS, refused, same
from tests.helpers.small_models import BASES, base, use

SHARE = 0.2


def prepare() -> None:
    """Fit all models once, before there are children."""
    for name in BASES:
        base(name)


def write(rng: random.Random, folder: Path) -> None:
    name = rng.choice(BASES)
    what = damage(rng, name, folder / "model")
    (folder / "case.json").write_text(json.dumps({"base": name, "what": what}))


def attempt(folder: Path) -> str:
    """ "read" if the model is the one from before."""
    case = json.loads((folder / "case.json").read_text())
    try:
        said = use(folder / "model", case["base"])
    except OURS as error:
        return refused(error)
    same(said, base(case["base"])[1], f"{case['base']}, {case['what']}")
    return "read"


def damage(rng: random.Random, name: str, folder: Path) -> str:
    """Write a directory with one damaged file; what was done."""
    files = dict(base(name)[0])
    file = rng.choice(sorted(files))
    data = bytearray(files[file])
    how = rng.choice(("cut", "flip", "flips", "header", "swap", "empty", "zeros", "insert", "delete", "foreign"))
    at = rng.randrange(len(data))
    if how == "cut":
        data = data[:at]
    elif how in ("flip", "flips"):
        for _ in range(1 if how == "flip" else 8):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "header":  # of safetensors: 8 bytes of length, then JSON
        data[rng.randrange(min(len(data), 400))] = rng.choice(b'0123456789"{}[],:\x00\xff FIUBnull')
    elif how == "swap":
        data = bytearray(files[rng.choice(sorted(files))])
    elif how == "empty":
        data = bytearray()
    elif how == "zeros":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif how == "insert":
        data[at:at] = rng.randbytes(rng.randrange(1, 40))
    elif how == "foreign":
        other = base(rng.choice([each for each in BASES if each != name][:4]))[0]
        data = bytearray(other[rng.choice(sorted(other))])
    folder.mkdir()
    for each, content in files.items():
        if each != file or how != "delete":
            (folder / each).write_bytes(bytes(data) if each == file else content)
    return f"{file}: {how}"

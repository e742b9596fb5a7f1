"""A folder of texts, one document each, in sub-folders or not."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import AS_WORDS, Expected, attempted, content_of, of_texts
from tests.fuzz.texts import text
from topicloom.corpus.formats import read

SHARE = 0.5
_NAMES = ("a.txt", "b.TXT", "x/a.txt", "x/y/c.txt", "x-1/a.txt", "ö/ä b.txt", "z.txt.gz", ".h.txt", ".h/a.txt")


def write(rng: random.Random, folder: Path) -> None:
    for name, content in contents(rng).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(packed(rng, content))


def contents(rng: random.Random) -> dict[str, bytes]:
    """Texts by their paths; now and then a damaged one."""
    found = {}
    for name in rng.sample(_NAMES, rng.randrange(1, 6)):
        content = "\n".join(text(rng) for _ in range(rng.randrange(3))).encode()
        found[name] = damaged(rng, content) if rng.random() < 0.15 else content
    return found


def attempt(folder: Path) -> str:
    return attempted(lambda: read(folder, format="files", **AS_WORDS), lambda: parse(folder))


def parse(folder: Path) -> Expected:
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return expected({name: content_of(path) for name, path in paths.items() if is_read(name)})


def expected(files: dict[str, bytes]) -> Expected:
    """What is read of these files."""
    names = sorted((name for name in files if is_read(name)), key=lambda name: name.split("/"))
    texts = [files[name].decode("utf-8").removeprefix("\ufeff") for name in names]
    labels = [(name.split("/")[0],) if "/" in name else () for name in names]
    return of_texts(texts, ids=names, labels=labels if any(labels) else None)


def is_read(name: str) -> bool:
    """Whether it is a text, and neither hidden nor in a hidden folder."""
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not hidden and name.lower().removesuffix(".gz").endswith(".txt")

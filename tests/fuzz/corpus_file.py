"""Our own corpus file: damaged bytes, and wrong values under a right digest."""

import json
import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.mutate import damaged_bytes
from tests.fuzz.naive import Expected, attempted
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.corpus.text import from_texts
from topicloom.files.arrays import read_arrays, to_bytes, write_arrays

SHARE = 0.3


def write(rng: random.Random, folder: Path) -> None:
    path = folder / "a.corpus"
    n_docs = rng.randrange(1, 4)
    known: dict[str, Any] = {
        "ids": [f"d{d}" for d in range(n_docs)],
        "labels": [rng.choice(((), ("a",), ("a", "b"))) for _ in range(n_docs)],
        "groups": [rng.choice(("x", 1, None)) for _ in range(n_docs)],
        "responses": [rng.random() for _ in range(n_docs)],
        "times": rng.choice((list(range(n_docs)), np.arange(n_docs).astype("datetime64[D]"), ["a"] * n_docs)),
    }
    metadata = {name: value for name, value in known.items() if rng.random() < 0.4}
    if rng.random() < 0.5:
        corpus = from_texts(["river bänk", "money bank", "tea"][:n_docs], **metadata)
    else:
        corpus = from_matrix([[rng.choice((0, 1, 0.5)) for _ in range(3)] for _ in range(n_docs)], **metadata)
    save_corpus(corpus, path)
    if rng.random() < 0.3:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    elif rng.random() < 0.9:
        arrays, info, _ = read_arrays(path)
        for _ in range(rng.choice((1, 1, 2))):
            _damage(rng, arrays, info)
        write_arrays(path, arrays, info)


def _damage(rng: random.Random, arrays: dict[str, Any], info: dict[str, Any]) -> None:
    np.seterr(invalid="ignore")
    name = rng.choice([*sorted(arrays), *sorted(info)])
    if name in info and rng.random() < 0.7:
        info[name] = rng.choice((None, True, [], {}, "x", 3, "<M8[D]", "<f8", ["\\w+", True, ["a"]], ["(", 1, "ab"]))
    elif name in info:
        info.pop(name)
    elif name in arrays:
        array, how = arrays[name], rng.randrange(6)
        if how == 0:
            arrays.pop(name)
        elif array.dtype == np.uint8:
            values = ([], {"a": 1}, ["a", "a"], [["a"]], "x", [1, 2, 3], ["river", None, "tea"], ["x"] * len(array))
            arrays[name] = to_bytes(rng.choice(values)) if how < 5 else array[: rng.randrange(len(array) + 1)].copy()
        elif how == 1:
            arrays[name] = array[: rng.randrange(len(array) + 1)].copy()
        elif how == 2:
            arrays[name] = array.astype(rng.choice(("float64", "int32", "uint8", "int64")))
        elif how == 3:
            arrays[name] = array.reshape(-1, 1)
        elif len(array):
            arrays[name] = array.astype(np.int64) if array.dtype.kind != "f" else array.copy()
            arrays[name][rng.randrange(len(array))] = rng.choice((-1, 99, 2**31 - 1, 2**40, 0))


def attempt(folder: Path) -> str:
    return attempted(lambda: load_corpus(folder / "a.corpus"), lambda: parse(folder / "a.corpus"))


_TYPES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B", "BOOL": "?"}


def parse(path: Path) -> Expected:
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size])
    info = json.loads(header.pop("__metadata__")["info"])
    arrays: dict[str, list[Any]] = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        part = content[8 + size + start : 8 + size + end]
        kind = _TYPES[about["dtype"]]
        arrays[name] = [value for (value,) in struct.iter_unpack("<" + kind, part)]
    texts = {
        name: json.loads(bytes(arrays[name])) for name in ("vocabulary", "ids", "labels", "groups") if name in arrays
    }
    ends, words = arrays["doc_ptr"], arrays["words"]
    rows: list[dict[int, float]] = []
    for start, end in pairwise(ends):
        row: dict[int, float] = {}
        for i in range(int(start), int(end)):
            word = int(words[i])
            row[word] = row.get(word, 0.0) + (arrays["weights"][i] if "weights" in arrays else 1)
        rows.append(row)
    times = arrays.get("times")
    if times is not None and "times" in info:
        times = np.array(times, np.int64).view(info["times"]).tolist()
    if "times_text" in arrays:
        times = json.loads(bytes(arrays["times_text"]))
    return Expected(
        counts=rows,
        vocabulary=texts["vocabulary"],
        ids=texts.get("ids"),
        labels=[tuple(dict.fromkeys(labels)) for labels in texts["labels"]] if "labels" in texts else None,
        groups=texts.get("groups"),
        responses=arrays.get("responses"),
        times=times,
        texts=[bytes(arrays["texts"][a:b]).decode() for a, b in pairwise(arrays["texts_ptr"])]
        if "texts" in arrays
        else None,
    )

"""Damaged and crafted model directories: every file of every kind of model, finished and running.

Bytes are cut, flipped and swapped; or one value is made wrong and all digests are made right again, as whoever crafts
a directory would. A crafted directory must end in a ``StorageError``. One whose bytes are damaged may also be read, if
the model is the same as before.

    PYTHONPATH=tests python tests/fuzz/directories.py 1000            crafted directories, tried in a child process
    PYTHONPATH=tests python tests/fuzz/directories.py 1000 --bytes    damaged ones
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.small_models import BASES, base, use
from topicloom.arrays import read_arrays, write_arrays
from topicloom.errors import InputError, StorageError

try:
    from topicloom.manifests import signed
except ImportError:  # manifests of version 1 have no digest of themselves

    def signed(manifest: dict[str, Any]) -> dict[str, Any]:
        return manifest


Arrays = dict[str, np.ndarray]
Mutation = Callable[[Arrays, dict[str, Any]], None]

# -- wrong values, right digests -----------------------------------------------------------------------------------

_TEXT_ARRAYS = ("vocabulary", "ids", "labels", "classes", "collections", "alphabet", "groups")
_ANY_SIGN = re.compile(r"log_joint|log_pi|phi$|log_step|eta$|etas|meta|calibration|unit|target$|^value|changes|unseen")
_ANY_NUMBER = re.compile(r"^(value|changes)$")
_MAY_LACK = re.compile(r"trace_(\d_)?(agreement|acceptance)$")
_HUGE = 2**31 - 1  # or as much as the type holds


def _put(name: str, value: float, at: int = -1) -> Mutation:
    def change(arrays: Arrays, info: dict[str, Any]) -> None:
        array = arrays[name] = arrays[name].copy()
        array.reshape(-1)[at] = value

    return change


def _replace(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Mutation:
    def change(arrays: Arrays, info: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return change


def _inform(name: str, value: Any) -> Mutation:
    def change(arrays: Arrays, info: dict[str, Any]) -> None:
        info[name] = value

    return change


def _drop(name: str) -> Mutation:
    def change(arrays: Arrays, info: dict[str, Any]) -> None:
        arrays.pop(name, None)
        info.pop(name, None)

    return change


def _bytes(text: str | bytes) -> Callable[[np.ndarray], np.ndarray]:
    raw = text.encode() if isinstance(text, str) else text
    return lambda _: np.frombuffer(raw, np.uint8)


def _longer(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.concatenate([array, np.take(array, [-1], axis)], axis)


def _shorter(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.take(array, range(array.shape[axis] - 1), axis)


def _text_mutations(name: str, array: np.ndarray) -> dict[str, Mutation]:
    values = json.loads(array.tobytes())
    wrong: dict[str, str | bytes] = {
        "no JSON": "[", "no UTF-8": b"\xff\xfe", "an object": "{}", "a number": "5", "deep": "[" * 100_000,
        "null inside": json.dumps([{}, *values[1:]]), "one more": json.dumps([*values, "one more"]), "nothing": "",
    }  # fmt: skip
    if values:
        wrong["one less"] = json.dumps(values[:-1])
    if len(values) > 1 and name not in ("ids", "labels", "groups"):
        wrong["twice"] = json.dumps([*values[:-1], values[0]])
    return {what: _replace(name, _bytes(text)) for what, text in wrong.items()}


def _array_mutations(base_name: str, role: str, name: str, array: np.ndarray) -> dict[str, Mutation]:
    """Types, shapes and values that are wrong wherever they stand."""
    if name in _TEXT_ARRAYS and array.dtype == np.uint8:
        found = _text_mutations(name, array)
    elif array.size == 0:
        found = {"one axis more": _replace(name, lambda a: a[None])}
    else:
        found = _shape_mutations(base_name, role, name, array) | _value_mutations(base_name, name, array)
    optional = _MAY_LACK.search(name) or (role == "corpus" and name == "ids") or array.size == 0
    return found if optional else found | {"missing": _drop(name)}


def _shape_mutations(base_name: str, role: str, name: str, array: np.ndarray) -> dict[str, Mutation]:
    other = np.int64 if array.dtype.kind == "f" else np.float64
    found = {
        "type": _replace(name, lambda a: np.nan_to_num(a, posinf=9, neginf=-9).astype(other)),
        "one axis more": _replace(name, lambda a: a[None]),
        "flat": _replace(name, lambda a: a.reshape(-1, 1) if a.ndim == 1 else a.reshape(-1)),
    }
    streams = re.search("svb|scvb0", base_name)  # they keep no documents
    if streams and ((role == "model" and name == "empty_docs" and "stream" in base_name) or name == "alpha_row"):
        return found
    for axis in range(array.ndim):
        if not (name == "doc_ptr" and "hmm" in base_name):  # a sequence more, without symbols, is none
            found[f"longer {axis}"] = _replace(name, _longer(axis))
        if not (_MAY_LACK.search(name) and len(array) == 1):
            found[f"shorter {axis}"] = _replace(name, _shorter(axis))
    return found


def _value_mutations(base_name: str, name: str, array: np.ndarray) -> dict[str, Mutation]:
    found: dict[str, Mutation] = {}
    if array.dtype.kind == "f" and not _may_be_nan(base_name, name):
        found |= {"NaN": _put(name, np.nan), "infinite": _put(name, np.inf), "−infinite": _put(name, -np.inf, 0)}
    if array.dtype.kind in "if" and not _ANY_SIGN.search(name):
        found |= {"negative": _put(name, -7), "negative first": _put(name, -7, 0)}
    if array.dtype.kind in "iu" and not _any_size(base_name, name):
        huge = min(_HUGE, np.iinfo(array.dtype).max)
        found |= {"huge": _put(name, huge), "huge first": _put(name, huge, 0)}
    return found


def _may_be_nan(base_name: str, name: str) -> bool:
    if _ANY_NUMBER.match(name):
        return True
    return name.endswith("log_joint") and bool(re.search("variational|vem|stream|hmm", base_name))


def _any_size(base_name: str, name: str) -> bool:
    """Whether a whole number of any size can be right: a finished model compares its traces with its chains'."""
    return name == "state_batches" or (name.endswith("changed") and base_name.startswith("running"))


def _number(value: int, least: int = 0) -> list[Any]:
    return [str(value), None, [value], -1 + least, 10**12, 10**30, value + 0.5, True]


def _info_mutations(base_name: str, role: str, arrays: Arrays, info: dict[str, Any]) -> dict[str, Mutation]:
    wrong: dict[str, list[Any]] = {}
    for name in info.keys() - {"run"}:
        value = info[name]
        if isinstance(value, bool):
            wrong[name] = ["yes", 1, None, []]
        elif isinstance(value, int):
            wrong[name] = _number(value, int(name in ("n_chains", "n_labels")))
        elif isinstance(value, float):
            wrong[name] = ["1", None, [], float("nan"), float("inf"), True]
    if "text_options" in info:
        wrong["text_options"] = ["x", [1], ["(", True, []], ["a", "yes", []], ["a", True, [1]], ["a", True, "the"], {}]
    if "n_chains" in info:
        wrong["n_chains"] += [info["n_chains"] + 1, max(info["n_chains"] - 1, 0)]
        wrong["best_chain"] += [info["n_chains"], (info["best_chain"] + 1) % max(info["n_chains"], 2)]
        wrong["n_iter"] += [info["n_iter"] + 1, 0]
    if "kept" in info:
        wrong["kept"] += [info["kept"] + 1, *([info["kept"] - 1] if info["kept"] else [])]
    if role.startswith("chain"):
        wrong["index"] += [info["index"] + 1]
        recorded = arrays["trace_sweep"]
        wrong["sweep"] += [int(recorded[-1]) - 1] if len(recorded) else []
        wrong["sweep"] += [] if base_name in ("finished lda auto", "finished medlda ovr") else [50]  # only of the best
    if "kind" in info:
        wrong["kind"] = ["other", None, 3, "multiclass" if info["kind"] == "regression" else "regression"]
        wrong["scale"] += [0.0, -1.0]
    if "n_labels" in info:
        wrong["n_labels"] += [info["n_labels"] + 1, info["n_labels"] - 1]
    found = {f"info {name} {_short(value)}": _inform(name, value) for name, own in wrong.items() for value in own}
    return found | {f"info {name} missing": _drop(name) for name in info.keys() - {"run", "mapped", "times"}}


def _short(value: Any) -> str:
    return repr(value)[:20]


def _halved_row(array: np.ndarray) -> np.ndarray:
    out = array.copy()
    out[0] *= 0.5
    return out


def _own_mutations(base_name: str, role: str, arrays: Arrays, info: dict[str, Any]) -> dict[str, Mutation]:
    """Values just outside what they may be."""
    found: dict[str, Mutation] = {}

    def add(name: str, what: str, change: Mutation) -> None:
        if name in arrays and arrays[name].size:
            found[f"{name}: {what}"] = change

    if "alpha" in arrays and arrays["alpha"].ndim == 2:
        n_rows, n_topics = arrays["alpha"].shape
        if arrays.get("z", np.zeros(0)).dtype.kind in "iu":
            add("z", "topic beyond the last", _put("z", n_topics))
            add("z", "topic beyond the last, first", _put("z", n_topics, 0))
            add("z", "wide", _replace("z", lambda z: z.astype(np.int64)))
            add("z", "signed", _replace("z", lambda z: z.astype(np.int32)))
        add("alpha_row", "row beyond the last", _put("alpha_row", n_rows))
        add("boost_row", "row beyond the last", _put("boost_row", len(arrays["boost"])))
        add("alpha", "zero", _put("alpha", 0.0))
        add("beta", "zero", _put("beta", 0.0))
        add("beta_sum", "another", _put("beta_sum", 1e9))
    for name in ("mixtures_pi", "mixtures_draws", "pi", "pi_draws", "transition", "emission", "moves", "kept_word",
                 "kept_doc", "kept_moves", "kept_emission"):  # fmt: skip
        add(name, "half", _replace(name, lambda a: a * 0.5))
    for name in ("mixtures_acceptance", "threshold", "trace_agreement", "trace_0_agreement"):
        add(name, "above one", _put(name, 1.5))
    for name in ("state_gamma", "state_counts", "initial"):
        add(name, "half a row", _replace(name, _halved_row))
    if re.search("labels labeled|labels prior", base_name) and role.startswith("chain"):
        add("z", "a label of another document", _replace("z", lambda z: np.roll(z, 2)))
    if "labels cvb0" in base_name and role.startswith("chain"):
        add("z", "halves", _replace("z", lambda z: z * np.float32(0.5)))
    add("ptr", "falls", _replace("ptr", lambda a: a[[0, 2, 1, *range(3, len(a))]]))
    add("ptr", "ends early", _replace("ptr", lambda a: np.append(a[:-1], a[-1] - 1)))
    add("ptr", "begins late", _replace("ptr", lambda a: np.append(1, a[1:])))
    add("label", "beyond the last", _put("label", info.get("n_labels", 0)))
    if role == "labels":
        add("label", "falls", _replace("label", lambda a: a[::-1].copy()))
    add("doc_ptr", "falls", _replace("doc_ptr", lambda a: a[[0, 2, 1, *range(3, len(a))]]))
    add("doc_ptr", "ends late", _replace("doc_ptr", lambda a: np.append(a[:-1], a[-1] + 1)))
    add(
        "words",
        "beyond the last",
        _put("words", len(json.loads(arrays["vocabulary"].tobytes())) if role == "corpus" else 0),
    )
    add("target", "between", _put("target", 0.5)) if info.get("kind") != "regression" else None
    add("task", "another", _replace("task", lambda a: a + 1))
    add("task", "negative", _put("task", -1))
    add("group_of", "another", _replace("group_of", lambda a: a + 1))
    add("kind", "beyond the last", _put("kind", 3))
    add("by_word", "zero", _put("by_word", 0.0))
    add("course_way", "beyond the last", _put("course_way", 3))
    add("course_docs", "twice", _replace("course_docs", lambda a: np.concatenate([a[:1]] * len(a))))
    add("course_words", "twice", _replace("course_words", lambda a: np.concatenate([a[:1]] * len(a))))
    add(
        "course_unseen",
        "one move too many",
        _replace("course_unseen", lambda a: a + (np.arange(a.size) == 0).reshape(a.shape)),
    )
    add("course_unseen", "impossible moves", _replace("course_unseen", _impossible))
    return found


def _impossible(unseen: np.ndarray) -> np.ndarray:
    out = unseen.copy()
    out[0, 0, 0] += 40
    out[0, 0, 1] -= 40
    return out


def _extra(arrays: Arrays, info: dict[str, Any]) -> None:
    arrays["another"] = np.arange(3)


def role_of(file: str) -> str:
    found = re.match(r"(corpus|model|labels|targets|chain-\d+)", file)
    return found[0] if found else file


def _read(files: dict[str, bytes], name: str) -> tuple[Arrays, dict[str, Any], str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(files[name])
        arrays, info, digest = read_arrays(path)
        return dict(arrays), info, digest


@cache
def crafted(name: str) -> dict[tuple[str, str], Mutation | dict[str, Any]]:
    """All crafted directories of a base, by file and what is wrong in it; of the manifest, parameters."""
    files, _ = base(name)
    found: dict[tuple[str, str], Mutation | dict[str, Any]] = {}
    for file in files:
        if not file.endswith(".safetensors"):
            continue
        arrays, info, _ = _read(files, file)
        role = role_of(file)
        found[file, "another array"] = _extra
        for array in arrays:
            changes = _array_mutations(name, role, array, arrays[array])
            found |= {(file, f"{array}: {what}"): change for what, change in changes.items()}
        for what, change in (
            _info_mutations(name, role, arrays, info) | _own_mutations(name, role, arrays, info)
        ).items():  # fmt: skip
            found[file, what] = change
    for param, shift in (
        ("n_components", 1),
        ("n_components", -1),
        ("n_states", 1),
        ("n_paths", 1),
        ("n_label_topics", 1),
    ):
        params = json.loads(files["manifest.json"])["params"]
        if params.get(param) is None or (param == "n_paths" and re.search("variational|stream|vem|em$", name)):
            continue
        found["manifest.json", f"{param} {shift:+}"] = {param: params[param] + shift}
    if "finished medlda" in name:
        found["manifest.json", "n_chains"] = {"n_chains": params["n_chains"] + 1}
    return found


def craft(name: str, case: tuple[str, str], folder: Path) -> None:
    """Write one crafted directory."""
    files, _ = base(name)
    folder.mkdir()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    file, _ = case
    change, manifest = crafted(name)[case], folder / "manifest.json"
    if isinstance(change, dict):
        about = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(signed(about | {"params": about["params"] | change})))
        return
    arrays, info, old = _read(files, file)
    change(arrays, info)
    new = write_arrays(folder / file, arrays, info)
    manifest.write_text(json.dumps(signed(json.loads(manifest.read_text().replace(old, new)))))


# -- damaged bytes -------------------------------------------------------------------------------------------------


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


# -- what the harness calls ----------------------------------------------------------------------------------------


def write(rng: random.Random, folder: Path, values: bool | None = None) -> None:
    """One damaged directory; ``values`` chooses between wrong values and damaged bytes."""
    name = rng.choice(BASES)
    crafting = rng.random() < 0.5 if values is None else values
    if crafting:
        case = rng.choice(sorted(crafted(name)))
        craft(name, case, folder / "model")
        what = " / ".join(case)
    else:
        what = damage(rng, name, folder / "model")
    about = {"base": name, "crafted": crafting, "what": what, "said": base(name)[1]}
    (folder / "case.json").write_text(json.dumps(about))


def attempt(folder: Path) -> str:
    """Use the directory: "clean" if it is refused, "read" if it is as it was before."""
    case = json.loads((folder / "case.json").read_text())
    try:
        said = use(folder / "model", case["base"])
    except StorageError:
        return "clean"
    except InputError as error:
        if not case["crafted"]:
            return "clean"
        raise AssertionError(f"{case['base']}, {case['what']}: refused as input, not as a file: {error}") from error
    assert not case["crafted"], f"{case['base']}, {case['what']}: accepted"
    assert said == case["said"], f"{case['base']}, {case['what']}: read as another model"
    return "read"


# -- many, in a child process --------------------------------------------------------------------------------------

_SECONDS = 60  # after which a case hangs


def run(
    count: int, seed: int = 0, *, values: bool | None = True, timeout: float = 3600
) -> tuple[Counter[str], list[str]]:
    """Tally of so many directories, and what was wrong with those that were not refused as they should be."""
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    start = 0
    while start < count:
        arguments = [sys.executable, __file__, "--child", str(start), str(count), str(seed), json.dumps(values)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        child = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
        lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]
        done = [line for line in lines if "result" in line]
        tally.update(line["result"] for line in done)
        wrong += [line["error"] for line in done if line["result"] == "other"]
        start += len(done)
        if child.returncode != 0:
            tally["hang" if child.returncode == -signal.SIGALRM else "crash"] += 1
            wrong.append(f"exit {child.returncode}: {lines[-1:]} {child.stderr[-400:]}")
            start += 1
        elif not done:
            break
    return tally, wrong


def _child(start: int, stop: int, seed: int, values: bool | None) -> None:
    for number in range(start, stop):
        with tempfile.TemporaryDirectory() as folder:
            write(random.Random(f"{seed} {number}"), Path(folder), values)
            print(json.dumps({"case": json.loads(Path(folder, "case.json").read_text())}), flush=True)
            signal.alarm(_SECONDS)
            try:
                answer: dict[str, str] = {"result": attempt(Path(folder))}
            except Exception as error:
                what = json.loads(Path(folder, "case.json").read_text())["what"]
                answer = {"result": "other", "error": f"{what}: {type(error).__name__}: {error}"[:400]}
            signal.alarm(0)
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        _child(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), json.loads(sys.argv[5]))
    else:
        bytes_too = "--bytes" in sys.argv
        tally, wrong = run(int(sys.argv[1]), values=not bytes_too)
        print(*wrong, sep="\n")
        print(dict(tally))

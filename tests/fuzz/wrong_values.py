"""Values that a file of a model's directory cannot have: types, shapes, ranges, sums, and what must agree.

A change is listed only if no right file has its outcome: a bound of any sign is not made negative, an array that a
model may lack is not taken away.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Mutation = Callable[[Arrays, dict[str, Any]], None]


def file_mutations(base_name: str, file: str, arrays: Arrays, info: dict[str, Any]) -> dict[str, Mutation]:
    """All that can be wrong in one file of a directory."""
    named = re.match(r"(corpus|model|labels|targets|chain-\d+)", file)
    role = named[0] if named else file
    found: dict[str, Mutation] = {"another array": _extra}
    for name, array in arrays.items():
        changes = _array_mutations(base_name, role, name, array)
        found |= {f"{name}: {what}": change for what, change in changes.items()}
    found |= _info_mutations(base_name, role, arrays, info)
    return found | _own_mutations(base_name, role, arrays, info)


_TEXT_ARRAYS = ("vocabulary", "ids", "labels", "classes", "collections", "alphabet", "groups")
_ANY_SIGN = re.compile(
    r"log_joint|log_likelihood|log_pi|phi$|log_step|eta$|etas|meta|calibration|unit|target$|^value|changes|unseen|^misses$|draws_(one|several)|^means$"
)
_ANY_NUMBER = re.compile(r"^(value|values|changes)$")
_MAY_LACK = re.compile(r"^misses$|trace_(\d_)?(agreement|acceptance|log_likelihood|probes|topic_sizes)$")
_VARIATIONAL = re.compile("variational|stream|compound vem")
_CONVERGES = re.compile("variational|stream|compound vem|hmm (numbers )?em")
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
        if name.endswith("probes") and "medlda" in base_name:  # the last ones are what the model says of documents
            del found["negative"]
    if array.dtype.kind in "iu" and not _any_size(base_name, name):
        huge = min(_HUGE, np.iinfo(array.dtype).max)
        found |= {"huge": _put(name, huge), "huge first": _put(name, huge, 0)}
    return found


def _may_be_nan(base_name: str, name: str) -> bool:
    if _ANY_NUMBER.match(name):
        return True
    return name.endswith(("log_joint", "log_likelihood")) and bool(re.search("variational|vem|stream|hmm", base_name))


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
        of_best = ("finished lda auto", "finished lda merged", "finished medlda ovr")
        wrong["sweep"] += [] if base_name in of_best else [50]
        wrong["converged"] += [] if _CONVERGES.search(base_name) else [True]
    if "kind" in info:
        wrong["kind"] = ["other", None, 3, "multiclass" if info["kind"] == "regression" else "regression"]
        wrong["scale"] += [0.0, -1.0]
    if "published" in info:
        wrong["published"] = ["best", "newest", None, 3]
    if "draws" in info:
        wrong["draws"] = [{}, [], None, {**info["draws"], "more": []}, {name: [1.5] for name in info["draws"]}]
        wrong["draws"] += [{**info["draws"], "theta": [5, 3]}]
    if "n_labels" in info:
        wrong["n_labels"] += [info["n_labels"] + 1, info["n_labels"] - 1]
    found = {f"info {name} {_short(value)}": _inform(name, value) for name, own in wrong.items() for value in own}
    may_lack = {"run", "mapped", "times", "reading"}
    if role.startswith("chain"):  # what earlier versions did not write
        may_lack |= {"kept"} if _VARIATIONAL.search(base_name) else set()
        may_lack |= set() if _CONVERGES.search(base_name) else {"converged"}
    return found | {f"info {name} missing": _drop(name) for name in info.keys() - may_lack}


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
    add("draws_theta", "half a row", _replace("draws_theta", _halved_row))
    add("draws_phi", "above one", _put("draws_phi", 1.5))
    add("matches", "twice", _replace("matches", np.ones_like))
    add("matches", "not its own", _replace("matches", lambda a: np.roll(a, 1, axis=1)))
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

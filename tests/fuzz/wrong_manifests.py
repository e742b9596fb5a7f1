"""What a manifest cannot say."""

import re
from collections.abc import Callable
from typing import Any

Change = Callable[[dict[str, Any]], None]

_ENTRIES: dict[str, list[Any]] = {
    "format": ["other", None, 3],
    "version": [0, 99, "2", None, 2.0, True],
    "kind": ["Corpus", "os", "", None, 7, ["LDA"]],
    "status": ["done", None, 1],
    "seed": ["1", None, 2**70, 1.5, True],
    "run": [None, 5],
    "params": [None, [], "n_components"],
    "names": [
        None,
        [],
        {"chain": 0},
        {"chain": "0", "topics": []},
        {"chain": 0, "topics": [3]},
        {"chain": 9, "topics": []},
    ],
    "files": [None, [], {}, {"corpus": "corpus.safetensors"}],
}


def manifest_mutations(base_name: str, manifest: dict[str, Any]) -> dict[str, Change]:
    found = {f"{name} {value!r}": _entry(name, value) for name, values in _ENTRIES.items() for value in values}
    found["kind of another model"] = _entry("kind", "HMM" if "hmm" not in base_name else "LDA")
    if manifest["status"] == "finished":
        found["status running"] = _entry("status", "running")
        found |= {f"without {role}": _without(role) for role in manifest["files"]}
    for role in manifest["files"]:
        found |= {
            f"{role} elsewhere": _file(role, file="../model/" + manifest["files"][role]["file"]),
            f"{role} missing": _file(role, file=f"{role}-000000000000.safetensors"),
            f"{role} of another digest": _file(role, digest="0" * 32),
            f"{role} without a digest": _file(role, digest=None),
        }
    return found | _param_mutations(base_name, manifest["params"])


def _param_mutations(base_name: str, params: dict[str, Any]) -> dict[str, Change]:
    found: dict[str, Change] = {"another parameter": _param("number_of_topics", 3)}
    shifts = [("n_components", 1), ("n_components", -1), ("n_paths", 1), ("n_label_topics", 1)]
    if "finished medlda" in base_name:
        shifts.append(("n_chains", 1))
    for name, shift in shifts:
        one = name == "n_paths" and re.search("variational|stream|vem|em$", base_name)  # which draw no paths
        late = name == "n_label_topics" and base_name.startswith("running")  # learned when all else is
        if params.get(name) is not None and not one and not late:
            found[f"{name} {shift:+}"] = _param(name, params[name] + shift)
    if "class_weight" in params:
        found["class_weight of no class"] = _param("class_weight", [["no class", 2.0]])
        found["class_weight negative"] = _param("class_weight", [["sport", -2.0]])
    for name in params.keys() - {"random_state"}:  # in whose place the manifest has the seed
        found[f"{name} is an object"] = _param(name, {"a": [1]})
    return found


def _entry(name: str, value: Any) -> Change:
    return lambda manifest: manifest.update({name: value})


def _without(role: str) -> Change:
    return lambda manifest: manifest["files"].pop(role)


def _file(role: str, **change: Any) -> Change:
    return lambda manifest: manifest["files"][role].update(change)


def _param(name: str, value: Any) -> Change:
    return lambda manifest: manifest["params"].update({name: value})

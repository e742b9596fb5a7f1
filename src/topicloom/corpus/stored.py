"""A corpus as one file of ours."""

from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.arrays import from_bytes, read_arrays, to_bytes, write_arrays
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.errors import InputError


def save_corpus(corpus: Corpus, path: Path) -> str:
    """Write a corpus as one file; returns its digest."""
    arrays: dict[str, AnyArray] = {
        "words": corpus.words,
        "doc_ptr": corpus.doc_ptr,
        "vocabulary": to_bytes(corpus.vocabulary),
    }
    info: dict[str, Any] = {"ordered": corpus.ordered, "text_options": corpus.text_options}
    for name in ("weights", "responses", "unknown"):
        if getattr(corpus, name) is not None:
            arrays[name] = getattr(corpus, name)
    for name in ("ids", "labels", "groups"):
        if getattr(corpus, name) is not None:
            arrays[name] = to_bytes(_plain(name, getattr(corpus, name)))
    if corpus.times is not None:
        if corpus.times.dtype.kind == "M":
            info["times"] = corpus.times.dtype.str
            arrays["times"] = corpus.times.view(np.int64)
        elif corpus.times.dtype.kind in "iuf":
            arrays["times"] = corpus.times
        else:
            arrays["times_text"] = to_bytes(_plain("times", corpus.times.tolist()))
    return write_arrays(path, arrays, info)


def load_corpus(path: Path) -> Corpus:
    """Read a corpus written by ``save_corpus``."""
    arrays, info, _ = read_arrays(path)
    fields: dict[str, Any] = {name: arrays[name] for name in ("words", "doc_ptr")}
    for name in ("weights", "responses", "unknown"):
        fields[name] = arrays.get(name)
    for name in ("vocabulary", "ids", "labels", "groups"):
        fields[name] = tuple(from_bytes(arrays[name])) if name in arrays else None
    times = arrays.get("times")
    if times is not None and "times" in info:
        times = times.view(info["times"])
    if "times_text" in arrays:
        times = np.array(from_bytes(arrays["times_text"]))
    return Corpus(**fields, times=times, ordered=info["ordered"], text_options=text_options(info["text_options"]))


def _plain(name: str, values: Any) -> Any:
    """The values, if JSON gives them back as they are."""
    for d, value in enumerate(values):
        parts = value if isinstance(value, tuple) and name == "labels" else (value,)
        if not all(part is None or isinstance(part, str | bool | int | float) for part in parts):
            raise InputError(
                f"document {d}: the {name} entry {value!r} is a {type(value).__name__}, which cannot be saved; "
                "use text or numbers (for instance str(value))."
            )
    return values


def text_options(saved: Any) -> TextOptions | None:
    """Text options as JSON gives them back."""
    if saved is None:
        return None
    token_pattern, lowercase, stop_words = saved
    return TextOptions(token_pattern, lowercase, tuple(stop_words))

"""Some documents of a larger corpus, for a worker that has no others."""

from collections.abc import Sequence
from typing import Any

from topicloom._types import Int32Array, Int64Array
from topicloom.corpus._checks import read_only
from topicloom.corpus.corpus import Corpus


class _Numbers(Sequence[str]):
    """Names for words where nobody asks for them: ``word0``, ``word1``, … without memory for each."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        return tuple(f"word{j}" for j in range(*index.indices(self.n))) if isinstance(index, slice) else f"word{index}"


def documents_alone(words: Int32Array, doc_ptr: Int64Array, word_counts: Int64Array) -> Corpus:
    """Some documents of a larger corpus, for samplers: the tokens alone, which are neither copied nor checked again.

    ``doc_ptr`` starts at 0. ``word_counts`` are those of the whole corpus, by which samplers choose types of counts.
    """
    found = object.__new__(Corpus)
    for name, field in Corpus.__dataclass_fields__.items():
        object.__setattr__(found, name, field.default)
    given = {"words": read_only(words), "doc_ptr": read_only(doc_ptr), "word_counts": read_only(word_counts)}
    vars(found).update(given, vocabulary=_Numbers(len(word_counts)))
    return found

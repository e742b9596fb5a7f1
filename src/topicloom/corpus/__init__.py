"""The corpus and the ways into it."""

from topicloom.corpus.corpus import Corpus, TextOptions, from_matrix
from topicloom.corpus.formats import read
from topicloom.corpus.frames import from_frame
from topicloom.corpus.rows import Rows
from topicloom.corpus.splits import hold_out_tokens, split_documents, split_halves
from topicloom.corpus.text import from_texts

__all__ = [
    "Corpus",
    "Rows",
    "TextOptions",
    "from_frame",
    "from_matrix",
    "from_texts",
    "hold_out_tokens",
    "read",
    "split_documents",
    "split_halves",
]

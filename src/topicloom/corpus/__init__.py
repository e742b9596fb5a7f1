"""The corpus and the ways into it."""

from topicloom.corpus._stop_words import stop_words
from topicloom.corpus.anndata import from_anndata
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.corpus.formats import read
from topicloom.corpus.frames import from_frame
from topicloom.corpus.inputs import as_corpus
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.registry import register_normalizer, register_tokenizer
from topicloom.corpus.rows import Rows
from topicloom.corpus.splits import hold_out_tokens, split_documents, split_halves
from topicloom.corpus.text import from_texts

__all__ = [
    "Corpus",
    "Rows",
    "TextOptions",
    "as_corpus",
    "from_anndata",
    "from_frame",
    "from_matrix",
    "from_texts",
    "hold_out_tokens",
    "read",
    "register_normalizer",
    "register_tokenizer",
    "split_documents",
    "split_halves",
    "stop_words",
]

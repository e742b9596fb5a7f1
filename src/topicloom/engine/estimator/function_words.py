"""A hint, once per corpus, that its most frequent words are function words, which would fill the topics."""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._stop_words import LANGUAGES, stop_words
from topicloom.corpus._streams import count_words, document_blocks
from topicloom.corpus.corpus import Corpus, once
from topicloom.corpus.pruning import document_frequency
from topicloom.errors import FunctionWordsWarning, warn

_TOP = 20  # words looked at
_MANY = 10  # of them
_LEAST_DOCS, _LEAST_WORDS = 50, 100
_EVERYWHERE = 0.8  # share of documents in which a word of any language says little


@once
def report_function_words(corpus: Corpus) -> bool:
    """Warn if at least half of the most frequent words of texts are function words."""
    if corpus.text_options is None or corpus.n_docs < _LEAST_DOCS or corpus.n_words < _LEAST_WORDS:
        return False
    first, last = next(document_blocks(corpus.doc_ptr))  # of a large corpus some documents tell enough
    words, ptr = corpus.words[: corpus.doc_ptr[last]], corpus.doc_ptr[: last + 1]
    top = np.argsort(-count_words(words, corpus.n_words), kind="stable")[:_TOP]
    names = [corpus.vocabulary[v] for v in top.tolist()]
    shares: FloatArray = document_frequency(words, ptr, corpus.n_words)[top] / (last - first)
    for language in _languages():
        known = stop_words(language)
        found = [name for name in names if name in known]
        if len(found) >= _MANY:
            _warn(found, f"stop_words='{language}' leaves them out")
            return True
    found = [name for name, share in zip(names, shares.tolist(), strict=True) if share >= _EVERYWHERE]
    if len(found) < _MANY:
        return False
    _warn(found, f"stop_words, or max_df={_EVERYWHERE - 0.3:.1f}, leaves them out", "are in nearly every document")
    return True


def _languages() -> Iterator[str]:
    """Languages whose lists are at hand."""
    yield "english"
    if find_spec("stopwordsiso") is not None:
        yield from (language for language in LANGUAGES if language != "english")


def _warn(found: list[str], remedy: str, what: str = "are function words") -> None:
    shown = ", ".join(found[:5])
    warn(
        f"of the {_TOP} most frequent words {len(found)} {what} ({shown}, …), which will fill the topics: {remedy}.",
        FunctionWordsWarning,
    )

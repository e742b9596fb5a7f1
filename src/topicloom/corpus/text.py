"""Texts, or lists of words, to a corpus: one pass over any iterator."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus._checks import items, read_only
from topicloom.corpus._checks import texts as checked_texts
from topicloom.corpus._cutting import DEFAULT_PATTERN as DEFAULT_PATTERN
from topicloom.corpus._cutting import Cutter, compiled, cutter_of, one_form, typed, words_of
from topicloom.corpus._given import Documents, Missing, doc_words, documents_of
from topicloom.corpus._markup import check_strip
from topicloom.corpus._numbering import Numberer, Stream, number
from topicloom.corpus._stop_words import given_stop_words
from topicloom.corpus._streams import BLOCK_TOKENS, compacted, count_words
from topicloom.corpus._texts import KeptTexts
from topicloom.corpus.corpus import Corpus, TextOptions, with_reading
from topicloom.corpus.phrases import given_ngrams, given_phrases, with_ngrams, with_phrases
from topicloom.corpus.pruning import Pruning, document_frequency, kept_words
from topicloom.corpus.registry import Normalizer, Tokenizer, normalizer_of, tokenizer_of
from topicloom.corpus.text_options import NO_NGRAMS, WORD_LISTS
from topicloom.errors import InputError, counted

Phrases = str | Mapping[str, Any] | Sequence[Sequence[Sequence[str]]]


def from_texts(
    texts: Iterable[Any],
    *,
    strip: str | Sequence[str] = (),
    tokenizer: Tokenizer | str | None = None,
    token_pattern: str = DEFAULT_PATTERN,
    lowercase: bool = True,
    stop_words: str | Collection[str] | None = None,
    normalizer: Normalizer | str | None = None,
    phrases: Phrases | None = None,
    ngrams: tuple[int, int] = NO_NGRAMS,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
    vocabulary: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    groups: Sequence[Hashable] | None = None,
    responses: Sequence[float] | AnyArray | None = None,
    times: Sequence[Any] | AnyArray | None = None,
    keep_texts: bool | None = None,
    missing: Missing = "error",
    n_jobs: int | None = 1,
) -> Corpus:
    """Corpus from texts, read once: a generator will do.

    Steps are made in the order of the options. All but ``n_jobs`` and what chooses the vocabulary are kept in
    ``Corpus.text_options``, so that models treat new texts alike.

    Parameters
    ----------
    texts : iterable of str, of lists of words, or of spaCy Docs
        One per document: a list, a column of pandas, polars or pyarrow, an array, or anything else that gives one after
        the other. Lists of words are taken as they are. The words of a ``Doc`` are its tokens that have a letter; a
        ``tokenizer`` is given the ``Doc``.
    strip : str or sequence of str, default=()
        What is removed first: "html", "urls" or both.
    tokenizer : callable or str, default=None
        From a text to its words, or the name of one registered by ``topicloom.corpus.register_tokenizer``. Languages
        written without blanks need one. It replaces ``token_pattern``.
    token_pattern : str, default runs of two or more letters, marks and digits that are not a bare number
        Regular expression of a word, with one group at most.
    lowercase : bool, default=True
        Whether words are in lower case.
    stop_words : str or collection of str, default=None
        Words to leave out. A string names languages: "english", "de", "english, german".
    normalizer : callable or str, default=None
        From a document's list of words to the words to use instead (lemmas, stems), or the name of one registered by
        ``topicloom.corpus.register_normalizer``, or "snowball:german" and its like.
    phrases : str, dict or sequence, default=None
        Joins pairs of words that often follow each other: "npmi", "gensim", or a dict with "score", "min_count",
        "threshold" and "passes". A list of pairs for each pass joins these.
    ngrams : tuple of int, default=(1, 1)
        Shortest and longest run of words that is counted.
    min_df, max_df : int or float, default=1 and 1.0
        Least and largest number (an int) or share (a float) of documents with a word.
    max_words : int, default=None
        Keeps the most frequent words.
    vocabulary : sequence of str, default=None
        The words to use; nothing is pruned, and each document's other words are counted in ``Corpus.unknown``.
    ids, labels, groups, responses, times : sequences, default=None
        Metadata, one entry per document.
    keep_texts : bool, default=None
        Whether ``Corpus.texts`` has the texts as they are: None keeps up to 50 million characters in all.
    missing : {"error", "empty"}, default="error"
        What a missing text (None, NaN) is: an error, or an empty document. A warning then has their number.
    n_jobs : int, default=1
        Cores that cut texts, by threads or processes; -1 uses every core. The corpus is the same.

    Returns
    -------
    Corpus
        Words are in alphabetical order.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from_texts(["The river floods its banks.", "Banks lend."], stop_words="english").vocabulary
    ('banks', 'floods', 'lend', 'river')
    """
    given = texts if isinstance(texts, Documents) else documents_of(texts, missing)
    kept_texts = KeptTexts(False if given.kind == "words" else keep_texts)
    words = _Words(False if given.kind == "words" else lowercase, stop_words, normalizer, phrases, ngrams)
    entries: Iterator[Any] = _noted(given.entries, kept_texts)
    as_known = tokenizer is None or (given.kind == "words" and tokenizer == WORD_LISTS)
    found: tuple[Tokenizer, str | None] | None = None if as_known else tokenizer_of(tokenizer)
    if given.kind != "texts" and (given.kind == "words" or found is None):
        if given.kind == "words" and found is not None:
            raise InputError("the documents are lists of words, which are taken as they are; leave out tokenizer=.")
        if check_strip(strip):
            raise InputError("the documents are in words already; strip= applies to texts, so leave it out.")
        if given.kind == "docs":
            entries = (doc_words(doc, words.lowercase) for doc in entries)
        found = (_as_they_are, WORD_LISTS)
    if found is None:
        compiled(token_pattern)
    cutter = words.cutter(DEFAULT_PATTERN if found else token_pattern, check_strip(strip), found and found[0])
    known = (found is None or found[1] is not None) and words.known
    options = words.options(cutter, None if found is None else found[1]) if known else None
    chosen = _Chosen(Pruning(min_df, max_df, max_words), vocabulary)
    stream: Callable[[], Stream] = partial(number, entries, cutter, n_jobs)
    if given.numbered is not None:
        stream = partial(given.numbered, cutter, kept_texts)
    corpus = _corpus(stream, cutter, words, chosen, options)
    metadata: dict[str, Any] = {"ids": ids, "labels": labels, "groups": groups, "responses": responses, "times": times}
    corpus = corpus.with_metadata(**metadata, texts=kept_texts.found)
    return with_reading(corpus, missing=None if missing == "error" else missing)


def tokenize(text: str, options: TextOptions) -> list[str]:
    """The words of a text, cut as the corpus with these options was cut."""
    if not isinstance(text, str):
        raise InputError(f"a text must be a string, not {typed(text)}.")
    if not options.phrases and options.ngrams == NO_NGRAMS:
        return words_of(text, options)
    numberer = Numberer(cutter_of(options))
    numberer.add(0, text)
    part = numberer.take()
    stream = with_phrases(Stream(part.words, np.array([0, len(part.words)]), part.new), options.phrases)[0]
    stream = with_ngrams(stream, options.ngrams)
    return [stream.names[v] for v in stream.words.tolist()]


# -- options -----------------------------------------------------------------------------------------------------------


class _Words:
    """Options of what is done to words, checked."""

    def __init__(self, lowercase: Any, stop_words: Any, normalizer: Any, phrases: Any, ngrams: Any) -> None:
        if not isinstance(lowercase, bool | np.bool_ | int):
            raise InputError(f"lowercase={typed(lowercase)} must be True or False.")
        self.lowercase = bool(lowercase)
        self.stop_words = frozenset(one_form(word, self.lowercase) for word in given_stop_words(stop_words))
        self.normalizer: Normalizer | None = None
        self._name: str | None = None
        if normalizer is not None:
            self.normalizer, self._name = normalizer_of(normalizer)
        self.known = self.normalizer is None or self._name is not None  # whether a file can say all of it
        self.phrases, self.ngrams = given_phrases(phrases), given_ngrams(ngrams)

    def cutter(self, pattern: str, strip: tuple[str, ...], tokenizer: Tokenizer | None) -> Cutter:
        return Cutter(pattern, self.lowercase, self.stop_words, strip, tokenizer, self.normalizer)

    def options(self, cutter: Cutter, tokenizer: str | None) -> TextOptions:
        """What is remembered, before phrases are learned."""
        stop = tuple(sorted(self.stop_words))
        return TextOptions(
            cutter.pattern, self.lowercase, stop, cutter.strip, tokenizer, self._name, ngrams=self.ngrams
        )


class _Chosen(NamedTuple):
    """What the vocabulary is to be."""

    pruning: Pruning
    vocabulary: Sequence[str] | None

    def check(self) -> tuple[str, ...] | None:
        """The given vocabulary, if one is."""
        self.pruning.check()
        if self.vocabulary is None:
            return None
        if not self.pruning.keeps_all:
            raise InputError("min_df, max_df and max_words choose a vocabulary; leave them out when you give one.")
        return checked_texts("vocabulary", items("vocabulary", self.vocabulary))


# -- documents ---------------------------------------------------------------------------------------------------------


def _noted(documents: Iterator[Any], kept: KeptTexts) -> Iterator[Any]:
    """The documents, whose texts are kept on the way."""
    for document in documents:
        kept.note(getattr(document, "text", document))
        yield document
        del document


def _as_they_are(words: Any) -> Any:
    return words


# -- the corpus --------------------------------------------------------------------------------------------------------


def _corpus(
    numbered: Callable[[], Stream], cutter: Cutter, words: _Words, chosen: _Chosen, options: TextOptions | None
) -> Corpus:
    vocabulary = chosen.check()
    stream, phrases = with_phrases(numbered(), words.phrases)
    stream = with_ngrams(stream, words.ngrams)
    unknown = None
    if vocabulary is None:
        if not stream.names:
            raise InputError(_nothing_left(len(stream.ptr) - 1, cutter))
        vocabulary = _choose(stream, chosen.pruning, joined=bool(phrases))
    else:
        lengths = np.diff(stream.ptr)
    index = {word: v for v, word in enumerate(vocabulary)}
    numbers, ptr = _translated(stream, np.array([index.get(name, -1) for name in stream.names], np.int32))
    if chosen.vocabulary is not None:
        unknown = lengths - np.diff(ptr)
    return Corpus(
        words=numbers,
        doc_ptr=ptr,
        vocabulary=vocabulary,
        ordered=words.ngrams[0] == words.ngrams[1],
        unknown=unknown,
        text_options=None if options is None else options._replace(phrases=phrases),
    )


def _choose(stream: Stream, pruning: Pruning, joined: bool) -> tuple[str, ...]:
    """The words to keep, in alphabetical order. With ``joined`` phrases some may no longer occur."""
    n_words = len(stream.names)
    counts: Callable[[], Int64Array] = lambda: count_words(stream.words, n_words)  # noqa: E731
    frequency = lambda: document_frequency(stream.words, stream.ptr, n_words)  # noqa: E731
    keep = kept_words(pruning, stream.names, len(stream.ptr) - 1, counts, frequency)
    if joined:
        keep &= counts() > 0  # some words are left in phrases alone
    return tuple(sorted(stream.names[v] for v in np.flatnonzero(keep).tolist()))


def _translated(stream: Stream, new_number: Int32Array) -> tuple[Int32Array, Int64Array]:
    """The stream in other numbers, without the words that have none."""
    words = stream.words
    # In place, block by block: the stream is the one large thing here.
    for start in range(0, len(words), BLOCK_TOKENS):
        words[start : start + BLOCK_TOKENS] = new_number[words[start : start + BLOCK_TOKENS]]
    if len(new_number) and new_number.min() >= 0:
        return read_only(words), stream.ptr
    words, ptr = compacted(words, stream.ptr)
    return read_only(words), ptr


def _nothing_left(n_docs: int, cutter: Cutter) -> str:
    stop = cutter.stop_words
    source = "token_pattern" if cutter.tokenizer is None else "the tokenizer"
    return (
        f"the vocabulary is empty: in {counted(n_docs, 'documents')} {source} found no word"
        + (f" other than the {len(stop)} stop words" if stop else "")
        + f". Check the texts, {source}"
        + (" and stop_words." if stop else ".")
    )

"""MALLET's state file (``--output-state``): text with one line per token, which other tools can read too.

    #doc source pos typeindex type topic
    #alpha : 0.31 0.12 …
    #beta : 0.01
    0 /texts/a.txt 0 17 river 4

With the assignments of another sampler in hand, dense (CGS_p) estimates are one call away::

    found = topicloom.mallet.read_state("state.gz")
    counts = topicloom.estimates.topic_counts(*found)
"""

import os
import re
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array, UInt64Array
from topicloom.corpus._checks import read_only
from topicloom.corpus._limits import Limits
from topicloom.corpus._lines import malformed, open_bytes, replacing
from topicloom.corpus._streams import GrowingArray, document_blocks, pointers
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import from_assignments
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.state import AnyState, rebuild_counts
from topicloom.errors import InputError
from topicloom.files.arrays import as_path
from topicloom.labeled.cvb0 import SoftLabeledState
from topicloom.labeled.gibbs import LabeledState
from topicloom.numerics.jit import kernel

PathLike = str | os.PathLike[str]

_COLUMNS = "#doc source pos typeindex type topic"
_LINE = "'doc source pos typeindex type topic', for instance '0 a.txt 0 17 river 4'"
_NO_SOURCE = "NA"
_BLOCK_BYTES = 1 << 22
_WRITE_TOKENS = 1 << 17  # tokens that become text at a time
_BLANK = re.compile(r"[ \t\r\n]")


class MalletState(NamedTuple):
    """The content of a state file, in the order in which ``topic_counts`` takes it.

    Attributes
    ----------
    corpus : Corpus
    state : State
        Topic of each token, and counts.
    prior : Prior
        α and β.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import LDA, mallet
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["goal match goal", "vote law vote"])
    >>> chain = model.chains_[0]
    >>> path = Path(mkdtemp()) / "state.gz"
    >>> mallet.write_state(path, model.corpus_, chain.state, chain.prior)
    >>> found = mallet.read_state(path)
    >>> type(found).__name__, found._fields
    ('MalletState', ('corpus', 'state', 'prior'))
    """

    corpus: Corpus
    state: AnyState
    prior: Prior


# -- reading -------------------------------------------------------------------------------------------------------


def read_state(path: PathLike, corpus: Corpus | None = None, *, max_size: int | None = None) -> MalletState:
    """Corpus, assignments and priors from a state file, gzipped or plain.

    Without a ``corpus`` one is made from the file. Word v is the type with index v (``<v>`` if the file never shows its
    name), and ids are the sources. A document number that the file skips keeps its row, empty. The file shows neither
    empty documents at its end nor types without tokens.

    With the ``corpus`` that was sampled, types are matched by name and documents by number. Each document must have the
    same words, as often, in both.

    Parameters
    ----------
    path : path
    corpus : Corpus, default=None
        The corpus that was sampled.
    max_size : int, default=None
        Largest document number and type index. By default 2**20, or 1,000 per token if that is more.

    Returns
    -------
    MalletState

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import LDA, mallet
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["goal match goal", "vote law vote"])
    >>> chain = model.chains_[0]
    >>> path = Path(mkdtemp()) / "state.gz"
    >>> mallet.write_state(path, model.corpus_, chain.state, chain.prior)
    >>> mallet.read_state(path, model.corpus_).state.z.tolist() == chain.state.z.tolist()
    True
    """
    source = as_path(path)
    with open_bytes(source) as file:
        alpha, beta, first, n_lines = _read_header(source, file)
        tokens = _Tokens(source, len(alpha), n_lines + 1, Limits(source, max_size))
        tokens.read(file, first)
    docs, words, topics = tokens.docs.finish(), tokens.words.finish(), tokens.topics.finish()
    if corpus is None:
        if np.any(docs[1:] < docs[:-1]):  # MALLET writes document after document, other tools may not
            order = np.argsort(docs, kind="stable")
            docs, words, topics = docs[order], words[order], topics[order]
        doc_ptr = pointers(np.bincount(docs))
        made = Corpus(read_only(words), doc_ptr, tokens.vocabulary(), ordered=True, ids=tokens.ids(len(doc_ptr) - 1))
        prior = make_prior(alpha, np.full(made.n_words, beta), made.n_docs)
        return MalletState(made, rebuild_counts(made, topics, prior.n_topics), prior)
    prior = make_prior(alpha, np.full(corpus.n_words, beta), corpus.n_docs)
    if docs.max() >= corpus.n_docs:
        raise InputError(
            f"{source} has a document {docs.max()}, but the corpus has {corpus.n_docs} documents, numbered from 0. "
            "Give the corpus that was sampled, with its documents in the same order."
        )
    number = tokens.numbers_in(corpus)
    return MalletState(corpus, from_assignments(number[words], docs, topics, prior, corpus), prior)


def _read_header(path: Path, file: IO[bytes]) -> tuple[FloatArray, float, bytes, int]:
    """α, β, the first line after the header, and the number of the header's lines."""
    found: dict[str, list[float]] = {}
    number, line = 1, file.readline()
    if not line.startswith(b"#doc "):
        raise malformed(path, 1, line.decode("utf-8", "replace"), f"a MALLET state file: {_COLUMNS!r}")
    while line.startswith(b"#"):
        text = line.decode("utf-8", "replace")
        name, _, values = text.partition(":")
        if name.strip() in ("#alpha", "#beta"):
            try:
                found[name.strip()] = [float(value) for value in values.split()]
            except ValueError:
                raise malformed(path, number, text, f"numbers after '{name.strip()} :'") from None
        number, line = number + 1, file.readline()
    for name, expected in (("#alpha", "one number per topic"), ("#beta", "one number")):
        values_found = np.array(found.get(name, []))
        if not len(values_found) or (name == "#beta" and len(values_found) != 1):
            raise malformed(path, "its header", found.get(name, "nothing"), f"a line '{name} : …' with {expected}")
        if not np.all(np.isfinite(values_found) & (values_found > 0)):
            raise malformed(path, "its header", found[name], f"positive numbers after '{name} :'")
    return np.array(found["#alpha"]), found["#beta"][0], line, number - 1


class _Tokens:
    """Columns of the file while it is read, a block of lines at a time."""

    def __init__(self, path: Path, n_topics: int, first_line: int, limits: Limits) -> None:
        self._path, self._n_topics, self._line, self._limits = path, n_topics, first_line, limits
        self.docs, self.words, self.topics = GrowingArray(), GrowingArray(), GrowingArray()
        self._names: dict[int, str] = {}
        self._hashes = np.zeros(0, np.uint64)  # of each type's name, to notice an index with two names
        self._sources: dict[int, str] = {}

    def read(self, file: IO[bytes], text: bytes) -> None:
        text += file.read(_BLOCK_BYTES)
        while text:
            if not text.endswith(b"\n"):
                text += file.readline()
            if not text.endswith(b"\n"):
                text += b"\n"
            self._add(np.frombuffer(text, np.uint8))
            text = file.read(_BLOCK_BYTES)
        if not len(self.docs):
            raise InputError(f"{self._path} has no token: nothing follows its header.")

    def _add(self, raw: AnyArray) -> None:
        n_lines = int(np.count_nonzero(raw == 10))
        columns = np.empty((8, n_lines), np.int64)
        hashes = np.empty(n_lines, np.uint64)
        n, bad = _parse_lines(raw, columns, hashes)
        docs, words, topics, lines, name_from, name_to, source_from, source_to = columns[:, :n]
        if bad >= 0:
            raise self._error(raw, bad, _LINE)
        if n and topics.max() >= self._n_topics:
            where = int(lines[np.argmax(topics >= self._n_topics)])
            raise self._error(raw, where, f"a topic from 0 to {self._n_topics - 1}, as '#alpha :' has {self._n_topics}")
        self._limits.entries += n
        n_docs, n_words = int(docs.max(initial=-1)) + 1, int(words.max(initial=-1)) + 1
        self._limits.check_sizes(n_docs, n_words, named=False)
        self._add_names(raw, words, lines, name_from, name_to, hashes[:n])
        starts = np.flatnonzero(np.diff(docs, prepend=-1))
        for t in starts.tolist():
            if int(docs[t]) not in self._sources:
                text = self._text(raw, source_from[t], source_to[t], int(lines[t]))
                self._sources[int(docs[t])] = text
        self.docs.append(docs)
        self.words.append(words)
        self.topics.append(topics)
        self._line += n_lines

    def _add_names(
        self,
        raw: AnyArray,
        words: Int64Array,
        lines: Int64Array,
        name_from: Int64Array,
        name_to: Int64Array,
        hashes: UInt64Array,
    ) -> None:
        top = int(words.max(initial=-1)) + 1
        if top > len(self._hashes):
            self._hashes = np.concatenate((self._hashes, np.zeros(top - len(self._hashes), np.uint64)))
        new = np.flatnonzero(self._hashes[words] == 0)
        for v, place in zip(*np.unique(words[new], return_index=True), strict=True):
            t = new[place]
            self._names[int(v)] = self._text(raw, name_from[t], name_to[t], int(lines[t]))
            self._hashes[v] = hashes[t]
        other = np.flatnonzero(self._hashes[words] != hashes)
        if len(other):
            t = other[0]
            expected = f"the type {self._names[int(words[t])]!r}, which index {words[t]} has on an earlier line"
            raise self._error(raw, int(lines[t]), expected)

    def _text(self, raw: AnyArray, start: int, end: int, line: int) -> str:
        try:
            return raw[start:end].tobytes().decode()
        except UnicodeDecodeError:
            raise self._error(raw, line, "text in UTF-8") from None

    def _error(self, raw: AnyArray, line: int, expected: str) -> InputError:
        found = raw.tobytes().split(b"\n")[line].decode("utf-8", "replace")
        return malformed(self._path, self._line + line, found, expected)

    def vocabulary(self) -> tuple[str, ...]:
        names = tuple(self._names.get(v, f"<{v}>") for v in range(len(self._hashes)))
        if len(set(names)) != len(names):
            seen: dict[str, int] = {}
            v, first = next((v, seen[name]) for v, name in enumerate(names) if seen.setdefault(name, v) != v)
            raise InputError(f"{self._path} has the type {names[v]!r} under two indices, {first} and {v}.")
        return names

    def ids(self, n_docs: int) -> tuple[str, ...] | None:
        """The sources; none if the file names none."""
        if all(source == _NO_SOURCE for source in self._sources.values()):
            return None
        return tuple(self._sources.get(d, _NO_SOURCE) for d in range(n_docs))

    def numbers_in(self, corpus: Corpus) -> AnyArray:
        """The corpus's number of each type."""
        index = {word: v for v, word in enumerate(corpus.vocabulary)}
        missing = [name for name in self._names.values() if name not in index]
        if missing:
            raise InputError(
                f"{self._path} has {len(missing)} types that the corpus's vocabulary lacks, {missing[0]!r} first. "
                "Give the corpus that was sampled, or leave it out to make one from the file."
            )
        number = np.full(len(self._hashes), -1, np.int32)
        for v, name in self._names.items():
            number[v] = index[name]
        return number


@kernel
def _parse_lines(raw: AnyArray, columns: Int64Array, hashes: UInt64Array) -> tuple[int, int]:
    """Cut lines into fields; returns the number of tokens and the first malformed line (−1: none).

    Rows of ``columns``: document, type index, topic, line, where the type's name starts and ends, where the source
    does. A source may hold blanks (a file name, say), so fields after it are counted from the end of the line.
    """
    blanks = np.empty(4, np.int64)
    start, line, n = 0, 0, 0
    for end in range(len(raw)):
        if raw[end] != 10:
            continue
        stop = end
        while stop > start and (raw[stop - 1] == 13 or raw[stop - 1] == 32):
            stop -= 1
        if stop > start:
            found = 0
            i = stop - 1
            while i >= start and found < 4:
                if raw[i] == 32:
                    blanks[found] = i
                    found += 1
                i -= 1
            first = start
            while first < stop and raw[first] != 32:
                first += 1
            if found < 4 or first >= blanks[3]:
                return n, line
            topic = _whole(raw, blanks[0] + 1, stop)
            word = _whole(raw, blanks[2] + 1, blanks[1])
            place = _whole(raw, blanks[3] + 1, blanks[2])
            doc = _whole(raw, start, first)
            if topic < 0 or word < 0 or place < 0 or doc < 0 or blanks[1] + 1 == blanks[0]:
                return n, line
            columns[0, n], columns[1, n], columns[2, n], columns[3, n] = doc, word, topic, line
            columns[4, n], columns[5, n] = blanks[1] + 1, blanks[0]
            columns[6, n], columns[7, n] = first + 1, blanks[3]
            mixed = np.uint64(0xCBF29CE484222325)  # FNV-1a
            for j in range(blanks[1] + 1, blanks[0]):
                mixed = (mixed ^ np.uint64(raw[j])) * np.uint64(0x100000001B3)
            hashes[n] = mixed | np.uint64(1)  # 0 stands for a type that was not seen yet
            n += 1
        start = end + 1
        line += 1
    return n, -1


@kernel
def _whole(raw: AnyArray, start: int, end: int) -> int:
    """The number between two places, −1 if it is none or beyond 9 digits."""
    if end <= start or end - start > 9:
        return -1
    value = 0
    for i in range(start, end):
        digit = int(raw[i]) - 48
        if digit < 0 or digit > 9:
            return -1
        value = 10 * value + digit
    return value


# -- writing -------------------------------------------------------------------------------------------------------


def write_state(path: PathLike, corpus: Corpus, state: AnyState, prior: Prior) -> None:
    """Write assignments as MALLET's ``--output-state`` does.

    The type index is the word's number in the vocabulary. Blanks in ids become ``_``, because MALLET takes a blank for
    the end of a field.

    Parameters
    ----------
    path : path
        File to write. MALLET wants it gzipped, as it is if its name ends in ``.gz``.
    corpus : Corpus
    state : State
        Topic of each token.
    prior : Prior
        One α for all documents and one β for all words, without seed words.

    Raises
    ------
    InputError
        If a state file cannot hold the prior, the words or the labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom import LDA, mallet
    >>> model = LDA(2, max_iter=20, random_state=0).fit(["goal match goal", "vote law vote"])
    >>> chain = model.chains_[0]
    >>> path = Path(mkdtemp()) / "state.gz"
    >>> mallet.write_state(path, model.corpus_, chain.state, chain.prior)
    >>> path.exists()
    True
    """
    target = as_path(path)
    _check_writable(corpus, state, prior)
    suffix = [f" {v} {word} " for v, word in enumerate(corpus.vocabulary)]
    alpha = "".join(f"{value!r} " for value in prior.alpha[0].tolist())
    with replacing(target) as file:
        file.write(f"{_COLUMNS}\n#alpha : {alpha}\n#beta : {float(prior.beta[0])!r}\n".encode())
        for first, last in document_blocks(corpus.doc_ptr, _WRITE_TOKENS):
            parts: list[str] = []
            bounds = corpus.doc_ptr[first : last + 1].tolist()
            words = corpus.words[bounds[0] : bounds[-1]].tolist()
            topics = state.z[bounds[0] : bounds[-1]].tolist()
            stream = zip(words, topics, strict=True)
            for d in range(first, last):
                start = f"{d} {_source(corpus, d)} "
                document = islice(stream, bounds[d + 1 - first] - bounds[d - first])
                parts.extend(f"{start}{i}{suffix[word]}{topic}\n" for i, (word, topic) in enumerate(document))
            file.write("".join(parts).encode())


def _source(corpus: Corpus, d: int) -> str:
    return _BLANK.sub("_", corpus.ids[d] or _NO_SOURCE) if corpus.ids is not None else _NO_SOURCE


def _check_writable(corpus: Corpus, state: AnyState, prior: Prior) -> None:
    if isinstance(state, LabeledState | SoftLabeledState):
        raise InputError(
            "a state file cannot say which labels a document has, so that whatever reads it would give documents other "
            "labels, too. Write the model's tables instead (doc_topic_ and topic_word_; topicloom convert --to "
            "doc-topics or --to topic-words), or save the model."
        )
    if corpus.weights is not None:
        raise InputError("a weighted corpus has no whole tokens to write; a state file has one line for each.")
    if len(state.z) != corpus.n_tokens or len(prior.beta) != corpus.n_words:
        raise InputError(
            f"the state has {len(state.z)} tokens and the prior {len(prior.beta)} words, the corpus {corpus.n_tokens} "
            f"and {corpus.n_words}; give the corpus that was sampled."
        )
    if len(prior.alpha) != 1:
        raise InputError(
            f"a state file has one α for all documents; this model has {len(prior.alpha)}. Write its tables instead: "
            "doc_topic_ and topic_word_, or topicloom convert --to doc-topics or --to topic-words."
        )
    if len(prior.boost) or np.any(prior.beta != prior.beta[0]):
        raise InputError("a state file has one β for all words; this model has seed words or one β per word.")
    for word in corpus.vocabulary:
        if not word or _BLANK.search(word):
            raise InputError(f"the word {word!r} is empty or holds a blank, which ends a field of a state file.")

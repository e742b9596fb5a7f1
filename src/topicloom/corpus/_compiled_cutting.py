"""Many texts to numbers of words in compiled code: what the default pattern finds, several times as fast.

Words are numbered in order of first sight, in a hash table over the bytes of the texts. A text that is not ASCII must
come in one form (``_cutting.one_form``). What characters are is asked of the pattern's own parts.
"""

import os
import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus._cutting import MARKS
from topicloom.numerics.jit import bare_kernel, step

_CHARACTERS = 0x110000
_ALNUM, _DIGIT, _MARK = 1, 2, 4  # kinds of characters
_KINDS = ((_ALNUM, r"[^\W_]"), (_DIGIT, r"\d"), (_MARK, rf"[{MARKS}]"))
_FIRST_WORDS = 1 << 14
_NINE = ord("9")  # in ASCII letters come after digits
_SPREAD, _HALF, _BYTE = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(8)
_LOW = np.uint64(0xFFFFFFFF)


class Chunk(NamedTuple):
    """Some texts, one after the other as UTF-8, and where each ends."""

    data: AnyArray
    ends: Int64Array
    plain: AnyArray  # of each byte of ASCII what it becomes; 0 if it is in no word
    kinds: AnyArray  # of each character
    seed: UInt64Array


class Table(NamedTuple):
    """All words so far: the bytes of word v are ``letters[starts[v]:starts[v + 1]]``, ``heads[v]`` the first 8."""

    slots: UInt64Array  # a power of two of them: half of a word's hash, then 1 + its number; 0 if there is none
    heads: UInt64Array
    starts: Int64Array
    letters: AnyArray


class Found(NamedTuple):
    """Numbers of the words, where each text's end, and how far the cutting is: texts, bytes, tokens, words."""

    words: Int32Array
    ends: Int64Array
    done: Int64Array


@step
def _character(data: AnyArray, i: int, end: int) -> tuple[int, int]:
    """The character of several bytes of UTF-8 that begins here, and how many it has."""
    first, size = int(data[i]), 2
    if first >= 0xF0:
        c, size = first & 0x07, 4
    elif first >= 0xE0:
        c, size = first & 0x0F, 3
    else:
        c = first & 0x1F
    for t in range(i + 1, min(i + size, end)):
        c = (c << 6) | (int(data[t]) & 0x3F)
    return c, size


@bare_kernel
def _slot_of(table: Table, tag: np.uint64, head: np.uint64, start: int, end: int) -> int:
    """The slot of a word whose letters lie at the end of the table's, or the free one where it belongs."""
    mask = np.uint64(table.slots.shape[0] - 1)
    slot = tag & mask
    while table.slots[slot] != 0:
        if table.slots[slot] >> _HALF == tag:
            v = np.int64(table.slots[slot] & _LOW) - 1
            other, same = table.starts[v], table.heads[v] == head
            if same and table.starts[v + 1] - other == end - start:
                for t in range(8, end - start):
                    if table.letters[other + t] != table.letters[start + t]:
                        same = False
                        break
                if same:
                    break
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@bare_kernel
def _cut(chunk: Chunk, table: Table, found: Found) -> bool:
    """Cut on from where it is; False if the table must grow first. The letters must have room for all that follows.

    A word is a run of letters, digits and marks. It has two characters at least, and a letter after its first digits.
    """
    data, plain, letters = chunk.data, chunk.plain, table.letters
    d, i, n, w = found.done[0], found.done[1], found.done[2], found.done[3]
    while d < chunk.ends.shape[0]:
        end = chunk.ends[d]
        while i < end:
            begin = at = table.starts[w]
            j, n_characters, letter = i, 0, False
            head = first_head = np.uint64(0)
            code = chunk.seed[0]
            while j < end:
                size = 1
                if data[j] < 128:
                    if plain[data[j]] == 0:
                        break
                    letter |= plain[data[j]] > _NINE
                else:
                    c, size = _character(data, j, end)
                    kind = chunk.kinds[c]
                    if kind & _ALNUM == 0 and (kind & _MARK == 0 or not letter):
                        break
                    letter |= kind & (_ALNUM | _DIGIT) == _ALNUM
                for t in range(j, j + size):
                    b = plain[data[t]]
                    letters[at] = b
                    at += 1
                    head = (head << _BYTE) | np.uint64(b)
                    if (at - begin) & 7 == 0:
                        if at - begin == 8:
                            first_head = head
                        code = (code ^ head) * _SPREAD
                        code ^= code >> _HALF
                        head = np.uint64(0)
                j += size
                n_characters += 1
            if j == i:
                size = 1
                if data[i] >= 128:
                    c, size = _character(data, i, end)
                i += size
                continue
            if letter and n_characters > 1:
                if at - begin < 8:
                    first_head = head
                code = (code ^ head ^ np.uint64(at - begin)) * _SPREAD
                tag = code >> _HALF
                slot = _slot_of(table, tag, first_head, begin, at)
                v = np.int64(table.slots[slot] & _LOW)
                if v == 0:
                    if w == table.heads.shape[0]:
                        found.done[0], found.done[1], found.done[2], found.done[3] = d, i, n, w
                        return False
                    table.heads[w], table.starts[w + 1] = first_head, at
                    w += 1
                    v = w
                    table.slots[slot] = (tag << _HALF) | np.uint64(v)
                found.words[n] = v - 1
                n += 1
            i = j
        found.ends[d] = n
        d += 1
    found.done[0], found.done[1], found.done[2], found.done[3] = d, i, n, w
    return True


@bare_kernel
def _fill(slots: UInt64Array, old: UInt64Array) -> None:
    """Put the words of other slots into empty ones."""
    mask = np.uint64(slots.shape[0] - 1)
    for entry in old:
        if entry != 0:
            slot = (entry >> _HALF) & mask
            while slots[slot] != 0:
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = entry


@cache
def _kinds(ascii_alone: bool) -> AnyArray:
    """What each character is, as regular expressions see it."""
    characters = "".join(map(chr, range(128 if ascii_alone else _CHARACTERS)))
    kinds = np.zeros(len(characters), np.uint8)
    for kind, pattern in _KINDS:
        for run in re.finditer(f"{pattern}+", characters):
            kinds[run.start() : run.end()] |= kind
    return kinds


class CompiledCutter:
    """Cuts texts by the default pattern. Words have numbers in order of first sight, from one call to the next."""

    def __init__(self, lowercase: bool) -> None:
        self._plain = np.arange(256, dtype=np.uint8)
        letters = bytes(range(128)).lower() if lowercase else bytes(range(128))
        self._plain[:128] = np.where(_kinds(True) & _ALNUM, np.frombuffer(letters, np.uint8), 0)
        self._seed = np.frombuffer(os.urandom(8), np.uint64)  # so that no text can be made to fill few slots
        none = np.zeros(0, np.uint8)
        self._table = Table(_slots(_FIRST_WORDS), np.zeros(_FIRST_WORDS, np.uint64), _starts(_FIRST_WORDS), none)
        self._n_words = 0

    def cut(self, texts: list[bytes], ascii_alone: bool) -> tuple[Int32Array, Int64Array, list[str]]:
        """Numbers of the words of these texts, where each text's end, and the words that are new."""
        data = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        chunk = Chunk(data, ends, self._plain, _kinds(ascii_alone), self._seed)
        before = self._n_words
        done = np.array([0, 0, 0, before])
        found = Found(np.empty(len(data) // 2 + 1, np.int32), np.zeros(len(texts), np.int64), done)
        self._make_room(len(data))
        while not _cut(chunk, self._table, found):
            self._grow(int(done[3]))
        self._n_words = int(done[3])
        return found.words[: int(done[2])], found.ends, self._words(before)

    def _words(self, first: int) -> list[str]:
        """Words from this number on."""
        starts = self._table.starts[first : self._n_words + 1]
        data = self._table.letters[starts[0] : starts[-1]].tobytes()
        places = (starts - starts[0]).tolist()
        if data.isascii():
            text = data.decode()
            return [text[start:end] for start, end in pairwise(places)]
        return [data[start:end].decode() for start, end in pairwise(places)]

    def _make_room(self, n_bytes: int) -> None:
        """For the letters of words that may come."""
        used, letters = int(self._table.starts[self._n_words]), self._table.letters
        if used + n_bytes > len(letters):
            grown = np.empty(max(2 * len(letters), used + n_bytes), np.uint8)
            grown[:used] = letters[:used]
            self._table = self._table._replace(letters=grown)

    def _grow(self, n_words: int) -> None:
        """Room for twice as many words."""
        table, size = self._table, 2 * n_words
        slots, heads, starts = _slots(size), np.zeros(size, np.uint64), _starts(size)
        heads[:n_words], starts[: n_words + 1] = table.heads[:n_words], table.starts[: n_words + 1]
        _fill(slots, table.slots)
        self._table = Table(slots, heads, starts, table.letters)


def _slots(n_words: int) -> UInt64Array:
    return np.zeros(4 * n_words, np.uint64)


def _starts(n_words: int) -> Int64Array:
    return np.zeros(n_words + 1, np.int64)

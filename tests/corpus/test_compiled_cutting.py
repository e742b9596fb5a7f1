"""Texts cut in compiled code: the words that the regular expression finds, in any script, whatever the sizes."""

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicloom import from_texts, read
from topicloom.corpus import _compiled_cutting, _numbering
from topicloom.corpus._cutting import DEFAULT_PATTERN, Cutter
from topicloom.corpus._numbering import Numberer
from topicloom.errors import InputError

# Letters, digits and marks of several scripts, what composes, what changes its length in lower case, and separators.
CHARACTERS = (
    "abZ09 _-\n'éÉßİΣσςſKǅŉ\u0301\u0300\u0323\u200c\u200d"
    "क\u094dष१௧٣ไทย\u0e31漢字ヽ\u3099\ud7ffª²½Ⅷ𝒳𝟙𐐀\U0001f600\ufe0f\u07c1\u07ca\u0711"
)


def words(texts: list[str], cutter: Cutter, compiled: bool, threads: int = 0) -> list[list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numbering, "_COMPILED_CHARACTERS", -1 if compiled else 1 << 40)
        patch.setattr(_numbering, "_AT_ONCE", 50)
        patch.setattr(_compiled_cutting, "_FIRST_WORDS", 2)
        with ThreadPoolExecutor(1) as pool:
            numberer = Numberer(cutter, pool if threads else None)
            names, found = list[str](), list[list[str]]()
            for d, text in enumerate(texts):
                numberer.add(d, text)
                if d % 5 == 4 or d + 1 == len(texts):
                    part = numberer.take()
                    names += part.new
                    ends = np.cumsum(part.lengths).tolist()
                    found += [
                        [names[v] for v in part.words[start:end]] for start, end in zip([0, *ends], ends, strict=False)
                    ]
    return found


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    texts=st.lists(st.text(st.sampled_from(CHARACTERS) | st.characters(exclude_categories=["Cs"]), max_size=60)),
    lowercase=st.booleans(),
    strip=st.sampled_from([(), ("html",)]),
    threads=st.integers(0, 1),
)
def test_the_words_are_those_of_the_pattern(
    texts: list[str], lowercase: bool, strip: tuple[str, ...], threads: int
) -> None:
    cutter = Cutter(DEFAULT_PATTERN, lowercase, frozenset({"ab", "σς"}), strip)
    assert words(texts, cutter, True, threads) == words(texts, cutter, False)


@pytest.mark.parametrize("around", ["a{}b ", "{}a ", "1{}a ", "a{} ", "{}1 ", "{}{} "])
def test_every_character_is_what_it_is_to_the_pattern(around: str) -> None:
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = ["".join(around.format(c, c) for c in characters[i : i + 4096]) for i in range(0, len(characters), 4096)]
    cutter = Cutter(DEFAULT_PATTERN, True, frozenset())
    assert words(texts, cutter, True) == words(texts, cutter, False)


def test_words_that_share_their_beginning_or_their_slot_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of 7 to 9 and of many letters, and as many words as fill the table again and again."""
    rng = np.random.default_rng(0)
    made = ["abcdefgh"[:n] + tail for n in (6, 7, 8) for tail in ("", "x", "y", "xx", "xy", "x" * 1000, "x" * 1001)]
    made += [f"w{v}" for v in rng.permutation(5000)]
    texts = [" ".join(rng.choice(made, 50)) for _ in range(400)]
    cutter = Cutter(DEFAULT_PATTERN, True, frozenset({"abcdefgh"}))
    assert words(texts, cutter, True) == words(texts, cutter, False)
    monkeypatch.setattr(_compiled_cutting.os, "urandom", lambda n: bytes(n))  # the seed changes no number
    assert words(texts, cutter, True) == words(texts, cutter, False)


def test_a_text_may_be_one_word_of_a_megabyte_or_nothing() -> None:
    cutter = Cutter(DEFAULT_PATTERN, True, frozenset())
    texts = ["é" * 500_000, "", "1" * 1_000_000, "x" * 1_000_001, "\u0301" * 1000, "1\u0301" * 1000, " "]
    assert words(texts, cutter, True) == words(texts, cutter, False)


def some_texts(n: int) -> Iterator[str]:
    rng = np.random.default_rng(1)
    for _ in range(n):
        yield " ".join(f"w{v}é" if v % 50 == 0 else f"W{v} The" for v in rng.geometric(0.02, 20))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"stop_words": "english", "min_df": 2}, {"ngrams": (1, 2), "phrases": "npmi"}, {"vocabulary": ["the", "w5"]}],
)
def test_the_corpus_is_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, n_jobs: int, options: dict[str, Any]
) -> None:
    texts = list(some_texts(400))
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts), encoding="utf-8")
    expected = from_texts(texts, **options)
    for characters in (-1, 5000):  # from the first text on, and from one in the middle
        monkeypatch.setattr(_numbering, "_COMPILED_CHARACTERS", characters)
        for found in (from_texts(iter(texts), n_jobs=n_jobs, **options), read(path, n_jobs=n_jobs, **options)):
            assert found.fingerprint == expected.fingerprint
            assert found.text_options == expected.text_options
            assert found.texts == tuple(texts)


def test_errors_name_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_numbering, "_COMPILED_CHARACTERS", -1)
    for n_jobs in (1, 2):
        with pytest.raises(InputError, match=r"document 7 .*lone surrogate"):
            from_texts([*["some words"] * 7, "half \ud800"], n_jobs=n_jobs)


def test_without_a_thread_texts_are_cut_where_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(some_texts(50))
    expected = from_texts(texts)
    monkeypatch.setattr(_numbering, "_COMPILED_CHARACTERS", -1)

    def none(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "_adjust_thread_count", none)
    assert from_texts(texts, n_jobs=2).fingerprint == expected.fingerprint


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_does_not_grow_with_texts_that_are_cut(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    monkeypatch.setattr(_numbering, "_COMPILED_CHARACTERS", -1)
    monkeypatch.setattr(_numbering, "_AT_ONCE", 1 << 16)
    from_texts(some_texts(10))
    peaks = []
    for n in (40_000, 80_000):
        tracemalloc.start()
        from_texts(("the same words here " * 20 for _ in range(n)), n_jobs=n_jobs, keep_texts=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 40_000 * (80 * 4 * 3 + 50)  # numbers and where documents end; texts are 400 bytes

"""Texts cut on several processes: the same corpus, bounded memory, clear errors, and nothing left running."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from topicloom import Corpus, from_texts
from topicloom.corpus import _numbering
from topicloom.corpus.stored import corpus_part
from topicloom.errors import InputError


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_numbering, "_BATCH_TEXTS", 7)
    monkeypatch.setattr(_numbering, "_WORTH", 2)


def children() -> set[str]:
    found: set[str] = set()
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update((thread / "children").read_text().split())
    return found


def left_running(before: set[str]) -> set[str]:
    """Processes started since; loky's tracker of resources is kept for the next pool."""
    lines = {child: Path(f"/proc/{child}/cmdline") for child in children() - before}
    running = set()
    for child, line in lines.items():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            running |= {child} if "LokyProcess" in line.read_text() else set()
    return running


def some_texts(n: int) -> list[str]:
    rng = np.random.default_rng(4)
    return [
        " ".join(f"w{v}é" if v % 3 else f"W{v} The" for v in rng.geometric(0.02, rng.integers(0, 9))) for _ in range(n)
    ]


def same(first: Corpus, second: Corpus) -> bool:
    arrays, info = corpus_part(first)
    others, more = corpus_part(second)
    return info == more and all(np.array_equal(arrays[name], others[name]) for name in arrays | others)


def test_the_corpus_is_the_same_and_texts_are_read_as_they_are_needed() -> None:
    texts, options = (
        some_texts(300),
        {"stop_words": {"the"}, "min_df": 2, "phrases": [[("w1é", "w2é")]], "ngrams": (1, 2)},
    )
    seen = 0

    def one_by_one() -> Iterator[str]:
        nonlocal seen
        for text in texts:
            seen += 1
            yield text

    before = children()
    calls: list[int] = []
    expected = from_texts(texts, **options)
    real = _numbering._batches

    def watched(documents: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        for first, batch in real(documents):
            calls.append(seen - first)
            yield first, batch

    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr(_numbering, "_batches", watched)
        assert same(from_texts(one_by_one(), n_jobs=3, **options), expected)
    assert len(calls) == 43
    assert max(calls) <= 7  # no batch is made before it is asked for
    assert left_running(before) == set()


def test_functions_of_ones_own_are_sent_and_errors_name_the_document() -> None:
    texts = some_texts(40)
    tail = "x"
    assert same(
        from_texts(texts, tokenizer=lambda text: [*text.split(), tail], n_jobs=2),
        from_texts(texts, tokenizer=lambda text: [*text.split(), tail]),
    )

    def fails(text: str) -> list[str]:
        return text.split() if "stop here" not in text else None  # type: ignore[return-value]

    before = children()
    with pytest.raises(InputError, match="document 23: the tokenizer returned None"):
        from_texts([*texts[:23], "stop here", *texts], tokenizer=fails, n_jobs=2)
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"cannot be sent to other processes .*n_jobs=1"):
        from_texts(texts, tokenizer=lambda text: [text, str(lock)], n_jobs=2)
    assert left_running(before) == set()


def test_a_worker_that_dies_and_an_interrupt_leave_nothing_running() -> None:
    texts, before = some_texts(60), children()

    def ends(text: str) -> list[str]:
        os._exit(3)

    with pytest.raises(InputError, match=r"a process that cut texts ended .*n_jobs=1"):
        from_texts(texts, tokenizer=ends, n_jobs=2)

    def interrupted() -> Iterator[str]:
        yield from texts
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_texts(interrupted(), n_jobs=3)
    assert left_running(before) == set()

"""Original texts that a corpus keeps: aligned with documents, saved as bytes, read when they are asked for."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from topicloom import LDA, from_frame, from_matrix, from_texts, load, read
from topicloom.corpus import _texts
from topicloom.corpus._texts import StoredTexts
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import convert_corpus, load_corpus, save_corpus
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import file_of, read_arrays, write_arrays

TEXTS = ("The River\tfloods!", "Grüße aus 東京 \U0001f600", "", "</script>\x00 river", "banks  lend")


@pytest.fixture
def corpus() -> Corpus:
    return from_texts(TEXTS, ids=list("abcde"))


def test_texts_are_kept_as_they_are_whatever_the_source(corpus: Corpus, tmp_path: Path) -> None:
    assert corpus.texts == TEXTS
    frame = pd.DataFrame({"body": TEXTS})
    assert from_frame(frame, text="body").texts == TEXTS
    assert from_texts(iter(TEXTS)).texts == TEXTS
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    assert read(tmp_path / "a.jsonl", text_column="body").texts == TEXTS
    frame.iloc[[0, 2, 4]].to_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv", text_column="body", keep_texts=False).texts is None
    (tmp_path / "a.mallet").write_text("one x The River\n")
    assert read(tmp_path / "a.mallet").texts == ("The River",)
    assert from_matrix([[1, 2]]).texts is None
    assert from_matrix([[1, 2]]).with_metadata(texts=["a b b"]).texts == ("a b b",)


def test_too_many_characters_are_not_kept_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _texts.KEPT_CHARACTERS == 50_000_000  # as the docs say
    monkeypatch.setattr(_texts, "KEPT_CHARACTERS", sum(map(len, TEXTS)))
    assert from_texts(TEXTS).texts == TEXTS
    monkeypatch.setattr(_texts, "KEPT_CHARACTERS", sum(map(len, TEXTS)) - 1)
    assert from_texts(TEXTS).texts is None
    assert from_texts(TEXTS, keep_texts=True).texts == TEXTS
    assert from_texts(TEXTS, keep_texts=True, vocabulary=["river"]).texts == TEXTS


def test_parts_and_copies_keep_texts_with_their_documents(corpus: Corpus, tmp_path: Path) -> None:
    save_corpus(corpus, tmp_path / "a.corpus")
    for each in (corpus, load_corpus(tmp_path / "a.corpus")):
        assert each.select([3, 0, 3]).texts == (TEXTS[3], TEXTS[0], TEXTS[3])
        assert each.select([3, 0, 3]).select([1, -1]).texts == (TEXTS[0], TEXTS[3])
        assert each.select(np.array([False, True, False, False, True])).texts == (TEXTS[1], TEXTS[4])
        assert each.keep_tokens(np.zeros(each.n_tokens, bool)).texts == TEXTS
        assert each.with_vocabulary(["river"]).texts == TEXTS
        assert pickle.loads(pickle.dumps(each)).texts == TEXTS
        assert "texts" in repr(each)


def test_a_file_gives_the_texts_back_one_by_one(corpus: Corpus, tmp_path: Path) -> None:
    save_corpus(corpus, tmp_path / "a.corpus")
    for mapped in (True, False):
        stored = load_corpus(tmp_path / "a.corpus", mapped=mapped)
        assert isinstance(stored.texts, StoredTexts)
        assert file_of(stored.texts._data) == tmp_path / "a.corpus"  # nothing is in memory
        assert stored.texts == corpus.texts
        assert corpus.texts == stored.texts
        assert stored.texts != TEXTS[:-1]
        assert stored.texts[1:3] == TEXTS[1:3]
        assert stored.texts[-1] == TEXTS[-1]
        with pytest.raises(IndexError):
            stored.texts[5]
        assert stored.fingerprint == corpus.fingerprint == from_texts(TEXTS, keep_texts=False).fingerprint
    save_corpus(stored.select([4, 1]), tmp_path / "b.corpus")
    assert load_corpus(tmp_path / "b.corpus").texts == (TEXTS[4], TEXTS[1])
    assert save_corpus(stored, tmp_path / "c.corpus") == save_corpus(corpus, tmp_path / "d.corpus")
    (tmp_path / "lines.txt").write_text("a river\nA Bank\n")
    assert convert_corpus(tmp_path / "lines.txt", tmp_path / "e.corpus").texts == ("a river", "A Bank")


@pytest.mark.parametrize(
    "damage",
    [
        {"texts": np.frombuffer(b"\xff\xfe" * 50, np.uint8)},
        {"texts_ptr": lambda ptr: ptr + 1},
        {"texts_ptr": lambda ptr: ptr[[0, 2, 1, 3, 4, 5]]},
        {"texts_ptr": lambda ptr: ptr[1:]},
        {"texts_ptr": lambda ptr: np.r_[0, ptr[1] + 3, ptr[2:]]},  # within ü
        {"texts_ptr": None},
        {"texts": None},
    ],
)
def test_damaged_texts_are_refused(corpus: Corpus, tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "a.corpus"
    save_corpus(corpus, path)
    arrays, info, _ = read_arrays(path)
    for name, change in damage.items():
        changed = change(arrays[name]) if callable(change) else change
        arrays = {**arrays, name: changed} if changed is not None else {k: a for k, a in arrays.items() if k != name}
    write_arrays(path, arrays, info)
    with pytest.raises(StorageError):
        load_corpus(path)


def test_a_trusted_file_is_refused_when_a_text_cannot_be_read(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "a.corpus"
    save_corpus(corpus, path)
    arrays, info, _ = read_arrays(path)
    write_arrays(path, {**arrays, "texts": np.where(arrays["texts"] > 127, 255, arrays["texts"]).astype("u1")}, info)
    stored = load_corpus(path, verify=False)
    assert stored.texts is not None
    assert stored.texts[0] == TEXTS[0]
    with pytest.raises(StorageError, match="the text of document 1 is not UTF-8"):
        stored.texts[1]


def test_wrong_texts_are_refused() -> None:
    with pytest.raises(InputError, match=r"texts has 1 entry but there are 2 documents"):
        from_matrix([[1, 2], [1, 0]]).with_metadata(texts=["a"])
    with pytest.raises(InputError, match=r"texts: entry 0 is '.*lone surrogate"):
        from_matrix([[1, 2]]).with_metadata(texts=["\ud800"])
    with pytest.raises(InputError, match="texts: entry 0 is 3"):
        from_matrix([[1, 2]]).with_metadata(texts=[3])
    with pytest.raises(InputError, match="keep_texts='yes' must be True, False or None"):
        from_texts(TEXTS, keep_texts="yes")  # type: ignore[arg-type]


def test_a_fit_is_the_same_and_a_saved_model_has_the_texts(corpus: Corpus, tmp_path: Path) -> None:
    plain = from_texts(TEXTS, ids=list("abcde"), keep_texts=False)
    models = [LDA(2, max_iter=3, random_state=1).fit(each) for each in (corpus, plain)]
    assert models[0].fingerprint_ == models[1].fingerprint_
    models[0].save(tmp_path / "model")
    assert load(tmp_path / "model").corpus_.texts == TEXTS
    models[0].save(tmp_path / "small", corpus=False)
    files = list((tmp_path / "small").iterdir())
    assert not any(b"floods" in file.read_bytes() and b"River" in file.read_bytes() for file in files)
    paths = LDA(2, max_iter=2, n_paths=2, random_state=1).fit(corpus)
    assert paths.corpus_.texts == TEXTS

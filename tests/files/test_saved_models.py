"""Model directories: what is written is what is read, and what is damaged is refused."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.saved import file_of, files_in, put, sign
from topicloom import LDA, Corpus, from_texts, load, resume
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import synthetic_lda
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import read_arrays, write_arrays


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(40, 30, 3, doc_length=20.0, seed=1).corpus


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> LDA:
    return LDA(3, max_iter=20, n_chains=2, burn_in=10, thin=5, random_state=5, seed_words={1: ["word3"]}).fit(
        corpus.with_metadata(groups=["a", 2] * 20, ids=[f"d{i}" for i in range(40)])
    )


@pytest.fixture
def saved(model: LDA, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_equals_the_saved_one(model: LDA, saved: Path, corpus: Corpus) -> None:
    again = load(saved)
    assert again.fingerprint_ == model.fingerprint_
    assert again.get_params() | {"random_state": 0} == model.get_params() | {"random_state": 0}
    assert again.seed_ == model.seed_
    assert again.traces_ == model.traces_
    assert again.vocabulary_ == model.vocabulary_
    assert (again.n_iter_, again.best_chain_, again.interrupted_) == (20, model.best_chain_, False)
    np.testing.assert_array_equal(again.transform(corpus), model.transform(corpus))
    np.testing.assert_array_equal(again.doc_topic_, model.doc_topic_)
    np.testing.assert_array_equal(again.chains_[1].state.z, model.chains_[1].state.z)
    assert again.corpus_.groups == ("a", 2) * 20
    assert again.corpus_.fingerprint == model.corpus_.fingerprint
    assert again.perplexity(corpus) == model.perplexity(corpus)


def test_no_pickle_and_readable_by_others(saved: Path) -> None:
    from safetensors.numpy import load_file

    assert files_in(saved) == [
        "chain-0.safetensors",
        "chain-1.safetensors",
        "corpus.safetensors",
        "manifest.json",
        "model.safetensors",
    ]
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["format"] == "topicloom"
    assert manifest["version"] == 2
    assert load_file(saved / manifest["files"]["model"]["file"])["by_word"].shape == (30, 3)


def test_without_the_corpus_the_model_still_predicts(model: LDA, corpus: Corpus, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    model.save(tmp_path / "m", corpus=False)  # over the first, whose text must go
    assert files_in(tmp_path / "m") == ["manifest.json", "model.safetensors"]
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(corpus), model.transform(corpus))
    with pytest.raises(StorageError, match=r"saved without its corpus"):
        _ = again.doc_topic_
    with pytest.raises(StorageError, match=r"has no corpus file; it is not complete"):
        resume(tmp_path / "m", max_iter=30)


def test_a_finished_model_can_be_taken_further(model: LDA, saved: Path) -> None:
    further = resume(saved, max_iter=30)
    straight = LDA(**model.get_params()).set_params(max_iter=30).fit(model.corpus_)
    np.testing.assert_array_equal(further.components_, straight.components_)
    assert further.traces_ == straight.traces_
    assert load(saved).fingerprint_ == further.fingerprint_


@pytest.mark.parametrize("role", ["model", "corpus", "chain-1"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text"])
def test_damaged_files_are_refused(saved: Path, role: str, damage: str) -> None:
    path = file_of(saved, role)
    data = bytearray(path.read_bytes())
    data[-3] ^= 64
    path.write_bytes({"cut": data[:-20], "flipped": data, "empty": b"", "text": b"not arrays " * 20}[damage])
    with pytest.raises(StorageError, match=rf"{path.name}.*(damaged|cannot be read)"):
        _ = load(saved).chains_


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", r"is damaged"),
        ('{"a": 1}', r"was not written by topicloom"),
        ('{"format": "topicloom", "version": 99}', r"format version 99; this topicloom reads versions 1 to 2. Upgrade"),
        ('{"format": "topicloom", "version": 1}', r"it lacks hashes, kind, params, seed, status"),
        ("[]", r"was not written by topicloom"),
    ],
)
def test_foreign_manifests_are_refused(saved: Path, content: str, message: str) -> None:
    (saved / "manifest.json").write_text(content)
    with pytest.raises(StorageError, match=message):
        load(saved)


def test_files_of_another_model_are_refused(saved: Path, corpus: Corpus, tmp_path: Path) -> None:
    LDA(3, max_iter=2, random_state=1).fit(corpus).save(tmp_path / "other")
    for role in ("corpus", "chain-0", "model"):
        file_of(saved, role).write_bytes(file_of(tmp_path / "other", role).read_bytes())
    with pytest.raises(StorageError, match=r"does not belong to this directory"):
        load(saved)
    put(saved, "model", file_of(tmp_path / "other", "model"))
    again = load(saved)
    for name in ("corpus_", "chains_"):
        with pytest.raises(StorageError, match=r"(corpus|chain-0)-\w+\.safetensors does not belong to this directory"):
            getattr(again, name)
    with pytest.raises(StorageError, match=r"is not a topicloom directory: it has no manifest.json"):
        load(tmp_path)
    sign(tmp_path / "other", kind="Oracle")
    with pytest.raises(StorageError, match=r"names the model 'Oracle'"):
        load(tmp_path / "other")


def test_nothing_is_written_over(model: LDA, corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"is not empty and not a topicloom directory"):
        model.save(tmp_path)
    with pytest.raises(InputError, match=r"has 'thesis.txt', and no manifest.json, so there is no run to resume"):
        LDA(3, checkpoint_dir=tmp_path).fit(corpus)
    model.save(tmp_path / "m")
    with pytest.raises(InputError, match=r"is not empty. Continue the run in it with topicloom.resume"):
        LDA(3, checkpoint_dir=tmp_path / "m").fit(corpus)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_unfinished_run_is_not_a_model(corpus: Corpus, tmp_path: Path) -> None:
    def fail(chain) -> None:
        if chain.sweep == 12:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        LDA(3, max_iter=20, checkpoint_dir=tmp_path / "r", checkpoint_every=5, random_state=0).fit(
            corpus, callbacks=[fail]
        )
    with pytest.raises(StorageError, match=r"has not finished; resume it with topicloom.resume"):
        load(tmp_path / "r")
    (tmp_path / "r" / ".chain-0.safetensors.99.tmp").write_bytes(b"torn")
    done = resume(tmp_path / "r")
    assert done.fingerprint_ == LDA(3, max_iter=20, random_state=0).fit(corpus).fingerprint_


def test_corpora_come_back_whole(tmp_path: Path) -> None:
    corpus = from_texts(["größe und Maß", "", "数据 数据"], ids=["a", "b", "c"], labels=[["x"], [], ["x", "y"]])
    corpus = corpus.with_metadata(
        groups=["g", 1, 2.5], responses=[0.5, 1, 2], times=np.array(["2020-01-01", "2021-01-01", "2022-06-01"], "M8[D]")
    )
    save_corpus(corpus, tmp_path / "c.safetensors")
    again = load_corpus(tmp_path / "c.safetensors")
    for name in ("vocabulary", "ids", "labels", "groups", "ordered", "text_options"):
        assert getattr(again, name) == getattr(corpus, name), name
    for name in ("words", "doc_ptr", "responses", "times"):
        np.testing.assert_array_equal(getattr(again, name), getattr(corpus, name))
    assert again.times.dtype == corpus.times.dtype
    with pytest.raises(InputError, match=r"document 0: the groups entry \('a', 1\) is a tuple, which cannot be saved"):
        save_corpus(replace(corpus, groups=(("a", 1), "b", "c")), tmp_path / "d.safetensors")
    assert not (tmp_path / "d.safetensors").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.arange(3)}, {"n": 1})

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(StorageError, match=r"a.safetensors cannot be written: the disk is full. Make room"):
        write_arrays(path, {"x": np.arange(9)}, {"n": 2})
    arrays, info, _ = read_arrays(path)
    np.testing.assert_array_equal(arrays["x"], [0, 1, 2])
    assert info == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]

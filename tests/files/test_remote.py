"""Directories at addresses of fsspec: the files of a local one, whatever is lost on the way."""

import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import topicloom
from topicloom import LDA, resume
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import bars
from topicloom.diagnostics import search_topics
from topicloom.errors import InputError, MissingExtraError, StorageError
from topicloom.files import remote

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed; pip install 'topicloom[remote]'")
CORPUS = bars(side=4, n_docs=40, seed=3).corpus
PLAN = {"max_iter": 12, "checkpoint_every": 4, "random_state": 1}


@pytest.fixture
def url() -> Iterator[str]:
    fs = fsspec.filesystem("memory")
    yield "memory://bucket/run"
    if fs.exists("/bucket"):
        fs.rm("/bucket", recursive=True)


class LostError(Exception):
    pass


def begin(where: str | Path) -> None:
    """A run that ends in sweep 7, whose last checkpoint is that of sweep 4."""

    def end(chain) -> None:
        if chain.sweep == 7:
            raise LostError

    with pytest.raises(LostError):
        LDA(4, checkpoint_dir=where, **PLAN).fit(CORPUS, callbacks=[end])


def files(url: str) -> dict[str, bytes]:
    fs, root = fsspec.core.url_to_fs(url)
    return {path.rsplit("/", 1)[1]: fs.cat_file(path) for path in fs.ls(root, detail=False)}


def local(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without(name: str, found: dict[str, bytes]) -> dict[str, bytes]:
    return {key: content for key, content in found.items() if key != name}


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_a_run_has_the_files_of_a_local_one_and_is_resumed_from_them(protocol: str, url: str, tmp_path: Path) -> None:
    url = url if protocol == "memory" else (tmp_path / "there").as_uri()
    whole = LDA(4, checkpoint_dir=tmp_path / "whole", **PLAN).fit(CORPUS)
    for where in (url, tmp_path / "part"):
        begin(where)
    part = without("manifest.json", local(tmp_path / "part"))  # which names the directory
    assert without("manifest.json", files(url)) == part
    assert topicloom.files.directories.Stored.open(url).running
    assert resume(url).fingerprint_ == whole.fingerprint_
    assert without("manifest.json", files(url)).keys() == without("manifest.json", local(tmp_path / "whole")).keys()
    assert topicloom.load(url).fingerprint_ == whole.fingerprint_
    assert resume(url, max_iter=20).fingerprint_ == resume(tmp_path / "whole", max_iter=20).fingerprint_


def test_models_are_saved_at_an_address(url: str, tmp_path: Path) -> None:
    first, second = (LDA(3, max_iter=n, random_state=n).fit(CORPUS) for n in (3, 4))
    for model in (first, second):
        model.save(url)
        assert topicloom.load(url).fingerprint_ == model.fingerprint_
    second.save(tmp_path / "local")
    assert files(url).keys() == local(tmp_path / "local").keys()


def test_what_stays_in_its_file_outlives_the_directory(url: str, tmp_path: Path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    one = LDA(4, checkpoint_dir=url, **PLAN).fit(load_corpus(tmp_path / "c.corpus"))
    again = resume(url, max_iter=16)
    assert again.set_params(checkpoint_dir=None).fit(again.corpus_).n_iter_ == 16
    assert one.corpus_.fingerprint == again.corpus_.fingerprint


@pytest.mark.parametrize("number", range(9))
def test_a_driver_that_dies_between_files_leaves_a_run(number: int, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each of the changes that a run makes at its address it may be the last one."""
    done, memory = [], type(fsspec.filesystem("memory"))

    def dying(name: str):
        real = getattr(memory, name)

        def call(self, *args, **given):
            done.append(name)
            if len(done) > number:
                raise LostError
            return real(self, *args, **given)

        return call

    with monkeypatch.context() as patch:
        for name in ("put_file", "mv", "rm_file"):
            patch.setattr(memory, name, dying(name))
        with pytest.raises(StorageError, match="LostError"):
            LDA(4, checkpoint_dir=url, **PLAN).fit(CORPUS)
    model = resume(url) if "manifest.json" in files(url) else LDA(4, checkpoint_dir=url, **PLAN).fit(CORPUS)
    assert model.fingerprint_ == LDA(4, **PLAN).fit(CORPUS).fingerprint_
    assert not [name for name in files(url) if name.endswith(".tmp")]


def test_another_process_writes_to_the_same_copy(url: str) -> None:
    begin(url)
    there = remote.Remote(url)
    other = pickle.loads(pickle.dumps(there))
    assert other.folder == there.folder
    (other.folder / "chain-0.safetensors").write_bytes(b"anything")
    other.push()
    assert files(url)["chain-0.safetensors"] == b"anything"


def test_what_is_read_while_it_is_written_is_read_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (LDA(3, max_iter=n, random_state=n).fit(CORPUS) for n in (3, 4))
    first.save(url)
    get, begun = remote.Remote._get, []

    def get_late(self, name: str):
        found = get(self, name)
        if not begun:
            begun.append(name)
            second.save(url)
        return found

    monkeypatch.setattr(remote.Remote, "_get", get_late)
    assert topicloom.load(url).fingerprint_ == second.fingerprint_


def test_what_cannot_be_reached_is_told(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(map(remote.is_url, ("a/b", "C://a", Path("memory://a"), "file", "://a", None)))
    with pytest.raises(StorageError, match=re.escape(f"{url} is not a topicloom directory")):
        topicloom.load(url)
    begin(url)
    with pytest.raises(StorageError, match=re.escape(f"topicloom.resume('{url}')")):
        topicloom.load(url)
    with pytest.raises(InputError, match=re.escape(f"{url} is not empty. Continue")):
        LDA(4, checkpoint_dir=url, **PLAN).fit(CORPUS)
    fsspec.filesystem("memory").pipe_file("/bucket/other/notes.txt", b"")
    with pytest.raises(InputError, match="is not empty: it has 'notes"):
        LDA(4, checkpoint_dir="memory://bucket/other", **PLAN).fit(CORPUS)
    with pytest.raises(InputError, match="never://a cannot be reached: Protocol not known: never"):
        resume("never://a")
    with pytest.raises(InputError, match="is an address; a search keeps its fits in a local directory"):
        search_topics(CORPUS, [2, 3], checkpoint_dir=url, random_state=0)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=re.escape("topicloom[remote]")):
        topicloom.load(url)

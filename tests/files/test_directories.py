"""Directories of models: one generation is swapped by one rename, and every file is the one that its manifest names."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.saved import file_of, files_in, sign
from tests.torture.cases import CASES
from topicloom import LDA
from topicloom.corpus.stored import convert_corpus
from topicloom.engine import checkpoint
from topicloom.errors import InputError, StorageError
from topicloom.files import arrays, directories
from topicloom.files.directories import Stored, is_free, start_run
from topicloom.files.manifests import MANIFEST

KINDS = {
    "LDA": ("chain-0", "chain-1"),
    "LabeledLDA": ("labels",),
    "MedLDAClassifier": ("targets",),
    "HMM": ("chain-1",),
}
ROLES = [(kind, role) for kind, own in KINDS.items() for role in ("corpus", "model", *own)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Two models of a kind that differ in their documents and their seed."""
    return {kind: [CASES[kind].fit(seed) for seed in (0, 1)] for kind in KINDS}


@pytest.fixture
def saved(models: dict[str, list[Any]], tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    def save(kind: str) -> tuple[Path, Path]:
        folders = tmp_path / "one", tmp_path / "two"
        for model, folder in zip(models[kind], folders, strict=True):
            model.save(folder)
        return folders

    return save


def assert_is(found: Any, model: Any) -> None:
    """That all of a model, also what is read later, is of one and the same."""
    assert found.fingerprint_ == model.fingerprint_
    assert found.corpus_.fingerprint == model.corpus_.fingerprint
    for chain, own in zip(found.chains_, model.chains_, strict=True):
        np.testing.assert_array_equal(chain.state.z, own.state.z)
    if hasattr(model, "doc_topic_"):
        np.testing.assert_array_equal(found.doc_topic_, model.doc_topic_)


# -- one generation, one rename -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_save_swaps_all_files_by_one_rename(
    kind: str, models: dict[str, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads between any two steps of a save finds the old model or the new one, as a whole."""
    old, new = models[kind]
    old.save(tmp_path)
    replaced: list[str] = []
    rename, unlink = os.replace, Path.unlink

    def look(step: Callable[..., Any]) -> Callable[..., Any]:
        def looked(path: Path, *arguments: Any, **options: Any) -> None:
            own = path.parent == tmp_path  # and not a file of compiled code
            if own:
                assert_is(topicloom.load(tmp_path), new if replaced else old)
            step(path, *arguments, **options)
            if own:
                assert_is(topicloom.load(tmp_path), new if replaced else old)

        return looked

    def swap(source: Path, target: Path) -> None:
        if target.parent == tmp_path and target.exists():
            replaced.append(target.name)
        rename(source, target)

    monkeypatch.setattr(os, "replace", look(swap))
    monkeypatch.setattr(Path, "unlink", look(unlink))
    new.save(tmp_path)
    assert replaced == [MANIFEST]
    monkeypatch.undo()
    assert_is(topicloom.load(tmp_path), new)


def test_what_was_loaded_stays_what_is_read(models: dict[str, list[Any]], tmp_path: Path) -> None:
    """A model whose directory is saved over never has another's documents; what it has read, it keeps."""
    old, new = models["LDA"]
    old.save(tmp_path)
    early, late = topicloom.load(tmp_path), topicloom.load(tmp_path)
    assert_is(early, old)
    new.save(tmp_path)
    assert_is(early, old)
    for attribute in ("corpus_", "chains_", "doc_topic_"):
        with pytest.raises(StorageError, match=r"has been saved over or resumed since it was opened.* Load it again"):
            getattr(late, attribute)
    np.testing.assert_array_equal(late.topic_word_, old.topic_word_)
    early.save(tmp_path)  # what it has read is enough to write it again
    assert_is(topicloom.load(tmp_path), old)


def test_a_model_may_be_saved_over_itself(models: dict[str, list[Any]], tmp_path: Path) -> None:
    old, _ = models["LDA"]
    old.save(tmp_path)
    topicloom.load(tmp_path).save(tmp_path)
    assert_is(topicloom.load(tmp_path), old)


def test_a_reader_tries_again_even_if_all_is_as_it_was(
    models: dict[str, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile another model is saved and then the first one again: the manifest is equal, but files were gone."""
    old, new = models["LDA"]
    old.save(tmp_path)
    read, tries = directories.read_arrays, []

    def between_saves(*arguments: Any, **options: Any) -> Any:
        tries.append(arguments)
        if len(tries) > 1:
            return read(*arguments, **options)
        new.save(tmp_path)
        try:
            return read(*arguments, **options)
        finally:
            old.save(tmp_path)

    monkeypatch.setattr(directories, "read_arrays", between_saves)
    assert_is(topicloom.load(tmp_path), old)
    assert len(tries) > 1


def test_a_resumed_model_is_another_than_the_one_that_was_loaded(tmp_path: Path) -> None:
    CASES["LDA"].fit(checkpoint_dir=tmp_path)
    loaded = topicloom.load(tmp_path)
    topicloom.resume(tmp_path, max_iter=12)
    with pytest.raises(StorageError, match=r"saved over or resumed since it was opened"):
        _ = loaded.chains_


def test_a_run_whose_directory_is_saved_over_says_so(models: dict[str, list[Any]], tmp_path: Path) -> None:
    case = CASES["LDA"]

    def save_over(chain: Any) -> None:
        if (chain.index, chain.sweep) == (1, 5):
            models["LDA"][1].save(tmp_path)

    with pytest.raises(StorageError, match=r"has been saved over while this run went on"):
        case.fit(checkpoint_dir=tmp_path, callbacks=[save_over])
    assert_is(topicloom.load(tmp_path), models["LDA"][1])


# -- digests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "role"), ROLES)
def test_a_file_of_another_model_is_refused(kind: str, role: str, saved: Callable[[str], tuple[Path, Path]]) -> None:
    """Whole files, of the same kind and shape, that differ from the manifest's by their digest alone."""
    one, two = saved(kind)
    manifest = json.loads((one / MANIFEST).read_text())
    assert role in manifest["files"]
    shutil.copy(file_of(two, role), file_of(one, role))
    with pytest.raises(StorageError, match=rf"{role}-\w+\.safetensors does not belong to this directory"):
        ask_all(topicloom.load(one))
    with pytest.raises(StorageError, match=r"does not belong to this directory|belongs to another run"):
        topicloom.resume(one, max_iter=20) if role != "model" else topicloom.load(one)


def ask_all(model: Any) -> None:
    for attribute in ("corpus_", "chains_", "doc_topic_", "targets_"):
        getattr(model, attribute, None)


@pytest.mark.parametrize(("kind", "role"), [pair for pair in ROLES if pair[1] != "model"])
def test_what_is_read_later_is_compared_with_the_manifest(
    kind: str, role: str, saved: Callable[[str], tuple[Path, Path]]
) -> None:
    one, two = saved(kind)
    model = topicloom.load(one)
    shutil.copy(file_of(two, role), file_of(one, role))
    with pytest.raises(StorageError, match=rf"{role}-\w+\.safetensors does not belong to this directory"):
        ask_all(model)


def test_a_manifest_has_a_digest_of_itself(saved: Callable[[str], tuple[Path, Path]]) -> None:
    folder, _ = saved("LDA")
    path = folder / MANIFEST
    whole = path.read_text()
    manifest = json.loads(whole)
    for name in manifest.keys() - {"format", "version"}:
        other = {**manifest, name: {"seed": 4, "status": "running"}.get(name, "x")}
        path.write_text(json.dumps(other))
        with pytest.raises(StorageError, match=r"manifest.json is damaged: its content does not match its digest"):
            topicloom.load(folder)
    path.write_text(whole.replace('"max_iter": 10', '"max_iter": 11'))
    with pytest.raises(StorageError, match=r"does not match its digest"):
        topicloom.load(folder)
    path.write_text(json.dumps(manifest))  # the order and the spaces of JSON do not matter
    topicloom.load(folder)


@pytest.mark.parametrize("name", ["../one", "other.safetensors", "/etc/passwd", "model-0.safetensors", "manifest.json"])
def test_a_manifest_names_files_of_its_own_directory(name: str, saved: Callable[[str], tuple[Path, Path]]) -> None:
    folder, _ = saved("LDA")
    files = json.loads((folder / MANIFEST).read_text())["files"]
    sign(folder, files=files | {"model": {"file": name, "digest": "0"}})
    with pytest.raises(StorageError, match=r"files\.model is not a file of this directory"):
        topicloom.load(folder)


# -- chains name their run ------------------------------------------------------------------------------------------


def interrupted(folder: Path, seed: int = 0, **params: Any) -> Path:
    """A run that has stopped half-way."""

    def stop(chain: Any) -> None:
        if chain.sweep == 4:
            raise KeyError

    with pytest.raises(KeyError):
        CASES["LDA"].fit(seed, checkpoint_dir=folder, callbacks=[stop], **params)
    return folder


OTHERS: dict[str, Callable[[Path], Path]] = {
    "K": lambda folder: interrupted(folder, n_components=4),
    "seed": lambda folder: interrupted(folder, random_state=7),
    "documents": lambda folder: interrupted(folder, 1, random_state=0),
    "priors": lambda folder: interrupted(folder, topic_word_prior=0.2),
    "sampler": lambda folder: interrupted(folder, sampler="dense"),
    "kept samples": lambda folder: interrupted(folder, burn_in=2),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_chain_of_another_run_is_refused(other: str, tmp_path: Path) -> None:
    run, foreign = interrupted(tmp_path / "run"), OTHERS[other](tmp_path / "other")
    before = (run / MANIFEST).read_bytes()
    shutil.copy(foreign / "chain-0.safetensors", run)
    with pytest.raises(StorageError, match=r"chain-0.safetensors belongs to another run \(LDA, seed \d, .*delete it"):
        topicloom.resume(run)
    assert (run / MANIFEST).read_bytes() == before
    (run / "chain-0.safetensors").unlink()  # as the message says: this chain starts again
    assert topicloom.resume(run).fingerprint_ == CASES["LDA"].fit(0).fingerprint_


def test_what_may_change_leaves_the_run_what_it_is(tmp_path: Path) -> None:
    """Jobs, checkpoints, and how far it goes: a run that is resumed with others is the same run."""
    run = interrupted(tmp_path / "run", max_iter=8, n_jobs=2, checkpoint_every=2)
    done = topicloom.resume(run, max_iter=10, n_jobs=1)
    assert done.fingerprint_ == CASES["LDA"].fit(0).fingerprint_


def test_chains_keep_their_places(tmp_path: Path) -> None:
    run = interrupted(tmp_path / "run")
    shutil.copy(run / "chain-0.safetensors", run / "chain-1.safetensors")
    with pytest.raises(StorageError, match=r"chain-1.safetensors is chain 0 of this run"):
        topicloom.resume(run)


def test_a_checkpoint_that_is_replaced_during_the_run_ends_it(tmp_path: Path) -> None:
    foreign = interrupted(tmp_path / "other", random_state=7)
    part = arrays.read_arrays(foreign / "chain-0.safetensors")

    def spoil(chain: Any) -> None:
        if chain.sweep == 10:
            arrays.write_arrays(tmp_path / "run" / "chain-0.safetensors", *part[:2])

    with pytest.raises(StorageError, match=r"chain-0.safetensors has been deleted or replaced while this run went on"):
        CASES["LDA"].fit(checkpoint_dir=tmp_path / "run", checkpoint_every=100, callbacks=[spoil])


# -- directories without a manifest ---------------------------------------------------------------------------------

LEFT = [
    "corpus-0123456789ab.safetensors", "chain-12-0123456789ab.safetensors", "labels-0123456789ab.safetensors",
    ".manifest.json.8f.tmp", ".chain-0.safetensors.8f.tmp", ".model-0123456789ab.safetensors.8f.tmp",
]  # fmt: skip


@pytest.mark.parametrize("left", [[], LEFT, *([name] for name in LEFT)], ids=lambda names: ",".join(names)[:20])
def test_a_directory_of_unfinished_files_is_empty(left: list[str], tmp_path: Path) -> None:
    for name in left:
        (tmp_path / name).write_bytes(b"half a f")
    assert is_free(tmp_path)
    model = CASES["LDA"].fit(checkpoint_dir=tmp_path)
    names = ["chain-0.safetensors", "chain-1.safetensors", "corpus.safetensors", "manifest.json", "model.safetensors"]
    assert files_in(tmp_path) == names
    assert topicloom.load(tmp_path).fingerprint_ == model.fingerprint_


@pytest.mark.parametrize(
    "name", ["thesis.txt", "corpus.safetensors", "chain-0.safetensors", "corpus-1.safetensors", ".x"]
)
def test_a_directory_with_anything_else_is_not(name: str, models: dict[str, list[Any]], tmp_path: Path) -> None:
    """Also not one with files of a name that somebody else may have given."""
    for each in (*LEFT, name):
        (tmp_path / each).write_bytes(b"years of work")
    with pytest.raises(InputError, match=rf"it has '{name}', and no manifest.json, so there is no run to resume"):
        CASES["LDA"].fit(checkpoint_dir=tmp_path)
    with pytest.raises(InputError, match=r"is not empty and not a topicloom directory"):
        models["LDA"][0].save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*LEFT, name])


def test_a_run_is_a_run_once_its_manifest_is_there(tmp_path: Path) -> None:
    """Killed before the first checkpoint: fit and resume agree on what is there."""
    case = CASES["LDA"]
    model, corpus = case.model(0), case.data(0)[0]
    checkpoint.start_run(tmp_path, corpus, "LDA", model._params_to_save(None), 0)
    with pytest.raises(InputError, match=r"Continue the run in it with topicloom.resume"):
        case.fit(checkpoint_dir=tmp_path)
    assert topicloom.resume(tmp_path).fingerprint_ == case.fit(0).fingerprint_


# -- permissions, threads -------------------------------------------------------------------------------------------


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.usefixtures("umask")
def test_files_have_the_permissions_that_the_umask_gives(models: dict[str, list[Any]], tmp_path: Path) -> None:
    old, _ = models["LDA"]
    old.save(tmp_path / "saved")
    interrupted(tmp_path / "run")
    CASES["HMM"].fit(checkpoint_dir=tmp_path / "finished")
    topicloom.corpus.formats.write(old.corpus_, tmp_path / "a.uci")
    convert_corpus(tmp_path / "a.uci", tmp_path / "a.safetensors")
    topicloom.mallet.write_state(tmp_path / "s.gz", old.corpus_, old.chains_[0].state, old.chains_[0].prior)
    modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert len(modes) > 15
    assert {modes[path] for path in modes if path.is_dir()} == {0o750}
    assert {modes[path] for path in modes if path.is_file()} == {0o640}


def at_once(*acts: Callable[[], None]) -> None:
    """Start all at the same moment on threads of their own; the first failure is raised."""
    failures: list[BaseException] = []
    together = threading.Barrier(len(acts))

    def run(act: Callable[[], None]) -> None:
        together.wait()
        try:
            act()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_threads_save_into_one_directory(models: dict[str, list[Any]], tmp_path: Path) -> None:
    known = {model.fingerprint_: model for model in models["LDA"]}

    def save(model: Any) -> None:
        for _ in range(10):
            model.save(tmp_path)

    at_once(*(partial(save, model) for model in 2 * models["LDA"]))
    found = topicloom.load(tmp_path)
    assert_is(found, known[found.fingerprint_])
    assert len(files_in(tmp_path)) == 5


def test_threads_write_one_file(tmp_path: Path) -> None:
    values = [np.full(20_000, n) for n in range(4)]

    def write(n: int) -> None:
        for _ in range(5):
            arrays.write_arrays(tmp_path / "a", {"x": values[n]}, {})

    at_once(*(partial(write, n) for n in range(4)))
    found = arrays.read_arrays(tmp_path / "a")[0]["x"]
    np.testing.assert_array_equal(found, values[int(found[0])])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_no_two_writers_share_a_temporary_name(tmp_path: Path) -> None:
    names = {arrays.temporary_name(tmp_path / "a") for _ in range(1000)}
    assert len(names) == 1000


def test_only_one_run_starts_in_a_directory(tmp_path: Path) -> None:
    part = ({"words": np.arange(3)}, {})
    begun: list[Stored] = []
    refused: list[str] = []

    def start(seed: int) -> None:
        try:
            begun.append(start_run(tmp_path / "run", "LDA", {}, seed, {"corpus": part}))
        except InputError as error:
            refused.append(str(error))

    at_once(*(partial(start, seed) for seed in range(6)))
    (run,) = begun
    assert sum("Continue the run" in message for message in refused) == 5
    assert Stored.open(tmp_path / "run").manifest == run.manifest


def test_a_name_that_no_directory_can_have(models: dict[str, list[Any]], tmp_path: Path) -> None:
    for name in ("a\0b", "a\ud800"):
        with pytest.raises(InputError, match=r"cannot be the name of a directory"):
            models["LDA"][0].save(f"{tmp_path}/{name}")
        with pytest.raises(InputError, match=r"cannot be the name of a directory"):
            LDA(2, max_iter=1, checkpoint_dir=f"{tmp_path}/{name}").fit(models["LDA"][0].corpus_)

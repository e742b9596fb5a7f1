"""A full disk: an error of ours that says so, nothing lost, nothing left behind, and with room again all goes on."""

import errno
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import topicloom
from tests.helpers.saved import files_in
from tests.torture.cases import CASES
from topicloom.corpus import formats
from topicloom.corpus.stored import convert_corpus
from topicloom.errors import StorageError
from topicloom.files.arrays import array_in_file

FULL = r"cannot be written: the disk is full. Make room and try again"


@contextmanager
def full_at(file: int, code: int = errno.ENOSPC) -> Iterator[list[int]]:
    """The disk is full when the so many-th file is brought to disk; yields how many were."""
    written: list[int] = []
    fsync = os.fsync

    def count(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            written.append(descriptor)
            if len(written) > file:
                raise OSError(code, os.strerror(code))
        fsync(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", count)
        yield written


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


@pytest.mark.parametrize("kind", ["LDA", "LabeledLDA", "MedLDARegressor", "HMM"])
def test_a_save_that_fails_leaves_the_old_model(kind: str, tmp_path: Path) -> None:
    old, new = (CASES[kind].fit(seed) for seed in (0, 1))
    old.save(tmp_path / "model")
    before = contents(tmp_path / "model")
    with full_at(999) as written:
        new.save(tmp_path / "elsewhere")
    for n in range(len(written)):
        for folder, expected in (("model", before), ("nothing", {})):
            with full_at(n), pytest.raises(StorageError, match=FULL):
                new.save(tmp_path / folder)
            assert contents(tmp_path / folder) == expected
    assert topicloom.load(tmp_path / "model").fingerprint_ == old.fingerprint_
    new.save(tmp_path / "nothing")
    assert topicloom.load(tmp_path / "nothing").fingerprint_ == new.fingerprint_


@pytest.mark.parametrize("kind", ["LDA", "LDA cvb0", "LabeledLDA", "MedLDARegressor", "HMM"])
def test_a_run_that_fails_goes_on_when_there_is_room(kind: str, tmp_path: Path) -> None:
    """Whichever of its files is the first that cannot be written: corpus, manifest, a checkpoint, the model."""
    case = CASES[kind]
    params = {"max_iter": 6, "checkpoint_every": 2}
    with full_at(999) as written:
        model = case.fit(**params, checkpoint_dir=tmp_path / "whole")
    for n in range(len(written)):
        run = tmp_path / str(n)
        with full_at(n), pytest.raises(StorageError, match=FULL):
            case.fit(**params, checkpoint_dir=run)
        done = topicloom.resume(run) if (run / "manifest.json").exists() else case.fit(**params, checkpoint_dir=run)
        assert done.fingerprint_ == model.fingerprint_
        assert files_in(run) == files_in(tmp_path / "whole")


def test_a_finished_model_that_cannot_be_resumed_stays(tmp_path: Path) -> None:
    model = CASES["LDA"].fit(max_iter=6, checkpoint_dir=tmp_path)
    before = contents(tmp_path)
    with full_at(0), pytest.raises(StorageError, match=FULL):
        topicloom.resume(tmp_path, max_iter=10)
    assert contents(tmp_path) == before
    assert topicloom.load(tmp_path).fingerprint_ == model.fingerprint_
    assert topicloom.resume(tmp_path, max_iter=10).fingerprint_ == CASES["LDA"].fit().fingerprint_


@pytest.mark.parametrize("suffix", ["uci", "ldac", "svmlight", "mtx", "npz", "mallet", "txt", "jsonl", "uci.gz"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_corpus_that_cannot_be_written_leaves_the_old_file(suffix: str, code: int, tmp_path: Path) -> None:
    corpus = CASES["LDA"].data(0)[0]
    formats.write(corpus, tmp_path / f"a.{suffix}")
    before = contents(tmp_path)
    with full_at(0, code), pytest.raises(StorageError, match=FULL):
        formats.write(corpus.select([0, 1, 2]), tmp_path / f"a.{suffix}")
    assert contents(tmp_path) == before


def test_other_reasons_are_named(tmp_path: Path) -> None:
    corpus = CASES["LDA"].data(0)[0]
    with full_at(0, errno.EIO), pytest.raises(StorageError, match=r"a.txt cannot be written: Input/output error. Give"):
        formats.write(corpus, tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"cannot be written: there is no folder .*no. Make it first"):
        formats.write(corpus, tmp_path / "no" / "a.txt")


def test_a_corpus_that_cannot_be_converted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formats.write(CASES["LDA"].data(0)[0], tmp_path / "a.uci")
    before = contents(tmp_path)
    with full_at(0), pytest.raises(StorageError, match=FULL):
        convert_corpus(tmp_path / "a.uci", tmp_path / "b.safetensors")
    assert contents(tmp_path) == before

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(
        StorageError, match=r"a file of 0.00 GB for a memory map cannot be made there \(the disk is full"
    ):
        array_in_file(tmp_path, 1000, np.int32)


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems cannot; the files are in place by then."""
    fsync = os.fsync

    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    model = CASES["LDA"].fit(checkpoint_dir=tmp_path / "run")
    model.save(tmp_path / "model")
    assert topicloom.load(tmp_path / "model").fingerprint_ == topicloom.load(tmp_path / "run").fingerprint_


# -- a disk that is really full ---------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
OWN = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]  # mounts that nobody else sees
MOUNT = "mount -t tmpfs -o size=2m none "


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """Saves, checkpoints, converted and written corpora on a disk of 2 MB."""
    folder = shlex.quote(str(tmp_path))
    if shutil.which("unshare") is None or subprocess.run([*OWN, MOUNT + folder], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    run = f"{MOUNT}{folder} && exec {shlex.quote(sys.executable)} -m tests.torture.small_disk {folder}"
    done = subprocess.run([*OWN, run], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["save", "checkpoint", "convert", "write"]

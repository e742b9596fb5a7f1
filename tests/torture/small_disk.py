"""What is done on a disk that is full, or nearly: ``python -m tests.torture.small_disk FOLDER``, on one of 2 MB."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import topicloom
from topicloom.corpus import formats
from topicloom.corpus.stored import convert_corpus
from topicloom.errors import StorageError


def fill(disk: Path, leave: int = 0) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(max(0, file.tell() - leave))


def free(disk: Path) -> None:
    (disk / "filler").unlink()


def refused(function: Callable[[], Any]) -> None:
    message = "nothing was refused"
    try:
        function()
    except StorageError as error:
        message = str(error)
    assert "the disk is full" in message, message


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def corpora() -> list[Any]:
    return [topicloom.datasets.synthetic_lda(n, 400, 4, doc_length=100.0, seed=1).corpus for n in (20, 300)]


def save(disk: Path) -> None:
    old, new = (topicloom.LDA(4, max_iter=2, random_state=0).fit(corpus) for corpus in corpora())
    old.save(disk / "model")
    before = contents(disk / "model")
    for leave in (0, 60_000, 150_000, 200_000):
        fill(disk, leave)
        refused(lambda: new.save(disk / "model"))
        assert contents(disk / "model") == before
        free(disk)
    new.save(disk / "model")
    assert topicloom.load(disk / "model").fingerprint_ == new.fingerprint_


def checkpoint(disk: Path) -> None:
    _, corpus = corpora()
    params = {"max_iter": 6, "random_state": 0, "burn_in": 2, "thin": 1, "checkpoint_every": 1}
    straight = topicloom.LDA(4, **params).fit(corpus)

    def watch(chain: Any) -> None:
        if chain.sweep == 3:
            fill(disk)

    refused(lambda: topicloom.LDA(4, **params, checkpoint_dir=disk / "run").fit(corpus, callbacks=[watch]))
    free(disk)
    assert topicloom.resume(disk / "run").fingerprint_ == straight.fingerprint_


def convert(disk: Path) -> None:
    source = disk / "a.ldac"  # of many tokens, which grow in a file of the target's folder
    source.write_text("1 0:5000\n" * 500)
    for leave in (0, 1 << 20):
        fill(disk, leave)
        refused(lambda: convert_corpus(source, disk / "b.safetensors"))
        free(disk)
        assert os.listdir(disk) == ["a.ldac"]


def write(disk: Path) -> None:
    small, large = corpora()
    for suffix in ("uci", "ldac", "svmlight", "mtx", "npz", "mallet", "txt", "jsonl", "uci.gz", "jsonl.gz", "mtx.gz"):
        formats.write(small, disk / f"a.{suffix}")
        before = contents(disk)
        for leave in (0, 8192):
            fill(disk, leave)
            refused(lambda suffix=suffix: formats.write(large, disk / f"a.{suffix}"))
            free(disk)
            assert contents(disk) == before
        clear(disk)


def clear(disk: Path) -> None:
    for path in disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    for each in (save, checkpoint, convert, write):
        each(Path(sys.argv[1]))
        clear(Path(sys.argv[1]))
        print(each.__name__)

"""Permissions of files: those that the umask gives, or those of the file that is written over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topicloom.files.arrays import replacing_file

_WRITES = """
import os, sys
from pathlib import Path
import numpy as np
import topicloom
from topicloom.explore.page import write_page
from topicloom.files.arrays import write_arrays
from topicloom.files.directories import save_model, start_run

def write(folder):
    corpus = topicloom.from_texts(["a river", "a bank"], tokenizer=str.split)
    topicloom.corpus.formats.write(corpus, folder / "a.uci.gz")
    topicloom.corpus.formats.write(corpus, folder / "a.npz")
    write_arrays(folder / "a.safetensors", {"a": np.arange(3)}, {})
    save_model(folder / "a" / "model", "LDA", {}, 0, {"model": ({"a": np.arange(3)}, {})})
    run = start_run(folder / "a" / "run", "LDA", {}, 0, {"corpus": ({"a": np.arange(3)}, {})})
    run.save_chain(0, ({"a": np.arange(3)}, {}))
    run.save_chain(0, ({"a": np.arange(4)}, {}))
    write_page(folder / "a.html", "title", {})

for mask in map(int, sys.argv[2:]):
    folder = Path(sys.argv[1]) / oct(mask)
    folder.mkdir()
    os.umask(mask)
    write(folder)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_new_files_have_the_permissions_that_the_umask_gives(tmp_path: Path) -> None:
    """Of corpora, arrays, models, runs with checkpoints that are replaced, and pages."""
    masks = [0o002, 0o022, 0o027, 0o077]
    subprocess.run([sys.executable, "-c", _WRITES, tmp_path, *map(str, masks)], check=True)
    for mask in masks:
        paths = list((tmp_path / oct(mask)).rglob("*"))
        assert len(paths) == 14, paths
        for path in paths:
            assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o666) & ~mask, (oct(mask), path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_file_that_is_written_over_keeps_its_permissions(tmp_path: Path) -> None:
    for mode in (0o600, 0o644, 0o664, 0o444):
        path = tmp_path / f"{mode:o}.bin"
        path.write_bytes(b"old")
        path.chmod(mode)
        with replacing_file(path) as file:
            during = {found.stat().st_mode & 0o777 for found in tmp_path.glob(f".{path.name}*")}
            file.write(b"new")
        assert path.read_bytes() == b"new"
        assert during == {path.stat().st_mode & 0o777} == {mode}

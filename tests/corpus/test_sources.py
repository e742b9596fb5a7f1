"""Folders of texts, several files, patterns and archives: one corpus, whatever holds the files, and no tricks."""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.corpus import _limits
from topicloom.corpus.stored import convert_corpus
from topicloom.errors import InputError, SkippedFilesWarning

TEXTS = {
    "d.txt": "river\n",
    "uk/2019/a.txt": "river bank\nbank",
    "uk/b.txt": "bank loan",
    "uk-x/e.txt": "",
    "us/c.txt": "loan mönéy",
}
IDS = ("d.txt", "uk/2019/a.txt", "uk/b.txt", "uk-x/e.txt", "us/c.txt")
LABELS = ((), ("uk",), ("uk",), ("uk-x",), ("us",))


def put_all(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def tar(path: Path, files: dict[str, bytes], mode: Any = "w:gz", **about: Any) -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in about.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def shuffled(top: str = "") -> dict[str, bytes]:
    names = list(TEXTS)
    random.Random(3).shuffle(names)
    return {top + name: TEXTS[name].encode() for name in names}


WAYS: dict[str, Callable[[Path], Any]] = {
    "folder": lambda at: put_all(at / "talks", TEXTS),
    "pattern": lambda at: put_all(at / "talks", TEXTS) / "**" / "*.txt",
    "list": lambda at: [put_all(at / "talks", TEXTS) / name for name in reversed(TEXTS)],
    "tar.gz": lambda at: tar(at / "talks.tar.gz", shuffled("talks/")),
    "tar": lambda at: tar(at / "x.tar", shuffled("./"), "w"),
    "zip": lambda at: zipped(at / "talks.zip", shuffled("talks\\")),
    "stored zip": lambda at: zipped(at / "talks.zip", {**shuffled(), "__MACOSX/x.txt": b"no"}, zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_files_are_the_same_corpus(way: str, tmp_path: Path) -> None:
    source = WAYS[way](tmp_path)
    expected = topicloom.from_texts([TEXTS[name] for name in IDS])
    corpus = topicloom.read(source)
    assert (corpus.ids, corpus.labels) == (IDS, LABELS)
    assert corpus.fingerprint == expected.fingerprint
    assert corpus.texts == expected.texts
    assert corpus.reading is not None
    assert corpus.reading["format"] == "files"
    assert convert_corpus(source, tmp_path / "c.corpus").fingerprint == expected.fingerprint
    paths = topicloom.read(source, folder_labels="path", suffix="TXT").labels
    assert paths is not None
    assert paths[1] == ("uk/2019",)
    assert topicloom.read(source, folder_labels="none").labels is None


def test_several_folders_are_labels_as_for_mallet(tmp_path: Path) -> None:
    folder = put_all(tmp_path, {"uk/a.txt": "river", "us/b.txt": "bank"})
    corpus = topicloom.read([folder / "us", folder / "uk"])
    assert (corpus.ids, corpus.labels) == (("uk/a.txt", "us/b.txt"), (("uk",), ("us",)))
    zipped(folder / "us.zip", {"b.txt": b"bank"})
    assert topicloom.read([folder / "us.zip", folder / "uk"]).ids == corpus.ids
    with pytest.raises(InputError, match=r"'us/b.txt' is there twice"):
        topicloom.read([folder / "us.zip", folder / "us"])


def test_other_files_are_counted_and_hidden_ones_are_not(tmp_path: Path) -> None:
    put_all(tmp_path, {"a.txt": "river", "README.md": "x", "b.pdf": "x", ".h.txt": "x", ".git/c.txt": "x"})
    (tmp_path / "z.txt.gz").write_bytes(gzip.compress(b"bank"))
    (tmp_path / "loop").symlink_to(tmp_path)
    with pytest.warns(
        SkippedFilesWarning, match=r"2 of 5 files are read, those .*\.txt or .*; passed over: .*1 with \.md"
    ):
        corpus = topicloom.read(tmp_path)
    assert (corpus.ids, corpus.labels, corpus.vocabulary) == (("a.txt", "z.txt.gz"), None, ("bank", "river"))


def test_a_folder_without_texts_says_what_it_has(tmp_path: Path) -> None:
    put_all(tmp_path, {"sci/1001": "the river", "sci/1002": "a bank"})
    with pytest.raises(InputError, match=r"It has 2 with no ending, such as 'sci/1001'\..*suffix='' takes all"):
        topicloom.read(tmp_path)
    assert topicloom.read(tmp_path, suffix="").labels == (("sci",), ("sci",))
    put_all(tmp_path, {"a.txt": "x", "b.csv": "text\nriver\n", "c.csv": "text\nbank bank\n"})
    with pytest.raises(InputError, match=r"several formats \(2 csv, 1 txt\).*format='csv' or format='files'"):
        topicloom.read(tmp_path)
    with pytest.warns(SkippedFilesWarning):
        assert topicloom.read(tmp_path, format="csv").doc_lengths.tolist() == [1, 2]


def test_tables_in_several_files_and_archives(tmp_path: Path) -> None:
    files = {"b.csv": b"label,text\ny,bank\nx,\n", "a.csv": b"text,label\nriver,x\n"}
    for way in (tar(tmp_path / "t.tgz", files), zipped(tmp_path / "t.zip", files)):
        corpus = topicloom.read(way, label_column="label")
        assert (corpus.labels, corpus.doc_lengths.tolist()) == ((("x",), ("y",), ("x",)), [1, 1, 0])
    files["b.csv"] += b"1,2,3\n"
    with pytest.raises(InputError, match=r"t\.zip: b\.csv, line 4"):
        topicloom.read(zipped(tmp_path / "t.zip", files))
    with pytest.raises(InputError, match="one file, and 2 are given"):
        topicloom.read([tmp_path / "t.tgz", tmp_path / "t.zip"], format="ldac")
    with pytest.raises(InputError, match="unpack it"):
        topicloom.read(zipped(tmp_path / "p.zip", {"a.parquet": b"PAR1"}))


def test_the_same_files_in_many_documents_keep_all_metadata(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = {f"{n}.csv": "".join(f"{n}{d},{rng.integers(9)},w{rng.integers(99)} x\n" for d in range(20)) for n in "cab"}
    columns = {"header": False, "id_column": 0, "response_column": 1, "text_column": 2}
    put_all(tmp_path / "f", rows)
    from_folder = topicloom.read(tmp_path / "f", **columns)
    from_tar = topicloom.read(tar(tmp_path / "f.tar", {n: t.encode() for n, t in rows.items()}, "w"), **columns)
    assert from_tar.ids == from_folder.ids == tuple(f"{n}{d}" for n in "abc" for d in range(20))
    assert from_tar.fingerprint == from_folder.fingerprint
    assert np.array_equal(from_tar.responses, from_folder.responses)
    assert from_tar.texts == from_folder.texts


# -- archives that are damaged or mean harm ----------------------------------------------------------------------------

GOOD = {"a.txt": b"river bank", "b.txt": b"bank"}
WRONG: dict[str, Callable[[Path], Path]] = {
    r"leads out of the archive": lambda at: tar(at / "x.tar", {"../../etc/a.txt": b"x"}, "w"),
    r"leads out of the archive; ": lambda at: tar(at / "x.tar", {"/etc/a.txt": b"x"}, "w"),
    r"'C:.+a\.txt', whose path": lambda at: zipped(at / "x.zip", {"C:\\a.txt": b"x"}),
    r"'a\.txt' twice": lambda at: tar(at / "x.tar", {"./a.txt": b"x", "a.txt": b"y"}, "w"),
    r"compressed in an unusual way": lambda at: zipped(at / "x.zip", GOOD, zipfile.ZIP_BZIP2),
    r"holds 100,000,000 bytes, more than are plausible": lambda at: zipped(at / "x.zip", {"a.txt": bytes(10**8)}),
    r"x.tgz holds 100,000,000 bytes": lambda at: tar(at / "x.tgz", {"a.txt": bytes(10**8), "b.txt": b"x"}),
    r"a header claims": lambda at: tar(at / "x.tgz", {"a.txt": b"\0" * 2**21}, type=tarfile.GNUTYPE_LONGNAME),
    r"damaged or cut short": lambda at: _cut(zipped(at / "x.zip", GOOD), 40),
    r"damaged or cut short \(it is cut": lambda at: _cut(tar(at / "x.tar", GOOD, "w"), 9216),
    r"damaged or cut short \(unexpected": lambda at: _cut(tar(at / "x.tar", GOOD, "w"), 9700),
    r"x\.tgz: the gzip data is damaged": lambda at: _cut(tar(at / "x.tgz", GOOD), 12),
    r"bad checksum": lambda at: _flip(tar(at / "x.tar", GOOD, "w"), 1024 + 5),
    r"x\.zip.*damaged.*Bad CRC": lambda at: _flip(zipped(at / "x.zip", GOOD, zipfile.ZIP_STORED), 40),
    r"is not utf-8": lambda at: zipped(at / "x.zip", {"a.txt": gzip.compress(b"river")}),
    r"unpack it, or pack it as": lambda at: _cut(tar(at / "x.tar.xz", GOOD, "w:xz"), 1),
    r"It is empty": lambda at: zipped(at / "x.zip", {".a.txt": b"x"}),
}  # fmt: skip


def _cut(path: Path, n: int) -> Path:
    path.write_bytes(path.read_bytes()[:-n])
    return path


def _flip(path: Path, at: int) -> Path:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("message", WRONG)
def test_archives_that_are_damaged_or_mean_harm_are_refused(message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        topicloom.read(WRONG[message](tmp_path))
    assert str(tmp_path / "x") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("x.")] == []


def test_links_and_devices_are_passed_over_and_limits_can_be_lifted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "l.tar"
    with tarfile.open(archive, "w") as made:
        for name, kind in {"a.txt": tarfile.REGTYPE, "b.txt": tarfile.SYMTYPE, "c.txt": tarfile.FIFOTYPE}.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, "/etc/passwd", 3 * (kind == tarfile.REGTYPE)
            made.addfile(info, io.BytesIO(b"one"))
    with pytest.warns(SkippedFilesWarning, match="2 links, devices"):
        assert topicloom.read(archive).ids == ("a.txt",)
    monkeypatch.setattr(_limits, "FREE_BYTES", 100)
    for path in (zipped(tmp_path / "b.zip", {"a.txt": b"river " * 9999}), tmp_path / "f" / "a.txt.gz"):
        if path.suffix == ".gz":
            path.parent.mkdir()
            path.write_bytes(gzip.compress(b"river " * 9999))
            path = path.parent
        with pytest.raises(InputError, match="more than are plausible"):
            topicloom.read(path)
        assert topicloom.read(path, max_size=60_000).n_tokens == 9999
        with pytest.raises(InputError, match="more than max_size=50000"):
            topicloom.read(path, max_size=50_000)

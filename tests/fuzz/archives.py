"""Tar and zip archives of texts, damaged as bytes, with paths and headers that lead elsewhere."""

import io
import random
import tarfile
import zipfile
from pathlib import Path

from tests.fuzz.files import contents, expected, is_read
from tests.fuzz.mutate import damaged_bytes
from tests.fuzz.naive import AS_WORDS, Expected, attempted
from topicloom.corpus.formats import read

SHARE = 1.5
_TRICKS = ("../a.txt", "/a.txt", "x/../../a.txt", "C:\\a.txt", "..\\a.txt", "a.txt", "./a.txt", "n" * 300 + ".txt", "")
_TYPES = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, b"x", b"g", b"L", b"K", b"S", b"Z")
_SIZES = (b"77777777777\0", b"00000000000\0", b"\xff" * 12, b"\x80" + b"\0" * 3 + b"\xff" * 8, b"-0000000777\0")


def write(rng: random.Random, folder: Path) -> None:
    files = contents(rng)
    if rng.random() < 0.15:
        files[rng.choice(_TRICKS)] = b"river"
    kind = rng.choice(("zip", "tar", "tar.gz"))
    content = _zip(rng, files) if kind == "zip" else _tar(rng, files, "w:gz" if kind == "tar.gz" else "w")
    if rng.random() < 0.5:
        content = _headers(rng, content) if kind == "tar" and rng.random() < 0.5 else damaged_bytes(rng, content)
    (folder / f"a.{kind}").write_bytes(content)


def _zip(rng: random.Random, files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in files.items():
            archive.writestr(name or "x.txt", content)
    return out.getvalue()


def _tar(rng: random.Random, files: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    form = rng.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name if len(name) < 90 or form != tarfile.USTAR_FORMAT else "x.txt")
            info.size = len(content)
            if rng.random() < 0.05:
                info.type = rng.choice(_TYPES[:4])
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def _headers(rng: random.Random, content: bytes) -> bytes:
    """A header with another type or size, and the checksum of that."""
    changed = bytearray(content)
    at = 512 * rng.randrange(max(1, len(content) // 512))
    if rng.random() < 0.5:
        changed[at + 156 : at + 157] = rng.choice(_TYPES)
    else:
        changed[at + 124 : at + 136] = rng.choice(_SIZES)
    if len(changed) < at + 512:
        return bytes(changed)
    changed[at + 148 : at + 156] = b" " * 8
    changed[at + 148 : at + 156] = b"%06o\0 " % sum(changed[at : at + 512])
    return bytes(changed)


def attempt(folder: Path) -> str:
    (path,) = folder.iterdir()
    outcome = attempted(lambda: read(path, format="files", **AS_WORDS), lambda: parse(path))
    assert list(folder.iterdir()) == [path]  # nothing is unpacked
    return outcome


def parse(path: Path) -> Expected:
    """With the whole archive in memory, as the library unpacks it; damage that it lets pass is none to us either."""
    files: dict[str, bytes] = {}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            for info in packed.infolist():
                if not info.is_dir() and (info.external_attr >> 28) != 0o12:
                    name = _clean(info.filename)
                    files[name] = packed.read(info) if _is_read(name) else b""
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                found = archive.extractfile(member) if member.isreg() else None
                if found is not None:
                    name = _clean(member.name)
                    files[name] = found.read() if _is_read(name) else b""
    seen = {name: content for name, content in files.items() if not _hidden(name) and not name.lower().endswith(".gz")}
    tops = {name.split("/")[0] for name in seen}
    if len(tops) == 1 and all("/" in name for name in seen):
        seen = {name.partition("/")[2]: content for name, content in seen.items()}
    return expected({name: content.removeprefix(b"\xef\xbb\xbf") for name, content in seen.items()})


def _clean(name: str) -> str:
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _is_read(name: str) -> bool:
    return is_read(name) and not name.startswith("__MACOSX/") and not name.lower().endswith(".gz")


def _hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or any(part.startswith(".") for part in name.split("/"))

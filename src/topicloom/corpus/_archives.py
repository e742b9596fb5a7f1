"""Files in tar and zip archives, read where they are: nothing is unpacked to disk.

An archive is listed before anything of it is read, so that names that lead elsewhere and sizes that are not plausible
are refused first.
"""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from topicloom.corpus._checks import first_repeat, is_encodable, shown
from topicloom.corpus._limits import check_unpacked
from topicloom.corpus._lines import Member, open_bytes
from topicloom.errors import InputError

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
_UNREAD = (".bz2", ".xz", ".zst", ".tbz2", ".txz", ".7z", ".rar")
_LONGEST_HEADER = 1 << 20  # bytes of a tar header's own data, such as a long name
_HEADERS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"x", b"g", b"X")


def is_archive(path: Path) -> bool:
    """Whether the name is one of an archive that can be read."""
    return path.name.lower().endswith(ENDINGS)


def check_compression(path: Path) -> None:
    """Refuse archives of other kinds."""
    if path.name.lower().endswith(_UNREAD):
        raise InputError(f"{path} is compressed in a way that is not read; unpack it, or pack it as .zip or .tar.gz.")


def names_in(path: Path, max_size: int | None = None) -> tuple[list[str], int]:
    """Paths of the files in an archive, in order of the archive, and how many links and devices are passed over."""
    names: list[str] = []
    passed, size, packed = 0, 0, path.stat().st_size
    with _understood(path):
        for name, n_bytes in _zip_entries(path) if _is_zip(path) else _tar_entries(path):
            if n_bytes is None:
                passed += 1
                continue
            size += n_bytes
            check_unpacked(path, packed, size, len(names), max_size)
            names.append(_checked(path, name))
    if len(set(names)) < len(names):
        raise InputError(f"{path} has {first_repeat(names)!r} twice; pack it again.")
    return names, passed


def members(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Member]]:
    """The wanted files, in order of the archive; each must be read before the next is asked for."""
    if _is_zip(path):
        with _understood(path), zipfile.ZipFile(path) as packed:
            for info in packed.infolist():
                name = _parts(info.filename)
                if not info.is_dir() and name in wanted:
                    yield name, Member(path, name, _opened(path, packed, info))
        return
    with _understood(path), _tar(path) as tar:
        while (header := tar.next()) is not None:
            name = _parts(header.name)
            if header.isreg() and name in wanted:
                yield name, Member(path, name, _opened(path, tar, header))
            tar.members.clear()  # type: ignore[attr-defined]  # they would all be kept


def _opened(
    path: Path, archive: zipfile.ZipFile | tarfile.TarFile, entry: zipfile.ZipInfo | tarfile.TarInfo
) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with _understood(path):
            if isinstance(archive, zipfile.ZipFile):
                raw = archive.open(cast(zipfile.ZipInfo, entry))
            else:
                raw = cast(IO[bytes], archive.extractfile(cast(tarfile.TarInfo, entry)))
            with raw, io.BufferedReader(_Forward(raw)) as file:
                yield cast(IO[bytes], file)

    return opened


class _Forward(io.RawIOBase):
    """A file that is read from its start to its end, and says so: what archives give would claim to go back."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _is_zip(path: Path) -> bool:
    return path.name.lower().endswith(".zip")


def _zip_entries(path: Path) -> Iterator[tuple[str, int | None]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if stat.S_ISLNK(info.external_attr >> 16):
                yield info.filename, None
                continue
            if info.flag_bits & 1:
                raise InputError(f"{path}: {info.filename!r} is encrypted; unpack it with its password.")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"{path}: {info.filename!r} is compressed in an unusual way; pack it again.")
            yield info.filename, info.file_size


def _tar_entries(path: Path) -> Iterator[tuple[str, int | None]]:
    with _tar(path) as tar:
        while (header := tar.next()) is not None:
            if header.size < 0:
                raise tarfile.ReadError("a negative size")
            if not header.isdir():
                yield header.name, header.size if header.isreg() else None
            tar.members.clear()  # type: ignore[attr-defined]  # they would all be kept


@contextmanager
def _tar(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive as a stream, which never goes back."""
    with open_bytes(path) as file:
        with tarfile.open(fileobj=file, mode="r|", tarinfo=_Header, bufsize=1 << 16) as tar:
            yield tar
        file.read(1 << 20)  # to the end, where gzip has its checksum


class _Header(tarfile.TarInfo):
    """A header that is refused where tarfile would take damage for the end, or believe any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        if not buf:
            raise ValueError("it is cut short")
        if buf.count(0) == len(buf) == tarfile.BLOCKSIZE:
            return super().frombuf(buf, encoding, errors)  # says that this is the end
        try:
            found = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise ValueError(str(error)) from None
        if found.size < 0 or (found.type in _HEADERS and found.size > _LONGEST_HEADER):
            raise ValueError(f"a header claims {found.size} bytes")
        return found


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    """What the libraries say of a damaged archive, in our words."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
        raise _damaged(path, error) from None
    except Exception as error:  # tarfile, zipfile and zlib have many ways to say that a file is damaged
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> InputError:
    reason = (str(error) or type(error).__name__).splitlines()[0][:200]
    return InputError(f"{path}: the archive is damaged or cut short ({reason}). Fetch or pack it again.")


def _parts(name: str) -> str:
    """A path in one form: slashes, and none at the end."""
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _checked(path: Path, name: str) -> str:
    """A path inside of the archive, if it leads nowhere else."""
    clean = _parts(name)
    outside = name.startswith(("/", "\\")) or ".." in clean.split("/") or clean[1:2] == ":" or "\0" in name
    if outside or not clean:
        raise InputError(f"{path} has a file {shown(name)}, whose path leads out of the archive; pack it again.")
    if not is_encodable(clean):
        raise InputError(f"{path} has a file {shown(name)}, whose name is not UTF-8; rename it and pack it again.")
    return clean

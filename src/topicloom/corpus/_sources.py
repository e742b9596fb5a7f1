"""What a path, a pattern or a list of them stands for: files, folders of files, archives of files."""

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from topicloom.corpus._archives import ENDINGS, check_compression, is_archive, members, names_in
from topicloom.corpus._checks import first_repeat, is_encodable, shown
from topicloom.corpus._lines import Source
from topicloom.errors import InputError, SkippedFilesWarning, counted, warn
from topicloom.files.arrays import as_path

PathLike = str | os.PathLike[str]


def found_paths(given: PathLike | Sequence[PathLike]) -> list[Path]:
    """Paths that exist, of one path, a pattern such as ``"speeches/*.txt"``, or a list of both."""
    if isinstance(given, str | os.PathLike):
        return _matching(given)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise InputError(
            f"path must be a path, a pattern such as 'speeches/*.txt', or a list of them, not {shown(given)}."
        )
    if not given:
        raise InputError("path is an empty list; give at least one file.")
    return [path for one in given for path in _matching(one)]


def _matching(given: Any) -> list[Path]:
    path = as_path(given)
    if path.exists():
        return [path]
    if not any(mark in str(path) for mark in "*?["):
        raise InputError(f"there is no file {path}.")
    found = sorted((Path(name) for name in glob.glob(str(path), recursive=True)), key=lambda path: path.parts)
    if "**" in str(path):  # which stands for folders, too
        found = [path for path in found if path.is_file()]
    if not found:
        raise InputError(f"no file matches the pattern {path}.")
    return found


class Files:
    """Files that are read as one: each is given by its path, or is in a given folder or archive.

    Names are paths relative to the one folder or archive that is given, or to the folder in which all are that are
    given. The order is that of the names, whatever the file system's or the archive's is.
    """

    def __init__(self, paths: Sequence[Path], max_size: int | None = None) -> None:
        self.paths = list(paths)
        for path in paths:
            check_compression(path)
        self.described = str(paths[0]) if len(paths) == 1 else counted(len(paths), "files and folders")
        self.alone = len(paths) == 1 and not paths[0].is_dir() and not is_archive(paths[0])
        self._roots = [_Root(path, prefix, max_size) for path, prefix in zip(paths, _prefixes(paths), strict=True)]
        self._wanted: Callable[[str], bool] = lambda name: True

    @cached_property
    def _found(self) -> list[str]:
        """All names, in order."""
        names = sorted((name for root in self._roots for name in root.names), key=_in_order)
        if len(set(names)) < len(names):
            raise InputError(f"{first_repeat(names)!r} is there twice; give each file once.")
        return names

    @cached_property
    def names(self) -> list[str]:
        """Names of the files that are read, in order."""
        return [name for name in self._found if self._wanted(name)]

    def choose(self, endings: tuple[str, ...]) -> "Files":
        """The same, but of folders and archives only files with these endings; the others are counted, and told."""
        given = {name for root in self._roots if root.is_file for name in root.names}
        self._wanted = lambda name: name in given or name.lower().endswith(endings)
        self.__dict__.pop("names", None)
        passed = [name for name in self._found if not self._wanted(name)]
        n_links = sum(root.passed for root in self._roots)
        if not self.names:
            raise InputError(f"{self.described} has no file that ends in {_listed(endings)}. {self.contents()}")
        if passed or n_links:
            kinds = Counter(Path(name).suffix or "no ending" for name in passed)
            told = [f"{n:,} with {kind}" for kind, n in kinds.most_common(4)]
            told += [f"{n_links:,} links, devices or packed files"] if n_links else []
            warn(
                f"{self.described}: {len(self.names):,} of {len(self._found) + n_links:,} files are read, those that "
                f"end in {_listed(endings)}; passed over: {', '.join(told)}.",
                SkippedFilesWarning,
            )
        return self

    def contents(self) -> str:
        if not self._found:
            return "It is empty, but for hidden files."
        kinds = Counter(Path(name).suffix or "no ending" for name in self._found)
        told = ", ".join(f"{n:,} with {kind}" for kind, n in kinds.most_common(4))
        return (
            f"It has {told}, such as {self._found[0]!r}. If they are texts, say how their names end with suffix=; "
            "suffix='' takes all."
        )

    def __iter__(self) -> Iterator[tuple[int, str, Source]]:
        """Rank in the order, name, and file of each, of archives in the order in which they are packed."""
        rank = {name: i for i, name in enumerate(self.names)}
        for root in self._roots:
            for name, source in root.open(rank):
                yield rank[name], name, source


class _Root:
    """One path that is given."""

    def __init__(self, path: Path, prefix: str, max_size: int | None) -> None:
        self.path, self.passed, self._prefix, self._max_size = path, 0, prefix, max_size
        self.is_file = not path.is_dir() and not is_archive(path)

    @cached_property
    def names(self) -> list[str]:
        if self.is_file:
            found = [self.path.name]
        elif self.path.is_dir():
            found, self.passed = _in_folder(self.path)
        else:
            inside, self.passed = names_in(self.path, self._max_size)
            inside = [name for name in inside if not _is_hidden(name)]
            self.passed += sum(name.lower().endswith(".gz") for name in inside)  # to unpack them, too, asks for bombs
            inside = [name for name in inside if not name.lower().endswith(".gz")]
            self._top = _common_top(inside)
            found = [name.removeprefix(self._top) for name in inside]
        return [self._prefix + name for name in found]

    def open(self, wanted: Collection[str]) -> Iterator[tuple[str, Source]]:
        own = [name for name in self.names if name in wanted]
        if self.is_file or self.path.is_dir():
            folder = self.path.parent if self.is_file else self.path
            for name in sorted(own, key=_in_order):
                yield name, folder / name.removeprefix(self._prefix)
            return
        inside = {self._top + name.removeprefix(self._prefix): name for name in own}
        for name, member in members(self.path, inside):
            yield inside[name], member


# What Spark and its like put beside the files that they write, or leave behind when they fail.
_OF_WRITERS = re.compile(r"(.*/)?(_SUCCESS$|_committed_\d+$|_started_\d+$|_(common_)?metadata$|_temporary/)")


def _in_order(name: str) -> list[str]:
    return name.split("/")


def _in_folder(folder: Path) -> tuple[list[str], int]:
    """Paths of the files in a folder and its sub-folders, and the number of pipes, devices, links to folders."""
    names, passed = [], 0
    for place, folders, files in os.walk(folder, onerror=_not_listed):
        passed += sum(os.path.islink(os.path.join(place, name)) for name in folders if name[0] != ".")
        folders[:] = sorted(name for name in folders if name[0] != ".")
        within = Path(place).relative_to(folder)
        for name in files:
            if name.startswith("."):
                continue
            if _OF_WRITERS.match((within / name).as_posix()):
                continue
            if not os.path.isfile(os.path.join(place, name)):  # a pipe would be waited for
                passed += 1
                continue
            relative = (within / name).as_posix()
            if not is_encodable(relative):
                raise InputError(f"{folder} has a file {shown(relative)}, whose name is not UTF-8; rename it.")
            names.append(relative)
    return names, passed


def _not_listed(error: OSError) -> None:
    raise InputError(f"{error.filename} cannot be read: {error.strerror or error}.") from None


def _is_hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or any(part.startswith(".") for part in name.split("/"))


def _common_top(names: list[str]) -> str:
    """The folder that everything in an archive is in, with a slash; "" if there is none."""
    top = names[0].partition("/")[0] + "/" if names else ""
    return top if all(name.startswith(top) for name in names) else ""


def _prefixes(paths: Sequence[Path]) -> list[str]:
    """What makes names of several paths relative to the folder that all are in. An archive is a folder of its name."""
    if len(paths) == 1:
        return [""]
    whole = [Path(os.path.abspath(path)) for path in paths]
    try:
        common = Path(os.path.commonpath([path.parent for path in whole]))
    except ValueError:  # on several drives
        common = Path(whole[0].anchor)
    prefixes = []
    for path in whole:
        within = path.parent.relative_to(common) if path.is_relative_to(common) else Path(path.parent.name)
        if path.is_dir() or is_archive(path):
            ending = next((end for end in ENDINGS if is_archive(path) and path.name.lower().endswith(end)), "")
            within = within / path.name[: len(path.name) - len(ending)]
        prefixes.append("" if within == Path() else within.as_posix() + "/")
    return prefixes


def _listed(endings: tuple[str, ...]) -> str:
    return " or ".join(endings) if all(endings) else "anything"

"""Model directories in tests: which file has which role, and directories that were made up but are signed."""

import json
from pathlib import Path
from typing import Any

from topicloom.files.arrays import read_digest, write_arrays
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import MANIFEST, signed


def file_of(folder: Path, role: str) -> Path:
    """The file that a directory has for the corpus, the model, the labels, the targets or a chain."""
    return folder / Stored.open(folder).manifest["files"][role]["file"]


def files_in(folder: Path) -> list[str]:
    """Files of a directory, without the digests in their names."""
    return sorted("-".join(p for p in path.stem.split("-") if len(p) < 12) + path.suffix for path in folder.iterdir())


def sign(folder: Path, **changes: Any) -> None:
    """Change a manifest and give it a digest that is right."""
    path = folder / MANIFEST
    path.write_text(json.dumps(signed(json.loads(path.read_text()) | changes)))


def put(folder: Path, role: str, source: Path | Part) -> None:
    """Put a file, or arrays and info, in the place of a directory's own, and name its digest in the manifest."""
    path = file_of(folder, role)
    if isinstance(source, Path):
        path.write_bytes(source.read_bytes())
    else:
        write_arrays(path, *source)
    files = json.loads((folder / MANIFEST).read_text())["files"]
    sign(folder, files=files | {role: {"file": path.name, "digest": read_digest(path)}})

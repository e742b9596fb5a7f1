"""One file from the parts of a page: policy, digests, compressed data, atomic write."""

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from topicloom.corpus._lines import replacing
from topicloom.errors import StorageError

SCRIPTS = (
    "core.js", "names.js", "draw.js", "charts.js", "overview.js", "topic.js", "word.js", "document.js", "search.js",
    "families.js", "reports.js", "collections.js", "states.js", "models.js", "start.js",
)  # fmt: skip
"""Scripts of the page in their order; those that are not there are passed over."""

_PLACE = re.compile("@(policy|title|style|data|script)@")
_ENDS = re.compile(r"</(script|style)|<!--", re.IGNORECASE)  # what would end a script or a style before its end


def write_page(path: Path, title: str, blocks: Mapping[str, Any]) -> int:
    """Write the page; ``blocks`` has the data by the elements' ids. Returns the size in bytes."""
    page = render(title, blocks)
    with replacing(path) as file:
        file.write(page)
    return len(page)


def render(title: str, blocks: Mapping[str, Any]) -> bytes:
    """The page as bytes: the same for the same data."""
    style, script = _checked("style.css"), "\n".join(_checked(name) for name in SCRIPTS if _part(name).is_file())
    parts = {
        "policy": policy(style, script),
        "title": html.escape(title),
        "style": style,
        "data": "\n".join(
            f'<script type="application/json+gzip" id="{name}">{pack(block)}</script>' for name, block in blocks.items()
        ),
        "script": script,
    }
    # In one pass, so that no part is looked for within another.
    return _PLACE.sub(lambda match: parts[match[1]], _part("index.html").read_text(encoding="utf-8")).encode()


def policy(style: str, script: str) -> str:
    """What the page may do: run this script and this style, show images that it makes itself, and nothing else."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The hash by which a policy knows an element's text."""
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


def pack(block: Any) -> str:
    """JSON, compressed without a time or a name, as base64: it has no character that HTML knows."""
    text = json.dumps(block, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def unpack(text: str) -> Any:
    """The data that ``pack`` made text of."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def _part(name: str) -> Any:
    return resources.files("topicloom.explore").joinpath("page", name)


def _checked(name: str) -> str:
    text: str = _part(name).read_text(encoding="utf-8")
    if _ENDS.search(text):
        raise StorageError(f"{name} of the page has text that ends its element; install topicloom again.")
    return text

"""The page's scripts and style: no way for text to become code, and every script in its place."""

import re
from pathlib import Path

import pytest

import topicloom.explore
from topicloom.explore.page import SCRIPTS

FOLDER = Path(topicloom.explore.__file__).parent / "page"

# What would turn text into markup, code or a request.
FORBIDDEN = (
    r"innerHTML", r"outerHTML", r"insertAdjacentHTML", r"document\.write", r"\beval\b", r"new Function", r"DOMParser",
    r"createContextualFragment", r"javascript:", r"\bfetch\(", r"XMLHttpRequest", r"WebSocket", r"sendBeacon",
    r"\bimport\b\s*[({\"']",
    r"https?://(?!www\.w3\.org/)", r"@import", r"setAttribute\(\"(style|on)", r"srcdoc", r"setTimeout\(\s*[\"'`]",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.is_file()))
def test_nothing_turns_text_into_code_or_asks_the_network(name: str) -> None:
    text = re.sub(r"^\s*//.*$", "", (FOLDER / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [pattern for pattern in FORBIDDEN if re.search(pattern, text)] == []
    if name == "index.html":
        assert not re.search(r"\s(on\w+|style)=", text)


def test_every_script_is_in_the_page() -> None:
    assert {path.name for path in FOLDER.glob("*.js")} <= set(SCRIPTS)
    assert SCRIPTS[0] == "core.js"
    assert SCRIPTS[-1] == "start.js"

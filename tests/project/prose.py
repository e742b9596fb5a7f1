"""How the pages read: words, length of sentences and paragraphs, and idioms that are ours alone.

``python -m tests.project.prose`` prints a line per page.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROOMS = ("get-started", "tutorials", "guide", "performance", "papers")
MOST_WORDS = 1200  # of a guide page, before its table of options

_MEASURED = (
    "ns|ms|s|seconds?|bytes?|MB|counts?|times?|one|entry|entries|values?|numbers?|tokens?|words?|sweeps?|documents?|"
    "texts?|objects?|labels?|rows?|draws?|samples?|once|steps?|lines?|columns?|topics?|names?|millions?"
)
_UNITS = "token|topic|sweep|document|line|word|row|chain|label|sample|second|iteration|entry|class|sequence|column|cell"
IDIOMS = (
    rf"\b(?:{_MEASURED}) an? (?:{_UNITS})\b(?! (?:of|that|is|has|with|in|from|as)\b)",  # "ns a token": per
    r"(?<!thing )(?<!one )(?<!all )(?<!what )(?<!where )\belse[.,;:)](?!\w)",  # "and sweep else": otherwise
    r"\bgo(?:es|ing)? on with\b",  # resumes, continues
    r"\btold before\b",
    r"\bare come to\b|\bis come to\b",
    r"\bthe house\b",
    r"\bAgain on a later day\b",
    r"\bwalks? (?:the|through|over|along)\b",
)


class Measures(NamedTuple):
    """Of one page, without code and tables."""

    words: int
    before_options: int  # words before the first table of options
    sentence: float  # mean words of a sentence
    paragraph: int  # words of the longest one


def plain(text: str) -> str:
    """A page without blocks of code, tables, headers and marks."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*([`:]{3,})\{?.*?^\s*\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(\||    |#).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def measure(text: str) -> Measures:
    """Lengths of what a page says."""
    body = plain(text)
    paragraphs = [p for p in re.split(r"\n\s*\n|\n(?=[*-] )", body) if p.split()]
    sentences = [s for p in paragraphs for s in re.split(r"(?<=[.!?:;])\s+", p) if s.split()]
    table = re.search(r"^## (Options|Parameters|All commands)\b", text, flags=re.MULTILINE)
    counts = [len(s.split()) for s in sentences]
    return Measures(
        words=sum(counts),
        before_options=len(plain(text[: table.start()]).split()) if table else sum(counts),
        sentence=sum(counts) / max(len(counts), 1),
        paragraph=max((len(p.split()) for p in paragraphs), default=0),
    )


def user_pages() -> list[Path]:
    """The README and all pages for users."""
    return [ROOT / "README.md", DOCS / "index.md", *(p for room in ROOMS for p in sorted((DOCS / room).rglob("*.md")))]


def messages() -> Iterator[tuple[str, int, str]]:
    """Strings of the package: docstrings, help and messages, with file and line."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield path.relative_to(ROOT).as_posix(), node.lineno, node.value


def idioms(text: str) -> list[str]:
    """What of the list of idioms a text has."""
    joined = re.sub(r"\s+", " ", re.sub(r"`[^`\n]*`", "`", text))
    return [found[0] for pattern in IDIOMS for found in re.finditer(pattern, joined)]


def main() -> None:
    """Print the measures of all pages, and every idiom that is left."""
    print(f"{'page':40} {'words':>6} {'before options':>15} {'per sentence':>13} {'longest paragraph':>18}")
    for path in user_pages():
        found = measure(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        print(f"{name:40} {found.words:6} {found.before_options:15} {found.sentence:13.1f} {found.paragraph:18}")
    for path in user_pages():
        for idiom in idioms(plain(path.read_text(encoding="utf-8"))):
            print(f"{path.relative_to(ROOT)}: {idiom!r}")
    for name, line, text in messages():
        for idiom in idioms(text):
            print(f"{name}:{line}: {idiom!r}")


if __name__ == "__main__":
    main()

"""Docstrings out of source files, as plain prose. Sources are parsed and never imported."""

import ast
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Root(NamedTuple):
    """A folder of sources: of one package (``prefix`` is its name), or of modules that stand alone ("")."""

    group: str
    path: Path
    prefix: str


class Docstring(NamedTuple):
    """The prose of one module, class or function."""

    name: str  # dotted, unique
    group: str
    module: str  # the part of the code it belongs to, at most two levels deep
    text: str


# Tests, demonstrations, copies of other packages (they would give the same documents twice), data as code.
_SKIPPED_FOLDERS = re.compile(
    r"__pycache__|tests?|testing|turtledemo|idlelib|lib2to3|distutils|ensurepip|pydoc_data|encodings|_unicode_data"
    r"|site-packages|dist-packages|_?vendor(ed)?|externs?|_?externals?|array_api_\w+|cloudpickle|stable|_build_utils"
)
_SKIPPED_FILES = re.compile(r"test_.*|.*_test|tests?|conftest|runtests|__main__|_version|version|setup")
_QUOTED = re.compile(rb'("""|\'\'\')(.*?)\1', re.DOTALL)


def read_docstrings(roots: list[Root], min_words: int) -> list[Docstring]:
    """Docstrings of at least ``min_words`` words after cleaning, each text once, in the order of the files'
    names."""
    found: list[Docstring] = []
    texts: set[str] = set()
    names: dict[str, int] = {}
    for root in roots:
        for path, module in _source_files(root):
            for name, raw in _docstrings_of(path, module, min_words):
                if len(raw.split()) < min_words:
                    continue
                text = clean(raw)
                if len(text.split()) < min_words or text in texts:
                    continue
                texts.add(text)
                # Conditional definitions, overloads and property setters give one name to several texts.
                names[name] = names.get(name, 0) + 1
                unique = name if names[name] == 1 else f"{name}#{names[name]}"
                depth = 2 if root.prefix else 1
                found.append(Docstring(unique, root.group, ".".join(name.split(".")[:depth]), text))
    return found


def _source_files(root: Root) -> Iterator[tuple[Path, str]]:
    """Source files under a root with the dotted names of their modules, sorted."""
    for folder, subfolders, files in os.walk(root.path):
        subfolders[:] = sorted(
            name for name in subfolders if name.isidentifier() and not _SKIPPED_FOLDERS.fullmatch(name)
        )
        parts = [root.prefix] if root.prefix else []
        parts += Path(folder).relative_to(root.path).parts
        for file in sorted(files):
            stem, extension = os.path.splitext(file)
            if extension == ".py" and stem.isidentifier() and not _SKIPPED_FILES.fullmatch(stem):
                module = ".".join(parts if stem == "__init__" else [*parts, stem])
                yield Path(folder, file), module


def _docstrings_of(path: Path, module: str, min_words: int) -> Iterator[tuple[str, str]]:
    """Names and raw docstrings of a file; nothing from a file that cannot be read or parsed."""
    try:
        source = path.read_bytes()
    except OSError:
        return
    # Parsing is the slow part: leave out files without a long quoted text.
    if not any(len(quoted.group(2).split()) >= min_words for quoted in _QUOTED.finditer(source)):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # others' sources may have invalid escapes
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _walk(tree, module)


def _walk(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """The node's docstring, then those of what it defines; what functions define inside them is left out."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        raw = ast.get_docstring(node, clean=False)
        if raw:
            yield name, raw
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for child in _statements(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _walk(child, f"{name}.{child.name}")
        elif isinstance(child, ast.If | ast.Try | ast.For | ast.While | ast.With):
            yield from _walk(child, name)
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from _added(child.value, name)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements under a node in the order of the source, with those of its other branches."""
    yield from getattr(node, "body", [])
    for handler in getattr(node, "handlers", []):
        yield from handler.body
    yield from getattr(node, "orelse", [])
    yield from getattr(node, "finalbody", [])


def _added(call: ast.Call, module: str) -> Iterator[tuple[str, str]]:
    """A docstring given to compiled code by a call such as ``add_newdoc(module, name, (member, text))``."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if called != "add_newdoc":
        return
    arguments = [part for arg in call.args for part in (arg.elts if isinstance(arg, ast.Tuple) else [arg])]
    strings = [part.value for part in arguments if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if len(strings) == len(arguments) >= 2:
        *names, raw = strings
        home = [] if "." in names[0] else [module.rpartition(".")[0]]
        yield ".".join([*home, *names]), raw


# -- cleaning ------------------------------------------------------------

_UNDERLINE = re.compile(r"([-=~^*])\1{2,}")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]*\| )?([\w-]+)::(.*)")
_PROSE_DIRECTIVES = frozenset(("note", "warning", "tip", "hint", "important", "caution", "seealso"))
_LEFT_OUT_SECTIONS = frozenset(("references", "see also", "bibliography", "methods", "attributes"))
_NUMPY_FIELD = re.compile(r"[*\w.\\\[\]]+(?:\s*[,/|]\s*[*\w.\\\[\]]+)*\s*(?:\(.*\))?\s:(?:\s.*|)")
_GOOGLE_FIELD = re.compile(r"\*{0,2}\w+\s*\([^)]*\)\s*:\s*")
_SPHINX_FIELD = re.compile(r"[:@](param|arg|raises?|returns?|type|rtype|var|ivar|cvar|keyword)\b[^:]*:\s*")

# Sentences that a package repeats from docstring to docstring; their words would tie all of them together.
_PHRASES = re.compile(
    r"Read\s+more\s+in\s+the\s+:ref:[^.]*\."
    r"|See\s+:term:`(?:the\s+)?Glossary[^.]*\."
    r"|(?:Pass|Use)\s+an\s+int\s+for\s+reproducib[^.]*\."
    r"|`{0,2}None`{0,2}\s+means\s+1\s+unless[^.]*\.(?:parallel_backend[^.]*\.)?"
    r"|`{0,2}-1`{0,2}\s+means\s+using\s+all\s+processors[^.]*\."
    r"|This\s+(?:class|function|method)\s+is\s+not\s+part\s+of\s+the\s+public\s+API[^.]*\."
)


def _marked(quoted: re.Match[str]) -> str:
    """What stands in backticks: names and titles stay, without the target of a link; expressions go."""
    shown = quoted[1].partition("<")[0]
    return f" {shown} " if not re.search(r"[=()\[\]{}]", shown) else " "


# What has no place in prose, in the order it is taken out; the second part replaces it.
_INLINE: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"(?:https?|ftp)://\S+|www\.\S+"), " "),
    (re.compile(r":math:`[^`]*`|\$[^$\n]+\$|\\[a-zA-Z]+"), " "),
    (re.compile(r":[\w:-]+:(?=`)"), " "),
    (re.compile(r"``([A-Za-z]+)``"), r" \1 "),
    (re.compile(r"``.*?``", re.DOTALL), " "),
    (re.compile(r"`([^`]*)`_{0,2}"), _marked),
    (re.compile(r"%\(\w+\)[sdr]|\{\w*\}|%[sdr]\b"), " "),
    (re.compile(r"(?:n['’]t|['’](?:s|ll|re|ve|d|m))\b"), ""),
    # Words of code rather than of prose: calls with arguments, dotted names, names=values, file names.
    (re.compile(r"\b\w++(?:\((?=[^)\s])[^()]*\)|(?:\.\w+)+(?:\(\))?|=\S+)"), " "),
]


def clean(docstring: str) -> str:
    """The prose of a docstring: without examples, code, tables of types, mark-up and bibliography."""
    text = "\n".join(_prose_lines(inspect.cleandoc(docstring).splitlines()))
    text = _PHRASES.sub(" ", text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def _prose_lines(lines: list[str]) -> Iterator[str]:
    example = False  # inside a doctest, which ends at an empty line
    left_out_section = False
    block: int | None = None  # inside a block that is left out: the indentation that it must exceed
    for number, line in enumerate(lines):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if not stripped:
            example = False
            yield ""
            continue
        if block is not None and indent > block:
            continue
        block = None
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if _UNDERLINE.fullmatch(following) and len(following) >= len(stripped) - 1:
            left_out_section = stripped.lower() in _LEFT_OUT_SECTIONS
            example = False
            continue
        if stripped.startswith(">>>"):
            example = True
        if example or left_out_section or _UNDERLINE.fullmatch(stripped):
            continue
        if stripped.startswith(".. "):
            directive = _DIRECTIVE.match(stripped)
            if directive and directive[1] in _PROSE_DIRECTIVES:
                yield directive[2]
            else:
                block = indent
            continue
        yield _without_field(stripped)
        if stripped.endswith("::"):
            block = indent


def _without_field(line: str) -> str:
    """The line without the name and the type of a parameter."""
    if _NUMPY_FIELD.fullmatch(line):
        return ""
    sphinx = _SPHINX_FIELD.match(line)
    if sphinx:
        return "" if sphinx[1] in ("type", "rtype") else line[sphinx.end() :]
    return _GOOGLE_FIELD.sub("", line, count=1) if _GOOGLE_FIELD.match(line) else line

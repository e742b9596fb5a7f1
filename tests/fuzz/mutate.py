"""Ways to damage a file: bytes, lines, fields, numbers, compression."""

import gzip
import random
import re
from collections.abc import Callable, Sequence

NUMBERS = [
    "0",
    "-1",
    "-0",
    "+1",
    "1.0",
    "0.5",
    "1e3",
    "1e400",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "NaN",
    "0x1f",
    "1_0",
    "٣",
    "²",
    "007",
    ".",
    "-",
    "e5",
    "70000",
    "2000000",
    "16777217",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999",
    "1e18",
    "123456789012345678",
]
BYTES = (
    b"\0", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xff", b"\xfe\xff", b"\r", b"\r\n", b"\n", b" ", b"\t", b",", b";", b":",
    b'"', b"'", b"#", b"%", b"[", b"{", b"\\", b"\\ud800", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b", b"\x0c", b"\x1c",
    b"\xd9\xa3", b"\xc2\xa0", b"\xf0\x9f\x98\x80", b"e\xcc\x81", b"\x1f\x8b", b"-", b".", b"1e9999", b"null",
)  # fmt: skip
_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?")


def damaged(rng: random.Random, content: bytes) -> bytes:
    """The content with none to four changes."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        content = rng.choice(_CHANGES)(rng, content)
    return content


def packed(rng: random.Random, content: bytes) -> bytes:
    """The content, sometimes gzipped, and then sometimes damaged again."""
    if rng.random() > 0.1:
        return content
    zipped = gzip.compress(content, compresslevel=1, mtime=0)
    return rng.choice(
        (lambda z: z, lambda z: z, lambda z: _truncate(rng, z), lambda z: _flip(rng, z), lambda z: z + z)
    )(zipped)


def damaged_bytes(rng: random.Random, content: bytes) -> bytes:
    """As ``damaged``, for files without lines."""
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        content = rng.choice((_truncate, _flip, _flip, _flip, _insert, _cut, _repeat))(rng, content)
    return content


def _place(rng: random.Random, content: Sequence[object]) -> int:
    return rng.randrange(len(content) + 1)


def _truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: _place(rng, content)]


def _flip(rng: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.choice((0, _place(rng, content), _place(rng, content), len(content)))
    return content[:at] + rng.choice(BYTES) + content[at:]


def _cut(rng: random.Random, content: bytes) -> bytes:
    at = _place(rng, content)
    return content[:at] + content[at + rng.randrange(1, 9) :]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    at, size = _place(rng, content), rng.randrange(1, 30)
    return content[: at + size] + content[at:]


def _number(rng: random.Random, content: bytes) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    one = rng.choice(found[:6] + found)  # those of a header more often
    return content[: one.start()] + rng.choice(NUMBERS).encode() + content[one.end() :]


def _lines(change: Callable[[random.Random, list[bytes]], object]) -> Callable[[random.Random, bytes], bytes]:
    def changed(rng: random.Random, content: bytes) -> bytes:
        lines = content.split(b"\n")
        change(rng, lines)
        return b"\n".join(lines)

    return changed


def _swap(rng: random.Random, lines: list[bytes]) -> None:
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


def _double(rng: random.Random, lines: list[bytes]) -> None:
    lines.insert(_place(rng, lines), rng.choice(lines))


def _field(rng: random.Random, lines: list[bytes]) -> None:
    """One field more or less in a line."""
    i = rng.randrange(len(lines))
    mark = rng.choice((b" ", b"\t", b",", b":"))
    fields = lines[i].split(mark)
    if rng.random() < 0.5:
        fields.insert(_place(rng, fields), rng.choice(fields))
    else:
        fields.pop(rng.randrange(len(fields)))
    lines[i] = mark.join(fields)


_CHANGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _truncate,
    _flip,
    _flip,
    _insert,
    _insert,
    _cut,
    _repeat,
    _number,
    _number,
    _number,
    _lines(_swap),
    _lines(_double),
    _lines(lambda rng, lines: lines.pop(rng.randrange(len(lines)))),
    _lines(_field),
    _lines(_field),
    lambda rng, content: content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n"))),
    lambda rng, content: content.rstrip(b"\n"),
)

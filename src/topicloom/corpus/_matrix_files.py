"""Readers of files that hold a matrix: Matrix Market, and sparse NPZ. Neither trusts a file's word on sizes."""

import ast
import math
import re
import zipfile
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._limits import Limits
from topicloom.corpus._lines import NumberBlock, malformed, open_bytes, word_blocks
from topicloom.corpus._matrices import csr_from_parts
from topicloom.corpus._streams import GrowingArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.matrices import from_matrix
from topicloom.errors import InputError

Vocabulary = tuple[str, ...] | None
_LARGEST = np.iinfo(np.int32).max


def _corpus(path: Path, matrix: Any, vocabulary: Vocabulary, limits: Limits) -> Corpus:
    try:
        counts = matrix.data
        if np.all((counts >= 0) & (counts <= _LARGEST)) and np.all(counts == np.floor(counts)):
            limits.entries = 0  # those of the file as it came may have been several of one place
            limits.add(counts)
        return from_matrix(matrix, vocabulary)
    except InputError as error:
        message = str(error)
        raise (error if message.startswith(str(path)) else InputError(f"{path}: {message}")) from None


# -- Matrix Market ---------------------------------------------------------------------------------------------------

_BANNER = "a Matrix Market banner such as '%%MatrixMarket matrix coordinate integer general'"
_FIELDS = {"integer": "integer", "unsigned-integer": "integer", "real": "real", "double": "real", "pattern": "pattern"}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_MARKS = b"+-.eE"


class _Header(NamedTuple):
    coordinate: bool
    field: str
    symmetry: str
    sizes: tuple[int, ...]  # rows, columns, and the number of entries of a coordinate matrix
    lines: int

    @property
    def expected(self) -> str:
        """An entry as the format has it."""
        value = {"integer": "a whole number", "real": "a number", "pattern": ""}[self.field]
        if not self.coordinate:
            return f"a Matrix Market value, {value}, and nothing else"
        rows, columns = self.sizes[:2]
        place = f"a row from 1 to {rows}, a column from 1 to {columns}"
        return f"a Matrix Market entry: {place}{' and ' * bool(value)}{value}"


def read_mtx(path: Path, vocabulary: Vocabulary, *, transpose: bool = False, max_size: int | None = None) -> Corpus:
    """A Matrix Market file, documents × words; ``transpose`` for words × documents, as genomics writes it."""
    limits = Limits(path, max_size)
    return _corpus(
        path, mtx_matrix(path, limits, named=vocabulary is not None, transpose=transpose), vocabulary, limits
    )


def mtx_matrix(path: Path, limits: Limits, *, named: bool, transpose: bool) -> Any:
    """The matrix of a Matrix Market file, in CSR form; ``named`` says that its words have names."""
    with open_bytes(path) as file:
        header = _mtx_header(path, file)
        values, places = _mtx_entries(path, file, header)
    if not header.coordinate:
        places = _dense_places(path, header, len(values))
    elif len(values) != header.sizes[2]:
        raise InputError(
            f"{path}: this Matrix Market file promises {header.sizes[2]} entries and has {len(values)}. "
            "It may be cut short; fetch or write it again."
        )
    rows, columns = places
    shape = header.sizes[:2]
    limits.entries = len(values)
    limits.check_sizes(*(shape[::-1] if transpose else shape), named=named)
    if header.symmetry != "general":
        away = rows != columns
        mirrored = -values[away] if header.symmetry == "skew-symmetric" else values[away]
        values = np.concatenate((values, mirrored))
        rows, columns = np.concatenate((rows, columns[away])), np.concatenate((columns, rows[away]))
    parts = {"data": values, "row": rows, "col": columns}
    try:
        return csr_from_parts("coo", parts, (shape[0], shape[1]), transpose=transpose)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _mtx_header(path: Path, file: IO[bytes]) -> _Header:
    banner = file.readline(1000).decode("utf-8", "replace")
    words = banner.lower().split()
    if len(words) != 5 or words[0] not in ("%%matrixmarket", "%matrixmarket") or words[1] != "matrix":
        raise malformed(path, 1, banner, _BANNER)
    _, _, layout, field, symmetry = words
    if field == "complex":
        raise InputError(f"{path}: this Matrix Market file holds complex values; counts must be numbers.")
    known = layout in ("coordinate", "array") and field in _FIELDS and symmetry in _SYMMETRIES
    if not known or (layout == "array" and field == "pattern"):
        raise malformed(path, 1, banner, _BANNER)
    number, line = 2, file.readline()
    while line.startswith(b"%") or (line and not line.strip()):
        number, line = number + 1, file.readline()
    found = line.split()
    width = 3 if layout == "coordinate" else 2
    if len(found) != width or not all(re.fullmatch(rb"\d{1,18}", size) for size in found):
        shown = line[:200].decode("utf-8", "replace")
        raise malformed(path, number, shown, f"the {width} sizes of a Matrix Market file in {layout} form")
    sizes = tuple(map(int, found))
    if max(sizes[:2]) > _LARGEST or (symmetry != "general" and sizes[0] != sizes[1]):
        expected = "sizes below 2**31" + ", equal to each other" * (symmetry != "general")
        raise malformed(path, number, line.decode(), expected)
    return _Header(layout == "coordinate", _FIELDS[field], symmetry, sizes, number)


def _mtx_entries(path: Path, file: IO[bytes], header: _Header) -> tuple[AnyArray, tuple[AnyArray, AnyArray]]:
    """Values, and rows and columns from 0 if the file has them."""
    whole = header.field != "real"
    values = GrowingArray(np.int64 if whole else np.float64)
    rows, columns = GrowingArray(), GrowingArray()
    width = 2 * header.coordinate + (header.field != "pattern")
    for block in word_blocks(path, file, header.expected, header.lines + 1, _MARKS):
        block.rows(width, header.expected)
        if header.coordinate:
            for axis, (target, limit) in enumerate(((rows, header.sizes[0]), (columns, header.sizes[1]))):
                numbers = block.whole(slice(axis, None, width), header.expected)
                if len(numbers) and (numbers.min() < 1 or numbers.max() > limit):
                    wrong = int(np.argmax((numbers < 1) | (numbers > limit)))
                    raise block.error(int(block.starts[width * wrong + axis]), header.expected)
                target.append(numbers - 1)
        if header.field == "pattern":
            values.append(np.ones(len(block.starts) // width, np.int64))
        else:
            values.append(_mtx_values(block, slice(width - 1, None, width), header, whole=whole))
    return values.finish(), (rows.finish(), columns.finish())


def _mtx_values(block: NumberBlock, column: slice, header: _Header, *, whole: bool) -> AnyArray:
    """A column of values: digits alone are known already, signs, points and exponents are left to Python."""
    if not block.marked[column].any() and (whole or not np.any(block.too_long[column])):
        return block.whole(column, header.expected)
    words = block.raw.tobytes().split()[column]
    convert = int if whole else float
    try:
        if not whole or max(len(word.lstrip(b"+-")) for word in words) <= 18:
            return np.array(list(map(convert, words)), np.int64 if whole else np.float64)
    except ValueError:
        pass
    for i, word in enumerate(words):
        if not re.fullmatch(rb"[+-]?\d{1,18}" if whole else rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", word):
            raise block.error(int(block.starts[column][i]), header.expected)
    return np.array(list(map(convert, words)), np.int64 if whole else np.float64)


def _dense_places(path: Path, header: _Header, n_values: int) -> tuple[AnyArray, AnyArray]:
    """Rows and columns of the values of an array, column after column; of a symmetric one the lower triangle."""
    n_rows, n_columns = header.sizes
    skew = header.symmetry == "skew-symmetric"
    wanted = n_rows * n_columns if header.symmetry == "general" else n_rows * (n_rows + 1 - 2 * skew) // 2
    if n_values != wanted:
        raise InputError(f"{path}: this Matrix Market file promises {wanted} values and has {n_values}.")
    if header.symmetry == "general":
        return np.tile(np.arange(n_rows), n_columns), np.repeat(np.arange(n_columns), n_rows)
    columns, rows = np.triu_indices(n_rows, int(skew))
    return rows, columns


# -- NPZ -------------------------------------------------------------------------------------------------------------

_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}
_LONGEST_HEADER = 1000


def read_npz(path: Path, vocabulary: Vocabulary, *, transpose: bool = False, max_size: int | None = None) -> Corpus:
    """A matrix of ``scipy.sparse.save_npz``; nothing pickled is ever loaded."""
    limits = Limits(path, max_size)
    try:
        format, parts, shape = _npz_parts(path, limits, transpose=transpose, named=vocabulary is not None)
        matrix = csr_from_parts(format, parts, shape, transpose=transpose)
    except InputError as error:
        message = str(error)
        if message.startswith(str(path)):
            raise
        raise InputError(f"{path} is not a file of scipy.sparse.save_npz: {message}") from None
    return _corpus(path, matrix, vocabulary, limits)


def _npz_parts(
    path: Path, limits: Limits, *, transpose: bool, named: bool
) -> tuple[str, dict[str, AnyArray], tuple[int, int]]:
    """Format, arrays and shape; the values come first, as they say how large all else may be."""
    try:
        with zipfile.ZipFile(path) as archive:
            format, shape = _npz_format(archive), _npz_shape(archive)
            data = _npy(archive, "data")
            limits.entries = data.size
            limits.check_sizes(*(shape[::-1] if transpose else shape), named=named)
            most = max(*shape, data.size) + 1
            parts = {part: _npy(archive, part, most) for part in _PARTS[format] if part != "data"}
            return format, {"data": data, **parts}, shape
    except (InputError, MemoryError):
        raise
    except Exception as error:  # zipfile and zlib have many ways to say that a file is damaged
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise InputError(reason) from None


def _npz_format(archive: zipfile.ZipFile) -> str:
    name = _npy(archive, "format", most=1)
    if name.shape != () or name.dtype.kind not in "SU":
        raise InputError(f"its format is {name.tolist()!r:.60}")
    text = name.item()
    format = text if isinstance(text, str) else text.decode("ascii", "replace")
    if format not in _PARTS:
        raise InputError(f"its format is {format!r}, none of {', '.join(_PARTS)}")
    return format


def _npz_shape(archive: zipfile.ZipFile) -> tuple[int, int]:
    shape = _npy(archive, "shape", most=2)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0 or shape.max() > _LARGEST:
        raise InputError(f"its shape is {shape.tolist()!r:.60}, not two sizes below 2**31")
    return int(shape[0]), int(shape[1])


def _npy(archive: zipfile.ZipFile, part: str, most: int | None = None) -> AnyArray:
    """One array of the archive, of ``most`` entries, once its bytes are as many as its header says."""
    info = archive.getinfo(f"{part}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{part}.npy is compressed in a way that save_npz does not use")
    if info.compress_size > archive.start_dir or (most and info.file_size > _LONGEST_HEADER + 64 * most):
        raise InputError(f"{part}.npy is to have {info.file_size:,} bytes, more than there can be")
    with archive.open(info) as file:
        content = file.read()
    width = 2 if content[6:8] == b"\x01\x00" else 4
    size = int.from_bytes(content[8 : 8 + width], "little")
    if content[:6] != b"\x93NUMPY" or content[6:7] not in (b"\x01", b"\x02", b"\x03") or size > _LONGEST_HEADER:
        raise InputError(f"{part}.npy does not start as an array does")
    start = 8 + width + size
    about = ast.literal_eval(content[8 + width : start].decode("utf-8").strip(" \n"))
    dtype, shape = np.dtype(about["descr"]), about["shape"]
    if dtype.kind not in "buifcSU" or dtype.itemsize == 0:
        raise InputError(f"{part}.npy holds {dtype} values")
    right = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not right or math.prod(shape) * dtype.itemsize != len(content) - start:
        raise InputError(f"{part}.npy is to have shape {shape!r:.60} but has {len(content) - start} bytes")
    array: AnyArray = np.frombuffer(content, dtype, offset=start).reshape(
        shape, order="F" if about["fortran_order"] else "C"
    )
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))

"""Inputs that claim much or only look like data are refused at once, by an error of ours, without memory or crash."""

import gzip
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import topicloom
from topicloom.corpus import _limits
from topicloom.errors import InputError
from topicloom.mallet import read_state

forked = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
MOST_MB, MOST_SECONDS = 100, 2.0

# -- sums of duplicate entries ---------------------------------------------------------------------------------------


def duplicates(values: list[Any], dtype: str, format: str) -> Any:
    """All values at row 1, column 2 of a matrix, and nothing else."""
    data, n = np.array(values, dtype), len(values)
    if format == "coo":
        return sp.coo_array((data, ([1] * n, [2] * n)), shape=(3, 4))
    if format == "csr":
        return sp.csr_array((data, [2] * n, [0, 0, n, n]), shape=(3, 4))
    return sp.csc_array((data, [1] * n, [0, 0, 0, n, n]), shape=(3, 4))


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
@pytest.mark.parametrize(
    ("values", "dtype", "total"),
    [
        ([200, 100], "uint8", 300),
        ([100, 100], "int8", 200),
        ([60_000, 60_000], "uint16", 120_000),
        ([True, True, True], "bool", 3),
    ],
)
def test_duplicate_entries_are_summed_in_a_wide_type(
    format: str, values: list[Any], dtype: str, total: int, tmp_path: Path
) -> None:
    matrix = duplicates(values, dtype, format)
    corpus = topicloom.from_matrix(matrix)
    assert corpus.doc_lengths.tolist() == [0, total, 0]
    assert set(corpus.words.tolist()) == {2}
    sp.save_npz(tmp_path / "x.npz", matrix)
    assert topicloom.read(tmp_path / "x.npz").doc_lengths.tolist() == [0, total, 0]
    assert matrix.dtype == dtype  # what was given is left as it is
    assert len(matrix.data) == len(values)


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_a_sum_that_is_no_count_is_refused(format: str, tmp_path: Path) -> None:
    matrix = duplicates([2**30] * 4, "int32", format)
    sp.save_npz(tmp_path / "x.npz", matrix)
    for attempt in (lambda: topicloom.from_matrix(matrix), lambda: topicloom.read(tmp_path / "x.npz")):
        with pytest.raises(InputError, match="4294967296"):
            attempt()


# -- matrices that point outside themselves --------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indptr", [0, 10**6, 3, 3]),
        ("indptr", [0, 2, 1, 3]),
        ("indptr", [0, -5, 3, 3]),
        ("indptr", [1, 2, 3, 3]),
        ("indptr", [0, 1, 2, 10**9]),
        ("indices", [0, 1, 10**9]),
        ("indices", [0, -1, 2]),
    ],
)
def test_corrupt_indices_are_refused(cls: Any, part: str, value: list[int], tmp_path: Path) -> None:
    matrix = cls((np.array([1, 2, 3]), np.array([0, 1, 2]), np.array([0, 1, 2, 3])), shape=(3, 3))
    getattr(matrix, part)[:] = value
    for use in (topicloom.from_matrix, topicloom.LDA(2, max_iter=2).fit):
        with pytest.raises(InputError, match="damaged"):
            use(matrix)
    about = {"format": np.array(matrix.format.encode()), "shape": np.array([3, 3]), "data": matrix.data}
    np.savez(tmp_path / "x.npz", indices=matrix.indices, indptr=matrix.indptr, **about)
    with pytest.raises(InputError, match=r"x\.npz"):
        topicloom.read(tmp_path / "x.npz")


# -- errors of libraries below ---------------------------------------------------------------------------------------


def npz(**changes: bytes | None) -> bytes:
    """An npz file with some members replaced, or left out, byte by byte."""
    parts = {"format": np.array(b"csr"), "shape": np.array([1, 2]), "data": np.array([3])}
    parts |= {"indices": np.array([1]), "indptr": np.array([0, 1])}
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in parts.items():
            inner = BytesIO()
            np.save(inner, array)
            content = changes.get(name, inner.getvalue())
            if content is not None:
                archive.writestr(f"{name}.npy", content)
    return out.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


WHOLE = npz()
DAMAGED = {
    "three numbers.mtx": b"3\n1\n2 3\n",
    "empty.mtx": b"",
    "zeros.mtx": bytes(100),
    "no entries.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 3\n",
    "many entries.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1\n2 2 2\n",
    "outside.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n3 1 1\n",
    "text.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 x\n",
    "zero inside.mtx": b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 \x001\n",
    "complex.mtx": b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 0\n",
    "long banner.mtx": b"%%MatrixMarket " + b"x" * 5000,
    "empty.npz": b"",
    "cut.npz": WHOLE[:-30],
    "no zip.npz": b"PK\x03\x04" + bytes(50),
    "zlib.npz": flipped(WHOLE, WHOLE.index(b"format.npy") + 12),
    "no header.npz": npz(data=b"\x93NUMPY"),
    "token.npz": npz(data=header("{'descr': '<i8', 'shape': (1,")),
    "pickled.npz": npz(data=header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }")),
    "type.npz": npz(data=header("{'descr': 'no type', 'fortran_order': False, 'shape': (1,), }")),
    "mark.npz": npz(data=header("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }\x1f \n") + bytes(8)),
    "key.npz": npz(data=header("{'shape': (1,), }")),
    "lacks.npz": npz(indptr=None),
    "empty.parquet": b"",
    "no.parquet": b"PAR1" + bytes(40) + b"PAR1",
    "text.parquet": b"text\nriver\n",
    "quotes.csv": b'text\n"river\n',
    "zero.csv": b"text,b\nriver\n",
    "empty.csv": b"",
    "surrogate.jsonl": b'{"text": "\\ud800"}\n',
    "deep.jsonl": b'{"text": ' + b"[" * 100_000 + b"\n",
    "long number.jsonl": b'{"text": ' + b"1" * 10_000 + b"}\n",
    "bytes.txt": b"river \xff\n",
    "cut.txt.gz": b"\x1f\x8b\x08\x00\x00",
    "number.uci": b"1\n1\n1\n1 1 99999999999999999999\n",
    "colon.ldac": b"1 0:\n",
    "value.svm": b"1 1:1e999\n",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_in_our_own_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    with pytest.raises(InputError) as caught:
        topicloom.read(path)
    assert str(path) in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("group", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1" * 400])
def test_groups_beyond_dates_and_numbers_stay_text(group: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"text,group\nriver,{group}\nbank,{group}\n")
    corpus = topicloom.read(tmp_path / "a.csv", group_column="group")
    assert corpus.groups == (group, group)


def test_a_number_beyond_floats_is_no_response_and_no_time_and_stays_a_group(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "river", "a": 1' + "0" * 400 + '}\n{"text": "bank", "a": 1.5}\n')
    for column in ("response_column", "time_column"):
        with pytest.raises(InputError, match="line 1"):
            topicloom.read(path, **{column: "a"})
    assert topicloom.read(path, group_column="a").groups == (10**400, 1.5)


# -- claims, with memory and time measured in a child ------------------------------------------------------------------

ARRAY = "{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}"
STATE = b"#doc source pos typeindex type topic\n#alpha : 1\n#beta : 1\n"


def packed_zip(files: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def packed_tar(kind: bytes, size: int) -> bytes:
    """A member, or another's name, of so many zeros."""
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.type, info.size = kind, size
        archive.addfile(info, BytesIO(bytes(size)))
    return out.getvalue()


HOSTILE: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "LDA-C word": ("a.ldac", b"1 10000000:1\n"),
    "LDA-C word and count": ("a.ldac", b"2 10000000:1 0:2000000000\n"),
    "UCI documents": ("a.uci", b"100000000\n5\n1\n1 1 1\n"),
    "UCI documents and entries": ("a.uci", b"100000000\n5\n100000000\n1 1 1\n"),
    "UCI words": ("a.uci", b"5\n100000000\n1\n1 1 1\n"),
    "UCI count": ("a.uci", b"5\n5\n1\n1 1 2000000000\n"),
    "MALLET document": ("state", STATE + b"100000000 NA 0 0 x 0\n"),
    "MALLET type": ("state", STATE + b"0 NA 0 100000000 x 0\n"),
    "SVMlight index": ("a.svm", b"1 100000000:1\n"),
    "SVMlight value": ("a.svm", b"1 1:2000000000\n"),
    "Matrix Market rows": ("a.mtx", b"%%MatrixMarket matrix coordinate integer general\n100000000 5 1\n1 1 1\n"),
    "Matrix Market columns": ("a.mtx", b"%%MatrixMarket matrix coordinate integer general\n5 100000000 1\n1 1 1\n"),
    "Matrix Market entries": ("a.mtx", b"%%MatrixMarket matrix coordinate integer general\n5 5 999999999999\n1 1 1\n"),
    "Matrix Market array": ("a.mtx", b"%%MatrixMarket matrix array integer general\n100000000 100000000\n1\n"),
    "Matrix Market triangle": ("a.mtx", b"%%MatrixMarket matrix array integer symmetric\n100000000 100000000\n1\n"),
    "no Matrix Market": ("a.mtx", b"3\n1\n2 3\n"),
    "npz shape": ("a.npz", npz(shape=header(ARRAY.format(2)) + np.array([10**8, 10**8]).tobytes())),
    "npz array": ("a.npz", npz(data=header(ARRAY.format(10**9)))),
    "zip packed": ("a.zip", lambda: packed_zip({"a.txt": bytes(10**8)})),
    "zip of many": ("a.zip", lambda: packed_zip({f"{n}.txt": bytes(10**7) for n in range(9)})),
    "gzipped tar": ("a.tgz", lambda: gzip.compress(packed_tar(b"0", 10**8), 1)),
    "tar header": ("a.tgz", lambda: gzip.compress(packed_tar(b"L", 10**8), 1)),
    "npz packed": ("a.npz", lambda: npz(indptr=header(ARRAY.format(25_000_001)) + bytes(8 * 25_000_001))),
}  # fmt: skip

LOOKS = """
class LooksLikeAData:
    # as anndata's: a table with rows and columns, each of whose elements is such a table again
    shape, ndim, var_names, obs_names = (300, 2000), 2, ["gene"], ["cell"]
    def __len__(self): return 300
    def __getitem__(self, index): return self
    @property
    def X(self): return self
class LooksLikeRows:
    def __len__(self): return 300
    def __getitem__(self, index): return LooksLikeRows() if index < 300 else self.none()
    def none(self): raise IndexError
"""
OBJECTS = {
    "like adata": "topicloom.LDA(50).fit(LooksLikeAData())",
    "like adata, to from_matrix": "topicloom.from_matrix(LooksLikeAData())",
    "like adata, to MedLDA": "topicloom.MedLDAClassifier(50).fit(LooksLikeAData(), [0, 1] * 150)",
    "like rows": "topicloom.LDA(50).fit(LooksLikeRows())",
    "rows like rows": "topicloom.LDA(50).fit([LooksLikeRows(), LooksLikeRows()])",
    "an object": "topicloom.LDA(50).fit(object())",
    "a function": "topicloom.LDA(50).fit(len)",
    "a mapping": "topicloom.LDA(50).fit({'a': [1, 2]})",
    "a generator": "topicloom.LDA(50).fit(i for i in [[1, 2]])",
    "as new documents": "fitted.transform(LooksLikeAData())",
}

CHILD = (
    """
import json, os, resource, sys, time
import numpy, topicloom
from topicloom.mallet import read_state
fitted = topicloom.LDA(2, max_iter=2, random_state=0).fit(numpy.array([[1, 2], [2, 1]]))
fitted.transform(numpy.array([[1, 2]]))
valid = sys.argv[1] + "/valid"
with open(valid, "w") as file:
    file.write("#doc source pos typeindex type topic\\n#alpha : 1\\n#beta : 1\\n0 NA 0 0 x 0\\n")
read_state(valid)
"""
    + LOOKS
    + """
for name, code in json.load(sys.stdin).items():
    pid = os.fork()
    if pid == 0:
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        try:
            result = repr(eval(code))
        except BaseException as error:
            result = type(error).__name__ + ": " + str(error)
        mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(json.dumps([name, result, mb, time.process_time() - started]), flush=True)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        print(json.dumps([name, f"ended with {status}", 0, 0]), flush=True)
"""
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float, float]]:
    """What came of each case, the memory it took in MB, and its seconds of processor time."""
    folder, code = tmp_path_factory.mktemp("hostile"), dict(OBJECTS)
    for number, (name, (file, content)) in enumerate(HOSTILE.items()):
        path = folder / f"{number}{file}"
        path.write_bytes(content() if callable(content) else content)
        code[name] = f"{'read_state' if file == 'state' else 'topicloom.read'}({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder)],
        input=json.dumps(code), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (result, mb, seconds) for name, result, mb, seconds in found}


@forked
@pytest.mark.parametrize("name", [*HOSTILE, *OBJECTS])
def test_what_claims_much_is_refused_at_once(name: str, outcomes: dict[str, tuple[str, float, float]]) -> None:
    result, mb, seconds = outcomes[name]
    assert result.startswith("InputError: ")
    assert mb < MOST_MB
    assert seconds < MOST_SECONDS


@forked
def test_an_annotated_table_is_told_what_to_give(outcomes: dict[str, tuple[str, float, float]]) -> None:
    assert "topicloom.from_matrix(adata.X, list(adata.var_names)" in outcomes["like adata"][0]


# -- limits that can be lifted -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.ldac", "1 500:1\n"),
        ("a.svm", "1 501:1\n"),
        ("a.uci", "3\n501\n1\n1 501 1\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n3 501 1\n1 501 1\n"),
    ],
)
def test_a_vocabulary_or_an_option_lifts_the_limit_of_words(
    file: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_limits, "FREE", 10)
    monkeypatch.setattr(_limits, "PER_ENTRY", 10)
    path = tmp_path / file
    path.write_text(content)
    with pytest.raises(InputError, match=r"claims 501 words, more than are plausible for 1 entry\. .* max_size=501"):
        topicloom.read(path)
    with pytest.raises(InputError, match="more than max_size=500"):
        topicloom.read(path, max_size=500)
    assert topicloom.read(path, max_size=501).n_words == 501
    names = [f"w{v}" for v in range(501)]
    assert topicloom.read(path, vocabulary=names).vocabulary == tuple(names)


def test_an_option_lifts_the_limit_of_documents_and_tokens(tmp_path: Path) -> None:
    path = tmp_path / "a.uci"
    path.write_text("1100000\n5\n1\n1100000 1 2\n")
    with pytest.raises(InputError, match="claims 1,100,000 documents"):
        topicloom.read(path)
    assert topicloom.read(path, max_size=1_100_000).doc_lengths[-1] == 2
    path.write_text("1\n5\n1\n1 1 17000000\n")
    with pytest.raises(InputError, match="claims 17,000,000 tokens"):
        topicloom.read(path)
    assert topicloom.read(path, max_size=17_000_000).n_tokens == 17_000_000


def test_a_state_file_may_be_told_how_large_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(STATE + b"1100000 NA 0 0 x 0\n")
    with pytest.raises(InputError, match="claims 1,100,001 documents"):
        read_state(path)
    assert read_state(path, max_size=1_100_001).corpus.n_docs == 1_100_001

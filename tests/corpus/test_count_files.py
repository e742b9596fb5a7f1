"""Files of counts to a corpus: UCI, LDA-C, SVMlight, matrices and folders, and the line of every malformed one."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.corpus.format_cases import BAG, COUNTS, VOCABULARY, put, refused
from topicloom.corpus import _lines
from topicloom.corpus.formats import read, write

# -- UCI ------------------------------------------------------------------------------------------------------


def test_uci_entries_in_any_order_and_blank_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 8)
    put(tmp_path / "a.uci", "3\n4\n5\n3 4 1\n1 2 2\n\n1 1 1\n3 1 2\n1 2 1")
    corpus = read(tmp_path / "a.uci")
    assert corpus.to_matrix().toarray().tolist() == [[1, 3, 0, 0], [0, 0, 0, 0], [2, 0, 0, 1]]


def test_uci_windows_line_ends_and_tabs(tmp_path):
    put(tmp_path / "a.uci", "1\r\n2\r\n2\r\n1\t1 2\r\n1 2\t1 \r\n")
    assert read(tmp_path / "a.uci").words.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["line 1", "number of documents"]),
        ("3\nx\n1\n", ["line 2", "'x'", "number of words"]),
        ("3\n4\n", ["line 3", "number of entries"]),
        ("0\n4\n0\n", ["0 documents"]),
        ("3\n4\n1\n1 1\n", ["line 4", "'1 1'", "three whole numbers"]),
        ("3\n4\n1\n1 1 1\n1 2 1 1\n", ["line 5", "'1 2 1 1'"]),
        ("3\n4\n2\n1 1\n1 1 1 1\n", ["line 4", "'1 1'"]),
        ("3\n4\n1\n1 1 -1\n", ["line 4", "'1 1 -1'"]),
        ("3\n4\n1\n1 1 0.5\n", ["line 4", "0.5"]),
        ("3\n4\n2\n1 1 1\n1 1 x\n", ["line 5", "'1 1 x'"]),
        ("3\n4\n1\n4 1 1\n", ["line 4", "a document from 1 to 3"]),
        ("3\n4\n1\n0 1 1\n", ["line 4", "a document from 1 to 3"]),
        ("3\n4\n2\n1 1 1\n1 5 1\n", ["line 5", "a word from 1 to 4"]),
        ("3\n4\n1\n1 1 9999999999\n", ["line 4", "count below 2**31"]),
        ("3\n4\n1\n1 1 99999999999999999999\n", ["line 4", "18 digits"]),
        ("3\n4\n5\n1 1 1\n", ["promises 5 entries", "has 1"]),
    ],
)
def test_malformed_uci(tmp_path, content, parts):
    put(tmp_path / "a.uci", content)
    refused(tmp_path / "a.uci", str(tmp_path / "a.uci"), *parts)


def test_the_line_of_an_error_is_right_beyond_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 10)
    put(tmp_path / "a.uci", "9\n9\n9\n" + "1 1 1\n" * 7 + "1 1 z\n")
    refused(tmp_path / "a.uci", "line 11", "'1 1 z'")
    put(tmp_path / "a.ldac", "1 0:1\n" * 7 + "2 0:1\n")
    refused(tmp_path / "a.ldac", "line 8", "'2 0:1'")


def test_uci_and_its_vocabulary_agree(tmp_path):
    put(tmp_path / "a.uci", "1\n2\n1\n1 1 1\n")
    refused(tmp_path / "a.uci", "line 2 gives 2 words but the vocabulary has 1", vocabulary=["a"])


# -- LDA-C ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty"]),
        ("1 0:1\n\n1 0:1\n", ["line 2", "not a blank line"]),
        ("2 0:1\n", ["line 1", "'2 0:1'"]),
        ("1 0:1\n1 0:1 2:1\n", ["line 2", "'1 0:1 2:1'"]),
        ("1 0 1\n", ["line 1"]),
        ("1 0: 1\n", ["line 1"]),
        ("1 0 :1\n", ["line 1"]),
        ("1: 0:1\n", ["line 1"]),
        ("1 0:1\n: 1 0:1\n", ["line 2"]),
        ("1 0:1 :\n", ["line 1"]),
        ("1 0:x\n", ["line 1", "'1 0:x'"]),
        ("1 -1:2\n", ["line 1"]),
        ("1 0:1.5\n", ["line 1"]),
        ("0\n1 0:9999999999\n", ["line 2", "counts below 2**31"]),
        ("0\n1 9999999999:1\n", ["line 2", "words from 0 to"]),
    ],
)
def test_malformed_ldac(tmp_path, content, parts):
    put(tmp_path / "a.ldac", content)
    refused(tmp_path / "a.ldac", str(tmp_path / "a.ldac"), *parts)


def test_ldac_words_beyond_the_vocabulary(tmp_path):
    put(tmp_path / "a.ldac", "1 1:1\n0\n2 0:1 2:1\n")
    refused(tmp_path / "a.ldac", "line 3", "words from 0 to 1", vocabulary=["a", "b"])
    assert read(tmp_path / "a.ldac", vocabulary=["a", "b", "c", "unused"]).n_words == 4


# -- SVMlight -------------------------------------------------------------------------------------------------


def test_svmlight_bases(tmp_path):
    path = put(tmp_path / "a.svm", "# a comment\n1 1:2 3:1 # d0\n-1 2:1\n")
    assert read(path).to_matrix().toarray().tolist() == [[2, 0, 1], [0, 1, 0]]
    assert read(path).labels == (("1",), ("-1",))
    assert read(path, zero_based=True).to_matrix().toarray().tolist() == [[0, 2, 0, 1], [0, 0, 1, 0]]
    path = put(tmp_path / "b.svm", "+1 0:2\n+1 1:1\n")
    assert read(path).to_matrix().toarray().tolist() == [[2, 0], [0, 1]]
    refused(path, "index 0 occurs", zero_based=False)


def test_svmlight_targets(tmp_path):
    path = put(tmp_path / "a.svm", "1,3 qid:7 1:1\n qid:7 2:1\n2 qid:8\n")
    corpus = read(path)
    assert corpus.labels == (("1", "3"), (), ("2",))
    assert corpus.groups == (7, 7, 8)
    assert corpus.doc_lengths.tolist() == [1, 1, 0]
    assert read(path, target="none").labels is None
    refused(path, "line 1", "'1,3'", target="response")
    path = put(tmp_path / "b.svm", "1 1:1\n2.5 2:1\n")
    assert read(path).responses.tolist() == [1, 2.5]
    path = put(tmp_path / "c.svm", "0 1:1\n0 2:1\n")
    assert read(path).labels is None
    assert read(path, target="label").labels == (("0",), ("0",))
    assert read(path, target="response").responses.tolist() == [0, 0]
    refused(path, "target='y'", target="y")


def test_svmlight_values(tmp_path):
    path = put(tmp_path / "a.svm", "0 1:0.5 2:0 3:2\n0 3:1e1\n")
    corpus = read(path)
    assert corpus.words.tolist() == [0, 2, 2]
    assert corpus.weights.tolist() == [0.5, 2.0, 10.0]
    path = put(tmp_path / "b.svm", "0 1:2.0 3:1e0\n")
    assert read(path).words.tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("# only comments\n", ["no documents"]),
        ("1 1:1\n\n1 1:1\n", ["line 2"]),
        ("1 1:1\n1 2\n", ["line 2", "'2'", "target index:value"]),
        ("1 1:1:1\n", ["line 1", "'1:1:1'"]),
        ("1 a:1\n", ["line 1", "'a:1'"]),
        ("1 -1:1\n", ["line 1", "'-1:1'"]),
        ("1 1:-1\n", ["line 1", "'1:-1'"]),
        ("1 1:nan\n", ["line 1", "'1:nan'"]),
        ("1 1:inf\n", ["line 1", "'1:inf'"]),
        ("1 9999999999:1\n", ["line 1"]),
        ("1 1:1\nspam 1:1\n", ["line 2", "'spam'", "a number as the target"]),
    ],
)
def test_malformed_svmlight(tmp_path, content, parts):
    put(tmp_path / "a.svm", content)
    refused(tmp_path / "a.svm", str(tmp_path / "a.svm"), *parts)


def test_svmlight_against_its_sidecars(tmp_path):
    path = put(tmp_path / "a.svm", "1 1:1\n3 2:1\n")
    refused(path, "line 2", "index from 1 to 1", vocabulary=["a"])
    put(tmp_path / "a.svm.labels", "news\nsport\n")
    refused(path, "line 2", "labels from 1 to 2")


# -- matrices and folders -------------------------------------------------------------------------------------


def test_matrix_market_forms(tmp_path):
    path = put(tmp_path / "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n% note\n2 3 2\n1 3\n2 1\n")
    assert read(path).to_matrix().toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert read(path, transpose=True).to_matrix().toarray().tolist() == [[0, 1], [0, 0], [1, 0]]
    path = put(tmp_path / "b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n")
    assert read(path).words.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["Matrix Market"]),
        ("1 2 3\n", ["Matrix Market"]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n", ["Matrix Market"]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 3 1\n", ["Matrix Market"]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 x 1\n", ["Matrix Market"]),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 -1\n", ["document 0", "-1"]),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n", ["must be numbers"]),
    ],
)
def test_malformed_matrix_market(tmp_path, content, parts):
    put(tmp_path / "a.mtx", content)
    refused(tmp_path / "a.mtx", str(tmp_path / "a.mtx"), *parts)


def test_npz_never_loads_pickles_or_broken_indices(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was loaded",))

    np.savez(tmp_path / "a.npz", format=np.array([Trap()], object), allow_pickle=True)
    refused(tmp_path / "a.npz", "scipy.sparse.save_npz")
    put(tmp_path / "b.npz", b"not a zip file")
    refused(tmp_path / "b.npz", "scipy.sparse.save_npz")
    np.savez(tmp_path / "c.npz", data=[1])
    refused(tmp_path / "c.npz", "scipy.sparse.save_npz")
    for form in (b"csr", b"csc"):
        parts = {"indices": np.array([0, 7]), "indptr": np.array([0, 1, 2]), "data": np.array([1, 1])}
        np.savez(tmp_path / "d.npz", format=np.array(form), shape=np.array([2, 2]), **parts)
        refused(tmp_path / "d.npz", "d.npz")
    write(BAG, tmp_path / "e.npz")
    refused(tmp_path / "e.npz", "e.npz", "columns of the matrix", vocabulary=["a"])


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_matrix, sp.bsr_array])
def test_npz_of_other_forms(tmp_path, form):
    sp.save_npz(tmp_path / "a.npz", form(COUNTS))
    assert np.array_equal(read(tmp_path / "a.npz").to_matrix().toarray(), COUNTS)
    assert read(tmp_path / "a.npz", transpose=True).n_docs == 5


def make_folder(folder):
    sp.save_npz(folder / "docword.npz", sp.csr_array(COUNTS))
    put(folder / "vocab.txt", "".join(f"{word}\n" for word in VOCABULARY))
    put(folder / "labels.txt", "x y\n\nz\n\n")
    put(folder / "collection.txt", "1999\n1999\n2000\n2001\n")
    put(folder / "response.txt", "0.5\n1\n2\n-1e-3\n")
    put(folder / "ids.txt", "a\nb b\nc\nd\n")


def test_a_folder(tmp_path):
    make_folder(tmp_path)
    corpus = read(tmp_path)
    assert corpus.fingerprint == BAG.fingerprint
    assert corpus.labels == (("x", "y"), (), ("z",), ())
    assert corpus.groups == (1999, 1999, 2000, 2001)
    assert corpus.responses.tolist() == [0.5, 1, 2, -1e-3]
    assert corpus.ids == ("a", "b b", "c", "d")
    for name in ("labels.txt", "vocab.txt"):
        (tmp_path / name).unlink()
    assert read(tmp_path, format="folder").labels is None
    assert read(tmp_path, vocabulary=list("abcde")).vocabulary == tuple("abcde")


def test_malformed_folders(tmp_path):
    refused(tmp_path, "neither docword.npz nor files")
    make_folder(tmp_path)
    put(tmp_path / "response.txt", "1\n\n2\n3\n")
    refused(tmp_path, "response.txt, line 2", "a number")
    put(tmp_path / "response.txt", "1\nnan\n2\n3\n")
    refused(tmp_path, "responses: entry 1 is nan")
    put(tmp_path / "response.txt", "1\n2\n3\n")
    refused(tmp_path, "response.txt has 3 lines but there are 4 documents")
    put(tmp_path / "vocab.txt", "a\nb\n")
    refused(tmp_path, "vocabulary has 2 entries")

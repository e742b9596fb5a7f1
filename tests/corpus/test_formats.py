"""Files to a corpus and back: round trips, metadata, choice of the format, vocabularies, lines, refused writes."""

import errno
import gzip
import inspect

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from tests.corpus.format_cases import AS_WORDS, BAG, COUNTS, RICH, VOCABULARY, WEIGHTED, put, refused
from topicloom.corpus import _lines, _svmlight
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.formats import FORMATS, read, write
from topicloom.corpus.matrices import from_matrix
from topicloom.errors import InputError, StorageError

# -- round trips ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("docword.small.txt", {}),
        ("docword.small.txt.gz", {}),
        ("small.uci", {}),
        ("small.ldac", {}),
        ("small.ldac.gz", {}),
        ("small.svm", {}),
        ("small.svmlight.gz", {}),
        ("small.mtx", {}),
        ("small.mtx.gz", {}),
        ("small.npz", {}),
        ("small.mallet", AS_WORDS),
        ("small.mallet.gz", AS_WORDS),
        ("small.txt", AS_WORDS),
        ("small.txt.gz", AS_WORDS),
        ("small.jsonl", AS_WORDS),
        ("small.jsonl.gz", AS_WORDS),
    ],
)
def test_a_corpus_comes_back(tmp_path, name, options):
    written = write(BAG, tmp_path / name)
    back = read(tmp_path / name, **options)
    assert back.fingerprint == BAG.fingerprint
    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert (written[0].read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


@pytest.mark.parametrize("name", ["w.mtx", "w.npz", "w.svm", "w.mtx.gz"])
def test_weights_come_back_exactly(tmp_path, name):
    write(WEIGHTED, tmp_path / name)
    back = read(tmp_path / name)
    assert back.fingerprint == WEIGHTED.fingerprint
    assert np.array_equal(back.weights, WEIGHTED.weights)


@pytest.mark.parametrize("name", ["w.uci", "w.ldac", "w.mallet", "w.txt", "w.jsonl"])
def test_weights_are_refused_by_formats_of_whole_counts(tmp_path, name):
    with pytest.raises(InputError, match="whole counts"):
        write(WEIGHTED, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_same_corpus_gives_the_same_bytes(tmp_path):
    for name in ("a.uci.gz", "b.uci.gz"):
        write(BAG, tmp_path / name)
    assert (tmp_path / "a.uci.gz").read_bytes() == (tmp_path / "b.uci.gz").read_bytes()


def test_many_blocks_come_back(tmp_path, monkeypatch):
    from topicloom.corpus import _streams

    monkeypatch.setattr(_lines, "BLOCK_BYTES", 64)
    monkeypatch.setattr(_svmlight, "BLOCK_TOKENS", 32)
    monkeypatch.setattr(_streams.document_blocks, "__defaults__", (50,))
    counts = np.random.default_rng(0).poisson(0.3, (120, 40))
    counts[5:9] = 0
    corpus = from_matrix(counts)
    for name in ("big.uci", "big.ldac", "big.svm"):
        write(corpus, tmp_path / name)
        assert read(tmp_path / name).fingerprint == corpus.fingerprint


def test_ids_and_labels_come_back_from_mallet(tmp_path):
    write(RICH, tmp_path / "r.mallet")
    back = read(tmp_path / "r.mallet", **AS_WORDS)
    assert back.fingerprint == RICH.fingerprint
    assert back.ids == RICH.ids
    assert back.labels == RICH.labels


def test_all_metadata_come_back_from_jsonl(tmp_path):
    rich = RICH.with_metadata(responses=[0.5, 1, 2, -3])
    write(rich, tmp_path / "r.jsonl")
    back = read(
        tmp_path / "r.jsonl",
        id_column="id",
        label_column="labels",
        group_column="group",
        response_column="response",
        time_column="time",
        **AS_WORDS,
    )
    assert back.fingerprint == rich.fingerprint
    assert (back.ids, back.labels, back.groups) == (rich.ids, rich.labels, rich.groups)
    assert np.array_equal(back.responses, rich.responses)
    assert np.array_equal(back.times, rich.times)


def test_labels_and_responses_come_back_from_svmlight(tmp_path):
    written = write(RICH, tmp_path / "r.svm")
    assert [path.name for path in written] == ["r.svm", "r.svm.vocab", "r.svm.labels"]
    assert read(tmp_path / "r.svm").labels == RICH.labels
    assert read(tmp_path / "r.svm").fingerprint == RICH.fingerprint
    X, y = load_svmlight_file(str(tmp_path / "r.svm"), n_features=5, multilabel=True)
    assert np.array_equal(X.toarray(), COUNTS)
    assert y == [(1, 2), (), (2,), (3,)]
    write(RICH.with_metadata(responses=[0.5, 1, 2, -3]), tmp_path / "s.svm")
    back = read(tmp_path / "s.svm")
    assert back.labels is None
    assert back.responses.tolist() == [0.5, 1, 2, -3]


def test_what_is_written_is_what_others_read(tmp_path):
    write(BAG, tmp_path / "docword.a.txt")
    assert (tmp_path / "docword.a.txt").read_text().split("\n")[:5] == ["4", "5", "5", "1 1 2", "1 3 1"]
    write(BAG, tmp_path / "a.ldac")
    assert (tmp_path / "a.ldac").read_text() == "2 0:2 2:1\n0\n2 1:3 4:1\n1 3:1\n"
    write(RICH, tmp_path / "a.mallet")
    lines = (tmp_path / "a.mallet").read_text().split("\n")
    assert lines[:2] == ["d0\tx y\talpha alpha gamma", "d1\t-\t"]
    write(BAG, tmp_path / "a.svm")
    X, _ = load_svmlight_file(str(tmp_path / "a.svm"), n_features=5)
    assert np.array_equal(X.toarray(), COUNTS)
    write(BAG, tmp_path / "a.mtx")
    known = inspect.signature(scipy.io.mmread).parameters
    array = {"spmatrix": False} if "spmatrix" in known else {}  # SciPy 1.18 asks which of its classes is wanted
    assert np.array_equal(scipy.io.mmread(tmp_path / "a.mtx", **array).toarray(), COUNTS)
    assert (tmp_path / "a.mtx").read_text().startswith("%%MatrixMarket matrix coordinate integer general")
    write(BAG, tmp_path / "a.npz")
    assert np.array_equal(sp.load_npz(tmp_path / "a.npz").toarray(), COUNTS)
    assert (tmp_path / "a.npz.vocab").read_text() == "".join(f"{word}\n" for word in VOCABULARY)


def test_the_order_of_a_text_is_written(tmp_path):
    corpus = Corpus(words=[2, 0, 2], doc_ptr=[0, 3], vocabulary=("a", "b", "c"), ordered=True)
    write(corpus, tmp_path / "o.txt")
    assert (tmp_path / "o.txt").read_text() == "c a c\n"


# -- choosing the format --------------------------------------------------------------------------------------


def test_the_format_is_given_or_known_by_the_name(tmp_path):
    put(tmp_path / "strange.dat", "1 0:2\n")
    refused(tmp_path / "strange.dat", "does not tell its format", *FORMATS)
    assert read(tmp_path / "strange.dat", "ldac").n_tokens == 2
    refused(tmp_path / "strange.dat", "not known", "jsonl", format="lda")


def test_a_file_is_there_and_a_file(tmp_path):
    refused(tmp_path / "none.csv", "there is no file")
    refused(tmp_path, "has no file that ends in .csv or .csv.gz", format="csv")
    refused(tmp_path, "is a directory", format="uci")
    put(tmp_path / "a.csv", "text\n")
    refused(tmp_path / "a.csv", "is a file", format="folder")
    with pytest.raises(InputError, match="path must be"):
        read(3)


def test_unknown_options_are_refused_with_the_known_ones(tmp_path):
    put(tmp_path / "a.txt", "some text\n")
    refused(tmp_path / "a.txt", "'mindf' is not an option of format 'txt'", "min_df", mindf=3)
    put(tmp_path / "a.ldac", "1 0:1\n")
    refused(tmp_path / "a.ldac", "its options are: max_size, min_df, max_df, max_words", stop_words="english")


@pytest.mark.parametrize("format", ["csv", "parquet", "folder"])
def test_formats_that_are_only_read(tmp_path, format):
    with pytest.raises(InputError, match="not written; choose one of uci"):
        write(BAG, tmp_path / "a", format)


def test_gzip_is_known_by_its_content(tmp_path):
    put(tmp_path / "a.ldac", gzip.compress(b"1 0:2\n"))
    assert read(tmp_path / "a.ldac").n_tokens == 2


def test_damaged_gzip(tmp_path):
    whole = gzip.compress(b"1 0:2\n" * 1000)
    put(tmp_path / "a.ldac.gz", whole[:-10])
    refused(tmp_path / "a.ldac.gz", "a.ldac.gz", "gzip data is damaged or cut short")
    put(tmp_path / "b.txt.gz", whole[:20] + b"\xff" * 20)
    refused(tmp_path / "b.txt.gz", "gzip data is damaged or cut short")


# -- vocabularies ---------------------------------------------------------------------------------------------


def test_the_vocabulary_is_given_found_or_made_up(tmp_path):
    put(tmp_path / "docword.x.txt.gz", gzip.compress(b"1\n2\n1\n1 2 3\n"))
    path = tmp_path / "docword.x.txt.gz"
    assert read(path).vocabulary == ("word0", "word1")
    put(tmp_path / "vocab.x.txt", "one\ntwo\n")
    assert read(path).vocabulary == ("one", "two")
    put(tmp_path / "docword.x.txt.gz.vocab", "uno\ndue\n")
    assert read(path).vocabulary == ("uno", "due")
    put(tmp_path / "words", "eins\r\nzwei\r\n")
    assert read(path, vocabulary=tmp_path / "words").vocabulary == ("eins", "zwei")
    assert read(path, vocabulary=str(tmp_path / "words")).vocabulary == ("eins", "zwei")
    assert read(path, vocabulary=["ein", "zwo"]).vocabulary == ("ein", "zwo")


def test_a_vocabulary_file_for_texts(tmp_path):
    put(tmp_path / "a.txt", "cat dog bird\n")
    put(tmp_path / "words", "dog\ncat\n")
    corpus = read(tmp_path / "a.txt", vocabulary=tmp_path / "words")
    assert corpus.words.tolist() == [1, 0]
    assert corpus.unknown.tolist() == [1]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty"]),
        ("a\n\nb\n", ["line 2", "blank"]),
        ("a\nb\na\n", ["line 3", "'a' is already on line 1"]),
        (b"a\n\xff\n", ["line 2", "0xff", "encoding"]),
    ],
)
def test_bad_vocabulary_files(tmp_path, content, parts):
    put(tmp_path / "a.ldac", "1 0:1\n")
    put(tmp_path / "words", content)
    refused(tmp_path / "a.ldac", "words", *parts, vocabulary=tmp_path / "words")


def test_the_vocabulary_can_be_written_elsewhere(tmp_path):
    written = write(BAG, tmp_path / "a.ldac", vocabulary=tmp_path / "words.txt")
    assert written == [tmp_path / "a.ldac", tmp_path / "words.txt"]
    assert read(tmp_path / "a.ldac", vocabulary=tmp_path / "words.txt").fingerprint == BAG.fingerprint


# -- lines ----------------------------------------------------------------------------------------------------


def test_txt_keeps_blank_lines_and_drops_the_mark(tmp_path):
    put(tmp_path / "a.txt", b"\xef\xbb\xbffirst line\r\n\r\nlast line")
    corpus = read(tmp_path / "a.txt", stop_words=["last"])
    assert corpus.vocabulary == ("first", "line")
    assert corpus.doc_lengths.tolist() == [2, 0, 1]
    assert corpus.ordered
    assert corpus.text_options.stop_words == ("last",)


def test_other_characters_do_not_end_a_line(tmp_path):
    put(tmp_path / "a.txt", "one\u2028two\x0cthree\x85four\n")
    assert read(tmp_path / "a.txt").n_docs == 1


def test_encodings(tmp_path):
    put(tmp_path / "a.txt", "fine line\nun café\n".encode("latin-1"))
    refused(tmp_path / "a.txt", "line 2", "0xe9", "character 7", "encoding='latin-1'")
    assert read(tmp_path / "a.txt", encoding="latin-1").vocabulary == ("café", "fine", "line", "un")
    refused(tmp_path / "a.txt", "encoding='klingon'", encoding="klingon")


def test_an_empty_file(tmp_path):
    put(tmp_path / "a.txt", "")
    refused(tmp_path / "a.txt", "at least one document")


def test_mallet_lines(tmp_path):
    put(tmp_path / "a.mallet", "d1 news  Some words\nd2 - more words\n\nd3 sport\nd4\tx y\twords\nd5\t\twords\n")
    corpus = read(tmp_path / "a.mallet")
    assert corpus.ids == ("d1", "d2", "d3", "d4", "d5")
    assert corpus.labels == (("news",), (), ("sport",), ("x", "y"), ())
    assert corpus.doc_lengths.tolist() == [2, 2, 0, 1, 1]
    put(tmp_path / "b.mallet", "d1 news words\nalone\n")
    refused(tmp_path / "b.mallet", "line 2", "'alone'", "name label text")


# -- writing what a format cannot hold ------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["new york", "", "a\tb", "a\u2003b"])
@pytest.mark.parametrize("name", ["a.txt", "a.mallet", "a.jsonl"])
def test_words_with_blanks_are_refused_by_texts(tmp_path, name, word):
    with pytest.raises(InputError, match="blank"):
        write(from_matrix([[1, 1]], ["ok", word]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_words_with_blanks_fit_where_words_have_their_line(tmp_path):
    corpus = from_matrix([[1, 1]], ["ok", "new york"])
    write(corpus, tmp_path / "a.mtx")
    assert read(tmp_path / "a.mtx").vocabulary == ("ok", "new york")
    with pytest.raises(InputError, match="line break"):
        write(from_matrix([[1, 1]], ["ok", "a\nb"]), tmp_path / "b.mtx")


@pytest.mark.parametrize(
    ("name", "metadata", "options", "message"),
    [
        ("a.mallet", {"ids": ["a b"] * 4}, {}, "cannot be an id"),
        ("a.mallet", {"labels": [["a b"]] * 4}, {}, "cannot be a label"),
        ("a.mallet", {"labels": [["-"]] * 4}, {}, "cannot be a label"),
        ("a.svm", {"labels": [["a\nb"]] * 4}, {}, "line break"),
        ("a.txt", {}, {"vocabulary": "words"}, "leave out vocabulary"),
        ("a.npz.gz", {}, {"format": "npz"}, "without .gz"),
        ("none/a.txt", {}, {}, "cannot be written"),
    ],
)
def test_refused_before_anything_is_written(tmp_path, name, metadata, options, message):
    with pytest.raises(InputError, match=message):
        write(BAG.with_metadata(**metadata), tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = put(tmp_path / "a.txt", "old\n")

    def fail(corpus, file):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(FORMATS, "txt", FORMATS["txt"]._replace(write=fail))
    with pytest.raises(StorageError, match=r"a.txt cannot be written: the disk is full"):
        write(BAG, path)
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]

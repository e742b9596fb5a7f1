"""The corpus itself: what it holds, its views, its parts, and every bad input."""

from array import array

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.corpus.matrices import from_matrix
from topicloom.errors import InputError


def make(**changes):
    """Three documents, the second one empty."""
    given = {"words": [0, 2, 0, 1], "doc_ptr": [0, 3, 3, 4], "vocabulary": ("a", "b", "c")}
    return Corpus(**{**given, **changes})


FULL = {
    "ids": ("d0", "d1", "d2"),
    "labels": (("x", "y"), (), ("x",)),
    "groups": ("g", "h", "g"),
    "responses": np.array([1.0, 2.0, 3.0]),
    "times": np.array(["2020", "2021", "2022"], "datetime64[Y]"),
    "unknown": np.array([0, 4, 1]),
}


# -- what it holds --------------------------------------------------------------------------------------------


def test_sizes_and_types():
    corpus = make(**FULL)
    assert (corpus.n_docs, corpus.n_words, corpus.n_tokens, len(corpus)) == (3, 3, 4, 3)
    assert (corpus.words.dtype, corpus.doc_ptr.dtype) == (np.int32, np.int64)
    assert corpus.doc_lengths.tolist() == [3, 0, 1]
    assert corpus.empty_docs.tolist() == [False, True, False]
    assert repr(corpus) == (
        "Corpus(3 documents, 3 words, 4 tokens, with ids, labels, groups, responses, times, unknown)"
    )
    assert repr(make()) == "Corpus(3 documents, 3 words, 4 tokens)"


def test_repeated_labels_of_a_document_are_one():
    assert make(labels=[["x", "y", "x"], [], iter(["z"])]).labels == (("x", "y"), (), ("z",))


def test_labels_of_a_set_are_sorted_since_a_set_has_no_order():
    names = [f"label{i}" for i in range(8)]
    assert make(labels=[set(names), frozenset(), names[::-1]]).labels == (tuple(names), (), tuple(names[::-1]))


@pytest.mark.parametrize("name", ["words", "doc_ptr", "weights", "responses", "times", "unknown"])
def test_arrays_are_read_only(name):
    corpus = make(**FULL, weights=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        getattr(corpus, name)[0] = getattr(corpus, name)[1]


def test_views_are_read_only():
    corpus = make()
    for view in (corpus.doc_lengths, corpus.token_docs, *corpus.by_word, *corpus.pairs):
        assert not view.flags.writeable


def test_fields_cannot_be_assigned():
    with pytest.raises(AttributeError):
        make().words = np.zeros(4, np.int32)


def test_a_writeable_array_of_the_caller_is_copied():
    mine = np.array([0, 2, 0, 1], np.int32)
    corpus = make(words=mine)
    mine[:] = 1
    assert corpus.words.tolist() == [0, 2, 0, 1]
    assert mine.flags.writeable


@pytest.mark.parametrize(
    "wrap", [lambda a: array("i", a), lambda a: pd.Series(a, dtype="int32"), lambda a: memoryview(array("i", a))]
)
def test_buffers_of_the_caller_are_copied_too(wrap):
    mine = wrap([0, 2, 0, 1])
    corpus = make(words=mine)
    mine[0] = 1
    assert corpus.words.tolist() == [0, 2, 0, 1]


def test_a_read_only_array_is_shared():
    mine = np.array([0, 2, 0, 1], np.int32)
    mine.flags.writeable = False
    assert make(words=mine).words is mine


def test_a_memory_map_stays_one(tmp_path):
    path = tmp_path / "words.npy"
    np.save(path, np.array([0, 2, 0, 1], np.int32))
    mapped = np.load(path, mmap_mode="r")
    corpus = make(words=mapped)
    assert corpus.words is mapped
    assert isinstance(corpus.words, np.memmap)
    assert corpus.fingerprint == make().fingerprint


def test_a_writeable_memory_map_is_copied(tmp_path):
    path = tmp_path / "words.npy"
    np.save(path, np.array([0, 2, 0, 1], np.int32))
    mapped = np.load(path, mmap_mode="r+")
    corpus = make(words=mapped)
    mapped[:] = 1
    assert corpus.words.tolist() == [0, 2, 0, 1]


# -- views ----------------------------------------------------------------------------------------------------


def test_by_word_lists_the_tokens_of_each_word_in_order():
    ptr, token = make().by_word
    assert ptr.tolist() == [0, 2, 3, 4]
    assert token.tolist() == [0, 2, 3, 1]


def test_token_docs():
    assert make().token_docs.tolist() == [0, 0, 0, 2]


def test_matrix_and_pairs():
    corpus = make()
    assert corpus.to_matrix().toarray().tolist() == [[2, 0, 1], [0, 0, 0], [0, 1, 0]]
    ptr, word, count = corpus.pairs
    assert ptr.tolist() == [0, 2, 2, 3]
    assert word.tolist() == [0, 2, 1]
    assert count.tolist() == [2.0, 1.0, 1.0]
    assert (ptr.dtype, word.dtype, count.dtype) == (np.int64, np.int32, np.float64)


def test_matrix_of_weights_sums_them():
    weighted = make(weights=[0.5, 1.5, 0.25, 2.0])
    assert weighted.to_matrix().toarray().tolist() == [[0.75, 0, 1.5], [0, 0, 0], [0, 2.0, 0]]
    assert weighted.weights.tolist() == [0.5, 1.5, 0.25, 2.0]


def test_fingerprint_tells_corpora_apart():
    same = make(ids=["x", "y", "z"], words=np.array([0, 2, 0, 1], np.int64))
    others = [
        make(words=[0, 2, 1, 0]),
        make(doc_ptr=[0, 2, 3, 4]),
        make(vocabulary=("a", "b", "d")),
        make(weights=[1.0, 1.0, 1.0, 1.0]),
        make(weights=[1.0, 1.0, 1.0, 2.0]),
    ]
    assert same.fingerprint == make().fingerprint
    assert len({make().fingerprint, *(other.fingerprint for other in others)}) == 6


@pytest.mark.parametrize(
    "changes",
    [
        {"vocabulary": ("a", "b", "\udcff")},
        {"ids": ("x", "y\ud800", "z")},
        {"labels": (("x",), (), ("y", "\udc00"))},
        {"groups": (1, "\ud83d", None)},
        {"times": np.array(["1999", "2000", "\udcff"])},
    ],
)
def test_a_lone_surrogate_is_refused_at_the_door(changes):
    with pytest.raises(InputError, match=rf"{next(iter(changes))}: entry \d is .*lone surrogate"):
        make(**changes)


# -- parts ----------------------------------------------------------------------------------------------------


def test_select_takes_everything_along():
    part = make(**FULL, text_options=TextOptions("x", True), ordered=True).select([2, 0])
    assert part.words.tolist() == [1, 0, 2, 0]
    assert part.doc_ptr.tolist() == [0, 1, 4]
    assert part.vocabulary == ("a", "b", "c")
    assert part.ids == ("d2", "d0")
    assert part.labels == (("x",), ("x", "y"))
    assert part.groups == ("g", "g")
    assert part.responses.tolist() == [3.0, 1.0]
    assert part.times.astype(str).tolist() == ["2022", "2020"]
    assert part.unknown.tolist() == [1, 0]
    assert part.text_options == TextOptions("x", True)
    assert part.ordered


def test_select_by_mask_by_negative_number_and_twice():
    corpus = make()
    assert corpus.select([True, False, True]).words.tolist() == [0, 2, 0, 1]
    assert corpus.select(np.array([-1])).words.tolist() == [1]
    assert corpus.select(range(2)).doc_ptr.tolist() == [0, 3, 3]
    assert corpus.select([2, 2]).words.tolist() == [1, 1]


def test_select_takes_the_weights():
    assert make(weights=[1, 2, 3, 4.5]).select([2]).weights.tolist() == [4.5]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no document is selected"),
        ([False, False, False], "no document is selected"),
        ([True], "mask has 1 entry but there are 3"),
        ([3], "outside 0 to 2"),
        ([-4], "outside 0 to 2"),
        ([0.5], "whole numbers"),
        (["d0"], "whole numbers"),
        ([[0, 1]], "whole numbers"),
    ],
)
def test_select_refuses(documents, message):
    with pytest.raises(InputError, match=message):
        make().select(documents)


def test_keep_tokens():
    short = make(**FULL, weights=[1, 2, 3, 4]).keep_tokens(np.array([True, False, True, False]))
    assert short.words.tolist() == [0, 0]
    assert short.doc_ptr.tolist() == [0, 2, 2, 2]
    assert short.weights.tolist() == [1, 3]
    assert short.ids == FULL["ids"]
    assert short.empty_docs.tolist() == [False, True, True]


@pytest.mark.parametrize("mask", [[True], [1, 0, 1, 0], [[True] * 4]])
def test_keep_tokens_refuses(mask):
    with pytest.raises(InputError, match="the mask"):
        make().keep_tokens(mask)


def test_with_metadata_changes_only_what_is_given():
    corpus = make(**FULL).with_metadata(ids=["p", "q", "r"], responses=[4, 5, 6])
    assert corpus.ids == ("p", "q", "r")
    assert corpus.responses.tolist() == [4.0, 5.0, 6.0]
    assert corpus.labels == FULL["labels"]
    assert make().ids is None


# -- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": [], "doc_ptr": [0]}, "no documents"),
        ({"doc_ptr": []}, "no documents"),
        ({"doc_ptr": [0, 3, 2, 4]}, "falls in between"),
        ({"doc_ptr": [1, 3, 3, 4]}, "from 0 to the number of tokens, 4"),
        ({"doc_ptr": [0, 3, 3, 5]}, "from 0 to the number of tokens, 4"),
        ({"doc_ptr": [0, 1.5, 3, 4]}, "doc_ptr: entry 1 is 1.5"),
        ({"words": [[0, 2, 0, 1]]}, "one dimension"),
        ({"words": [0, 2, 0, 3]}, "document 2: word number 3 is outside the vocabulary of 3 words"),
        ({"words": [0, -1, 0, 1]}, "document 0: word number -1"),
        ({"words": [0, 1.5, 0, 1]}, "words: entry 1 is 1.5"),
        ({"words": [0, np.nan, 0, 1]}, "words: entry 1 is nan"),
        ({"words": [0, 2**32, 0, 1]}, "words: entry 1 is 4294967296"),
        ({"words": ["a", "b", "a", "c"]}, "words holds"),
        ({"vocabulary": ()}, "vocabulary is empty"),
        ({"vocabulary": ("a", "b", "a")}, "'a' twice"),
        ({"vocabulary": ("a", "b", 3)}, "vocabulary: entry 2 is 3"),
        ({"vocabulary": "abc"}, "vocabulary must be a sequence"),
        ({"vocabulary": {"a", "b", "c"}}, "vocabulary must be a sequence"),
        ({"vocabulary": {"a": 2, "b": 1, "c": 0}}, "vocabulary must be a sequence"),
        ({"weights": [1.0]}, "weights has 1 entry but there are 4"),
        ({"weights": [1, 2, np.nan, 1]}, "weights: entry 2 is nan"),
        ({"weights": [1, 2, np.inf, 1]}, "weights: entry 2 is inf"),
        ({"weights": [1, 2, -0.5, 1]}, "weights: entry 2 is -0.5"),
        ({"ids": ["a"]}, "ids has 1 entry but there are 3 documents"),
        ({"ids": "abc"}, "ids must be a sequence"),
        ({"ids": ["a", 1, "c"]}, "ids: entry 1 is 1"),
        ({"labels": [["a"]]}, "labels has 1 entry"),
        ({"labels": ["a", "b", "c"]}, "document 0: labels must be a sequence of strings"),
        ({"labels": [[], None, []]}, "document 1: labels"),
        ({"labels": [[], [], [1]]}, "document 2: labels"),
        ({"groups": [1, 2]}, "groups has 2 entries"),
        ({"groups": [1, [2], 3]}, "groups: entry 1"),
        ({"responses": [1.0]}, "responses has 1 entry"),
        ({"responses": [1, 2, np.nan]}, "responses: entry 2 is nan"),
        ({"responses": [[1], [2], [3]]}, "responses must have one dimension"),
        ({"responses": ["a", "b", "c"]}, "responses holds"),
        ({"times": [1, 2]}, "times has 2 entries"),
        ({"unknown": [1, 2]}, "unknown has 2 entries"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(InputError) as caught:
        make(**changes)
    assert message in str(caught.value)


# -- matrices -------------------------------------------------------------------------------------------------

COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.dok_array, pd.DataFrame]
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_from_matrix_takes_any_form(form, dtype):
    corpus = from_matrix(form(COUNTS.astype(dtype)), ["a", "b", "c"])
    assert corpus.words.tolist() == [0, 0, 2, 1]
    assert corpus.doc_ptr.tolist() == [0, 3, 3, 4]
    assert corpus.weights is None
    assert not corpus.ordered


def test_from_matrix_takes_a_mask_and_names_the_words():
    corpus = from_matrix(COUNTS > 0)
    assert corpus.words.tolist() == [0, 2, 1]
    assert corpus.vocabulary == ("word0", "word1", "word2")


def test_fractions_become_weights_and_zeros_are_left_out():
    matrix = sp.csr_array((np.array([0.5, 0.0, 2.0, 0.0]), np.array([0, 1, 2, 0]), np.array([0, 2, 3, 4])))
    corpus = from_matrix(matrix)
    assert corpus.words.tolist() == [0, 2]
    assert corpus.weights.tolist() == [0.5, 2.0]
    assert corpus.empty_docs.tolist() == [False, False, True]


def test_stored_zeros_and_repeats_of_a_sparse_matrix():
    matrix = sp.csr_array((np.array([1, 0, 2]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    corpus = from_matrix(matrix)
    assert corpus.words.tolist() == [1, 1, 1]
    assert matrix.nnz == 3  # the caller's matrix is as it was


def test_from_matrix_attaches_metadata():
    corpus = from_matrix(COUNTS, ids=["a", "b", "c"], labels=[["x"], [], ["y"]], responses=(1, 2, 3))
    assert corpus.ids == ("a", "b", "c")
    assert corpus.labels == (("x",), (), ("y",))
    assert corpus.responses.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "document 1"),
        (np.inf, "document 1"),
        (-1, "document 1"),
        (2.0**40, "document 1"),
    ],
)
def test_bad_counts_are_named(form, bad, message):
    counts = COUNTS.astype(float)
    counts[1, 2] = bad
    with pytest.raises(InputError, match=message):
        from_matrix(form(counts))


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.array([1, 2]), {}, "2 dimensions"),
        (["a text"], {}, "from_texts"),
        (sp.coo_array(np.array([1, 2])), {}, "2 dimensions"),
        (np.array([["a"]]), {}, "must be numbers"),
        (np.array([[1j]]), {}, "must be numbers"),
        (sp.csr_array(np.array([[1j]])), {}, "must be numbers"),
        (np.zeros((0, 3)), {}, "at least one document"),
        (np.zeros((3, 0)), {}, "at least one document"),
        (COUNTS, {"vocabulary": ["a"]}, "vocabulary has 1 entry but there are 3 columns"),
        (COUNTS, {"vocabulary": ["a", "b", "a"]}, "twice"),
        (COUNTS, {"vocabulary": "abc"}, "vocabulary must be a sequence"),
        (COUNTS, {"labels": ["sport", "news", "art"]}, "document 0: labels must be a sequence"),
    ],
)
def test_bad_matrices(matrix, options, message):
    with pytest.raises(InputError) as caught:
        from_matrix(matrix, **options)
    assert message in str(caught.value)


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 3)))
def test_a_matrix_comes_back(counts):
    corpus = from_matrix(counts)
    assert np.array_equal(corpus.to_matrix().toarray(), counts)
    assert np.array_equal(corpus.words[corpus.by_word.token], np.sort(corpus.words))
    again = from_matrix(sp.csr_array(counts))
    assert again.fingerprint == corpus.fingerprint

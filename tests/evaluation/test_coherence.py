"""Coherence against a slow computation over explicit windows, and its values where counts are zero."""

from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicloom.corpus import Corpus, from_matrix
from topicloom.errors import InputError
from topicloom.evaluation import coherence
from topicloom.evaluation.coherence import MEASURES

VOCABULARY = ("apple", "boat", "cloud", "door", "egg", "fish")


def make(documents: list[list[str]], ordered: bool = True) -> Corpus:
    words = [VOCABULARY.index(word) for document in documents for word in document]
    ptr = np.cumsum([0, *map(len, documents)])
    return Corpus(words=np.array(words, np.int32), doc_ptr=ptr, vocabulary=VOCABULARY, ordered=ordered)


# -- the slow computation: every window as a set ----------------------------------------------------------------


def windows_of(documents: list[list[str]], length: int | None) -> list[set[str]]:
    found = []
    for document in documents:
        if length is None or len(document) <= length:
            found.append(set(document))
        else:
            found += [set(document[i : i + length]) for i in range(len(document) - length + 1)]
    return found


def slow_npmi(a: str, b: str, windows: list[set[str]], epsilon: float) -> float:
    p_a, p_b, both = (sum(wanted <= window for window in windows) / len(windows) for wanted in ({a}, {b}, {a, b}))
    if p_a in (0, 1) or p_b in (0, 1) or both + epsilon >= 1:
        return 0.0
    if both == 0 and epsilon == 0:
        return -1.0
    value = log((both + epsilon) / (p_a * p_b)) / -log(both + epsilon)
    return max(-1.0, min(value, 1.0 if both else 0.0))


def slow_u_mass(worse: str, better: str, windows: list[set[str]]) -> float:
    given_count = sum(better in window for window in windows)
    both = sum({worse, better} <= window for window in windows)
    if given_count == 0:
        return log((sum(worse in window for window in windows) + 1) / len(windows))
    return log((both + 1) / given_count)


def slow_coherence(topic: list[str], documents: list[list[str]], measure: str, length: int | None) -> float:
    windows = windows_of(documents, length)
    if measure == "u_mass":
        return float(np.mean([slow_u_mass(w, v, windows) for v, w in combinations(topic, 2)]))
    if measure == "c_npmi":
        return float(np.mean([slow_npmi(w, v, windows, 1e-12) for v, w in combinations(topic, 2)]))
    vectors = [[slow_npmi(w, v, windows, 1e-12) for v in topic] for w in topic]
    whole = [sum(column) for column in zip(*vectors, strict=True)]
    cosines = []
    for vector in vectors:
        norms = sqrt(sum(x * x for x in vector)) * sqrt(sum(x * x for x in whole))
        cosines.append(sum(x * y for x, y in zip(vector, whole, strict=True)) / norms if norms else 0.0)
    return float(np.mean(cosines))


documents_of_words = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=14), min_size=1, max_size=6)
topics_of_words = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=2, max_size=5, unique=True), min_size=1, max_size=3
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(documents_of_words, topics_of_words, st.sampled_from(sorted(MEASURES)), st.integers(1, 16))
def test_equals_the_slow_computation(
    documents: list[list[str]], topics: list[list[str]], measure: str, length: int
) -> None:
    got = coherence(topics, make(documents), measure, window=length)
    want = [slow_coherence(topic, documents, measure, length) for topic in topics]
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-8)  # a cosine loses half the digits near 0
    assert np.all(np.isfinite(got))


@pytest.mark.parametrize(("measure", "length"), [("c_npmi", 10), ("c_v", 110), ("u_mass", None)])
def test_default_windows(measure: str, length: int | None) -> None:
    rng = np.random.default_rng(5)
    documents = [[VOCABULARY[v] for v in rng.integers(0, 6, n)] for n in (150, 40, 3, 0, 200)]
    # Words that keep to their part of a long document, so that the window's length matters.
    documents.append(["apple"] * 60 + ["boat"] * 60 + ["egg"] * 60)
    topics = [["apple", "boat", "cloud"], ["door", "egg", "fish", "apple"]]
    want = [slow_coherence(topic, documents, measure, length) for topic in topics]
    np.testing.assert_allclose(coherence(topics, make(documents), measure), want, rtol=1e-12, atol=1e-15)
    by_document = [slow_coherence(topic, documents, measure, None) for topic in topics]
    unordered = coherence(topics, make(documents, ordered=False), measure)
    np.testing.assert_allclose(unordered, by_document, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(coherence(topics, make(documents), measure, window="document"), unordered)


# -- values worked by hand -------------------------------------------------------------------------------------


def test_u_mass_by_hand() -> None:
    corpus = make([["apple", "boat"], ["apple", "boat", "boat"], ["apple"], ["boat", "cloud"]])
    topic = [["apple", "boat", "cloud"]]
    # D(apple) = 3, D(boat) = 3, D(apple, boat) = 2, D(apple, cloud) = 0, D(boat, cloud) = 1.
    pairs = [log(3 / 3), log(1 / 3), log(2 / 3)]
    assert coherence(topic, corpus, "u_mass")[0] == pytest.approx(np.mean(pairs), rel=1e-12)
    assert coherence(topic, corpus, "u_mass", aggregate="sum")[0] == pytest.approx(sum(pairs), rel=1e-12)
    small = [log((2 / 4 + 1e-12) / (3 / 4)), log(1e-12 / (3 / 4)), log((1 / 4 + 1e-12) / (3 / 4))]
    assert coherence(topic, corpus, "u_mass", epsilon=1e-12)[0] == pytest.approx(np.mean(small), rel=1e-12)


def test_a_leaving_token_does_not_take_its_word_along() -> None:
    # Windows of 3: {apple, boat}, {boat, apple, cloud}, {apple, cloud, door}. The first apple leaves, another stays.
    corpus = make([["apple", "boat", "apple", "cloud", "door"]])
    p_apple, p_cloud, both = 1.0, 2 / 3, 2 / 3
    want = log(both / (p_apple * p_cloud)) / -log(both)
    got = coherence([["apple", "cloud"]], corpus, "c_npmi", window=3)[0]
    assert got == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize(("measure", "together", "apart"), [("c_npmi", 1.0, -1.0), ("c_v", 1.0, 0.0)])
def test_ends_of_the_scale(measure: str, together: float, apart: float) -> None:
    pair = [["apple", "boat"]]
    always = make([["apple", "boat"], ["cloud"], ["door"]])
    never = make([["apple"], ["boat"], ["cloud"]])
    assert coherence(pair, always, measure, epsilon=0)[0] == pytest.approx(together)
    assert coherence(pair, never, measure, epsilon=0)[0] == pytest.approx(apart, abs=1e-12)


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_words_without_evidence_count_as_independent(measure: str) -> None:
    # "fish" is in the vocabulary and in no document; "apple" and "boat" are in every one.
    corpus = make([["apple", "boat", "cloud"], ["boat", "apple"]])
    unseen = coherence([["apple", "fish"], ["fish", "cloud"], ["fish", "egg"]], corpus, measure)
    everywhere = coherence([["apple", "boat"]], corpus, measure)
    if measure == "u_mass":
        # Never seen with "apple": log 1/2. Given "fish": "cloud" as if alone, log (1 + 1)/2; "egg" log 1/2.
        np.testing.assert_allclose(unseen, [log(1 / 2), log(2 / 2), log(1 / 2)], atol=1e-15)
    elif measure == "c_npmi":
        np.testing.assert_array_equal(unseen, 0.0)
        assert everywhere[0] == 0.0
    else:
        # Only "cloud" has a context, and it is its own: cosine 1 for it, 0 for "fish".
        np.testing.assert_allclose(unseen, [0.0, 0.5, 0.0], atol=1e-15)
        assert everywhere[0] == 0.0


def test_rare_words_that_never_meet_are_not_rewarded() -> None:
    # Each is rarer than the root of epsilon, where the plain formula turns positive.
    documents = [["cloud"]] * 200 + [["apple"], ["boat"]]
    value = coherence([["apple", "boat"]], make(documents), "c_npmi", epsilon=1e-3)[0]
    assert log(1e-3 / (1 / 202) ** 2) > 0
    assert value == 0.0


# -- what may be given -----------------------------------------------------------------------------------------


def test_an_array_of_topics_stands_for_its_best_words() -> None:
    rng = np.random.default_rng(2)
    documents = [[VOCABULARY[v] for v in rng.integers(0, 6, 12)] for _ in range(8)]
    topics = np.array([[0.1, 0.3, 0.2, 0.2, 0.15, 0.05], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]])
    lists = [["boat", "cloud", "door"], ["apple", "boat", "cloud"]]
    got = coherence(topics, make(documents), n_words=3, window=4)
    np.testing.assert_array_equal(got, coherence(lists, make(documents), window=4))
    longer = [[*lists[0], "apple"], [*lists[1], "fish"]]
    np.testing.assert_array_equal(got, coherence(np.array(longer), make(documents), n_words=3, window=4))


def test_topics_of_different_lengths_do_not_touch_each_other() -> None:
    corpus = make([["apple", "boat", "cloud", "door"], ["egg", "apple", "door"], ["boat", "egg"]])
    topics = [["apple", "boat"], ["cloud", "door", "egg", "apple"]]
    for measure in MEASURES:
        alone = [coherence([topic], corpus, measure)[0] for topic in topics]
        np.testing.assert_array_equal(coherence(topics, corpus, measure), alone)


def test_weights_count_as_presence() -> None:
    counts = np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1], [0, 0, 1]])
    topics = [["word0", "word1", "word2"]]
    plain = from_matrix(counts)
    weighted = Corpus(
        words=[0, 1, 2, 1, 2, 0, 2, 2],
        doc_ptr=[0, 3, 5, 7, 8],
        vocabulary=plain.vocabulary,
        weights=[0.5, 0.1, 0.0, 2.5, 1.0, 0.3, 0.3, 1.0],
    )
    for measure in MEASURES:
        np.testing.assert_array_equal(coherence(topics, weighted, measure), coherence(topics, plain, measure))


CORPUS = make([["apple", "boat", "cloud"], ["boat", "apple"]])
PAIR = [["apple", "boat"]]


@pytest.mark.parametrize(
    ("topics", "options", "message"),
    [
        ([["apple", "zebra"]], {}, "topic 0: the word 'zebra' is not in the vocabulary"),
        ([["apple", "boat"], ["egg", "egg"]], {}, "topic 1 has the word 'egg' twice"),
        ([["apple"]], {}, "topic 0 has only one word"),
        (PAIR, {"n_words": 1}, "topic 0 has only one word"),
        (PAIR, {"n_words": 0}, "n_words=0 must be a whole number of at least 1"),
        ([[]], {}, "topic 0 has no words"),
        ([], {}, "there are no topics"),
        (["apple", "boat"], {}, "topic 0 is 'apple'; give each topic as a list of words"),
        ([[0, 1]], {}, "topics × words array"),
        ([3, 4], {}, "topic 0 is 3"),
        (np.ones((2, 5)), {"n_words": 2}, "topics has 5 columns but the corpus has 6 words"),
        (np.ones((2, 6)), {}, "n_words=10 but there are only 6 words"),
        (np.full((2, 6), np.nan), {"n_words": 2}, "topic 0 has nan in column 0"),
        (PAIR, {"measure": "c_uci"}, "measure='c_uci' is not known"),
        (PAIR, {"window": 0}, "window=0 must be a number of tokens"),
        (PAIR, {"window": "sentence"}, "window='sentence' must be"),
        (PAIR, {"window": 2.5}, "window=2.5 must be"),
        (PAIR, {"epsilon": -1.0}, "epsilon=-1.0 must be a number from 0 to 1"),
        (PAIR, {"epsilon": float("nan")}, "epsilon=nan must be a number from 0 to 1"),
        (PAIR, {"measure": "u_mass", "epsilon": 0}, "the logarithm of 0 is infinite"),
        (PAIR, {"aggregate": "median"}, "aggregate='median' is not known"),
    ],
)
def test_bad_input_is_named(topics: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        coherence(topics, CORPUS, **options)  # type: ignore[arg-type]


def test_a_window_over_counts_is_refused() -> None:
    with pytest.raises(InputError, match="window=5 needs the order of the words"):
        coherence(PAIR, make([["apple", "boat"]], ordered=False), window=5)

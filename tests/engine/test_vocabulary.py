"""Words that a model is given after its fit: shown, saved, resumed, and no number changes."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

import topicloom
from topicloom import LDA, VariationalLDA
from topicloom.errors import InputError

TEXTS = ["river bank river", "loan money loan"] * 8
WORDS = ("bank", "loan", "money", "river")


@pytest.fixture
def pipe() -> Pipeline:
    return make_pipeline(CountVectorizer(), LDA(2, max_iter=8, random_state=0)).fit(TEXTS)


def test_words_of_a_pipeline(pipe: Pipeline, tmp_path: Path) -> None:
    model = pipe[-1]
    assert model.vocabulary_ == ("word0", "word1", "word2", "word3")
    before, theta, corpus = model.fingerprint_, pipe.transform(TEXTS), model.corpus_.fingerprint
    for given in (pipe[:-1], pipe[0], pipe[:-1].get_feature_names_out(), list(WORDS)):
        assert model.set_vocabulary(given) is model
        assert model.vocabulary_ == model.corpus_.vocabulary == WORDS
    assert all(type(word) is str for word in model.vocabulary_)
    assert {word for best in model.top_words(1) for word in best} <= {"river", "loan"}
    assert (model.fingerprint_, model.corpus_.fingerprint == corpus) == (before, False)
    np.testing.assert_array_equal(pipe.transform(TEXTS), theta)
    np.testing.assert_array_equal(model.transform(topicloom.from_texts(TEXTS)), theta)

    model.save(tmp_path / "m")
    loaded = topicloom.load(tmp_path / "m")
    assert (loaded.vocabulary_, loaded.corpus_.vocabulary, loaded.fingerprint_) == (WORDS, WORDS, before)
    loaded = topicloom.load(tmp_path / "m").set_vocabulary(["a", "b", "c", "d"])  # of a model whose corpus is not read
    assert loaded.top_docs(0).equals(model.top_docs(0))
    loaded.save(tmp_path / "again")
    longer = topicloom.resume(tmp_path / "again", max_iter=12)
    assert longer.vocabulary_ == longer.corpus_.vocabulary == ("a", "b", "c", "d")
    np.testing.assert_array_equal(longer.doc_topic_, topicloom.resume(tmp_path / "m", max_iter=12).doc_topic_)
    model.save(tmp_path / "small", corpus=False)
    assert topicloom.load(tmp_path / "small").set_vocabulary(WORDS[::-1]).vocabulary_ == WORDS[::-1]


def test_a_stream_keeps_its_words() -> None:
    matrix = CountVectorizer().fit_transform(TEXTS)
    model = VariationalLDA(2, method="scvb0", random_state=0).partial_fit(matrix).set_vocabulary(WORDS)
    assert model.partial_fit(matrix).vocabulary_ == WORDS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b"], "there are 2 names for 4 words; give one for each column"),
        (["a", "b", "c", 4], "the name of word 3 is 4; it must be a string"),
        (["a", "b", "c", "a"], "words 0 and 3 would both be named 'a'"),
        (["a", "b", "c", "\ud800"], "the name of word 3 is"),
        ("abcd", "words is 'abcd'; give a list"),
        (None, "words is None; give a list"),
    ],
)
def test_what_are_no_words(pipe: Pipeline, words: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pipe[-1].set_vocabulary(words)
    assert pipe[-1].vocabulary_ == ("word0", "word1", "word2", "word3")


def test_a_model_that_is_not_fitted_has_no_words() -> None:
    with pytest.raises(NotFittedError):
        LDA(2).set_vocabulary(WORDS)

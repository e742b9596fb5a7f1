"""What notebooks show of a corpus."""

import numpy as np
import pytest

from tests.helpers.markup import seen
from topicloom import Corpus, from_matrix, from_texts

TEXTS = ["one two two", "", "<b>three</b> one", "four five six seven eight", "x", "y", "z"]


def test_sizes_and_first_documents() -> None:
    text = seen(from_texts(TEXTS, token_pattern=r"\S+")._repr_html_())
    assert text.startswith("Corpus 7 documents · 11 words · 13 tokens · in the order of the text · 1 without a word")
    assert "Documents have 0 to 5 tokens, median 1." in text
    assert "2 2 <b>three</b> one" in text  # its number, its length, its words
    assert text.endswith("and 2 more")


def test_what_is_known_of_documents() -> None:
    corpus = from_matrix(
        np.eye(4, dtype=int) * 20, vocabulary=["a", "<i>", "c" * 200, "d"], ids=["<script>", "2", "3", "4"],
        labels=[["x", "y"], [], ["x"], ["<u>"]], groups=[1, 1, 2, 3], responses=[0.5, 1, 2, 3],
        times=["2020-01-01", "2021-05-04", "2022-01-01", "2020-02-02"],
    )  # fmt: skip
    text = seen(corpus._repr_html_())
    for part in (
        "ids <script>, 2, 3, 4", "labels 3 labels: x, y, <u>", "groups 3 groups: 1, 2, 3", "responses 0.5 to 3",
        "times 2020-01-01 to 2022-01-01", "<script> 20 " + "a " * 16 + "…", "order of words not known",
    ):  # fmt: skip
        assert part in text
    assert "c" * 41 not in text
    unknown = seen(corpus.with_vocabulary(["a", "d"])._repr_html_())
    assert "unknown 40 tokens outside the vocabulary" in unknown
    assert "2 without a word" in unknown


@pytest.mark.parametrize(
    ("times", "text"),
    [([2001, 1999], "1999 to 2001"), (np.array(["2020-01-01T10:30", "2020-01-02T00:00"], "M8[m]"),
      "2020-01-01 10:30:00 to 2020-01-02 00:00:00")],
)  # fmt: skip
def test_times(times: object, text: str) -> None:
    assert f"times {text}" in seen(from_texts(["aa bb", "bb"]).with_metadata(times=times)._repr_html_())  # type: ignore[arg-type]


def test_weights_and_labels_that_are_not_there() -> None:
    corpus = Corpus(np.array([0, 1]), np.array([0, 2]), ("a", "b"), weights=np.array([0.5, 1]), labels=((),))
    text = seen(corpus._repr_html_())
    assert "each counts by its weight" in text
    assert "no labels" in text

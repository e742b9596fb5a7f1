"""The addresses that come with the package."""

import numpy as np
import pytest

from topicloom import datasets
from topicloom.errors import InputError


def test_addresses_are_dated_texts_in_order() -> None:
    corpus = datasets.addresses()
    assert corpus.n_docs == 128
    assert corpus.times is not None
    assert np.all(np.diff(corpus.times) > 0)
    assert (int(corpus.times[0]), int(corpus.times[-1])) == (1790, 2020)
    assert corpus.ids is not None
    assert corpus.ids[0] == "1790 George Washington"
    assert corpus.groups is not None
    assert {"Whig", "Democratic", "Republican"} <= set(corpus.groups)
    assert corpus.texts is not None
    assert min(len(text) for text in corpus.texts) > 3000
    assert not corpus.empty_docs.any()
    assert "the" not in corpus.vocabulary


def test_options_of_texts_are_taken_and_checked() -> None:
    assert datasets.addresses(stop_words=None, max_df=1.0, max_words=50).n_words == 50
    with pytest.raises(InputError, match="min_df"):
        datasets.addresses(min_df=-1)

"""What messages of ours have in common."""

import numpy as np
import pytest

import topicloom
from topicloom import errors
from topicloom.errors import InputError


def test_texts_have_an_order() -> None:
    for texts in ({"first": "some words"}, {"some words", "other words"}):
        with pytest.raises(InputError, match="texts must be a list or another iterable of strings"):
            topicloom.from_texts(texts)


def test_messages_have_values_and_not_types_and_one_is_not_many() -> None:
    given = [np.str_("it's"), np.str_("(a)"), np.int64(3), np.float32(0.5), np.True_, np.datetime64("NaT", "D"),
             np.datetime64("2020-05-31", "D"), np.bytes_(b"b")]  # fmt: skip
    text = "; ".join([*map(repr, given), "np.datetime64('NaT')"])  # the last has no unit: NumPy 2.5 warns of making it
    assert "np." in text
    assert str(InputError(text)) == "\"it's\"; '(a)'; 3; 0.5; True; NaT; 2020-05-31; b'b'; NaT"
    assert str(InputError("1 documents of 11 documents, 1,001 words, 0.1 words, 1 entries")) == (
        "1 document of 11 documents, 1,001 words, 0.1 words, 1 entry"
    )
    assert errors.InputTypeError("1 classes").args == ("1 class",)
    with pytest.raises(InputError, match=r"y has 1 entry but there are 6 documents"):
        topicloom.MedLDARegressor(2).fit(np.ones((6, 4), int), [1.0])

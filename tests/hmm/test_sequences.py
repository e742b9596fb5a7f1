"""Sequences and their symbols: what is read, what is the same, and what is refused with its place."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import topicloom
from tests.hmm.ways import LENGTHS, QUICK
from topicloom import HMM, Corpus, from_matrix, from_texts
from topicloom.errors import InputError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("abc", r"list\(text\)"),
        (5, "not int"),
        ({"a": [0, 1]}, "not dict"),
        ({0, 1}, "not set"),
        (pd.DataFrame({"a": [0, 1]}), r"not DataFrame; give a column as a vector, frame\[name\].to_numpy\(\)"),
        ([], "there are no sequences"),
        ([[], []], "all 2 sequences are empty"),
        (np.zeros((3, 1), int), r"X.ravel\(\)"),
        ([np.zeros((2, 2), int)], "sequence 0 has 2 dimensions"),
        ([[0, 1], 2], "item 1 is a symbol and item 0 a sequence"),
        ([[0, -1]], "sequence 0 has the symbol -1"),
        ([[0, 1 << 40]], "would make an alphabet"),
        (["a", ["b"]], "item 0 is a symbol and item 1 a sequence"),
        ([["a", ["b"]]], "cannot be hashed"),
        ([[None, float("nan")], [pd.NA]], "all symbols are missing"),
        (np.ma.array([0, 1], mask=[1, 1]), "all symbols are missing"),
        (from_matrix(np.array([[1, 2], [0, 1]])), "does not keep the order"),
    ],
)
def test_bad_sequences(data, message: str) -> None:
    with pytest.raises(InputError, match=message):
        HMM(2).fit(data)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.ma.masked])
@pytest.mark.parametrize("symbols", [[0, 1, 2], ["a", "b", "c"], [0.0, 1.0, 2.5]], ids=["numbers", "names", "floats"])
def test_a_missing_symbol_of_any_kind_is_one(missing: object, symbols: list) -> None:
    training = [[symbols[v] if v < 3 else missing for v in x] for x in ([0, 1, 3, 1, 2], [3, 2, 2])]
    model = HMM(2, **QUICK, random_state=0).fit(training)
    plain = HMM(2, **QUICK, random_state=0).fit([[0, 1, None, 1, 2], [None, 2, 2]])
    assert model.alphabet_ == tuple(symbols)
    assert model.fingerprint_ == plain.fingerprint_
    assert model.emission_.shape == (2, 3)
    new = [[symbols[0], missing, symbols[2]], [missing]]
    np.testing.assert_array_equal(model.score_samples(new), plain.score_samples([[0, None, 2], [None]]))
    assert model.score([missing]) == pytest.approx(0.0, abs=1e-12)
    assert [len(z) for z in model.predict(new)] == [3, 1]
    assert model.predict_proba([missing])[0] == pytest.approx(model.initial_)


def test_masks_and_ends(tmp_path: Path) -> None:
    """Masked arrays, whole ones with a hole, sequences that are missing altogether; saved and read again."""
    masked = np.ma.array([0, 1, 5, 1, 2, 2], mask=[0, 0, 1, 0, 0, 0])
    model = HMM(2, **QUICK, random_state=0).fit(masked, [4, 2])
    apart = HMM(2, **QUICK, random_state=0).fit([[0, 1, None, 1], [2, 2]])
    assert model.fingerprint_ == apart.fingerprint_
    assert model.alphabet_ == (0, 1, 2)
    assert model.score(masked, [4, 2]) == apart.score([np.ma.array([0, 1, 9, 1], mask=[0, 0, 1, 0]), [2, 2]])
    model.save(tmp_path / "m")
    loaded = topicloom.load(tmp_path / "m")
    assert loaded.chains_[0].state.emission.shape == (4, 2)
    assert loaded.topic_labels(1) == model.topic_labels(1)
    more = topicloom.resume(tmp_path / "m", max_iter=20)
    assert more.fingerprint_ == HMM(2, max_iter=20, trace_every=3, random_state=0).fit(masked, [4, 2]).fingerprint_
    odd = HMM(2, **QUICK, random_state=0).fit([["(missing)", "a", None]])
    assert odd.corpus_.vocabulary == ("(missing)", "a", "((missing))")


def test_a_masked_array_without_a_mask_is_an_array(sequences) -> None:
    plain = HMM(2, max_iter=3, random_state=0).fit(sequences)
    masked = HMM(2, max_iter=3, random_state=0).fit([np.ma.array(x) for x in sequences])
    assert masked.fingerprint_ == plain.fingerprint_
    assert masked.score(np.ma.array(sequences[0])) == plain.score(sequences[0])


@pytest.mark.parametrize(
    "symbols",
    [[0.0, 1.0, 2.0], [False, True], [0, 1.0, 2], [np.float32(0), np.float32(1)], [np.True_, np.False_], [0.5, -1.0]],
    ids=["floats", "bools", "mixed", "float32", "NumPy bools", "other floats"],
)
def test_numbers_that_equal_whole_ones_are_symbols_too(symbols: list, tmp_path: Path) -> None:
    names = sorted(symbols)
    sequence = [names[v] for v in [0, 1, 1, 0, len(names) - 1, 1, 0, 0]]
    model = HMM(2, **QUICK, random_state=0).fit([sequence, sequence[:3]])
    order = {name: v for v, name in enumerate(names)}
    whole = [order[symbol] for symbol in sequence]
    assert model.alphabet_ == tuple(names)
    assert model.fingerprint_ == HMM(2, **QUICK, random_state=0).fit([whole, whole[:3]]).fingerprint_
    assert model.score(np.array(sequence)) == model.score(sequence)
    drawn = model.sample(50, random_state=0)[1]
    assert {type(symbol) for symbol in drawn} <= {type(symbol) for symbol in model.alphabet_}
    model.save(tmp_path / "m")
    assert topicloom.load(tmp_path / "m").score(sequence) == model.score(sequence)
    with pytest.raises(InputError, match="give None there, which is a missing symbol"):
        model.score([*sequence, 7.5])


def test_symbols_that_are_equal_are_one() -> None:
    model = HMM(2, **QUICK, random_state=0).fit([[0, 1, 1.0, True, 0.0, False]])
    assert len(model.alphabet_) == 2
    assert model.score([0, 1]) == model.score([False, 1.0])


FORMS = {
    "vector": np.concatenate,
    "column": lambda parts: np.concatenate(parts)[:, None],
    "list": lambda parts: np.concatenate(parts).tolist(),
    "list of columns": lambda parts: [[v] for v in np.concatenate(parts).tolist()],
    "names": lambda parts: [f"s{v}" for v in np.concatenate(parts)],
}


@pytest.mark.parametrize("form", FORMS)
def test_lengths_cut_what_comes_end_to_end(form: str, sequences) -> None:
    X = FORMS[form](sequences)
    apart = [[f"s{v}" for v in x] for x in sequences] if form == "names" else sequences
    whole = HMM(2, **QUICK, random_state=0).fit(apart)
    for lengths in (LENGTHS, np.array(LENGTHS), tuple(LENGTHS)):
        cut = HMM(2, **QUICK, random_state=0).fit(X, lengths)
        assert cut.fingerprint_ == whole.fingerprint_
        assert cut.corpus_.doc_lengths.tolist() == LENGTHS
    assert HMM(2, **QUICK, random_state=0).fit(X, lengths=[621]).fingerprint_ != whole.fingerprint_
    assert whole.score(X, LENGTHS) == whole.score(apart)
    np.testing.assert_array_equal(whole.score_samples(X, LENGTHS), whole.score_samples(apart))
    np.testing.assert_array_equal(whole.predict(X, LENGTHS), np.concatenate(whole.predict(apart)))
    np.testing.assert_array_equal(whole.predict_proba(X, LENGTHS), np.concatenate(whole.predict_proba(apart)))
    for method in ("viterbi", "posterior"):
        values, states = whole.decode(X, method, lengths=LENGTHS)
        np.testing.assert_array_equal(values, whole.decode(apart, method)[0])
        np.testing.assert_array_equal(states, np.concatenate(whole.decode(apart, method)[1]))


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        ([0, 1, 1, 0], [2, 1], "lengths sum to 3 but X has 4 symbols"),
        ([0, 1, 1, 0], [], "lengths sum to 0 but X has 4 symbols"),
        ([0, 1, 1, 0], [1, 0, 1, 0], "lengths sum to 2 but X has 4"),  # states or classes in the place of lengths
        ([0, 1, 1, 0], [5, -1], r"lengths\[1\]=-1 must be a whole number"),
        ([0, 1, 1, 0], [2.0, 2.0], r"lengths\[0\]=2.0 must be"),
        ([0, 1, 1, 0], 4, "lengths=4 must be a list"),
        ([0, 1, 1, 0], "4", "lengths='4' must be a list"),
        ([[0, 1], [1, 0]], [2, 2], "X is a list of sequences; leave lengths out"),
        (np.zeros((2, 2), int), [4], "2 dimensions"),
        (np.ma.array([0, 1, 1, 0], mask=[0, 0, 1, 0]), [2, 1], "lengths sum to 3 but X has 4"),
        (from_texts(["one two one"], stop_words=None), [3], "a Corpus has its documents"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(X, lengths, message: str) -> None:
    model = HMM(2, **QUICK, alphabet=["one", "two"] if isinstance(X, Corpus) else None, random_state=0)
    with pytest.raises(InputError, match=message):
        model.fit(X, lengths)
    assert not hasattr(model, "seed_")
    fitted = model.fit(X if isinstance(X, Corpus) else [0, 1, 1])
    for ask in (fitted.score, fitted.score_samples, fitted.predict, fitted.predict_proba):
        with pytest.raises(InputError, match=message):
            ask(X, lengths)


def test_unknown_symbols_are_named() -> None:
    numbers = HMM(2, **QUICK, random_state=0).fit([[0, 1, 2]])
    with pytest.raises(InputError, match="sequence 1, place 2: the symbol 7 is not one of the alphabet's 3"):
        numbers.score([[0, 1], [0, 1, 7]])
    with pytest.raises(InputError, match="sequence 0, place 1: the symbol 'x'"):
        numbers.score([0, "x"])
    words = HMM(2, **QUICK, random_state=0).fit([["a", "b"]])
    with pytest.raises(InputError, match="sequence 0, place 0: the symbol 'c'"):
        words.predict(["c"])
    texts = HMM(2, **QUICK, random_state=0).fit(from_texts(["one two three one"], stop_words=None))
    with pytest.raises(InputError, match="document 0 has 1 word not in the alphabet"):
        texts.predict(from_texts(["one four"], stop_words=None))
    with pytest.raises(InputError, match="method='best'"):
        words.decode(["a"], "best")
    with pytest.raises(InputError, match="lengths=-1"):
        words.sample(-1)

"""The benchmarks of hidden Markov models: what they compare, without other tools."""

import numpy as np
import pytest

from benchmarks import hmm, hmm_starts
from topicloom import HMM
from topicloom.errors import InputError


@pytest.mark.parametrize("form", [0, 1], ids=["variances", "full"])
def test_numbers_are_fitted_from_the_given_start(form: int) -> None:
    values, *starts = hmm.simulated_numbers(300, 2, 3)
    start = starts[form]
    ours = hmm.OurNumbers(values, start, 4)
    ours.fit()
    kind = "gaussian_full" if form else "gaussian"
    given = {"initial": start.initial, "transition": start.transition, "means": start.means, "covars": start.covars}
    model = HMM(2, emission=kind, method="em", start=given, tol=0, max_iter=4, random_state=0).fit(values)
    assert ours.score() == pytest.approx(model.score(values), abs=1e-8)
    ours.decode()
    assert ours.best == pytest.approx(model.decode(values)[0], abs=1e-8)


def test_starts_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    hmm_starts.main(["--letters", "600", "--seeds", "2", "--starts", "2x3", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| addresses")]
    assert [row.split("|")[2].strip() for row in rows] == ["em", "gibbs"]
    assert all(0 <= int(row.split("|")[4]) <= 2 for row in rows)
    assert hmm_starts.read_start("default") is None
    assert hmm_starts.read_start("2x3") == {"n_runs": 2, "n_iter": 3}
    with pytest.raises(InputError, match="yelp needs --data"):
        hmm_starts.letters(None, "yelp", 0, 10)
    with pytest.raises(InputError, match="has fewer than"):
        hmm_starts.letters(None, "addresses", 10**9, 10)


def test_vowels() -> None:
    model = HMM(2, random_state=0, max_iter=3).fit([list("aeioutnsrhldcm")])
    shares = np.full((2, 14), 1.0)
    shares[0, [model.alphabet_.index(letter) for letter in "aeiou"]] = 3
    model.emission_ = shares / shares.sum(axis=1, keepdims=True)
    assert hmm_starts.has_vowels(model)
    model.emission_[0, model.alphabet_.index("t")] = 1
    assert not hmm_starts.has_vowels(model)

"""Calibration: the right sampler passes, a wrong one does not, and the whole program runs at a trial's size."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reproduce import _coverage, _sbc, calibration
from tests.helpers.mutating import REJECT, compiled_mutant
from tests.helpers.sweeping import sweep_once
from topicloom import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule
from topicloom.lda.gibbs import get_sampler
from topicloom.numerics.rng import Purpose, stream

TRIALS = 140
NOT_REMOVED = ("doc[old] - 1 + a[old]", "doc[old] + a[old]")  # a token from its document's counts


@pytest.fixture(autouse=True)
def _short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thinned less than in the study, which takes a third of the time and still passes the right sampler."""
    monkeypatch.setattr(_sbc, "BURN_IN", 60)
    monkeypatch.setattr(_sbc, "THIN", 8)


def _dense(*changes: tuple[str, str]) -> Sampler:
    """The dense sampler from its source, with changes."""
    own = compiled_mutant("lda.gibbs.dense", *changes)

    def sweep(corpus: Corpus, state: Any, prior: Prior, key: Key, schedule: Schedule) -> tuple[Any, Info]:
        sweep_once(own.sweep_block, corpus, state, prior, stream(key.seed, Purpose.SWEEP, key.chain, key.sweep))
        return state, Info(0, 0)

    return replace(get_sampler("dense"), sweep=sweep, sweeps=None)


def _p_value(sampler: Sampler) -> float:
    result = _sbc.run(_sbc.lda(sampler, "dense"), TRIALS)
    assert result.ranks.shape == (TRIALS, len(_sbc.BASE))
    assert result.ranks.min() >= 0
    assert result.ranks.max() <= _sbc.N_DRAWS
    return float(result.p_values.min()) * len(_sbc.BASE)


def test_the_right_sampler_is_calibrated() -> None:
    assert _p_value(_dense()) > 0.001  # seeds are fixed


def test_a_wrong_sampler_is_not() -> None:
    assert _p_value(_dense(NOT_REMOVED)) < REJECT


def test_ranks_are_uniform_if_the_truth_is_one_of_the_draws_and_ties_are_broken() -> None:
    def trial(seed: int) -> _sbc.Trial:
        rng = np.random.default_rng([seed, 7])
        drawn = np.column_stack((rng.random(20), rng.integers(0, 2, 20), np.zeros(20)))
        return _sbc.Trial(drawn[0], list(drawn[1:]))

    result = _sbc.run(_sbc.Study("uniform", ("a", "b", "c"), trial), 2000)
    assert result.p_values.min() > 1e-7
    np.testing.assert_array_equal(result.histogram.sum(axis=1), 2000)


def test_histograms_as_text() -> None:
    assert _sbc.bars(np.array([0, 10, 20, 40, 5])) == "▁▃▆█▂"


@pytest.mark.parametrize("mixed", [False, True])
def test_made_corpora_have_the_truth_that_is_said(mixed: bool) -> None:
    made = _coverage.make(3, (800, 800), mixed)
    for label in range(2):
        np.testing.assert_allclose(made.theta[made.label == label].mean(axis=0), made.mean[label], atol=0.05)
    z_share = np.bincount(made.corpus.words, minlength=_coverage.V) / made.corpus.n_tokens
    np.testing.assert_allclose(z_share, made.theta.mean(axis=0) @ made.phi, atol=0.01)


def test_intervals_of_the_last_sample_alone() -> None:
    made = _coverage.make(0, (5, 5), mixed=False)
    model = _coverage.fit(made, np.zeros(10, int), 0, 20, known=True)
    lower, upper = _coverage.last_sample_only(model, made.label, 2)
    share = model.doc_topic_[:5]
    reach = 1.6448536269514722 * np.sqrt((share * (1 - share) / 54).sum(axis=0)) / 5
    np.testing.assert_allclose(lower[0], np.maximum(share.mean(axis=0) - reach, 0))
    np.testing.assert_allclose(upper[0], np.minimum(share.mean(axis=0) + reach, 1))


def test_the_whole_program_at_a_trials_size(capsys: pytest.CaptureFixture[str]) -> None:
    calibration.main(["--quick", "--trials", "2", "--corpora", "1", "--sweeps", "20"])
    printed = capsys.readouterr().out
    for title, _ in calibration.PARTS.values():
        assert f"### {title}" in printed
    for name in ("LDA, words", "HMM, blocked", "MedLDA, logistic, mh", "compound, mgs", "labeled", "LDA, warp"):
        assert f"| {name} |" in printed
    for name in ("by labels, population", "trends", "differences", "prevalence, merged"):
        assert f"| {name} |" in printed


@pytest.mark.parametrize("wrong", [["--trials", "0"], ["--corpora", "x"], ["--sections", "all"], ["--sizes", "7"]])
def test_wrong_options_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        calibration.main(wrong)

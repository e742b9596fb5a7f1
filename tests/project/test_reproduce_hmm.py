"""The benchmark and the reproduction of hidden Markov models, at a trial's size; and that their page is complete."""

import inspect
import re
import types
from pathlib import Path

import numpy as np
import pytest

from benchmarks import hmm as benchmark
from reproduce import hmm as reproduction
from topicloom import HMM
from topicloom.hmm import em as hmm_em
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.state import Parameters, make_known

PAGE = Path(__file__).parents[2] / "docs" / "guide/hmm.md"


class CategoricalHMM:
    """What the benchmark uses of hmmlearn, by our own functions."""

    def __init__(self, n_states: int, *, n_iter: int, n_features: int, **options: object) -> None:
        self.n_iter, self.prior = n_iter, benchmark.flat(n_states, n_features)

    def _corpus(self, X: np.ndarray):
        return benchmark.Corpus(X[:, 0].astype(np.int32), np.array([0, len(X)]), tuple("abcdefghij"), ordered=True)

    def fit(self, X: np.ndarray) -> None:
        given = make_known(self.startprob_, self.transmat_, self.emissionprob_)
        for _ in range(self.n_iter):
            given, _ = hmm_em.iterate(self._corpus(X), given, self.prior)
        self.given = Parameters(given.moves, given.emission)

    def decode(self, X: np.ndarray):
        values, paths = forward_backward.best_paths(self._corpus(X), self.given)
        return values.sum(), paths[0]

    def score(self, X: np.ndarray) -> float:
        return float(forward_backward.log_likelihoods(self._corpus(X), self.given).sum())


class GaussianHMM:
    """The same, of numbers."""

    def __init__(self, n_states: int, form: str, *, n_iter: int, **options: object) -> None:
        self.n_iter, self.form = n_iter, form

    def fit(self, X: np.ndarray) -> None:
        assert self.covars_.ndim == {"diag": 2, "full": 3}[self.form]
        start = benchmark.NumberStart(self.startprob_, self.transmat_, self.means_, self.covars_)
        self.ours = benchmark.OurNumbers(X, start, self.n_iter)
        self.ours.fit()

    def decode(self, X: np.ndarray):
        self.ours.decode()
        return self.ours.best, None

    def score(self, X: np.ndarray) -> float:
        return self.ours.score()


def test_the_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake = types.ModuleType("hmmlearn")
    fake.__version__ = "0"
    fake.CategoricalHMM, fake.GaussianHMM = CategoricalHMM, GaussianHMM
    monkeypatch.setattr(benchmark, "rival", lambda name: fake)
    benchmark.main(
        ["--symbols", "300", "--states", "2", "3", "--iterations", "2", "--rounds", "1", "--paths", "1", "2"]
    )
    shown = capsys.readouterr().out
    assert "| Baum-Welch, an iteration, symbols, K = 2 |" in shown
    assert "| blocked, K = 3 | 2 |" in shown
    assert shown.count("0.0e+00") == 12


def test_the_reproduction_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    reproduction.main(["--quick"])
    shown = capsys.readouterr().out
    assert "| run | C1 | C5 | PC1 | PC5 | BW |" in shown
    assert "C5 over C1" in shown
    assert "| state 1, truth | 0.190 | 0.010 |" in shown


def test_verdicts_say_when_the_claim_fails() -> None:
    def found(*values: float) -> reproduction.Found:
        return reproduction.Found(np.array(values), reproduction.emissions(0.18))

    names = {"C1": found(-9.0, -8.0), "C5": found(-1.0, 2.0), "PC1": found(-2.0, 1.0), "PC5": found(-90.0, -80.0)}
    lines = reproduction.verdicts(names, 0.0, -100.0)
    assert "C5 over C1: holds (+0.5 against -8.5)" in lines[0]
    assert "PC5 over PC1: DOES NOT HOLD (-85.0 against -0.5)" in lines[1]
    assert "C1 0 of 2, C5 0 of 2, PC1 0 of 2, PC5 2 of 2" in lines[2]
    assert "C1 0, C5 1, PC1 1, PC5 0" in lines[3]


def test_every_option_is_on_the_page() -> None:
    quoted = re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))
    known = {name for text in quoted for name in re.findall(r"\w+", text)}
    assert {*inspect.signature(HMM).parameters, *gibbs.SAMPLERS} <= known

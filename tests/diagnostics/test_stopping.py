"""Fits that stop when their chains agree."""

import doctest
from pathlib import Path

import numpy as np
import pytest

from topicloom import LDA, load
from topicloom.datasets import bars
from topicloom.diagnostics import stopping
from topicloom.diagnostics.fitted import diagnose
from topicloom.diagnostics.stopping import fit_until_converged
from topicloom.errors import InputError

PARAMS = {"n_chains": 2, "max_iter": 20, "trace_every": 2, "random_state": 1}
EASY = {"max_rhat": 2.0, "min_ess": 2}


@pytest.mark.parametrize("wanted", [EASY, {"max_rhat": 1.0001, "max_sweeps": 90}])
@pytest.mark.parametrize("saved", [False, True])
def test_the_result_is_that_of_one_fit(wanted: dict[str, float], saved: bool, tmp_path: Path) -> None:
    corpus = bars(n_docs=40).corpus
    folder = tmp_path / "run" if saved else None
    model, found = fit_until_converged(LDA(3, checkpoint_dir=folder, **PARAMS), corpus, **wanted)
    straight = LDA(3, **{**PARAMS, "max_iter": model.n_iter_}).fit(corpus)
    assert model.fingerprint_ == straight.fingerprint_
    assert model.traces_ == straight.traces_
    assert found.to_dict() == diagnose(straight, **{k: v for k, v in wanted.items() if k != "max_sweeps"}).to_dict()
    assert model.checkpoint_dir == folder
    if wanted is EASY:
        assert found.verdict.agree
    else:
        assert model.n_iter_ == 90
        assert not found.verdict.agree
    np.testing.assert_allclose(model.transform(corpus), straight.transform(corpus), rtol=0, atol=0)
    if saved:
        assert load(tmp_path / "run").fingerprint_ == model.fingerprint_


@pytest.mark.parametrize(
    ("params", "options", "message"),
    [
        ({"n_chains": 1}, {}, "n_chains=4"),
        ({"burn_in": 10}, {}, "burn_in=None"),
        ({}, {"max_sweeps": 10}, "below max_iter"),
        ({}, {"max_sweeps": 0}, "max_sweeps"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_the_fit(params, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_until_converged(LDA(3, **{**PARAMS, **params}), bars(n_docs=10).corpus, **options)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InputError, match="model of topicloom"):
        fit_until_converged("model", [])


def test_examples_run() -> None:
    assert doctest.testmod(stopping).failed == 0

"""Fits that stop when their chains agree."""

from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone

from topicloom import HMM, LDA, CompoundLDA, Converged, LabeledLDA, MedLDAClassifier, VariationalLDA, load, resume
from topicloom.datasets import bars
from topicloom.diagnostics import diagnose
from topicloom.engine import stopping
from topicloom.engine.run import Trace
from topicloom.errors import InputError

PARAMS = {"n_chains": 2, "trace_every": 2, "random_state": 1}
EASY = Converged(max_rhat=5.0, min_ess=1, first=20)
HARD = Converged(max_rhat=1.0001, first=20, max_sweeps=90)


@pytest.mark.parametrize("rule", [EASY, HARD])
@pytest.mark.parametrize("saved", [False, True])
def test_the_result_is_that_of_one_fit(rule: Converged, saved: bool, tmp_path: Path) -> None:
    corpus = bars(n_docs=40).corpus
    folder = tmp_path / "run" if saved else None
    model = LDA(3, max_iter=rule, checkpoint_dir=folder, n_jobs=2, **PARAMS).fit(corpus)
    straight = LDA(3, max_iter=model.n_iter_, **PARAMS).fit(corpus)
    assert model.fingerprint_ == straight.fingerprint_
    assert model.traces_ == straight.traces_
    found = diagnose(model, max_rhat=rule.max_rhat, min_ess=rule.min_ess).verdict
    assert model.verdict_ == found.line
    if rule is EASY:
        assert found.agree
        assert found.enough
        assert model.n_iter_ < EASY.max_sweeps
    else:
        assert model.n_iter_ == 90
        assert not found.agree
    if saved:
        again = load(tmp_path / "run")
        assert again.fingerprint_ == model.fingerprint_
        assert again.max_iter == rule
        assert again.verdict_ == model.verdict_


def test_an_interrupted_run_resumes_exactly(tmp_path: Path) -> None:
    corpus = bars(n_docs=40).corpus
    whole = LDA(3, max_iter=HARD, checkpoint_every=10, **PARAMS).fit(corpus)
    for stop in (5, 25, 40, 61):
        folder = tmp_path / str(stop)
        stopped = LDA(3, max_iter=HARD, checkpoint_dir=folder, checkpoint_every=10, **PARAMS)
        with pytest.raises(RuntimeError):
            stopped.fit(corpus, callbacks=[_raise_at(stop)])
        assert resume(folder).fingerprint_ == whole.fingerprint_


def _raise_at(sweep: int):
    def look(chain) -> None:
        if chain.index == 1 and chain.sweep == sweep:
            raise RuntimeError

    return look


def test_a_finished_run_goes_on_to_a_number_of_sweeps(tmp_path: Path) -> None:
    corpus = bars(n_docs=40).corpus
    LDA(3, max_iter=EASY, checkpoint_dir=tmp_path / "run", **PARAMS).fit(corpus)
    longer = resume(tmp_path / "run", max_iter=700)
    assert longer.fingerprint_ == LDA(3, max_iter=700, **PARAMS).fit(corpus).fingerprint_


def test_a_callback_that_stops_a_chain_ends_the_fit() -> None:
    model = LDA(3, max_iter=HARD, **PARAMS).fit(bars(n_docs=20).corpus, callbacks=[lambda chain: chain.sweep == 10])
    assert model.n_iter_ == 10


SEQUENCES = [[0, 1, 2, 1, 0, 1] * 3, [2, 2, 1, 0, 1, 1] * 3]


def every_model(max_iter):
    """Models that sample, and what to fit them to."""
    corpus = bars(n_docs=24).corpus
    labels = [["a"] if d % 3 == 0 else ["a", "b"] for d in range(24)]
    classes = ["x" if d % 2 else "y" for d in range(24)]
    given = {**PARAMS, "max_iter": max_iter}
    return [
        (LDA(3, **given), (corpus,)),
        (LDA(3, n_shards=2, **given), (corpus,)),
        (CompoundLDA(3, **given), (corpus, classes)),
        (LabeledLDA(burn_in=None, **given), (corpus, labels)),
        (MedLDAClassifier(3, burn_in=None, **given), (corpus, classes)),
        (HMM(2, **given), (SEQUENCES,)),
    ]


@pytest.mark.parametrize("number", range(6))
def test_every_model_that_samples_stops_by_itself_and_in_other_processes(number: int) -> None:
    model, given = every_model(Converged(max_rhat=1.0001, first=20, max_sweeps=30))[number]
    straight, _ = every_model(30)[number]
    expected = straight.fit(*given).fingerprint_
    assert model.fit(*given).fingerprint_ == expected
    with parallel_config(backend="loky", n_jobs=2):
        assert clone(model).fit(*given).fingerprint_ == expected


def test_chains_of_other_processes_are_saved(tmp_path: Path) -> None:
    corpus = bars(n_docs=24).corpus
    model = LDA(3, max_iter=30, checkpoint_dir=tmp_path / "run", checkpoint_every=10, **PARAMS)
    with parallel_config(backend="loky", n_jobs=2):
        model.fit(corpus)
    assert resume(tmp_path / "run", max_iter=40).fingerprint_ == LDA(3, max_iter=40, **PARAMS).fit(corpus).fingerprint_


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LDA(3, max_iter="auto"), "n_chains=4"),
        (LDA(3, max_iter="never", n_chains=2), '"auto"'),
        (LDA(3, max_iter=Converged(max_rhat=1), n_chains=2), "max_rhat=1"),
        (LDA(3, max_iter=Converged(max_sweeps=0), n_chains=2), "max_sweeps"),
        (LDA(3, max_iter=Converged(first=20), n_chains=2), "first=80"),
        (LDA(3, max_iter="auto", n_chains=2, burn_in=300), "first=340"),
        (LabeledLDA(method="cvb0", max_iter="auto", n_chains=2), "draws none"),
        (CompoundLDA(3, method="vem", max_iter="auto", n_chains=2), "draws none"),
        (VariationalLDA(3, max_iter="auto"), "draws none"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_the_fit(model, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit(bars(n_docs=10).corpus, ["a", "b"] * 5)


def test_one_chain_says_what_it_cannot_show() -> None:
    model = LDA(3, max_iter=60, trace_every=2, random_state=0).fit(bars(n_docs=20).corpus)
    assert model.verdict_ is not None
    assert model.verdict_.startswith("One chain cannot show")
    assert LDA(3, max_iter=5, random_state=0).fit(bars(n_docs=20).corpus).verdict_ is None


@pytest.mark.parametrize(("size", "agree"), [(1e-6, True), (1e-2, False)])
def test_what_moves_by_next_to_nothing_is_no_alarm(size: float, agree: bool) -> None:
    """A falling α shows in all that follows from it; R-hat sees the trend, however small."""
    falling = [1 + size * (20 - t) for t in range(20)]
    traces = [
        Trace(
            sweep=list(range(1, 21)),
            log_joint=[-100 * x for x in falling],
            alpha_sum=falling,
            probes=[np.array([x]) for x in falling],
        )
        for _ in range(2)
    ]
    late = stopping.late_records(traces, 1)
    found = stopping.judge(traces, [[0, 1]], late, Converged(min_ess=1), sweeps_per_draw=1)
    assert found.verdict.agree == agree
    assert found.n_draws == 20


def test_kept_draws_grow_with_the_sweeps(tmp_path: Path) -> None:
    corpus = bars(n_docs=20).corpus
    given = {**PARAMS, "burn_in": 10, "thin": 4, "keep_draws": ["phi"]}
    model = LDA(3, max_iter=HARD, checkpoint_dir=tmp_path / "run", **given).fit(corpus)
    straight = LDA(3, max_iter=90, **given).fit(corpus)
    assert model.draws_["phi"].shape[:2] == (2, 21)
    assert np.array_equal(model.draws_["phi"], straight.draws_["phi"])
    assert np.array_equal(load(tmp_path / "run").draws_["phi"], straight.draws_["phi"])

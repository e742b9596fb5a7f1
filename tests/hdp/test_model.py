"""The model around the process: what is published, learned and given; limits; names."""

from pathlib import Path

import numpy as np
import pytest

import topicloom
from topicloom import HDP, diagnostics
from topicloom.datasets import synthetic_lda
from topicloom.errors import InputError, PriorsWarning, TopicNamesWarning

CORPUS = synthetic_lda(80, 60, 4, doc_length=40, seed=2).corpus


@pytest.fixture(scope="module")
def model() -> HDP:
    return HDP(max_iter=150, n_chains=2, random_state=0).fit(CORPUS)


def test_the_number_of_topics_is_found(model: HDP) -> None:
    for trace in model.traces_:
        assert set(trace.n_main[8:]) <= {4, 5}
        assert all(main <= n for main, n in zip(trace.n_main, trace.n_topics, strict=True))


def test_what_is_published_fits_together(model: HDP) -> None:
    k = model.n_topics_
    assert model.topic_word_.shape == (k, 60)
    assert model.doc_topic_.shape == (80, k)
    assert model.transform(CORPUS).shape == (80, k)
    assert model.topic_weights_.sum() < 1
    np.testing.assert_allclose(model.alpha_, model.doc_concentration_ * model.topic_weights_)
    sweeps, numbers = model.n_topics_trace_
    assert (sweeps[-1], numbers[-1]) == (150, k)
    assert model.trace_.topic_concentration[-1] == model.topic_concentration_
    assert model.trace_.alpha_sum[-1] == model.doc_concentration_
    assert diagnostics.publish(model, by="medoid").published_by_ == "medoid"
    with pytest.raises(InputError, match="cannot be published"):
        diagnostics.publish(model, by="merged")


def test_given_concentrations_stay() -> None:
    model = HDP(5, doc_concentration=2.0, topic_concentration=0.5, max_iter=20, random_state=0).fit(CORPUS)
    assert (model.doc_concentration_, model.topic_concentration_) == (2.0, 0.5)
    assert set(model.trace_.alpha_sum) == {2.0}
    near = {"shape": 1e4, "rate": 1e4}
    model = HDP(5, doc_concentration=near, topic_concentration=near, max_iter=20, random_state=0).fit(CORPUS)
    assert model.doc_concentration_ == pytest.approx(1, abs=0.1)
    assert model.topic_concentration_ == pytest.approx(1, abs=0.1)


def test_limits_are_told() -> None:
    with pytest.warns(PriorsWarning, match="max_topics=2 topics, so that their number says nothing"):
        model = HDP(2, max_topics=2, max_iter=20, random_state=0).fit(CORPUS)
    assert model.n_topics_ == 2
    with pytest.raises(InputError, match="initial_topics=3 is more than max_topics=2"):
        HDP(3, max_topics=2).fit(CORPUS)
    with pytest.raises(InputError, match="max_topics=70000 must be at most 60000"):
        HDP(max_topics=70_000).fit(CORPUS)


def test_a_resumed_run_has_other_topics_and_so_no_names(tmp_path: Path) -> None:
    straight = HDP(max_iter=60, random_state=0).fit(CORPUS)
    part = HDP(max_iter=30, random_state=0).fit(CORPUS).set_topic_names({0: "first"})
    part.save(tmp_path / "model")
    assert topicloom.load(tmp_path / "model").topic_names_[0] == "first"
    with pytest.warns(TopicNamesWarning, match="Name them again"):
        again = topicloom.resume(tmp_path / "model", max_iter=60)
    assert again.topic_names_ == (None,) * again.n_topics_
    assert again.fingerprint_ == straight.fingerprint_
    assert topicloom.load(tmp_path / "model").fingerprint_ == straight.fingerprint_

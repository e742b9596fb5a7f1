"""Kept draws in the form of ArviZ."""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topicloom import HMM, LDA, LabeledLDA
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import align, chain_topics, rhat, to_inference_data
from topicloom.errors import InputError, MissingExtraError

CORPUS = synthetic_lda(n_docs=20, n_words=12, n_topics=3, doc_length=30, seed=2).corpus.with_metadata(
    ids=[f"d{d}" for d in range(20)]
)
PLAN: dict[str, Any] = {"max_iter": 30, "burn_in": 21, "thin": 3, "random_state": 1, "n_chains": 3, "trace_every": 5}


@pytest.fixture(scope="module")
def model() -> LDA:
    keep = {"theta": "theta", "phi": "phi", "largest": lambda theta, phi: phi.max(), "by topic": lambda t, p: p[:, :2]}
    return LDA(3, **PLAN, keep_draws=keep).fit(CORPUS)


@pytest.fixture
def arviz() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions before 1
        return pytest.importorskip("arviz", reason="ArviZ is not installed")


def test_without_arviz_the_extra_is_named(model: LDA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'topicloom\[arviz\]'"):
        to_inference_data(model)


def test_what_has_no_draws_is_refused() -> None:
    with pytest.raises(InputError, match="keeps no draws"):
        to_inference_data(LDA(3, max_iter=2, random_state=0).fit(CORPUS))
    with pytest.raises(InputError, match="give a fitted model"):
        to_inference_data(LDA(3))


def test_groups_dimensions_and_coordinates(model: LDA, arviz: Any) -> None:
    data = to_inference_data(model)
    posterior, stats = data["posterior"], data["sample_stats"]
    assert posterior["theta"].dims == ("chain", "draw", "document", "topic")
    assert posterior["phi"].dims == ("chain", "draw", "topic", "word")
    assert posterior["largest"].dims == ("chain", "draw")
    assert posterior["by topic"].dims == ("chain", "draw", "by topic_dim_0", "by topic_dim_1")
    for name, array in model.draws_.items():
        np.testing.assert_array_equal(posterior[name].values, array)
    assert posterior["draw"].values.tolist() == [21, 24, 27, 30]
    assert posterior["document"].values.tolist() == [f"d{d}" for d in range(20)]
    assert tuple(posterior["word"].values) == model.vocabulary_
    assert {"log_joint", "alpha_sum", "beta_mean", "changed"} == set(stats.data_vars)
    assert stats["draw"].values.tolist() == [25, 30]
    expected = [trace.log_joint[-2:] for trace in model.traces_]
    np.testing.assert_array_equal(stats["log_joint"].values, expected)


def test_aligned_topics_have_the_published_chains_numbers(model: LDA, arviz: Any) -> None:
    matches = align(chain_topics(model), reference=model.best_chain_).matches
    data = to_inference_data(model, align=True)["posterior"]
    for chain in range(3):
        for k in range(3):
            match, theta, phi = matches[chain, k], data["theta"].values[chain], data["phi"].values[chain]
            if match < 0:
                assert np.isnan(theta[:, :, k]).all()
                assert np.isnan(phi[:, k]).all()
            else:
                np.testing.assert_array_equal(theta[:, :, k], model.draws_["theta"][chain, :, :, match])
                np.testing.assert_array_equal(phi[:, k], model.draws_["phi"][chain, :, match])
    assert not np.array_equal(matches, np.tile(np.arange(3), (3, 1)))  # there is something to put in order
    np.testing.assert_array_equal(data["by topic"].values, model.draws_["by topic"])


def test_arviz_can_use_it(model: LDA, arviz: Any, tmp_path: Path) -> None:
    data = to_inference_data(model)
    found = arviz.rhat(data, var_names=["largest"])
    value = float(found["largest"].values if hasattr(found["largest"], "values") else found["largest"])
    np.testing.assert_allclose(value, rhat(model.draws_["largest"]), rtol=1e-9)
    data.to_netcdf(str(tmp_path / "draws.nc"))
    read = arviz.from_netcdf(str(tmp_path / "draws.nc"))
    np.testing.assert_array_equal(read["posterior"]["theta"].values, model.draws_["theta"])


def test_from_version_1_on_it_is_a_tree(model: LDA, arviz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arviz, "__version__", "1.2.0")
    data = to_inference_data(model)
    assert type(data).__name__ == "DataTree"
    assert set(data.children) == {"posterior", "sample_stats"}
    np.testing.assert_array_equal(data["posterior"]["theta"].values, model.draws_["theta"])


def test_other_models(arviz: Any) -> None:
    hmm = HMM(2, **PLAN, keep_draws=["transition", "emission"]).fit([[0, 1, 2, 1, 0, 2], [2, 2, 1]])
    data = to_inference_data(hmm)["posterior"]
    assert data["transition"].dims == ("chain", "draw", "state", "next_state")
    assert data["symbol"].values.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="has states"):
        to_inference_data(hmm, align=True)
    labels = [["sport"], ["law", "sport"]] * 10
    labeled = LabeledLDA(**PLAN, holdout=0.0, keep_draws="phi").fit(CORPUS, labels)
    found = to_inference_data(labeled, align=True)["posterior"]
    assert found["topic"].values.tolist() == ["law", "sport"]
    np.testing.assert_array_equal(found["phi"].values, labeled.draws_["phi"])

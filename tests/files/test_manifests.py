"""Parameters in a manifest: what was saved comes back, and what no model can have is refused as a file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.small_models import base
from topicloom.engine.estimator.parameters import read_options
from topicloom.errors import StorageError
from topicloom.files.manifests import MANIFEST, signed

TEXTS = ["goal match team", "vote law party", "atom quark field"] * 4
SHORT = {"max_iter": 4, "burn_in": 2, "thin": 1, "random_state": 1, "predict_options": {"burn_in": 1, "n_samples": 1}}


@pytest.mark.filterwarnings("ignore::topicloom.errors.LostClassesWarning")
@pytest.mark.parametrize(
    ("y", "weights"),
    [
        ([0, 1, 2] * 4, {0: 3.0, 2: 0.5}),
        ([False, True, True] * 4, {True: 2.0}),
        (["a", "b", "c"] * 4, {"a": 2}),
        ([0, 1, 2] * 4, "balanced"),
    ],
)
def test_weights_by_class_survive_saving_and_resuming(y: list[Any], weights: Any, tmp_path: Path) -> None:
    make = lambda **more: topicloom.MedLDAClassifier(2, class_weight=weights, **SHORT | more)  # noqa: E731
    whole = make(max_iter=6).fit(TEXTS, y)
    make().fit(TEXTS, y).save(tmp_path / "model")
    loaded = topicloom.load(tmp_path / "model")
    assert loaded.class_weight == weights
    assert loaded.chains_[0].sweep == 4
    resumed = topicloom.resume(tmp_path / "model", max_iter=6)
    assert resumed.class_weight == weights
    assert resumed.fingerprint_ == whole.fingerprint_


def written(folder: Path, name: str, **params: Any) -> Path:
    """A small model's directory, with some parameters of its manifest changed and the digest right."""
    for file, content in base(name)[0].items():
        (folder / file).write_bytes(content)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(signed(manifest | {"params": manifest["params"] | params})))
    return folder


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lda mh", {"n_jobs": {"a": 1}}),
        ("lda mh", {"verbose": "loud"}),
        ("lda mh", {"doc_topic_prior": ["a"]}),
        ("variational cvb0", {"mean_change_tol": [1]}),
        ("labels labeled", {"checkpoint_dir": 5}),
        ("labels labeled", {"predict_options": 5}),
        ("labels labeled", {"predict_options": 5, "predict_lag": 2}),
        ("labels labeled", {"predict_options": {"n_samples": 0}}),
        ("lda mh", {"predict_options": {"n_samples": 1.5}}),
        ("lda mh", {"predict_options": {"samples": 1}}),
        ("lda mh", {"predict_samples": {"a": 1}}),
        ("lda mh", {"sampler_options": [["n_mh", 2]]}),
        ("compound mgs", {"method_options": {"target_acceptance": 2.0}}),
        ("compound mgs", {"collection_prior": {"shape": "x"}}),
        ("compound mgs", {"collection_prior": None, "collection_prior_gamma": [1.0]}),
        ("medlda classes", {"class_weight": [["no class", 1.0]]}),
        ("medlda classes", {"class_weight": [[0, 1.0, 2.0]]}),
        ("hmm gibbs", {"alphabet": {"a": 1}}),
    ],
)
def test_parameters_that_no_model_has_are_refused(name: str, params: dict[str, Any], tmp_path: Path) -> None:
    folder = written(tmp_path, f"finished {name}", **params)
    with pytest.raises(StorageError, match=r"manifest\.json"):
        _ = topicloom.load(folder).chains_


@pytest.mark.parametrize(
    ("name", "kind", "names"),
    [
        ("variational cvb0", "LDA", {"method": "inference"}),
        ("compound vem", "CompoundLDA", {"method": "inference"}),
        ("labels cvb0", "LabeledLDA", {"method": "inference"}),
        ("hmm em", "HMM", {"method": "inference", "n_components": "n_states"}),
    ],
)
@pytest.mark.parametrize("status", ["finished", "running"])
def test_parameters_are_known_by_their_earlier_names(
    name: str, kind: str, names: dict[str, str], status: str, tmp_path: Path
) -> None:
    """And those that a model has no more, as LDA of another method had, are left out."""
    models = []
    for folder in (tmp_path / "now", tmp_path / "then"):
        folder.mkdir()
        written(folder, f"{status} {name}")
        if folder.name == "then":
            manifest = json.loads((folder / MANIFEST).read_text())
            params = {names.get(key, key): value for key, value in manifest["params"].items()}
            params |= {"sampler": "auto", "estimator": "cgs_p"} if kind == "LDA" else {}
            (folder / MANIFEST).write_text(json.dumps(signed(manifest | {"kind": kind, "params": params})))
        models.append(topicloom.load(folder) if status == "finished" else topicloom.resume(folder))
    now, then = models
    assert type(then) is type(now)
    own = {"checkpoint_dir"}  # where it is
    assert {k: v for k, v in then.get_params().items() if k not in own} == {
        k: v for k, v in now.get_params().items() if k not in own
    }
    assert then.fingerprint_ == now.fingerprint_
    assert len(then.chains_) == len(now.chains_)


# Parameters as they were before there were dicts of options; "…_lag" is still older.
PREDICT = {"predict_burn_in": 1, "predict_samples": 1, "predict_chains": 1}
FLAT: dict[str, dict[str, Any]] = {
    "lda mh": {**PREDICT, "predict_lag": 2, "n_mh": 2, "doc_topic_paths": "mean", "lag": 10},
    "labels prior": {**PREDICT, "predict_thin": 5, "predict_estimator": "cgs_p"},
    "medlda classes": {
        **PREDICT, "predict_lag": 2, "predict_estimator": "cgs_p", "n_mh": 6, "n_gibbs": 2, "composition": "mixture",
    },
    "compound mgs": {
        **PREDICT, "predict_thin": 2, "n_mh": 2, "doc_topic_paths": "mean", "n_langevin": 5, "target_acceptance": 0.574,
        "tol": 1e-3, "max_doc_update_iter": 10, "mean_change_tol": 1e-3, "collection_prior_gamma": [1.0, 1.0],
    },
}  # fmt: skip


def flattened(folder: Path, name: str, more: dict[str, Any]) -> Path:
    """A small model's directory, with parameters in the place of dicts of options."""
    folder.mkdir()
    written(folder, name)
    manifest = json.loads((folder / MANIFEST).read_text())
    gone = {"predict_options", "sampler_options", "method_options"} | ({"thin"} if "lag" in more else set())
    params = {key: value for key, value in manifest["params"].items() if key not in gone}
    (folder / MANIFEST).write_text(json.dumps(signed(manifest | {"params": params | more})))
    return folder


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("status", ["finished", "running"])
def test_parameters_that_are_options_now_are_read(name: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "now").mkdir()
    folders = (
        written(tmp_path / "now", f"{status} {name}"),
        flattened(tmp_path / "then", f"{status} {name}", FLAT[name]),
    )
    now, then = (topicloom.load(one) if status == "finished" else topicloom.resume(one) for one in folders)
    assert then.fingerprint_ == now.fingerprint_
    for option in now._OPTIONS:
        assert read_options(then, option) == read_options(now, option)
    np.testing.assert_array_equal(then.transform(TEXTS), now.transform(TEXTS))
    more = [topicloom.resume(one, max_iter=6) for one in folders]
    assert more[0].fingerprint_ == more[1].fingerprint_


def test_a_prior_that_was_learned_under_another_gamma_distribution_is_read(tmp_path: Path) -> None:
    given = {"collection_prior": None, "collection_prior_gamma": [2.0, 3.0]}
    folder = flattened(tmp_path / "then", "finished compound ags", FLAT["compound mgs"] | given)
    assert topicloom.load(folder).collection_prior == {"shape": 2.0, "rate": 3.0}


def test_topics_of_the_first_path_are_told(tmp_path: Path) -> None:
    folder = flattened(tmp_path / "then", "finished lda paths", FLAT["lda mh"] | {"doc_topic_paths": "first"})
    with pytest.warns(UserWarning, match=r'fitted with doc_topic_paths="first", which is gone: .*paths="first"\)'):
        model = topicloom.load(folder)
    assert not np.array_equal(model.estimate("standard", paths="first")[0], model.estimate("standard")[0])


def test_parameters_of_any_right_type_are_read(tmp_path: Path) -> None:
    model = topicloom.LDA(
        2, sampler="dense", doc_topic_prior=np.array([0.1, 2]), topic_word_prior=1, seed_words={1: ["goal"]},
        learn_priors=np.bool_(False), verbose=False, max_iter=10, random_state=1, checkpoint_dir=tmp_path / "run",
    )  # fmt: skip
    model.fit(TEXTS * 20)
    model.save(tmp_path / "model")
    for folder in ("run", "model"):
        loaded = topicloom.load(tmp_path / folder)
        assert loaded.fingerprint_ == model.fingerprint_
        assert loaded.doc_topic_prior == [0.1, 2]
        assert loaded.seed_words == {1: ["goal"]}
    hmm = topicloom.HMM(2, max_iter=3, random_state=1, emission_prior=[[1.0, 2.0]] * 2).fit([["a", "b", "a"]])
    hmm.save(tmp_path / "hmm")
    assert topicloom.load(tmp_path / "hmm").alphabet == ["a", "b"]

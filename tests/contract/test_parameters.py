"""Parameters of all models: how many, the same name for the same thing, options in a dict, names that are gone."""

import inspect
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints, is_typeddict

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import topicloom
from topicloom import models
from topicloom.engine.estimator.parameters import PredictOptions, check_parameters, read_options
from topicloom.errors import InputError, InputTypeError
from topicloom.files.manifests import signed

MODELS = {name: getattr(topicloom, name) for name in models.__all__}
MOST = {**dict.fromkeys(MODELS, 24), "DependencyLDA": 26, "CompoundLDA": 27, "MedLDAClassifier": 25}
OPTIONS = [(name, option) for name, model in MODELS.items() for option in model._OPTIONS]
COUNTS = np.random.default_rng(0).poisson(1.0, (30, 12))
COUNTS[:, 0] += 1
QUICK: dict[str, Any] = {"max_iter": 4, "random_state": 0}
PREDICT: PredictOptions = {"burn_in": 1, "thin": 1, "n_samples": 2, "n_chains": 1}


def parameters(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(MODELS[name]).parameters)


# -- how many, and the same everywhere -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_no_model_has_many_parameters(name: str) -> None:
    assert len(parameters(name)) <= MOST[name]
    assert parameters(name).keys() == MODELS[name]().get_params().keys()
    given = {p.name: p.default for p in parameters(name).values()}
    assert MODELS[name]().get_params() == given


# What differs between models that have a parameter of one name, since the thing itself does.
OTHER_TYPES = {
    "method", "sampler", "loss", "sampler_options",  # choices of its own
    "max_iter",  # VariationalLDA stops by tol, not when chains agree
    "n_shards",  # "auto" where any number of shards is exact
    "doc_topic_prior", "topic_word_prior",  # of labels α is one number and β is never learned
}  # fmt: skip
OTHER_DEFAULTS = {
    "n_components", "method", "sampler", "loss", "loss_weight", "topic_word_prior", "n_shards",
    "estimator", "max_iter", "burn_in", "thin",  # a supervised chain settles in fewer sweeps, and keeps samples
    "n_chains",  # one chain for numbers is noisy
}  # fmt: skip


def test_one_name_means_one_thing() -> None:
    types: dict[str, set[str]] = {}
    defaults: dict[str, set[str]] = {}
    for name in MODELS:
        for parameter in parameters(name).values():
            types.setdefault(parameter.name, set()).add(str(parameter.annotation))
            defaults.setdefault(parameter.name, set()).add(repr(parameter.default))
    assert {name for name, found in types.items() if len(found) > 1} == OTHER_TYPES
    assert {name for name, found in defaults.items() if len(found) > 1} == OTHER_DEFAULTS


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_and_option_is_in_the_docstring(name: str) -> None:
    """Or in that of a model whose parameters it is said to have."""
    own, lda = MODELS[name].__doc__, topicloom.LDA.__doc__
    text = own + "".join(cls.__doc__ for cls in MODELS[name].__mro__[1:] if f"as of ``{cls.__name__}``" in own)
    text += topicloom.LabeledLDA.__doc__ if "and ``LabeledLDA``" in own else ""
    assert [parameter for parameter in parameters(name) if not re.search(rf"\b{parameter}\b", text)] == []
    for option, known in MODELS[name]._OPTIONS.items():
        as_of_lda = known is topicloom.LDA._OPTIONS.get(option)
        assert [key for key in known if f"``{key}``" not in (lda if as_of_lda else text)] == []


# -- options in a dict -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_options_have_the_keys_and_types_that_type_checkers_see(name: str, option: str) -> None:
    (typed,) = filter(is_typeddict, get_args(parameters(name)[option].annotation))
    known = MODELS[name]._OPTIONS[option]
    assert get_type_hints(typed).keys() == known.keys()
    for key, kind in get_type_hints(typed).items():
        default = known[key].default
        kinds = [part for part in (kind, *get_args(kind)) if isinstance(part, type)]
        values = [value for part in (kind, *get_args(kind)) for value in get_args(part)]
        assert default is None or default in values or isinstance(default, tuple(kinds))
    assert read_options(MODELS[name](), option) == {key: own.default for key, own in known.items()}


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_what_is_left_out_is_the_default(name: str, option: str) -> None:
    known = MODELS[name]._OPTIONS[option]
    defaults = {key: own.default for key, own in known.items()}
    for key, value in defaults.items():
        if value is not None:
            given = {key: value}
            model = MODELS[name](**{option: given})
            assert read_options(model, option) == defaults
            assert getattr(model, option) is given == {key: value}  # as it was given, and not changed


@pytest.mark.parametrize(("name", "option"), OPTIONS)
@pytest.mark.parametrize("wrong", [5, "burn_in", [("burn_in", 1)], {"samples": 1}, {3: 1}])
def test_what_is_no_option_is_refused_with_the_keys_that_there_are(name: str, option: str, wrong: Any) -> None:
    with pytest.raises(InputError) as refused:
        MODELS[name](**{option: wrong}).fit(COUNTS)
    assert option in str(refused.value)
    assert all(repr(key) in str(refused.value) for key in MODELS[name]._OPTIONS[option])


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_wrong_values_of_options_are_refused_by_their_names(name: str, option: str) -> None:
    for key in MODELS[name]._OPTIONS[option]:
        for value in (None, "x", -1, [2], True):
            with pytest.raises(InputError) as refused:
                check_parameters(MODELS[name](**{option: {key: value}}))
            assert str(refused.value).startswith(f"{option}['{key}']={value!r}")
            assert "must be" in str(refused.value) or "choose one of" in str(refused.value)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_options_are_parameters_as_scikit_learn_has_them(name: str, option: str) -> None:
    given = {key: own.default for key, own in MODELS[name]._OPTIONS[option].items() if own.default is not None}
    model = MODELS[name](**{option: given})
    for copied in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == model.get_params()
        assert getattr(copied, option) == given
        assert getattr(copied, option) is not given
    assert f"{option}={{" in repr(model)
    assert option not in repr(MODELS[name]())
    assert MODELS[name]().set_params(**{option: given}).get_params() == model.get_params()


def test_a_search_over_options_of_prediction() -> None:
    choices = [None, PREDICT, {"n_samples": 40, "estimator": "standard"}]
    lda = topicloom.LDA(3, **QUICK, estimator="standard")
    search = GridSearchCV(lda, {"predict_options": choices}, cv=2).fit(COUNTS)
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    assert search.best_estimator_.predict_options in choices
    labels = (COUNTS[:, :3] > 0).astype(int)
    search = GridSearchCV(topicloom.PriorLDA(burn_in=None, **QUICK), {"predict_options": choices[1:]}, cv=2)
    assert np.isfinite(search.fit(COUNTS, labels).cv_results_["mean_test_score"]).all()


def test_the_estimator_of_prediction_is_that_of_the_model_unless_another_is_given() -> None:
    names = ("standard", "cgs_p")
    by = {(own, None): topicloom.LDA(3, **QUICK, estimator=own, predict_options=PREDICT).fit(COUNTS) for own in names}
    for (own, _), model in list(by.items()):
        for new in names:
            by[own, new] = clone(model).set_params(predict_options={**PREDICT, "estimator": new}).fit(COUNTS)
    for own in names:
        theta = {new: by[own, new].transform(COUNTS) for new in (None, *names)}
        np.testing.assert_array_equal(theta[None], theta[own])
        assert np.abs(theta["standard"] - theta["cgs_p"]).max() > 0
        assert by[own, None].perplexity(COUNTS) == by[own, own].perplexity(COUNTS)
        assert by[own, "standard"].perplexity(COUNTS) != by[own, "cgs_p"].perplexity(COUNTS)


def test_options_are_saved_and_restored(tmp_path: Any) -> None:
    model = topicloom.CompoundLDA(
        3, **QUICK, method="mgs", predict_options=PREDICT, method_options={"n_langevin": np.int64(2)},
        sampler_options={"n_mh": 3}, collection_prior={"shape": 2.0},
    ).fit(COUNTS, groups=["a", "b"] * 15)  # fmt: skip
    model.save(tmp_path / "model")
    loaded = topicloom.load(tmp_path / "model")
    own = {name: value for name, value in model.get_params().items() if name != "random_state"}
    assert {name: value for name, value in loaded.get_params().items() if name != "random_state"} == own
    assert loaded.fingerprint_ == model.fingerprint_


# -- names that earlier versions had ---------------------------------------------------------------------------------

OLD: list[tuple[Callable[[], Any], str]] = [
    (lambda: topicloom.LDA(predict_samples=10), "write predict_options={'n_samples': 10}."),
    (
        lambda: topicloom.LDA(3, predict_burn_in=3, predict_lag=2),
        "predict_burn_in, predict_lag are not parameters of LDA; write predict_options={'burn_in': 3, 'thin': 2}.",
    ),
    (lambda: topicloom.LDA(lag=2), "lag is not a parameter of LDA; write thin=2."),
    (lambda: topicloom.LDA(n_mh=4), "write sampler_options={'n_mh': 4}."),
    (lambda: topicloom.LDA(tol=0.1), "leave it out, or use VariationalLDA"),
    (lambda: topicloom.LDA(doc_topic_paths="first"), 'estimate(..., paths="first")'),
    (lambda: topicloom.VariationalLDA(predict_thin=1), "VariationalLDA draws nothing"),
    (lambda: topicloom.VariationalLDA(inference="vb"), "write method='vb'."),
    (lambda: topicloom.PriorLDA(predict_estimator="standard"), "write predict_options={'estimator': 'standard'}."),
    (lambda: topicloom.MedLDARegressor(composition="doc"), "write sampler_options={'composition': 'doc'}."),
    (
        lambda: topicloom.CompoundLDA(tol=0.1, n_mh=2, n_langevin=1),
        "write method_options={'tol': 0.1, 'n_langevin': 1}, sampler_options={'n_mh': 2}.",
    ),
    (lambda: topicloom.CompoundLDA(collection_prior_gamma=(1, 2)), 'write collection_prior={"shape": …, "rate": …}.'),
    (lambda: topicloom.HMM(n_states=3), "n_states is not a parameter of HMM; write n_components=3."),
    (lambda: topicloom.LDA().set_params(predict_chains=1), "write predict_options={'n_chains': 1}."),
    (lambda: topicloom.MedLDAClassifier().set_params(n_gibbs=1), "write sampler_options={'n_gibbs': 1}."),
]


@pytest.mark.parametrize(("call", "message"), OLD)
def test_an_old_name_says_what_to_write(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputTypeError) as refused:
        call()
    assert message in str(refused.value)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("name", MODELS)
def test_a_name_that_never_was_is_refused_in_the_models_own_name(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}.__init__\(\) got an unexpected keyword argument 'colour'"):
        MODELS[name](colour="red")
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        MODELS[name]().set_params(colour="red")


def test_parameters_that_a_model_has_are_no_old_names() -> None:
    assert topicloom.VariationalLDA(tol=0.1, mean_change_tol=0.2, max_doc_update_iter=3).tol == 0.1
    assert topicloom.HMM(tol=0.1, thin=2).thin == 2


def test_a_subclass_may_add_parameters() -> None:
    class Own(topicloom.LDA):
        def __init__(self, *, colour: str = "red", **others: Any) -> None:
            super().__init__(**others)
            self.colour = colour

    assert Own(colour="blue", max_iter=3).max_iter == 3
    with pytest.raises(TypeError, match="'color'"):
        Own(color="blue")


def test_an_option_of_prediction_chooses_its_method() -> None:
    for given, method in ((None, "cvb0"), ({}, "cvb0"), ({"tol": 0.1}, "cvb0"), ({"n_samples": 3}, "gibbs")):
        assert topicloom.LDA(predict_options=given)._prediction().method == method
    assert topicloom.LabeledLDA()._prediction().method == "cvb0"
    for wrong in ({"tol": 0.1, "burn_in": 3}, {"method": "cvb0", "burn_in": 3}, {"method": "gibbs", "max_iter": 3}):
        with pytest.raises(InputError, match=r"predict_options has the key '\w+', which is of the method"):
            topicloom.LDA(3, **QUICK, predict_options=wrong).fit(COUNTS)
    whole = topicloom.LDA(3, **QUICK).fit(COUNTS)
    assert np.isfinite(whole.transform(COUNTS * 0.5)).all()  # fractions, where nothing is drawn
    with pytest.raises(InputError, match=r"is not an integer; sampling needs integer counts"):
        whole.set_params(predict_options={"method": "gibbs"}).transform(COUNTS * 0.5)


@pytest.mark.parametrize("given", [None, {"method": "gibbs"}, {"tol": 0.2}])
def test_a_saved_model_keeps_its_way_of_prediction(tmp_path: Path, given: Any) -> None:
    model = topicloom.LDA(3, **QUICK, predict_options=given).fit(COUNTS)
    model.save(tmp_path / "model")
    assert topicloom.load(tmp_path / "model").predict_options == given
    manifest = tmp_path / "model" / "manifest.json"
    document = json.loads(manifest.read_text())
    document["params"]["predict_options"] = None  # as an earlier version wrote it, which drew topics
    manifest.write_text(json.dumps(signed(document)))
    old = topicloom.load(tmp_path / "model")
    np.testing.assert_array_equal(
        old.transform(COUNTS), model.set_params(predict_options={"method": "gibbs"}).transform(COUNTS)
    )

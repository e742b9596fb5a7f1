"""Models are estimators of scikit-learn: the parts of its protocol that its checks leave out."""

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

import topicloom
from topicloom import (
    HDP,
    HMM,
    LDA,
    CompoundLDA,
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
)
from topicloom.engine.estimator.matrices import checked_matrix
from topicloom.errors import InputError

MODELS = (
    LDA, VariationalLDA, CompoundLDA, DependencyLDA, HDP, HMM, LabeledLDA, MedLDAClassifier, MedLDARegressor, PriorLDA
)  # fmt: skip
X = np.array([[3, 0, 1], [0, 2, 2], [1, 1, 0], [4, 0, 0], [0, 3, 3], [2, 1, 0]])


@pytest.fixture(scope="module")
def fitted() -> LDA:
    return LDA(2, max_iter=3, random_state=0).fit(X)


@pytest.mark.parametrize("cls", MODELS)
def test_all_models_are_known_to_the_list(cls: type) -> None:
    assert cls.__name__ in topicloom.models.__all__
    assert len(MODELS) == len(topicloom.models.__all__)


@pytest.mark.parametrize("cls", MODELS)
def test_every_model_is_an_estimator(cls: type) -> None:
    model = cls()
    assert isinstance(model, BaseEstimator)
    assert isinstance(model, TransformerMixin) is hasattr(model, "transform")
    assert is_classifier(model) is (cls in (MedLDAClassifier, LabeledLDA, PriorLDA, DependencyLDA))
    assert is_regressor(model) is (cls is MedLDARegressor)


@pytest.mark.parametrize("cls", MODELS)
def test_parameters_as_scikit_learn_has_them(cls: type) -> None:
    model = cls(max_iter=7)
    defaults = {name: given.default for name, given in inspect.signature(cls).parameters.items()}
    assert model.get_params() == defaults | {"max_iter": 7}
    assert model.get_params(deep=False) == model.get_params()
    assert model.set_params(max_iter=9, random_state=1) is model
    assert (model.max_iter, model.random_state) == (9, 1)
    assert model.set_params() is model
    with pytest.raises(ValueError, match=f"Invalid parameter 'rounds' for estimator {cls.__name__}"):
        model.set_params(max_iter=3, rounds=4)
    again = clone(model)
    assert type(again) is cls
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("cls", MODELS)
def test_texts_and_diagrams(cls: type) -> None:
    model = cls(max_iter=7)
    assert repr(model) == f"{cls.__name__}(max_iter=7)"
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert "max_iter" in bundle["text/html"]
    assert "max_iter" in model._repr_html_()
    inside = make_pipeline("passthrough", model)
    assert f"{cls.__name__}(max_iter=7)" in repr(inside)
    assert "max_iter" in inside._repr_html_()
    with sklearn.config_context(display="text", print_changed_only=False):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
        assert "checkpoint_every=" in repr(model)


@pytest.mark.parametrize("cls", MODELS)
def test_an_attribute_that_is_not_there(cls: type) -> None:
    model = cls()
    for name in ("no_such_thing", "_no_such_thing", "__no_such_thing__", "seed_"):
        with pytest.raises(AttributeError, match=f"'{cls.__name__}' object has no attribute '{name}'"):
            getattr(model, name)
    with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
        check_is_fitted(model)
    with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet"):
        _ = model.corpus_


def test_methods_that_only_some_have() -> None:
    assert hasattr(VariationalLDA(method="svb"), "partial_fit")
    assert not hasattr(VariationalLDA(), "partial_fit")
    assert not hasattr(LDA(), "partial_fit")
    with pytest.raises(AttributeError, match="has no method 'partial_fit'"):
        LDA().partial_fit(X)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        VariationalLDA().partial_fit(X)
    assert "has no method 'partial_fit'" in str(error.value.__cause__)
    assert "more documents" in (VariationalLDA.partial_fit.__doc__ or "")


def test_copies(fitted: LDA) -> None:
    for other in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert type(other) is LDA
        assert other.fingerprint_ == fitted.fingerprint_
        np.testing.assert_array_equal(other.transform(X), fitted.transform(X))


@pytest.mark.parametrize("cls", [LDA, CompoundLDA, LabeledLDA, MedLDAClassifier])
def test_output_in_frames(cls: type) -> None:
    short = {"burn_in": None} if cls in (LabeledLDA, MedLDAClassifier) else {}
    y = [] if cls is LDA else [["a", "b", "a", "b", "a", "b"]]
    model = cls(max_iter=3, random_state=0, **short).fit(X, *y)
    plain = model.transform(X)
    assert type(plain) is np.ndarray
    plain_names = [f"{cls.__name__.lower()}{k}" for k in range(plain.shape[1])]
    names = ["a", "b"] if cls is LabeledLDA else plain_names  # topics are labels
    assert list(model.get_feature_names_out()) == names
    assert model.set_output(transform="pandas") is model
    for frame in (model.transform(X), pickle.loads(pickle.dumps(model)).transform(X), model.fit_transform(X, *y)):
        assert list(frame.columns) == names
        np.testing.assert_array_equal(frame.to_numpy(), plain)
    assert list(clone(model).fit(X, *y).transform(X).columns) == names
    assert model.set_output() is model
    assert type(model.set_output(transform="polars").transform(X)).__module__.startswith("polars")
    assert type(model.set_output(transform="default").transform(X)) is np.ndarray
    with pytest.raises(ValueError, match="output config"):
        model.set_output(transform="paper").transform(X)


def test_output_as_set_for_all(fitted: LDA) -> None:
    with sklearn.config_context(transform_output="pandas"):
        assert list(fitted.transform(X).columns) == ["lda0", "lda1"]
    assert type(fitted.transform(X)) is np.ndarray


def test_a_frame_is_asked_for_in_another_process(tmp_path: Path) -> None:
    model = LDA(2, max_iter=3, random_state=0).fit(X).set_output(transform="pandas")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys, numpy; model = pickle.load(open(sys.argv[1], 'rb')); "
        "print(list(model.transform(numpy.ones((2, 3))).columns))"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "model.pickle")]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "['lda0', 'lda1']\n"


def test_metadata_routing() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = CompoundLDA(2, max_iter=3, random_state=0)
        assert model.set_fit_request(groups=True) is model
        assert model.set_transform_request(groups="label") is model
        requests = clone(model).get_metadata_routing()
        assert requests.fit.requests["groups"] is True
        assert requests.transform.requests == {"groups": "label"}
        pipeline = make_pipeline(model).fit(X, groups=list("ababab"))
        assert pipeline[0].collections_ == ("a", "b")


def test_an_error_in_a_property_is_the_one_that_is_seen() -> None:
    class Broken(LDA):
        @property
        def odd_(self) -> int:
            return self.not_there  # type: ignore[no-any-return, attr-defined]

    with pytest.raises(AttributeError, match="not_there"):
        _ = Broken().odd_


# -- input --------------------------------------------------------------------------------------------------------


class Inheriting(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


CASES = {
    "whole": X,
    "small": X.astype(np.uint8),
    "fractions": X + 0.5,
    "single": X.astype(np.float32),
    "columns first": np.asfortranarray(X),
    "csr": sp.csr_matrix(X),
    "csr array": sp.csr_array(X),
    "csc": sp.csc_array(X),
    "coo": sp.coo_matrix(X),
    "nothing stored": sp.csr_array((4, 3)),
    "one column": X[:, :1],
    "truth values": X > 1,
    "lists": X.tolist(),
    "objects": X.astype(object),
    "strings": X.astype(str),
    "negative": -X,
    "not a number": np.where(X == 4, np.nan, X),
    "infinite": np.where(X == 4, np.inf, X),
    "sparse and negative": sp.csr_array(-X),
    "sparse and not a number": sp.csr_array(np.where(X == 4, np.nan, X)),
    "sparse and complex": sp.csr_array(X * 1j),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "a vector": X[0],
    "a cube": X[None],
    "complex": X * 1j,
    "a text": "text",
    "a number": 3,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_features", [None, 3, 2])
def test_input_is_taken_and_refused_as_by_scikit_learn(case: str, n_features: int | None) -> None:
    """With and without the number of columns that a fit has seen."""

    def outcome(model, check):
        if n_features is not None:
            model.n_features_in_ = n_features
        try:
            found = check(model)
        except Exception as error:
            return type(error), str(error).replace("Inheriting", "LDA"), None, None
        dense = found.toarray() if sp.issparse(found) else found
        return "sparse" if sp.issparse(found) else type(found), dense.dtype, dense.tolist(), model.n_features_in_

    reset = n_features is None
    checks = {"accept_sparse": "csr", "dtype": "numeric", "ensure_non_negative": True, "reset": reset}
    theirs = outcome(Inheriting(), lambda model: validate_data(model, CASES[case], **checks))
    ours = outcome(LDA(), lambda model: checked_matrix(model, CASES[case], reset=reset))
    if isinstance(theirs[0], type) and issubclass(theirs[0], Exception):
        assert issubclass(ours[0], InputError)  # in our own words
        assert issubclass(ours[0], theirs[0])
    else:
        assert ours == theirs


def test_names_of_columns_come_and_go() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    model = LDA(2, max_iter=3, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[["y", "x", "z"]])
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names"):
        model.transform(frame)

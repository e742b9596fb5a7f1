"""What scikit-learn asks of an estimator, without importing it before it is needed.

``import sklearn.base`` takes a second and more, since it brings scipy.stats with it and, where they are installed,
pandas and pyarrow. A fit needs nothing of all that. So models follow scikit-learn's protocol without inheriting from
its classes: what a fit uses is written here, and all else (tags, texts and diagrams, frames as output, metadata
routing, input that is not plain) is asked of scikit-learn's own classes when somebody asks for it.
"""

import inspect
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from topicloom._types import AnyArray
from topicloom.corpus._matrices import as_csr, check_matrix_like
from topicloom.corpus._refused import why_no_counts
from topicloom.errors import InputError, InputTypeError

F = TypeVar("F", bound=Callable[..., Any])


class Estimator:
    """Parameters, as scikit-learn reads and sets them; the rest of its protocol by ``_counterpart``."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        given = inspect.signature(cls.__init__).parameters.values()
        return sorted(p.name for p in given if p.name != "self" and p.kind is not p.VAR_KEYWORD)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name. No model has others inside, so ``deep`` changes nothing."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        if not params.keys() <= set(self._get_param_names()):
            self._counterpart().set_params(**params)  # which says what is wrong
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _counterpart(self) -> Any:
        """This estimator as scikit-learn would have it: an instance of its own base classes with the same attributes.

        Both have one dictionary, so that what is set on one is set on the other. It is never handed out.
        """
        own: Any = type(self)
        view = object.__new__(_counterpart_class(own))
        view.__dict__ = self.__dict__
        return view

    def __repr__(self) -> str:
        return repr(self._counterpart())

    def __sklearn_tags__(self) -> Any:
        return self._counterpart().__sklearn_tags__()

    @property
    def _repr_html_(self) -> Any:  # a property, since scikit-learn can be told to have none
        return self._counterpart()._repr_html_

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self._counterpart()._repr_mimebundle_(**kwargs)

    if not TYPE_CHECKING:  # or every misspelt attribute would pass for one of scikit-learn's

        def __getattr__(self, name: str) -> Any:
            """What scikit-learn gives its own estimators besides, for whoever has imported it and looks for that."""
            cls = type(self)
            if hasattr(cls, name):
                return object.__getattribute__(self, name)  # a property that failed: its own error again
            if "sklearn" in sys.modules and not name.startswith("__") and hasattr(_counterpart_class(cls), name):
                view = self._counterpart()
                found = getattr(view, name)
                return _answering_for(self, view, found) if callable(found) else found
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")


class Transformer(Estimator):
    """An estimator with ``transform``, whose columns are named by the class and numbered."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, and transform the same documents as if they were new."""
        fitted: Any = self
        return (fitted.fit(X, **fit_params) if y is None else fitted.fit(X, y, **fit_params)).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns that ``transform`` gives: the class in lower case and the topic's number."""
        names: AnyArray = self._counterpart().get_feature_names_out(input_features)
        return names

    def set_output(self, *, transform: str | None = None) -> Self:
        """What ``transform`` gives: "pandas" or "polars" frames, or arrays ("default"). None leaves it as it is."""
        self._counterpart().set_output(transform=transform)
        return self


@cache
def _counterpart_class(cls: Any) -> Any:
    """The class with scikit-learn's base classes put before it, so that theirs is what is found first."""
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    def missing(view: Any, name: str) -> Any:  # in place of the look-up in a counterpart, which this is
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")

    own = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__getattr__": missing,
    }
    if not issubclass(cls, Transformer):
        return type(cls.__name__, (BaseEstimator, cls), own)

    @wraps(cls.transform)  # scikit-learn reads its signature
    def given(view: Any, X: Any, result: Any) -> Any:
        return result

    # TransformerMixin puts what this returns into a frame if that is asked for.
    bases = (ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, cls)
    return type(cls.__name__, bases, own | {"transform": given})


def _answering_for(model: Estimator, view: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """A counterpart's method that returns the model where it would return the counterpart."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        answer = method(*args, **kwargs)
        return model if answer is view else answer

    return call


def in_output_container(transform: F) -> F:
    """For ``transform``: its answer in the kind of frame that was set for this model, or for all in scikit-learn."""

    @wraps(transform)
    def wrapped(self: Transformer, X: Any, *args: Any, **kwargs: Any) -> Any:
        result = transform(self, X, *args, **kwargs)
        if "sklearn" not in sys.modules and "_sklearn_output_config" not in vars(self):
            return result  # nobody can have asked for anything but an array
        return self._counterpart().transform(X, result)

    return cast(F, wrapped)


class _ConditionalMethod:
    """A method that only some instances have."""

    def __init__(self, method: Callable[..., Any], condition: Callable[[Any], bool]) -> None:
        self._method, self._condition = method, condition
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self._method
        if not self._condition(model):
            raise AttributeError(f"this {owner.__name__} has no method {self._method.__name__!r}")
        return MethodType(self._method, model)


def available_if(condition: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """A method that instances have if the condition holds; ``hasattr``, by which others choose, says so."""
    return lambda method: _ConditionalMethod(method, condition)


def check_is_fitted(model: Any, attribute: str = "seed_") -> None:
    if not hasattr(model, attribute):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


def checked_matrix(model: Any, X: Any, *, reset: bool) -> Any:
    """A matrix of counts as an array or in CSR form; ``reset`` says that it is one to learn from.

    Plain matrices are looked at here, to the same effect as by scikit-learn, which sees to all others: frames, lists,
    other kinds of numbers, and whatever is to be refused.
    """
    check_matrix_like(X)
    matrix = as_csr(X) if sp.issparse(X) else X
    if _is_plain(matrix) and not (hasattr(model, "feature_names_in_") and not reset):
        if reset:
            model.n_features_in_ = matrix.shape[1]
            vars(model).pop("feature_names_in_", None)  # of an earlier fit
        if matrix.shape[1] == model.n_features_in_:
            return matrix
    from sklearn.utils.validation import validate_data

    try:
        return validate_data(model, matrix, accept_sparse="csr", dtype="numeric", ensure_non_negative=True, reset=reset)
    except MemoryError:
        raise
    except Exception as error:  # of scikit-learn, or of whatever made X
        raise _refusal(X, error, reset) from error


def _refusal(X: Any, error: Exception, reset: bool) -> InputError:
    """The error in our own words, as far as they are known."""
    if (known := why_no_counts(X)) is not None:
        return known
    kind = InputTypeError if isinstance(error, TypeError) else InputError
    remedy = "" if reset else "Give the words of the fit, in its order, or a Corpus, whose words are matched by name."
    return kind(f"X cannot be used as a documents × words matrix of counts. {error} {remedy}".rstrip())


def _is_plain(matrix: Any) -> bool:
    """Whether it is an array, or a sparse matrix, of non-negative finite numbers."""
    sparse: bool = sp.issparse(matrix)
    if not (sparse or type(matrix) is np.ndarray) or matrix.ndim != 2 or 0 in matrix.shape:
        return False
    values = matrix.data if sparse else matrix
    if values.dtype.kind not in "iuf":
        return False
    return values.size == 0 or bool(values.min() >= 0 and values.max() < np.inf)

"""Parameters of models: what each may be, options in a dict, and the names that earlier versions had.

A model declares checks of its parameters in ``_CHECKS`` and its options, with their defaults, in ``_OPTIONS``. What
several models have is declared here, once.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

import numpy as np

from topicloom.corpus._checks import check_choice, check_number, check_whole, shown
from topicloom.engine import stopping
from topicloom.engine.estimates import ESTIMATORS, Estimator
from topicloom.engine.expected_counts import MAX_ITER, TOL
from topicloom.errors import InputError, InputTypeError

F = TypeVar("F", bound=Callable[..., None])
PredictMethod: TypeAlias = Literal["cvb0", "gibbs"]
Check = Callable[[str, Any], Any]  # of a name and a value; raises InputError

# Bounds of priors, weights of a loss and the like. Beside counts, which are below 2³¹, a prior under the lower one is
# as good as none, and one over the upper one as good as infinite. Between them all that is made of two such numbers
# and a count, squared, stays within 10^±70: far inside what a number of 64 bits can hold, so that no sum becomes NaN.
LEAST, MOST = 1e-12, 1e12


# -- checks ------------------------------------------------------------------------------------------------------------


def whole(least: int) -> Check:
    """A whole number of at least ``least``."""
    return partial(check_whole, least=least)


def number(least: float, most: float = np.inf) -> Check:
    """A finite number from ``least`` to ``most``."""
    return partial(check_number, least=least, most=most)


def choice(choices: Sequence[str]) -> Check:
    """One of some strings."""
    return partial(check_choice, choices=choices)


def or_none(check: Check) -> Check:
    """None, or what the check accepts."""
    return lambda name, value: None if value is None else check(name, value)


def flag(name: str, value: Any) -> None:
    """True or False, or a whole number."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise InputError(f"{name}={shown(value)} must be True or False, or a whole number.")


def whole_or_auto(least: int) -> Check:
    """A whole number of at least ``least``, or "auto"."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, str):
            check_whole(name, value, least)
        elif value != "auto":
            raise InputError(f'{name}={shown(value)} must be "auto" or a whole number of at least {least}.')

    return check


def shards_of(value: Any) -> int:
    """Of a parameter that has been checked; 0 leaves it to the corpus (``engine.shards.shards_for``)."""
    return 0 if value == "auto" else int(value)


positive = number(LEAST, MOST)  # a number that calculations can bear

_SHARED: Mapping[str, Check] = {  # parameters that several models have
    **dict.fromkeys(("n_components", "thin", "n_chains", "n_paths"), whole(1)),
    "n_shards": whole_or_auto(1),
    **dict.fromkeys(("trace_every", "checkpoint_every", "max_doc_update_iter"), whole(1)),
    **dict.fromkeys(("tol", "mean_change_tol"), number(0.0)),
    "estimator": choice(ESTIMATORS),
    "learn_priors": or_none(flag),
    "verbose": flag,
}


def check_parameters(model: Any) -> None:
    """Check all parameters of a model that do not depend on data."""
    cls: Any = type(model)
    checks = {name: check for base in reversed(cls.__mro__) for name, check in vars(base).get("_CHECKS", {}).items()}
    known = parameters_of(cls)
    for name, check in {**_SHARED, **checks}.items():
        if name in known:
            check(name, getattr(model, name))
    for name in model._OPTIONS:
        read_options(model, name)
    if "predict_options" in model._OPTIONS:
        read_prediction(model)
    stopping.check_max_iter(model)
    first = stopping.first_sweeps(model.max_iter)
    if "burn_in" in known and model.burn_in is not None and check_whole("burn_in", model.burn_in, 1) > first:
        raise InputError(f"burn_in={model.burn_in} leaves no sweep to keep of max_iter={first}; make it smaller.")


# -- options in a dict -------------------------------------------------------------------------------------------------


class PredictOptions(TypedDict, total=False):
    """How topics of new documents are found. What is left out is the model's default."""

    method: PredictMethod  # "cvb0" computes expected counts, "gibbs" draws topics
    tol: float  # "cvb0": share of a document's tokens that the last round may still move
    max_iter: int  # "cvb0": rounds at most
    burn_in: int  # sweeps before the first sample
    thin: int  # sweeps from one sample to the next
    n_samples: int  # samples of a chain
    n_chains: int  # independent chains per document
    estimator: Estimator  # how counts are read off the samples


class SamplerOptions(TypedDict, total=False):
    """How topics are drawn. What is left out is the model's default."""

    n_mh: int  # steps per token, of samplers that propose and accept
    start_sweeps: int | Literal["auto"]  # sweeps of a start with more topics, which are then merged


class Option(NamedTuple):
    """An entry of a dict of options."""

    default: Any
    check: Check


Options = Mapping[str, Option]


class Prediction(NamedTuple):
    """How topics of new documents are found, with all defaults filled in."""

    method: PredictMethod
    tol: float
    max_iter: int
    burn_in: int
    thin: int
    n_samples: int
    n_chains: int
    estimator: Estimator


# Which options are of which method; one of them says that its method is meant.
_OF_METHOD: Mapping[str, tuple[str, ...]] = {
    "cvb0": ("tol", "max_iter"),
    "gibbs": ("burn_in", "thin", "n_samples", "n_chains", "estimator"),
}
PREDICT_METHODS = tuple(_OF_METHOD)


def predict_options(
    *, burn_in: int, thin: int, n_samples: int, n_chains: int, estimator: Estimator | None = None,
    method: PredictMethod = "cvb0",
) -> Options:  # fmt: skip
    """The entries of ``predict_options``, by their defaults; no ``estimator`` is that of the model's parameter."""
    return {
        "method": Option(method, choice(PREDICT_METHODS)),
        "tol": Option(TOL, number(0.0, 1.0)),
        "max_iter": Option(MAX_ITER, whole(1)),
        "burn_in": Option(burn_in, whole(0)),
        "thin": Option(thin, whole(1)),
        "n_samples": Option(n_samples, whole(1)),
        "n_chains": Option(n_chains, whole(1)),
        "estimator": Option(estimator, choice(ESTIMATORS)),
    }


def read_prediction(model: Any) -> Prediction:
    """How a model finds the topics of new documents. Options of one method choose it, if ``method`` is left out."""
    found = read_options(model, "predict_options")
    given = model.predict_options or {}
    meant = [method for method, own in _OF_METHOD.items() if any(name in given for name in own)]
    method = given.get("method") or (meant[0] if meant else found["method"])
    for name in given:
        other = next((m for m, own in _OF_METHOD.items() if name in own and m != method), None)
        if other is not None:
            raise InputError(
                f"predict_options has the key {name!r}, which is of the method {other!r} and not of {method!r}; leave "
                "it out, or give that method."
            )
    return Prediction(**found | {"method": method, "estimator": found["estimator"] or model.estimator})


def saved_prediction(cls: Any, given: Any) -> Any:
    """``predict_options`` as they are saved: with the method, if only the model's default says which."""
    return given or {"method": cls._OPTIONS["predict_options"]["method"].default}


def restored_prediction(cls: Any, saved: Any) -> Any:
    """``predict_options`` as they were given; where nothing was, earlier versions drew topics."""
    default = cls._OPTIONS["predict_options"]["method"].default
    method = "gibbs" if saved in (None, {}) else saved.get("method") if isinstance(saved, dict) else saved
    if saved in (None, {}) or saved == {"method": method}:
        return None if method == default else {"method": method}
    return saved


def read_options(model: Any, name: str) -> dict[str, Any]:
    """The options in a model's parameter, checked, with defaults for what is left out."""
    return read_dict(name, getattr(model, name), model._OPTIONS[name])


def read_dict(name: str, given: Any, known: Options) -> dict[str, Any]:
    """The same of a value; it stays as it was given."""
    keys = ", ".join(map(repr, known))
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise InputTypeError(f"{name}={shown(given)} must be None or a dict; its keys may be {keys}.")
    for key, value in given.items():
        if key not in known:
            raise InputError(f"{name} has the key {shown(key)}, which is not known; its keys may be {keys}.")
        known[key].check(f"{name}[{key!r}]", value)
    return {key: given.get(key, option.default) for key, option in known.items()}


# -- files ------------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A parameter as JSON knows it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, stopping.Converged):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)  # a set's order is by chance
    return value if value is None or isinstance(value, str | int | float | bool) else None


# -- signatures --------------------------------------------------------------------------------------------------------


@cache
def parameters_of(cls: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a model, as scikit-learn sees them."""
    return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}


def with_parameters_of(parent: Any) -> Callable[[F], F]:
    """For an ``__init__`` that hands what is not its own to its parent's: it has the parent's parameters too.

    scikit-learn reads a model's parameters off the signature, which this completes. A parameter that the model names
    itself, for another default, is as the model has it.
    """

    def complete(init: F) -> F:
        own = [p for p in inspect.signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = {p.name for p in own}
        theirs = [p for name, p in parameters_of(parent).items() if p.kind is p.KEYWORD_ONLY and name not in named]
        init.__signature__ = inspect.Signature([*own, *theirs])  # type: ignore[attr-defined]
        return init

    return complete


# -- names of earlier versions -----------------------------------------------------------------------------------------

# Where a parameter of an earlier version is now: a parameter, or a key of a dict of options.
_MOVED: Mapping[str, tuple[str, str | None]] = {
    "inference": ("method", None),
    "n_states": ("n_components", None),
    "lag": ("thin", None),
    "predict_burn_in": ("predict_options", "burn_in"),
    "predict_lag": ("predict_options", "thin"),
    "predict_thin": ("predict_options", "thin"),
    "predict_samples": ("predict_options", "n_samples"),
    "predict_chains": ("predict_options", "n_chains"),
    "predict_estimator": ("predict_options", "estimator"),
    **{name: ("sampler_options", name) for name in ("n_mh", "n_gibbs", "composition")},
    **{name: ("method_options", name) for name in ("n_langevin", "target_acceptance")},
    **{name: ("method_options", name) for name in ("tol", "max_doc_update_iter", "mean_change_tol")},
}


def present_names(cls: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an earlier version by their present names; those that are gone are left out."""
    known, found = parameters_of(cls), {}
    for name, value in params.items():
        now, key = _MOVED.get(name, (name, None))
        if name not in known and name in cls._GONE:
            continue
        if name in known or now not in known:
            found[name] = value
        else:
            found[now] = value if key is None else {**found.get(now, {}), key: value}
    return found


def refuse_old_names(cls: Any, given: Mapping[str, Any]) -> None:
    """Say what to write in place of parameters that earlier versions had."""
    unknown = {name: value for name, value in given.items() if name not in parameters_of(cls)}
    for name in unknown:
        if name in cls._GONE:
            raise InputTypeError(f"{name} is not a parameter of {cls.__name__}: {cls._GONE[name]}.")
    now = present_names(cls, unknown)
    old = [name for name in unknown if name not in now]
    if old:
        write = ", ".join(f"{name}={shown(value)}" for name, value in now.items() if name not in unknown)
        are = "is not a parameter" if len(old) == 1 else "are not parameters"
        raise InputTypeError(f"{', '.join(old)} {are} of {cls.__name__}; write {write}.")


def refuse_unknown_names(cls: Any, given: Mapping[str, Any]) -> None:
    """As Python does, in the name of the model itself where a parent's ``__init__`` would find them."""
    refuse_old_names(cls, given)
    known = parameters_of(cls)
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        for name in given:
            if name not in known:
                raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}")

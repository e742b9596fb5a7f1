"""Emissions by name, with the prior that is asked for or one that follows from the data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import as_numbers, shown
from topicloom.engine.estimator import inputs
from topicloom.engine.estimator.parameters import LEAST, MOST
from topicloom.errors import InputError
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.categorical import Categorical
from topicloom.hmm.emissions.gaussian import LEAST_SHARE, Gaussian
from topicloom.hmm.emissions.gaussian_full import GaussianFull, triangular
from topicloom.hmm.emissions.multinomial import Multinomial
from topicloom.hmm.emissions.poisson import Poisson, weighted_mean
from topicloom.hmm.emissions.sums import variances
from topicloom.hmm.state import Observed
from topicloom.numerics.jit import as_input

EMISSIONS = ("categorical", "gaussian", "gaussian_full", "poisson", "multinomial")
_KEYS = {
    "gaussian": ("mean", "mean_weight", "shape", "scale"),
    "gaussian_full": ("mean", "mean_weight", "freedom", "scale"),
    "poisson": ("shape", "rate"),
}


def check_form(kind: str, given: Any) -> None:
    """Whether ``emission_prior`` has the form that the kind takes; the rest depends on the data."""
    if kind in ("categorical", "multinomial"):
        if isinstance(given, Mapping):
            raise InputError(
                f'emission_prior={shown(given)} must be a number, a vector or a matrix for emission="{kind}".'
            )
        return
    keys = ", ".join(map(repr, _KEYS[kind]))
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f'emission_prior={shown(given)} must be None or a dict for emission="{kind}"; its keys may be {keys}.'
        )
    for key in given or ():
        if key not in _KEYS[kind]:
            raise InputError(f"emission_prior has the key {shown(key)}, which is not known; its keys may be {keys}.")


def dirichlet_rows(name: str, value: Any, n_rows: int, size: int, of: str, *, zeros: bool = False) -> FloatArray:
    """A Dirichlet parameter for every state: from a number, a vector for all states, or a row for each.

    With ``zeros``, a 0 says that something can never be; each row needs a number above it.
    """
    matrix = as_numbers(name, 1.0 if value is None else value)
    if matrix.ndim < 2:
        matrix = np.tile(_row(name, matrix, size, of, zeros), (n_rows, 1))
    if matrix.shape != (n_rows, size):
        raise InputError(
            f"{name} has shape {matrix.shape}; give one number, one for each of {size} {of}, or a matrix of "
            f"{n_rows} × {size}."
        )
    return np.array([_row(name, row, size, of, zeros) for row in matrix])


def _row(name: str, value: FloatArray, size: int, of: str, zeros: bool) -> FloatArray:
    none = value == 0 if zeros and value.ndim == 1 else np.zeros(value.shape, bool)
    if none.any() and none.all():
        raise InputError(f"{name} has a row of zeros, so that nothing can be; give at least one number above 0.")
    found = inputs.check_prior(name, np.where(none, 1.0, value), size, of, 1.0)
    return np.where(none, 0.0, found) if none.any() else found


def make_emission(kind: str, n_states: int, given: Any, n_symbols: int, seen: Observed, maximum: bool) -> Emission:
    """An emission with its prior; ``maximum`` says that it is for Baum-Welch, whose default is flat."""
    if kind == "categorical":
        rows = dirichlet_rows("emission_prior", given, n_states, n_symbols, "symbols", zeros=True)
        return Categorical(as_input(rows.T))
    if kind == "multinomial":
        rows = dirichlet_rows("emission_prior", given, n_states, seen.values.shape[1], "features")
        return Multinomial(as_input(rows))
    mean, spread, size = weighted_mean(seen), variances(seen), seen.values.shape[1]
    if kind == "poisson":
        shape = _vector("shape", given, size, 1.0)
        rate = _vector("rate", given, size, np.zeros(size) if maximum else 1 / np.maximum(mean, LEAST), zero=maximum)
        return Poisson(n_states, shape, rate)
    # Weak priors in the manner of Fraley and Raftery (2007): a state is expected to be narrower than all together.
    narrow = spread / n_states ** (2 / size)
    centre = _vector("mean", given, size, mean, any_sign=True)
    weight = _number("mean_weight", given, 0.0 if maximum else 0.01, zero=maximum)
    least = spread * LEAST_SHARE
    if kind == "gaussian":
        shape_ = _number("shape", given, -1.5 if maximum else 1.5, zero=maximum, flat=-1.5)
        scale = _vector("scale", given, size, np.zeros(size) if maximum else narrow / 2, zero=maximum)
        return Gaussian(n_states, as_input(centre), weight, shape_, as_input(scale), least)
    freedom = _number("freedom", given, -(size + 2.0) if maximum else size + 2.0, zero=maximum, flat=-(size + 2.0))
    if not maximum and freedom <= size - 1:
        raise InputError(f"emission_prior['freedom']={freedom:g} must be above {size - 1}, the features less 1.")
    matrix = _matrix(given, size, np.zeros((size, size)) if maximum else np.diag(narrow))
    return GaussianFull(n_states, as_input(centre), weight, freedom, as_input(matrix), least)


def bare_emission(kind: str, n_states: int, size: int) -> Emission:
    """One whose prior says nothing, to predict with parameters that are known."""
    if kind == "categorical":
        return Categorical(as_input(np.ones((size, n_states))))
    if kind == "multinomial":
        return Multinomial(np.ones((n_states, size)))
    zeros, ones = np.zeros(size), np.ones(size)
    if kind == "poisson":
        return Poisson(n_states, ones, zeros)
    if kind == "gaussian":
        return Gaussian(n_states, zeros, 0.0, -1.5, zeros, ones)
    return GaussianFull(n_states, zeros, 0.0, -(size + 2.0), np.zeros((size, size)), ones)


def _given(name: str, given: Any) -> Any:
    return None if given is None else given.get(name)


def _number(name: str, given: Any, default: float, *, zero: bool = False, flat: float | None = None) -> float:
    value = _given(name, given)
    if value is None:
        return float(default)
    found = as_numbers(f"emission_prior[{name!r}]", value)
    if found.ndim == 0 and (flat is not None and zero and found == flat):
        return float(found)
    if found.ndim or not (LEAST <= found <= MOST or (zero and found == 0)):
        raise InputError(f"emission_prior[{name!r}]={shown(value)} must be a number from {LEAST:g} to {MOST:g}.")
    return float(found)


def _vector(
    name: str, given: Any, size: int, default: Any, *, zero: bool = False, any_sign: bool = False
) -> FloatArray:
    value = _given(name, given)
    found = as_numbers(f"emission_prior[{name!r}]", default if value is None else value)
    if found.ndim == 0:
        found = np.full(size, float(found))
    if found.shape != (size,):
        raise InputError(
            f"emission_prior[{name!r}] has shape {found.shape}; give one number, or one for each of {size} features."
        )
    if value is None:
        return found
    usable = np.abs(found) <= MOST if any_sign else (found >= LEAST) & (found <= MOST) | ((found == 0) & zero)
    if not usable.all():
        limits = f"−{MOST:g}" if any_sign else f"{LEAST:g}"
        raise InputError(
            f"emission_prior[{name!r}] contains {found[~usable][0]}; every value must be from {limits} to {MOST:g}."
        )
    return found


def _matrix(given: Any, size: int, default: FloatArray) -> FloatArray:
    value = _given("scale", given)
    if value is None:
        return default
    found = as_numbers("emission_prior['scale']", value)
    found = np.diag(np.full(size, float(found))) if found.ndim == 0 else np.diag(found) if found.ndim == 1 else found
    right = found.shape == (size, size) and np.isfinite(found).all() and np.array_equal(found, found.T)
    if not right or not triangular(np.ascontiguousarray(found), np.zeros((size, size))):
        raise InputError(
            f"emission_prior['scale'] must be a number, one for each of {size} features, or a symmetric positive "
            f"definite matrix of {size} × {size}."
        )
    return found

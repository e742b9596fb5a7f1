"""Starting values and fixed parameters: what ``start`` and ``fixed`` may say, checked before anything runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import as_numbers, check_whole, shown
from topicloom.errors import InputError, InputTypeError
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.gaussian_full import triangular
from topicloom.hmm.sampler import Start
from topicloom.numerics.jit import as_input

N_ITER = 15  # of short runs, before the first look
_OWN = {
    "categorical": ("emission",), "multinomial": ("emission",), "poisson": ("rates",), "gaussian": ("means", "covars"),
    "gaussian_full": ("means", "covars"),
}  # fmt: skip
_RUNS = ("n_runs", "n_iter")
PARTS = ("initial", "transition", "emission")


def own_names(kind: str) -> tuple[str, ...]:
    """Parameters of a kind of emission."""
    return _OWN[kind]


def check_start(kind: str, start: Any, fixed: Any) -> None:
    """What does not depend on the data."""
    keys = (*_RUNS, "initial", "transition", *_OWN[kind])
    known = ", ".join(map(repr, keys))
    if start is not None and not isinstance(start, Mapping):
        raise InputTypeError(f"start={shown(start)} must be None or a dict; its keys may be {known}.")
    for key, value in (start or {}).items():
        if key not in keys:
            raise InputError(f'start has the key {shown(key)}, which is not known with emission="{kind}"; '
                             f"its keys may be {known}.")  # fmt: skip
        if key in _RUNS:
            check_whole(f"start[{key!r}]", value, 1)
        else:
            as_numbers(f"start[{key!r}]", value)
    if fixed is None:
        return
    if isinstance(fixed, str) or not isinstance(fixed, Sequence) or not all(name in PARTS for name in fixed):
        raise InputError(f"fixed={shown(fixed)} must be None or a list of {', '.join(map(repr, PARTS))}.")
    for name in fixed:
        for needed in _OWN[kind] if name == "emission" else (name,):
            if needed not in (start or {}):
                raise InputError(f"fixed has {name!r}, but start has no {needed!r}; give the values to stay at.")


def usual_runs(n_states: int) -> int:
    """Short runs: fewer with many states, which have too many modes to find the best, and cost more."""
    return min(32, max(8, 64 // n_states))


def read_start(start: Mapping[str, Any] | None, emission: Emission) -> Start:
    """How chains begin; with values for all parameters, there and nowhere else."""
    given = dict(start or {})
    n_runs, n_iter = given.pop("n_runs", usual_runs(emission.n_states)), given.pop("n_iter", N_ITER)
    values = {name: _value(name, value, emission) for name, value in given.items()}
    if {"initial", "transition", *_OWN[emission.name]} <= values.keys():
        n_runs = 1
    values |= emission.from_state({name: values[name] for name in _OWN[emission.name] if name in values})
    return Start(n_runs, n_iter if n_runs > 1 else 0, values)


def fixed_values(fixed: Sequence[str] | None, start: Start, kind: str) -> dict[str, FloatArray]:
    names = [one for name in fixed or () for one in (_OWN[kind] if name == "emission" else (name,))]
    return {name: start.values[name] for name in names}


def _value(name: str, value: Any, emission: Emission) -> FloatArray:
    k, where = emission.n_states, f"start[{name!r}]"
    found = as_numbers(where, value)
    if name in ("initial", "transition"):
        shape: tuple[int, ...] = (k,) if name == "initial" else (k, k)
    else:
        stored = emission.expected()[name].shape
        shape = tuple(int(n) for n in (stored[::-1] if emission.name == "categorical" else stored))
    if found.shape != shape or not np.isfinite(found).all():
        raise InputError(f"{where} has shape {found.shape}; give finite numbers of shape {shape}.")
    if name in PARTS and (found.min() < 0 or not np.allclose(found.sum(axis=-1), 1, atol=1e-6)):
        raise InputError(f"{where} must have probabilities, and each row must sum to 1.")
    if name in ("rates", "covars") and found.ndim == 2 and found.min() <= 0:
        raise InputError(f"{where} contains {found.min():g}; every value must be above 0.")
    if name == "covars" and found.ndim == 3:
        for matrix in found:
            right = np.array_equal(matrix, matrix.T)
            if not right or not triangular(np.ascontiguousarray(matrix), np.zeros(matrix.shape)):
                raise InputError(f"{where} has a matrix that is not symmetric and positive definite.")
    return as_input(found)

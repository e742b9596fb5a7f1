"""Draws with known seeds, and ArviZ's measures of them, which tests compare with. ArviZ is needed to write them only.

Run ``python tests/evaluation/make_reference.py`` where ArviZ is installed to write ``arviz_reference.json`` again.
Draws are made of uniform numbers alone, since the streams of other distributions may change from one version of NumPy
to the next. ArviZ gives no R-hat of one chain; for one, it is put together of ArviZ's own parts.
"""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Draws = NDArray[np.float64]
REFERENCE = Path(__file__).with_name("arviz_reference.json")
PROBS = (0.05, 0.25, 0.5, 0.9)


def uniform(seed: int, *shape: int) -> Draws:
    return np.random.default_rng(seed).random(shape)


def normal(seed: int, *shape: int) -> Draws:
    return np.asarray(ndtri(uniform(seed, *shape)))


def ar1(seed: int, n_chains: int, n_draws: int, phi: float) -> Draws:
    """Stationary, with variance 1 and autocorrelations phi, phi², …"""
    noise = normal(seed, n_chains, n_draws)
    draws = noise.copy()
    for t in range(1, n_draws):
        draws[:, t] = phi * draws[:, t - 1] + np.sqrt(1 - phi**2) * noise[:, t]
    return draws


def shifted(seed: int, n_chains: int, n_draws: int, by: float) -> Draws:
    draws = normal(seed, n_chains, n_draws)
    draws[0] += by
    return draws


def wider(seed: int, n_chains: int, n_draws: int, factor: float) -> Draws:
    draws = normal(seed, n_chains, n_draws)
    draws[0] *= factor
    return draws


def cauchy(seed: int, n_chains: int, n_draws: int) -> Draws:
    return np.asarray(np.tan(np.pi * (uniform(seed, n_chains, n_draws) - 0.5)))


def counts(seed: int, n_chains: int, n_draws: int, n_values: int) -> Draws:
    """Whole numbers: many ties."""
    return np.floor(n_values * uniform(seed, n_chains, n_draws))


def drift(seed: int, n_chains: int, n_draws: int) -> Draws:
    return normal(seed, n_chains, n_draws) + np.linspace(0, 3, n_draws)


# Each makes draws of a name's arguments: seed, chains, draws per chain and what the kind needs.
KINDS: dict[str, Callable[..., Draws]] = {f.__name__: f for f in (normal, ar1, shifted, wider, cauchy, counts, drift)}
CASES: list[tuple[str, tuple[Any, ...]]] = [
    ("normal", (1, 4, 4)),
    ("normal", (2, 2, 5)),
    ("normal", (3, 3, 7)),
    ("normal", (4, 1, 9)),
    ("normal", (5, 4, 10)),
    ("normal", (6, 4, 100)),
    ("normal", (7, 1, 333)),
    ("ar1", (8, 4, 500, 0.3)),
    ("ar1", (9, 4, 500, 0.9)),
    ("ar1", (10, 2, 999, 0.99)),
    ("ar1", (11, 4, 250, -0.6)),
    ("ar1", (12, 1, 777, 0.7)),
    ("ar1", (13, 8, 64, 0.5)),
    ("cauchy", (14, 4, 400)),
    ("cauchy", (15, 1, 201)),
    ("shifted", (16, 4, 300, 1.0)),
    ("shifted", (17, 2, 151, 5.0)),
    ("wider", (18, 4, 300, 3.0)),
    ("wider", (19, 2, 77, 0.01)),
    ("counts", (20, 4, 300, 12)),
    ("counts", (21, 2, 251, 3)),
    ("counts", (22, 1, 400, 2)),
    ("drift", (23, 1, 500)),
    ("drift", (24, 4, 125)),
]


def main() -> None:
    """Write the measures of all cases."""
    import arviz
    import scipy
    from arviz.stats import diagnostics as parts

    def rhat(draws: Draws) -> float:
        if len(draws) > 1:
            return float(arviz.rhat(draws, method="rank"))
        halves = parts._split_chains(draws)
        return float(max(parts._rhat(parts._z_scale(halves)), parts._rhat(parts._z_fold(halves))))

    cases = []
    for kind, given in CASES:
        draws = KINDS[kind](*given)
        values = {"rhat": rhat(draws)}
        values |= {f"ess_{name}": float(arviz.ess(draws, method=name)) for name in ("bulk", "tail", "mean")}
        values |= {f"mcse_{name}": float(arviz.mcse(draws, method=name)) for name in ("mean", "sd")}
        quantiles = [float(arviz.mcse(draws, method="quantile", prob=prob)) for prob in PROBS]
        check = {"first": draws[0, 0], "sum": float(np.abs(draws).sum())}
        cases.append({"kind": kind, "arguments": given, **check, **values, "mcse_quantile": quantiles})
    content = {
        "made by": "tests/evaluation/make_reference.py",
        "arviz": arviz.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "cases": [],
    }
    lines = ",\n".join(map(json.dumps, cases))
    REFERENCE.write_text(json.dumps(content)[:-2] + f"\n{lines}\n]}}\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

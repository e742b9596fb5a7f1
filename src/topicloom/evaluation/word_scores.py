"""How well words tell topics apart: logarithms of lift and relevance, over plain arrays."""

import numpy as np

from topicloom._types import FloatArray


def log_shares(counts: FloatArray) -> FloatArray:
    """log p(v) from counts or weights of words [V]; −∞ for words that never occur."""
    return np.asarray(np.log(counts / counts.sum(), out=np.full_like(counts, -np.inf), where=counts > 0))


def log_lift(phi: FloatArray, log_marginal: FloatArray) -> FloatArray:
    """log (φ_kv / p_v) [K, V]; −∞ where φ_kv = 0 or the word never occurs."""
    occurs = (phi > 0) & np.isfinite(log_marginal)
    log_phi = np.log(phi, out=np.full_like(phi, -np.inf), where=occurs)
    return np.subtract(log_phi, log_marginal, out=np.full_like(phi, -np.inf), where=occurs)


def relevance(phi: FloatArray, log_marginal: FloatArray, weight: float) -> FloatArray:
    """λ log φ_kv + (1 − λ) log (φ_kv / p_v) [K, V], with λ = ``weight``; −∞ as of ``log_lift``."""
    lift = log_lift(phi, log_marginal)
    occurs = np.isfinite(lift)
    found = np.full_like(phi, -np.inf)
    found[occurs] = weight * np.log(phi[occurs]) + (1.0 - weight) * lift[occurs]
    return found

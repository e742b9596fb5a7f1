"""Weights η that predict best from given shares of topics: softmax, logistic or squared loss, with a normal prior.

The objective is Σ_d w_d loss_d + ½ ν |η|². Its curvature is nowhere above H = ν I + b Σ_d w_d s_d s_dᵀ, with b = ½ for
softmax, ¼ for logistic and 1 for squared loss (Böhning and Lindsay 1988), so η ← η − H⁻¹ gradient never overshoots.
One Cholesky factor serves all steps and tasks. Steps are accelerated as Nesterov's are, and start anew when they would
climb (O'Donoghue and Candès 2015). For squared loss the first step is exact.
"""

from math import exp, sqrt

import numpy as np

from topicloom._types import FloatArray
from topicloom.medlda.weights import cholesky
from topicloom.numerics.jit import kernel
from topicloom.numerics.product import product

SOFTMAX, LOGISTIC, SQUARED = 0, 1, 2
_BEND = (0.5, 0.25, 1.0)
PRECISION = (0.3, 0.01, 0.3)  # ν: of shares and numbers of variance 1. From 0.1 to 1 held-out scores hardly differ, but
# for the rare labels of sets, whose few documents 0.3 would outweigh.
_STEPS = 300
_TOL = 1e-7  # of the objective per document that a step may still promise


@kernel
def misses(loss: int, value: FloatArray, target: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """w (expected − true), the slope of each document's loss in f, with targets −1 and 1, or numbers.

    Softmax takes a document's weight from the task of its class.
    """
    for d in range(value.shape[0]):
        if loss == SOFTMAX:
            top, total, w = value[d, 0], 0.0, 0.0
            for c in range(value.shape[1]):
                top = max(top, value[d, c])
            for c in range(value.shape[1]):
                out[d, c] = exp(value[d, c] - top)
                total += out[d, c]
                if target[d, c] > 0.0:
                    w = weight[d, c]
            for c in range(value.shape[1]):
                out[d, c] = w * (out[d, c] / total - (1.0 if target[d, c] > 0.0 else 0.0))
        elif loss == LOGISTIC:
            for c in range(value.shape[1]):
                y = target[d, c]
                out[d, c] = -y * weight[d, c] / (1.0 + exp(min(y * value[d, c], 700.0)))
        else:
            for c in range(value.shape[1]):
                out[d, c] = weight[d, c] * (value[d, c] - target[d, c])


@kernel
def solve(factor: FloatArray, out: FloatArray) -> None:
    """H⁻¹ out in place of ``out`` [K, C], from the Cholesky factor of H."""
    n, tasks = out.shape
    for i in range(n):
        for j in range(i):
            for c in range(tasks):
                out[i, c] -= factor[i, j] * out[j, c]
        for c in range(tasks):
            out[i, c] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for c in range(tasks):
            out[i, c] /= factor[i, i]
        for j in range(i):
            for c in range(tasks):
                out[j, c] -= factor[i, j] * out[i, c]


def parts_left_out(share: FloatArray, target: FloatArray, weight: FloatArray, loss: int, n_parts: int) -> FloatArray:
    """f [D, C] of each document by weights refit without its part of the documents."""
    out = np.empty(target.shape)
    part = np.arange(len(share)) % n_parts
    for own in range(min(n_parts, len(share))):
        rest = part != own
        out[~rest] = product(share[~rest], refit(share[rest], target[rest], weight[rest], loss))
    return out


def refit(
    share: FloatArray, target: FloatArray, weight: FloatArray, loss: int, precision: float | None = None
) -> FloatArray:
    """η [K, C] for ``share`` [D, K], targets and weights [D, C]."""
    precision = PRECISION[loss] if precision is None else precision
    by_topic = np.ascontiguousarray(share.T)
    factor = product(by_topic * (_BEND[loss] * weight.max(axis=1)), share)
    factor[np.diag_indices(len(factor))] += precision
    cholesky(factor)
    eta = np.zeros((share.shape[1], target.shape[1]))
    ahead, momentum, slopes = eta, 1.0, np.empty(target.shape)
    enough = _TOL * max(float(weight.max(axis=1).sum()), 1.0)
    for _ in range(_STEPS):
        misses(loss, product(share, ahead), target, weight, slopes)
        gradient = product(by_topic, slopes) + precision * ahead
        step = gradient.copy()
        solve(factor, step)
        before, eta = eta, ahead - step
        if float(np.sum(gradient * step)) < enough:
            break
        if float(np.sum(gradient * (eta - before))) > 0:
            momentum = 1.0
        following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = eta + ((momentum - 1.0) / following) * (eta - before)
        momentum = following
    return eta

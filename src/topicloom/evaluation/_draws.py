"""Draws of several chains: their checks, and the estimators behind ``convergence``, over many quantities at once.

A *block* is a float64 array of shape (quantities, chains, draws) in which every draw is finite. Vehtari, Gelman,
Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat for assessing
convergence of MCMC" (Bayesian Analysis 16, 2021) describe the estimators.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array
from topicloom.errors import InputError

LEAST_DRAWS = 4  # two per half of a chain, of which a variance can be taken
_TAILS = (0.05, 0.95)
_DRAWS_PER_BLOCK = 2**18  # 2 MiB of draws, so that what is made of them stays in the cache


def check_draws(draws: Any) -> AnyArray:
    """The draws as an array of numbers of shape (n_chains, n_draws) or (n_chains, n_draws, n_quantities)."""
    given: AnyArray = as_array("draws", draws)
    if given.dtype.kind not in "buif":
        raise InputError(f"draws holds values of type {given.dtype}; expected numbers.")
    if np.ma.is_masked(draws):
        raise InputError("draws has masked values; expected a number for each draw. Leave out draws that are missing.")
    if given.ndim not in (2, 3):
        remedy = " For one chain give draws[numpy.newaxis]." if given.ndim == 1 else ""
        raise InputError(
            f"draws has shape {given.shape}; expected (n_chains, n_draws) for one quantity, or "
            f"(n_chains, n_draws, n_quantities).{remedy}"
        )
    if given.size == 0 and given.shape[1] >= LEAST_DRAWS:
        raise InputError(f"draws has shape {given.shape}; expected at least one chain and one quantity.")
    if given.shape[1] < LEAST_DRAWS:
        raise InputError(
            f"draws has {given.shape[1]} per chain (its shape is {given.shape}, with chains first); expected at least "
            f"{LEAST_DRAWS}, since each chain is compared by its halves. Record more draws."
        )
    return given


def of_blocks(draws: AnyArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """What ``function`` makes of a block (…, quantities), for all quantities; NaN if a draw of one is not finite.

    The last axis of the result is that of the quantities, which draws of two dimensions do not have.
    """
    stacked = draws if draws.ndim == 3 else draws[:, :, None]
    step = max(1, _DRAWS_PER_BLOCK // (stacked.shape[0] * stacked.shape[1]))
    parts = []
    for start in range(0, stacked.shape[2], step):
        block = np.array(np.moveaxis(stacked[:, :, start : start + step], 2, 0), np.float64, order="C")
        finite = np.isfinite(block).all(axis=(1, 2))
        block[~finite] = 0.0
        parts.append(np.where(finite, function(block), np.nan))
    whole = np.concatenate(parts, axis=-1)
    return whole if draws.ndim == 3 else np.asarray(whole[..., 0])[()]


def halves(block: FloatArray) -> FloatArray:
    """The first and the second half of each chain as chains; of an odd number of draws the middle one is left out."""
    half = block.shape[2] // 2
    return np.concatenate((block[:, :, :half], block[:, :, -half:]), axis=1)


def scaled(block: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The draws between -1 and 1, and each quantity's centre and scale, by which they are x = centre + scale y.

    Squares of these do not overflow, and a quantity that never changes is exactly 0.
    """
    centre = block.min(axis=(1, 2)) / 2 + block.max(axis=(1, 2)) / 2
    moved = block - centre[:, None, None]
    scale = np.abs(moved).max(axis=(1, 2))
    moved /= np.where(scale > 0, scale, 1.0)[:, None, None]
    return moved, centre, scale


def mean_and_sd(block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of all chains' draws together."""
    unit, centre, scale = scaled(block)
    return centre + scale * unit.mean(axis=(1, 2)), scale * unit.std(axis=(1, 2), ddof=1)


def pooled(block: FloatArray) -> FloatArray:
    """All chains' draws in one row per quantity, in rising order."""
    return np.sort(block.reshape(len(block), -1), axis=1)


def quantile(ordered: FloatArray, prob: float) -> FloatArray:
    """Quantile of sorted rows, by linear interpolation.

    Between two equal draws it is that draw, to the last bit, and so it is where the quantile falls on a draw. In ArviZ
    rounding can leave that draw above its quantile (0.95 of 41 draws), and sizes in the tails then differ a little.
    """
    place = (ordered.shape[1] - 1) * prob
    low = min(int(place), ordered.shape[1] - 2)
    below, above, share = ordered[:, low], ordered[:, low + 1], place - low
    return np.asarray(np.clip((1 - share) * below + share * above, below, above))


# -- ranks ----------------------------------------------------------------------------------------------------


def normal_scores(block: FloatArray) -> FloatArray:
    """Each draw's rank among all draws of its quantity, as a quantile of the normal distribution (Blom's scores).

    Equal draws have their mean rank. Ranks are whole or half numbers, so that few quantiles have to be computed.
    """
    rows = block.reshape(len(block), -1)
    size = rows.shape[1]
    order = np.argsort(rows, axis=1)
    twice_rank = np.arange(2, 2 * size + 1)
    scores = np.asarray(scipy.special.ndtri((twice_rank / 2 - 0.375) / (size + 0.25)))
    places = _twice_places(np.take_along_axis(rows, order, axis=1))
    found = np.empty_like(rows)
    np.put_along_axis(found, order, scores[places], axis=1)
    return found.reshape(block.shape)


def _twice_places(ordered: FloatArray) -> Int64Array:
    """Twice the place of each draw in its sorted row, from 0; equal draws share the mean of their places."""
    place = np.arange(ordered.shape[1])
    rises = ordered[:, 1:] != ordered[:, :-1]
    if rises.all():
        return np.broadcast_to(2 * place, ordered.shape)
    first, last = np.zeros(ordered.shape, np.int64), np.full(ordered.shape, ordered.shape[1] - 1)
    np.multiply(rises, place[1:], out=first[:, 1:])
    last[:, :-1] = np.where(rises, place[:-1], last[:, 1:])
    np.maximum.accumulate(first, axis=1, out=first)
    backwards = last[:, ::-1]
    np.minimum.accumulate(backwards, axis=1, out=backwards)
    return np.asarray(first + last)


def folded(block: FloatArray) -> FloatArray:
    """Half the distance of each draw to the median of its quantity; half, since this never overflows."""
    half = block / 2
    return np.abs(half - np.median(half, axis=(1, 2))[:, None, None])


# -- R-hat and effective sample size --------------------------------------------------------------------------


def potential_scale(block: FloatArray) -> FloatArray:
    """R-hat of the chains as they are: √(((n - 1) / n W + B / n) / W), with variances within and between chains.

    Where no chain changes, it is infinite if the chains differ and NaN if they do not.
    """
    n = block.shape[2]
    within = block.var(axis=2, ddof=1).mean(axis=1)
    between = n * block.mean(axis=2).var(axis=1, ddof=1)
    still = (block == block[:, :, :1]).all(axis=(1, 2))
    differ = (block[:, :, 0] != block[:, :1, 0]).any(axis=1)
    ratio = np.divide(between, within, out=np.where(differ, np.inf, np.nan), where=~still)
    return np.asarray(np.sqrt((ratio + n - 1) / n))


def effective_size(block: FloatArray) -> FloatArray:
    """Number of independent draws whose mean is as uncertain as that of all chains' draws.

    The sum of autocorrelations ends with Geyer's initial monotone sequence: sums of two neighbours, lag 2k and 2k + 1,
    count until the first that is not positive, and none for more than the one before it. The size is at most
    N log10 N of N draws, which only chains with negative autocorrelation reach, and N if no draw differs from another.
    """
    n_chains, n = block.shape[1:]
    covariance = autocovariance(block)
    within = covariance[:, 0] * n / (n - 1)
    total = covariance[:, 0] + block.mean(axis=2).var(axis=1, ddof=1)
    still = (block == block[:, :1, :1]).all(axis=(1, 2))
    total[still] = 1.0
    last = max(0, (n - 3) // 2)  # the last pair of lags that is looked at
    rho = 1 - (within[:, None] - covariance[:, : 2 * last + 2]) / total[:, None]
    rho[:, 0] = 1.0
    even, pairs = rho[:, ::2], rho[:, ::2] + rho[:, 1::2]
    ends = pairs <= 0
    ends[:, last] = True
    end = ends.argmax(axis=1)[:, None]
    falling = np.minimum.accumulate(pairs, axis=1)
    before = np.where(np.arange(last + 1) < end, falling, 0.0).sum(axis=1)
    at_end, pair = np.take_along_axis(even, end, axis=1)[:, 0], np.take_along_axis(pairs, end, axis=1)[:, 0]
    # A pair that ends the sequence counts with half of its even lag, unless both the pair and the lag are negative.
    time = -1 + 2 * before + np.where((pair >= 0) | (at_end > 0), at_end, 0.0)
    size = n_chains * n
    return np.where(still, float(size), size / np.maximum(time, 1 / np.log10(size)))


def autocovariance(block: FloatArray) -> FloatArray:
    """Autocovariance at all lags, as the mean over chains [quantities, draws]: sums of products over n, by FFT."""
    n = block.shape[2]
    length = scipy.fft.next_fast_len(2 * n, real=True)  # twice as long, since the transform takes the ends as joined
    waves = scipy.fft.rfft(block - block.mean(axis=2, keepdims=True), length, axis=2)
    power = (waves.real**2 + waves.imag**2).mean(axis=1)
    return np.asarray(scipy.fft.irfft(power, length, axis=1)[:, :n] / n)


# -- what a block has of each measure ---------------------------------------------------------------------------


def rhat_of(block: FloatArray) -> FloatArray:
    split = halves(block)
    return np.fmax(potential_scale(normal_scores(split)), potential_scale(normal_scores(folded(split))))


def ess_bulk_of(block: FloatArray) -> FloatArray:
    return effective_size(normal_scores(halves(block)))


def ess_tail_of(block: FloatArray) -> FloatArray:
    ordered = pooled(block)
    low, high = (ess_quantile_of(block, quantile(ordered, prob)) for prob in _TAILS)
    return np.minimum(low, high)


def ess_quantile_of(block: FloatArray, value: FloatArray) -> FloatArray:
    return effective_size(halves((block <= value[:, None, None]).astype(np.float64)))


def ess_mean_of(block: FloatArray) -> FloatArray:
    return effective_size(halves(scaled(block)[0]))


def mcse_mean_of(block: FloatArray) -> FloatArray:
    return mean_and_sd(block)[1] / np.sqrt(ess_mean_of(block))


def mcse_sd_of(block: FloatArray) -> FloatArray:
    """By the delta method: the error of the variance, which is a mean of squares, over twice the deviation."""
    unit, _, scale = scaled(block)
    squares = (unit - unit.mean(axis=(1, 2), keepdims=True)) ** 2
    variance = squares.mean(axis=(1, 2))
    of_variance = squares.var(axis=(1, 2)) / effective_size(halves(squares))
    of_sd = np.divide(of_variance, 4 * variance, out=np.zeros_like(variance), where=variance > 0)
    return np.asarray(scale * np.sqrt(of_sd))


def mcse_quantile_of(block: FloatArray, prob: float) -> FloatArray:
    ordered = pooled(block)
    size, n = ess_quantile_of(block, quantile(ordered, prob)), ordered.shape[1]
    ends = scipy.special.ndtr([[-1.0], [1.0]])
    shares = scipy.special.betaincinv(size * prob + 1, size * (1 - prob) + 1, ends)
    low = np.maximum(np.floor(shares[0] * n - 1), 0).astype(np.int64)
    high = np.minimum(np.ceil(shares[1] * n - 1), n - 1).astype(np.int64)
    below, above = (np.take_along_axis(ordered, at[:, None], axis=1)[:, 0] for at in (low, high))
    return above / 2 - below / 2


def autocorrelation_of(block: FloatArray, lags: int) -> FloatArray:
    """Shape (chains, lags, quantities)."""
    n_chains, n_draws = block.shape[1:]
    chains = scaled(block.reshape(-1, 1, n_draws))[0]
    covariance = autocovariance(chains)[:, :lags]
    covariance[(chains == chains[:, :, :1]).all(axis=(1, 2))] = np.nan
    return (covariance / covariance[:, :1]).reshape(-1, n_chains, lags).transpose(1, 2, 0)


def summary_of(block: FloatArray) -> FloatArray:
    """Mean, deviation, error of the mean, quantiles, R-hat and effective sample sizes, in the order of a summary."""
    ordered = pooled(block)
    tails = [quantile(ordered, prob) for prob in _TAILS]
    sizes = (ess_bulk_of(block), ess_tail_of(block))
    return np.stack((*mean_and_sd(block), mcse_mean_of(block), *tails, rhat_of(block), *sizes))

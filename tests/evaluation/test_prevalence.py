"""Prevalence by label: moments against drawn Bayesian bootstraps, coverage, and what is refused."""

import numpy as np
import pytest

from topicloom.compound.label_draws import mean_shares
from topicloom.errors import InputError
from topicloom.evaluation import label_prevalence
from topicloom.evaluation.prevalence import beta_limits
from topicloom.numerics.rng import stream

ALPHA = np.array([0.3, 0.6, 0.1])


def documents(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet([1.0, 2.0, 0.5], n), rng.uniform(10, 80, n)


def test_moments_and_limits_are_those_of_the_drawn_bootstrap() -> None:
    """As drawn for compound models, θ from its Dirichlet distribution and documents by exponential weights.

    10,000 draws: a mean is known to sd / 100, an sd to 0.7%, a limit to about 2% of the width; bounds are 6 of these.
    """
    theta, size = documents(25, 1)
    label = (np.arange(25) % 2).astype(np.int32)
    found = label_prevalence(theta, label, size, base=ALPHA, level=0.9)
    parameters = theta * size[:, None]
    draws = np.concatenate(
        [mean_shares(stream(i), [(slice(0, 25), parameters)], label, 2, ALPHA, "population") for i in range(2500)]
    )
    sd = draws.std(axis=0)
    assert np.all(np.abs(found.mean - draws.mean(axis=0)) < 0.06 * sd)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    assert np.all(np.abs(found.lower - low) < 0.15 * (high - low))
    assert np.all(np.abs(found.upper - high) < 0.15 * (high - low))


def test_the_exact_variance_of_the_bootstrap() -> None:
    """(S + 2 V) / (n + 1), written out once more."""
    theta, size = documents(10, 2)
    found = label_prevalence(theta, ["a"] * 10, size, level=0.5)
    mean = theta.mean(axis=0)
    variance = (theta.var(axis=0) + 2 * (theta * (1 - theta) / (size + 1)[:, None]).mean(axis=0)) / 11
    lower, upper = beta_limits(mean, variance, 0.5)
    assert found.mean[0] == pytest.approx(mean)
    assert found.lower[0] == pytest.approx(lower)
    assert found.upper[0] == pytest.approx(upper)


def test_intervals_hold_the_mean_of_the_population() -> None:
    """600 labels of 12 documents with 3 topics: 90% within 4 points (4.2 standard errors of independent labels)."""
    rng = np.random.default_rng(3)
    truth = np.array([0.2, 0.5, 0.3])
    theta = rng.dirichlet(8 * truth, 7200)
    words = np.array([rng.multinomial(40, row) for row in theta])
    prior = np.array([0.5, 0.5, 0.5])
    shares = (words + prior) / (40 + prior.sum())
    found = label_prevalence(shares, np.repeat(np.arange(600), 12), np.full(7200, 40 + prior.sum()), base=prior)
    hit = (found.lower <= truth) & (truth <= found.upper)
    assert 0.86 < hit.mean() < 0.96


def test_weights_count_documents_by_their_tokens() -> None:
    theta, size = documents(30, 4)
    weights = np.arange(1.0, 31.0)
    found = label_prevalence(theta, ["x"] * 30, size, weights=weights)
    assert found.mean[0] == pytest.approx((weights[:, None] * theta).sum(axis=0) / weights.sum())
    same = label_prevalence(theta, ["x"] * 30, size, weights=np.full(30, 7.0))
    plain = label_prevalence(theta, ["x"] * 30, size)
    for a, b in zip(same[2:], plain[2:], strict=True):
        assert a == pytest.approx(b)


def test_several_draws_widen_the_intervals() -> None:
    theta, size = documents(20, 5)
    other = documents(20, 6)[0]
    one = label_prevalence(theta, [1] * 20, size)
    same = label_prevalence([theta, theta], [1] * 20, size)
    assert same.lower == pytest.approx(one.lower)
    both = label_prevalence([theta, other], [1] * 20, size)
    within = (label_prevalence(other, [1] * 20, size).upper - label_prevalence(other, [1] * 20, size).lower) / 2
    assert np.all(both.upper - both.lower > np.minimum(one.upper - one.lower, 2 * within) * 0.99)
    assert both.mean == pytest.approx((theta.mean(axis=0) + other.mean(axis=0))[None] / 2)


def test_labels_keep_their_order_and_documents_without_one_do_not_count() -> None:
    theta, size = documents(6, 7)
    found = label_prevalence(theta, [2001, None, 1999, 2001, None, 1999], size)
    assert found.labels == (1999, 2001)
    assert found.docs.tolist() == [2, 2]
    assert found.mean[0] == pytest.approx(theta[[2, 5]].mean(axis=0))
    mixed = label_prevalence(theta, [1, "a", 1, "a", 1, "a"], size)
    assert mixed.labels == (1, "a")
    dates = np.array(["2000-01-01", "2001-01-01"] * 3, "datetime64[D]")
    assert len(label_prevalence(theta, dates, size).labels) == 2


def test_one_document_has_an_interval_within_0_and_1() -> None:
    found = label_prevalence([[0.5, 0.5], [1.0, 0.0]], ["a", "b"], [1e6, 1e6], base=[0.1, 0.1])
    assert found.upper[0, 0] - found.lower[0, 0] > 0.2  # the other document is of the prior
    assert np.all((found.lower >= 0) & (found.upper <= 1))
    certain = label_prevalence([[1.0, 0.0]], ["a"], [10.0])
    assert certain.lower.tolist() == certain.upper.tolist() == [[1.0, 0.0]]


def test_limits_of_beta_distributions() -> None:
    """Of Beta(1, 5), whose distribution function is 1 − (1 − x)⁵."""
    lower, upper = beta_limits(np.array([1 / 6]), np.array([5 / (36 * 7)]), 0.9)
    assert lower[0] == pytest.approx(1 - 0.95**0.2)
    assert upper[0] == pytest.approx(1 - 0.05**0.2)
    assert [float(value[0]) for value in beta_limits([0.3], [0.5], 0.9)] == [0.0, 1.0]
    assert [float(value[0]) for value in beta_limits([0.3], [0.0], 0.9)] == [0.3, 0.3]


def test_what_does_not_fit_is_refused() -> None:
    theta, size = documents(4, 8)
    with pytest.raises(InputError, match="labels has 3 entries but there are 4 documents"):
        label_prevalence(theta, [1, 2, 3], size)
    with pytest.raises(InputError, match="theta has 4 documents and concentration 3"):
        label_prevalence(theta, [1, 2, 3], size[:3])
    with pytest.raises(InputError, match="no document has a label"):
        label_prevalence(theta, [None] * 4, size)
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        label_prevalence(theta, [1] * 4, size, level=1.0)
    with pytest.raises(InputError, match="concentration must have one finite number for each of 4 documents, positive"):
        label_prevalence(theta, [1] * 4, [1.0, 2.0, 0.0, 1.0])
    with pytest.raises(InputError, match="weights must have"):
        label_prevalence(theta, [1] * 4, size, weights=[-1.0, 1.0, 1.0, 1.0])
    with pytest.raises(InputError, match="theta is empty"):
        label_prevalence([], [1] * 4, size)

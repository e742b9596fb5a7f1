"""Flows between models with different numbers of topics: known splits and merges, exact transport."""

import itertools
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tests.helpers.mutating import mutate
from topicloom import LDA
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import topic_flows as module_of_flows
from topicloom.diagnostics.alignment import topic_distance
from topicloom.diagnostics.topic_flows import METHODS, Flow, Method, flows, product_weights, transport_weights
from topicloom.errors import InputError
from topicloom.evaluation import topic_sizes

LENGTHS = np.random.default_rng(5).integers(20, 200, 300)


def fine() -> tuple[np.ndarray, np.ndarray]:
    """Five topics, and documents each of which is mostly about one."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(80, 0.1), 5)
    theta = 0.9 * np.eye(5)[rng.integers(0, 5, len(LENGTHS))] + 0.1 * rng.dirichlet(np.ones(5), len(LENGTHS))
    return phi, theta


def coarse(phi: np.ndarray, theta: np.ndarray, parts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Each topic is one of the others, or several of them merged."""
    sizes = topic_sizes(theta, LENGTHS)
    merged = np.array([sizes[part] @ phi[part] / sizes[part].sum() for part in parts])
    return merged, np.stack([theta[:, part].sum(axis=1) for part in parts], axis=1)


# -- splits and merges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_split_and_a_merge_are_found(method: Method) -> None:
    phi, theta = fine()
    few, few_theta = coarse(phi, theta, [[3], [0, 4], [1], [2]])
    order = [2, 4, 0, 3, 1]
    split, merge = flows(
        [few, phi[order], few], doc_topics=[few_theta, theta[:, order], few_theta], lengths=LENGTHS, method=method
    )
    assert (split.source, split.target, merge.source, merge.target) == (0, 1, 1, 2)
    assert split.splits() == {1: [1, 2]}
    assert merge.merges() == {1: [1, 2]}
    assert split.merges() == merge.splits() == {}
    np.testing.assert_allclose(split.weights, merge.weights.T, atol=1e-12)
    others = [(0, 3), (2, 4), (3, 0)]
    assert all(split.forward[pair] > 0.8 and split.backward[pair] > 0.8 for pair in others)


def check_product(module: ModuleType | SimpleNamespace) -> None:
    _, theta = fine()
    other = np.random.default_rng(1).dirichlet(np.full(3, 0.3), len(theta))
    weights = module.product_weights(theta, other, LENGTHS)
    slow = np.zeros((5, 3))
    for n, first, second in zip(LENGTHS, theta, other, strict=True):
        slow += n * np.outer(first, second)
    np.testing.assert_allclose(weights, slow / LENGTHS.sum(), rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), topic_sizes(theta, LENGTHS), rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=0), topic_sizes(other, LENGTHS), rtol=1e-12)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(module.product_weights(theta, other), theta.T @ other / len(theta), rtol=1e-12)


def test_product_weights_equal_their_definition() -> None:
    check_product(module_of_flows)


# -- optimal transport ---------------------------------------------------------------------------------------


def check_transport(module: ModuleType | SimpleNamespace) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 7, 2)
        supply, demand, cost = rng.dirichlet(np.full(n, 0.5)), rng.dirichlet(np.full(m, 0.5)), rng.random((n, m))
        plan = module.transport_weights(supply, demand, cost)
        assert np.all(plan >= 0)
        np.testing.assert_allclose(plan.sum(axis=1), supply, atol=1e-9)
        np.testing.assert_allclose(plan.sum(axis=0), demand, atol=1e-9)
        assert np.count_nonzero(plan) <= n + m - 1
        assert (plan * cost).sum() <= (np.outer(supply, demand) * cost).sum() + 1e-12
        # Equal masses: the best plan is a permutation.
        k = int(n)
        square = rng.random((k, k))
        even = module.transport_weights(np.full(k, 3.0), np.full(k, 1.0), square)
        best = min(square[np.arange(k), list(order)].mean() for order in itertools.permutations(range(k)))
        assert (even * square).sum() == pytest.approx(best, abs=1e-12)


def test_transport_is_exact_and_keeps_the_masses() -> None:
    check_transport(module_of_flows)


def test_transport_of_two_hundred_topics_takes_seconds() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.dirichlet(np.full(500, 0.05), 200), rng.dirichlet(np.full(500, 0.05), 200)
    supply, demand = rng.dirichlet(np.full(200, 0.5)), rng.dirichlet(np.full(200, 0.5))
    cost = topic_distance(first, second)
    start = time.perf_counter()
    plan = transport_weights(supply, demand, cost)
    assert time.perf_counter() - start < 20  # some 0.2 s
    np.testing.assert_allclose(plan.sum(axis=1), supply, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), demand, atol=1e-12)
    assert np.count_nonzero(plan) <= 399
    # Optimal: there are prices such that no pair gains more than its cost, and pairs in use gain just that. They are
    # shortest paths, which exist if no round trip through pairs in use makes moving mass cheaper.
    source, target = np.zeros(200), np.full(200, np.inf)
    for _ in range(400):
        before = target
        target = np.minimum(target, (source[:, None] + cost).min(axis=0))
        source = np.minimum(source, np.where(plan > 0, target - cost, np.inf).min(axis=1))
    np.testing.assert_array_equal(target, before)
    assert np.all(target - source[:, None] <= cost + 1e-12)
    np.testing.assert_allclose((target - source[:, None])[plan > 0], cost[plan > 0], atol=1e-12)


def test_topics_of_size_zero_send_nothing() -> None:
    plan = transport_weights([0.0, 2.0], [1.0, 0.0, 1.0], np.ones((2, 3)))
    np.testing.assert_allclose(plan, [[0, 0, 0], [0.5, 0, 0.5]], atol=1e-15)
    flow = Flow(plan, 0, 1, "transport")
    np.testing.assert_allclose(flow.forward, [[0, 0, 0], [0.5, 0, 0.5]])
    np.testing.assert_allclose(flow.backward, [[0, 0, 0], [1, 0, 1]])


# -- fitted models -------------------------------------------------------------------------------------------


def test_models_bring_their_own_documents() -> None:
    corpus = synthetic_lda(n_docs=80, n_words=60, n_topics=4, doc_length=60.0, seed=3).corpus
    models = [LDA(k, max_iter=60, random_state=0).fit(corpus) for k in (2, 4)]
    sizes = [topic_sizes(model.doc_topic_, corpus.doc_lengths) for model in models]
    for method in METHODS:
        (flow,) = flows(models, method=method, metric="jensen_shannon")
        assert flow.method == method
        np.testing.assert_allclose(flow.weights.sum(axis=1), sizes[0], atol=1e-9)
        np.testing.assert_allclose(flow.weights.sum(axis=0), sizes[1], atol=1e-9)
        rows = flow.rows()
        assert sum(row["weight"] for row in rows) == pytest.approx(1)
        assert all(row["weight"] == flow.weights[row["source_topic"], row["target_topic"]] for row in rows)
        assert len(flow.rows(share=0.9)) < len(rows)
    (even,) = flows(models, lengths=np.ones(80))
    np.testing.assert_allclose(even.weights, product_weights(models[0].doc_topic_, models[1].doc_topic_), rtol=1e-12)
    (arrays,) = flows([m.topic_word_ for m in models], doc_topics=[m.doc_topic_ for m in models])
    np.testing.assert_array_equal(arrays.weights, even.weights)


# -- refused -------------------------------------------------------------------------------------------------


def test_bad_input_is_named() -> None:
    eye = np.eye(2)
    pair = {"models": [eye, eye], "doc_topics": [eye, eye]}
    with pytest.raises(InputError, match="method='sinkhorn' is not known; choose one of 'product', 'transport'"):
        flows(**pair, method="sinkhorn")
    with pytest.raises(InputError, match="metric='l1' is not known; choose one of 'hellinger'"):
        flows(**pair, metric="l1")
    with pytest.raises(InputError, match="models has 1 of them; give at least 2"):
        flows([eye], doc_topics=[eye])
    with pytest.raises(InputError, match=r"models\[0\] has no doc_topic_; give every model's"):
        flows([eye, eye])
    with pytest.raises(InputError, match="doc_topics has 1 entry for 2 models"):
        flows([eye, eye], doc_topics=[eye])
    with pytest.raises(InputError, match=r"doc_topics\[1\] has shape \(3, 3\); expected 2 documents"):
        flows([eye, eye], doc_topics=[eye, np.eye(3)])
    with pytest.raises(InputError, match=r"doc_topics\[1\] has shape \(2, 1\); .* and 2 topics"):
        flows([eye, eye], doc_topics=[eye, np.ones((2, 1))])
    with pytest.raises(InputError, match=r"doc_topics\[0\]: document 0 sums to 2"):
        flows([eye, eye], doc_topics=[2 * eye, eye])
    with pytest.raises(InputError, match=r"lengths has shape \(3,\)"):
        flows(**pair, lengths=np.ones(3))
    with pytest.raises(InputError, match="theta_a has 2 documents and theta_b has 3"):
        product_weights(eye, np.eye(3))
    with pytest.raises(InputError, match="lengths must be finite and 0 or more"):
        product_weights(eye, eye, [1.0, -1.0])
    with pytest.raises(InputError, match=r"distances must be of shape \[K_a, K_b\], not \(2,\)"):
        transport_weights([1], [1], [0.5, 0.5])
    with pytest.raises(InputError, match="distances: topic 0 has inf"):
        transport_weights([1], [1], [[np.inf]])
    for bad in ([1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(InputError, match="sizes_b must have one finite number of 0 or more for each of 2 topics"):
            transport_weights([1.0, 1.0], bad, eye)
    with pytest.raises(InputError, match="share=2 must be a number from 0 to 1"):
        Flow(eye, 0, 1, "product").splits(2)


# -- wrong on purpose ----------------------------------------------------------------------------------------


def check_all(module: ModuleType | SimpleNamespace) -> None:
    check_product(module)
    check_transport(module)


def test_the_right_source_passes_as_a_mutant_would() -> None:
    check_all(mutate("diagnostics.topic_flows"))


@pytest.mark.parametrize(
    "change",
    [
        ("first.T * (weight / weight.sum())", "first.T * weight"),  # not normalised
        ("first.T * (weight / weight.sum())", "first.T / len(first)"),  # lengths ignored
        ("linprog(cost.ravel()", "linprog(-cost.ravel()"),
        ("linprog(cost.ravel()", "linprog(cost.T.ravel()"),
        (".tocsr()[:-1]", ".tocsr()[:n]"),  # columns left free
        ("np.asarray(mass / mass.sum())", "mass"),
    ],
    ids=["not normalised", "lengths ignored", "dearest", "costs turned", "demand ignored", "masses not normalised"],
)
def test_wrong_weights_are_rejected(change: tuple[str, str]) -> None:
    changes = [change]
    if change[1].endswith("[:n]"):
        changes.append(("np.concatenate((supply, demand))[:-1]", "supply"))
    with pytest.raises(AssertionError):
        check_all(mutate("diagnostics.topic_flows", *changes))

"""Words of topics by probability, relevance, lift and FREX: plain loops, ties, odd words, models."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import topicloom
from topicloom._types import FloatArray
from topicloom.diagnostics import word_lists as module
from topicloom.diagnostics.word_lists import frex_scores, topic_word_scores, topic_words
from topicloom.errors import InputError


def random_topics(seed: int, n_topics: int = 4, n_words: int = 12) -> tuple[FloatArray, FloatArray, FloatArray]:
    """φ with ties and zeros, word counts from 1, topic sizes."""
    rng = np.random.default_rng(seed)
    phi = rng.integers(0, 4, (n_topics, n_words)).astype(float)
    phi[:, 0] = 1.0
    return phi / phi.sum(axis=1, keepdims=True), rng.integers(1, 9, n_words).astype(float), rng.random(n_topics) + 0.1


def mean_rank(values: list[float], value: float) -> float:
    """Place among the values, from 1; equal values share the mean of theirs."""
    return sum(v < value for v in values) + (values.count(value) + 1) / 2


def naive_frex(phi: FloatArray, weight: float, counts: FloatArray | None) -> list[list[float]]:
    n_topics, n_words = phi.shape
    exclusive = [[0.0] * n_words for _ in range(n_topics)]
    for v in range(n_words):
        total = sum(phi[:, v].tolist())
        shares = [p / total if total else 0.0 for p in phi[:, v].tolist()]
        if counts is not None:
            away = sum((p - 1 / n_topics) ** 2 for p in shares)
            if counts[v] <= 1:
                shares = [1 / n_topics] * n_topics
            elif away > 0:
                drawn = min(1.0, sum(p * (1 - p) / (counts[v] - 1) for p in shares) / away)
                shares = [drawn / n_topics + (1 - drawn) * p for p in shares]
        for k in range(n_topics):
            exclusive[k][v] = shares[k]
    scores = []
    for k in range(n_topics):
        row = phi[k].tolist()
        own, frequent = exclusive[k], row
        scores.append([
            1 / (weight / (mean_rank(frequent, row[v]) / n_words) + (1 - weight) / (mean_rank(own, own[v]) / n_words))
            for v in range(n_words)
        ])  # fmt: skip
    return scores


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("weight", [0.5, 0.2, 1.0, 0.0])
def test_frex_is_that_of_plain_loops(seed: int, counted: bool, weight: float) -> None:
    phi, counts, _ = random_topics(seed)
    given = counts if counted else None
    expected = naive_frex(phi, weight, given)
    found = topic_word_scores(phi, "frex", frex_weight=weight, word_counts=given)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    best = [sorted(range(12), key=lambda v: (-phi[k, v], v))[:5] for k in range(4)]
    means = [sum(expected[k][v] for v in best[k]) / 5 for k in range(4)]
    np.testing.assert_allclose(frex_scores(phi, 5, frex_weight=weight, word_counts=given), means, rtol=1e-12)


def test_rare_words_are_not_taken_for_exclusive() -> None:
    """A word seen once has no exclusivity of its own; one seen often keeps nearly all of it."""
    phi = np.array([[0.4, 0.3, 0.3], [0.4, 0.0, 0.6]])
    assert topic_words(phi, 1, "frex", frex_weight=0.0)[0] == ["word1"]
    ranks = [topic_word_scores(phi, "frex", frex_weight=0.0, word_counts=[9, c, 9])[0] for c in (1, 2, 10**6)]
    assert [scores[1] for scores in ranks] == pytest.approx([2.5 / 3, 1.0, 1.0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [0.6, 0.0, 1.0])
def test_relevance_and_lift_are_those_of_plain_loops(seed: int, weight: float) -> None:
    phi, counts, sizes = random_topics(seed)
    mixed = [sum(sizes[k] * phi[k, v] for k in range(4)) / sizes.sum() for v in range(12)]
    for options, p in (({"word_counts": counts}, counts / counts.sum()), ({"topic_sizes": sizes}, mixed)):
        lift = topic_word_scores(phi, "lift", **options)
        relevance = topic_word_scores(phi, "relevance", relevance_lambda=weight, **options)
        for k in range(4):
            for v in range(12):
                if phi[k, v] == 0:
                    assert (lift[k, v], relevance[k, v]) == (0.0, -np.inf)
                    continue
                assert lift[k, v] == pytest.approx(phi[k, v] / p[v], rel=1e-12)
                expected = weight * math.log(phi[k, v]) + (1 - weight) * math.log(phi[k, v] / p[v])
                assert relevance[k, v] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_words_are_listed_by_score_and_then_by_number() -> None:
    phi, counts, sizes = random_topics(3)
    for by in ("probability", "relevance", "lift", "frex"):
        scores = topic_word_scores(phi, by, word_counts=counts)
        expected = [[f"word{v}" for v in sorted(range(12), key=lambda v: (-row[v], v))[:7]] for row in scores.tolist()]
        assert topic_words(phi, 7, by, word_counts=counts) == expected
    assert topic_words(phi, 100) == topic_words(phi, 12)
    np.testing.assert_array_equal(topic_word_scores(phi), phi)
    with_sizes = topic_words(phi, 3, "lift", topic_sizes=sizes)
    assert with_sizes == topic_words(phi, 3, "relevance", topic_sizes=sizes, relevance_lambda=0.0)


def test_scores_do_not_depend_on_how_many_topics_are_scored_together(monkeypatch: pytest.MonkeyPatch) -> None:
    phi, counts, _ = random_topics(5)
    expected = [topic_word_scores(phi, by, word_counts=counts) for by in ("relevance", "frex")]
    monkeypatch.setattr(module, "_VALUES", 1)
    for by, scores in zip(("relevance", "frex"), expected, strict=True):
        np.testing.assert_array_equal(topic_word_scores(phi, by, word_counts=counts), scores)


def test_words_that_never_occur_come_last() -> None:
    phi = np.array([[0.5, 0.3, 0.2], [0.1, 0.9, 0.0]])
    for by in ("relevance", "lift"):
        assert topic_words(phi, 3, by, word_counts=[0, 5, 5]) == [
            ["word1", "word2", "word0"],
            ["word1", "word0", "word2"],
        ]
        lowest = topic_word_scores(phi, by, word_counts=[0, 5, 5])[:, 0]
        assert lowest.tolist() == [-np.inf if by == "relevance" else 0.0] * 2
    empty = topic_word_scores(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), "frex", word_counts=[2, 2, 0])
    assert np.all(np.isfinite(empty))


@pytest.mark.parametrize("by", ["probability", "relevance", "lift", "frex"])
def test_one_topic_and_one_word(by: Any) -> None:
    assert topic_words(np.ones((1, 1)), 3, by, word_counts=[7]) == [["word0"]]
    assert np.all(np.isfinite(topic_word_scores(np.ones((3, 1)), by, word_counts=[1])))


def test_a_model_brings_its_words_and_their_counts() -> None:
    texts = ["river bank river", "loan money bank", "money loan loan"] * 5
    model = topicloom.LDA(2, max_iter=30, random_state=1).fit(texts)
    counts = model.corpus_.word_counts
    for by in ("probability", "relevance", "lift", "frex"):
        expected = topic_words(model.topic_word_, 3, by, vocabulary=model.vocabulary_, word_counts=counts)
        assert topic_words(model, 3, by) == expected
    assert topic_words(model, 4) == model.top_words(4)
    np.testing.assert_array_equal(frex_scores(model, 2), frex_scores(model.topic_word_, 2, word_counts=counts))
    soft = topicloom.VariationalLDA(2, max_iter=500, random_state=1).fit(
        np.array([[0.5, 1.0, 0.0], [0.0, 0.5, 2.0]] * 4)
    )
    np.testing.assert_array_equal(
        topic_word_scores(soft, "lift"), topic_word_scores(soft.topic_word_, "lift", word_counts=[2.0, 6.0, 8.0])
    )


@pytest.mark.parametrize(
    ("phi", "options", "says"),
    [
        (np.ones((2, 3)), {}, "sums to 3"),
        (np.ones(3) / 3, {}, "two-dimensional"),
        ("phi", {}, "two-dimensional"),
        (np.array([[np.nan, 1.0]]), {}, "finite"),
        (np.eye(2), {"by": "score"}, "by='score' is not known"),
        (np.eye(2), {"by": "lift"}, "needs word_counts or topic_sizes"),
        (np.eye(2), {"by": "relevance", "relevance_lambda": 1.5}, "relevance_lambda=1.5"),
        (np.eye(2), {"by": "frex", "frex_weight": -0.1}, "frex_weight=-0.1"),
        (np.eye(2), {"word_counts": [1, 2, 3]}, "word_counts has shape"),
        (np.eye(2), {"word_counts": [1, -2]}, "word_counts must be finite"),
        (np.eye(2), {"word_counts": [0, 0]}, "not all 0"),
        (np.eye(2), {"topic_sizes": [np.inf, 1]}, "topic_sizes must be finite"),
        (np.eye(2), {"n": 0}, "n=0"),
        (np.eye(2), {"vocabulary": ["a"]}, "vocabulary has 1 entry"),
        (np.eye(2), {"vocabulary": "ab"}, "vocabulary must be a sequence"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_used_is_refused(phi: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_words(phi, **options)


def test_models_without_topics_are_refused() -> None:
    with pytest.raises(NotFittedError):
        topic_words(topicloom.LDA(2))
    with pytest.raises(InputError, match="HMM has no topics"):
        topic_words(topicloom.HMM(2))

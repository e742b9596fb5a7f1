"""The held-out likelihood along chains."""

import pickle
from typing import Any

import numpy as np
import pytest

from topicloom import LDA, MedLDAClassifier
from topicloom.corpus import from_texts
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import HeldOut, diagnose
from topicloom.errors import InputError
from topicloom.evaluation.predictive import completion_perplexity

CORPUS = synthetic_lda(n_docs=40, n_words=30, n_topics=3, doc_length=30, seed=2).corpus
TRAIN, TEST = CORPUS.select(range(30)), CORPUS.select(range(30, 40))
PLAN: dict[str, Any] = {"max_iter": 30, "burn_in": 20, "thin": 2, "random_state": 1, "n_chains": 2, "trace_every": 2}


def test_a_value_is_the_logarithm_of_the_draws_perplexity() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def look(theta: np.ndarray, phi: np.ndarray, *, alpha: np.ndarray) -> float:
        seen.append((phi.copy(), alpha))
        return 0.0

    score = HeldOut(TEST, burn_in=5, seed=7)
    model = LDA(3, **PLAN, n_jobs=1, keep_draws={"held-out": score, "look": look}).fit(TRAIN)
    found = model.draws_["held-out"]
    assert found.shape == (2, 6)
    expected = [-np.log(completion_perplexity(phi, alpha, TEST, burn_in=5, seed=7)) for phi, alpha in seen]
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12)
    names = [row.name for row in diagnose(model).rows()]
    assert "held-out" in names
    assert "look" not in names  # it never changes
    late = diagnose(model, discard=23)  # the draws at 24, 26, 28, 30
    assert late.quantities is not None
    row = next(row for row in late.quantities.rows() if row.name == "held-out")
    np.testing.assert_allclose(row.mean, found[:, 2:].mean(), rtol=1e-12)
    few = LDA(3, **{**PLAN, "thin": 5}, keep_draws={"held-out": score}).fit(TRAIN)
    assert few.draws_["held-out"].shape == (2, 3)
    assert "held-out" not in [row.name for row in diagnose(few).rows()]  # of three draws nothing is known


def test_words_that_the_model_does_not_know_are_left_out() -> None:
    words = TRAIN.vocabulary
    mixed = TEST.with_vocabulary((*reversed(words[5:]), "never", *words[:5]))
    plan = {**PLAN, "n_chains": 1, "max_iter": 22}
    both = {"mixed": HeldOut(mixed, burn_in=2), "known": HeldOut(mixed.with_vocabulary(words), burn_in=2)}
    found = LDA(3, **plan, keep_draws=both).fit(TRAIN).draws_
    np.testing.assert_array_equal(found["mixed"], found["known"])


def test_groups_of_chains_have_rows_of_their_own() -> None:
    y = ["a", "b", "c"] * 10
    model = MedLDAClassifier(3, **PLAN, multi_class="ovr", keep_draws={"held-out": HeldOut(TEST, burn_in=1)})
    names = [row.name for row in diagnose(model.fit(TRAIN, y)).rows()]
    assert [name for name in names if name.startswith("held-out")] == [
        f"held-out, chains of group {number}" for number in range(3)
    ]


def test_it_can_be_sent_elsewhere() -> None:
    again = pickle.loads(pickle.dumps(HeldOut(TEST, burn_in=3)))
    phi = np.full((2, 30), 1 / 30)
    value = again(np.ones((1, 2)), phi, alpha=np.ones(2), vocabulary=TEST.vocabulary)
    np.testing.assert_allclose(value, -np.log(30), rtol=1e-12)


def test_what_cannot_be_scored_is_refused_at_once() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"corpus": ["a text"]}, "give a Corpus"),
        ({"corpus": from_texts(["one", "two"])}, "nothing to score"),
        ({"corpus": TEST, "burn_in": -1}, "burn_in=-1"),
        ({"corpus": TEST, "thin": 0}, "thin=0"),
        ({"corpus": TEST, "estimator": "best"}, "estimator='best'"),
        ({"corpus": TEST, "seed": "x"}, "seed='x'"),
    ]
    for given, message in wrong:
        with pytest.raises(InputError, match=message):
            HeldOut(**given)

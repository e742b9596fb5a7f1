"""Models that publish the medoid of their chains, or all of them merged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom import HMM, LDA, CompoundLDA, LabeledLDA, MedLDAClassifier, VariationalLDA
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import align, chain_topics, medoid, publish
from topicloom.errors import InputError

CORPUS = synthetic_lda(n_docs=40, n_words=30, n_topics=4, doc_length=30, seed=2).corpus
NEW = synthetic_lda(n_docs=6, n_words=30, n_topics=4, doc_length=30, seed=3).corpus
PERMUTATION = np.array([2, 0, 3, 1])  # topic k of chain 0 is topic PERMUTATION[k] of chain 1
INVERSE = np.argsort(PERMUTATION)


@pytest.fixture(scope="module")
def model() -> LDA:
    """Chain 1 is chain 0 with other numbers of topics, chain 2 is another one."""
    model = LDA(4, n_chains=3, max_iter=30, random_state=1).fit(CORPUS)
    first, second = model.chains_[:2]
    z = PERMUTATION[first.state.z].astype(first.state.z.dtype)
    second.state = model._chain_sampler().restore(CORPUS, z, 4)
    second.prior = first.prior._replace(alpha=first.prior.alpha[:, INVERSE])
    return model


def by_hand(arrays: list[np.ndarray], matches: np.ndarray) -> np.ndarray:
    """Columns of the arrays, each topic's averaged over the chains that have it."""
    columns = []
    for k in range(matches.shape[1]):
        found = [array[..., matches[c, k]] for c, array in enumerate(arrays) if matches[c, k] >= 0]
        columns.append(sum(found) / len(found))
    return np.stack(columns, axis=-1)


def test_the_medoid_is_a_chain_that_others_are_like(model: LDA) -> None:
    before = model.fingerprint_
    found = publish(model, by="medoid")
    assert found.best_chain_ == medoid(chain_topics(model)) == 0  # of equals, the first
    assert found.published_by_ == "medoid"
    np.testing.assert_array_equal(found.topic_word_, chain_topics(model)[0])
    np.testing.assert_array_equal(found.doc_topic_, model._doc_topic_of(model.chains_[0]))
    np.testing.assert_array_equal(found.alpha_, model.chains_[0].prior.alpha[0])
    assert (model.fingerprint_, model.published_by_) == (before, "best")
    best = publish(found, by="best")
    assert best.best_chain_ == int(np.argmax(model.log_joint_))


def test_a_known_permutation_merges_into_the_topics_themselves(model: LDA) -> None:
    """With a threshold that only equal topics pass, the third chain adds nothing."""
    found = publish(model, by="merged", threshold=1e-6)
    np.testing.assert_array_equal(found._matches, [[0, 1, 2, 3], PERMUTATION, [-1, -1, -1, -1]])
    np.testing.assert_allclose(found.components_, publish(model, by="medoid").components_, rtol=1e-12)
    np.testing.assert_allclose(found.doc_topic_, publish(model, by="medoid").doc_topic_, rtol=1e-12)
    wrong = by_hand([model._word_counts_of(chain) for chain in model.chains_[:2]], np.array([range(4), INVERSE]))
    assert np.abs(found.components_ - wrong.T).max() > 1  # the permutation the other way round


def test_merged_is_the_mean_over_the_chains_that_have_a_topic(model: LDA) -> None:
    distances = align(chain_topics(model), 0, threshold=1.0).distances[2]
    threshold = float(np.sort(distances)[1:3].mean())
    matches = align(chain_topics(model), 0, threshold=threshold).matches
    assert np.count_nonzero(matches[2] >= 0) == 2  # some of the third chain's topics
    found = publish(model, by="merged", threshold=threshold)
    chains = model.chains_
    np.testing.assert_array_equal(found._matches, matches)
    by_word = by_hand([model._word_counts_of(chain) for chain in chains], matches)
    np.testing.assert_allclose(found.components_, by_word.T, rtol=1e-12)
    np.testing.assert_allclose(found.topic_word_.sum(axis=1), 1, rtol=1e-12)
    alpha = by_hand([chain.prior.alpha[0] for chain in chains], matches)
    np.testing.assert_allclose(found.alpha_, alpha, rtol=1e-12)
    shares = by_hand([model._doc_topic_of(chain) for chain in chains], matches)
    assert np.abs(shares.sum(axis=1) - 1).max() > 1e-3
    np.testing.assert_allclose(found.doc_topic_, shares / shares.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_merged_model_does_what_others_do(model: LDA) -> None:
    found = publish(model, by="merged")
    assert np.isfinite(found.perplexity(NEW))
    assert found.transform(NEW).shape == (6, 4)
    assert np.abs(found.transform(NEW) - model.transform(NEW)).max() > 0
    assert len(found.top_words(3)) == 4
    assert len(found.topics_frame()) == 40
    assert len({found.fingerprint_, model.fingerprint_, publish(model, by="medoid").fingerprint_}) == 3
    again = publish(found, by="merged")
    assert again.fingerprint_ == found.fingerprint_
    other = publish(model, by="merged", threshold=1e-6)
    assert other.fingerprint_ != found.fingerprint_


@pytest.mark.parametrize("by", ["medoid", "merged"])
def test_what_is_published_is_saved(by: Any, tmp_path: Path) -> None:
    model = LDA(4, n_chains=3, max_iter=20, random_state=0).fit(CORPUS)
    found = publish(model, by=by)
    found.save(tmp_path / "model")
    loaded = topicloom.load(tmp_path / "model")
    assert (loaded.published_by_, loaded.best_chain_) == (by, found.best_chain_)
    assert loaded.fingerprint_ == found.fingerprint_
    np.testing.assert_array_equal(loaded.doc_topic_, found.doc_topic_)
    np.testing.assert_array_equal(loaded.transform(NEW), found.transform(NEW))
    loaded.save(tmp_path / "again")
    assert topicloom.load(tmp_path / "again").fingerprint_ == found.fingerprint_
    resumed = topicloom.resume(tmp_path / "model", max_iter=25)
    assert resumed.published_by_ == "best"
    whole = LDA(4, n_chains=3, max_iter=25, random_state=0).fit(CORPUS)
    assert resumed.fingerprint_ == whole.fingerprint_
    assert publish(loaded, by="best").fingerprint_ == model.fingerprint_
    assert found.fit(CORPUS).published_by_ == "best"


def test_the_medoid_of_other_models(tmp_path: Path) -> None:
    groups, plan = ["a", "b"] * 20, {"n_chains": 3, "max_iter": 8, "random_state": 0}
    compound = CompoundLDA(3, **plan).fit(CORPUS, groups=groups)
    found = publish(compound, by="medoid")
    extra = compound.chains_[found.best_chain_].extra
    np.testing.assert_array_equal(found.pi_draws_, np.array(extra.draws)[np.array(extra.sweeps) >= 4])
    med = MedLDAClassifier(3, **plan, burn_in=None).fit(CORPUS, groups)
    other = publish(med, by="medoid")
    np.testing.assert_array_equal(other.coef_, med._etas[other.best_chain_].T)
    np.testing.assert_array_equal(other.topic_word_, chain_topics(med)[other.best_chain_])
    np.testing.assert_array_equal(other.decision_function(NEW), med.decision_function(NEW))  # the mean over chains
    sequences = [[0, 1, 2, 1, 0, 2] * 5, [2, 2, 1] * 5]
    hmm = HMM(2, **plan).fit(sequences)
    states = publish(hmm, by="medoid")
    np.testing.assert_array_equal(states.emission_, hmm._emission_of(hmm.chains_[states.best_chain_]))
    for number, one in enumerate((found, other, states)):
        one.save(tmp_path / str(number))
        loaded = topicloom.load(tmp_path / str(number))
        assert (loaded.published_by_, loaded.fingerprint_) == ("medoid", one.fingerprint_)


def test_variational_chains_are_merged() -> None:
    model = VariationalLDA(4, n_chains=2, max_iter=5, tol=0.0, random_state=0).fit(CORPUS)
    found = publish(model, by="merged", threshold=1.0)
    by_word = by_hand([model._word_counts_of(chain) for chain in model.chains_], found._matches)
    np.testing.assert_allclose(found.components_, by_word.T, rtol=1e-12)
    np.testing.assert_allclose(found.doc_topic_.sum(axis=1), 1, rtol=1e-12)


def test_what_cannot_be_published() -> None:
    plan: dict[str, Any] = {"n_chains": 2, "max_iter": 2, "random_state": 0}
    groups = ["a", "b"] * 20
    with pytest.raises(InputError, match="give a fitted model"):
        publish(LDA(3))
    one = LDA(3, max_iter=2, random_state=0).fit(CORPUS)
    with pytest.raises(InputError, match="has one chain"):
        publish(one)
    assert publish(one, by="best").fingerprint_ == one.fingerprint_
    for wrong in ({"by": "newest"}, {"metric": "miles"}, {"threshold": 2}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            publish(one, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match='CompoundLDA cannot be published by="merged"'):
        publish(CompoundLDA(3, **plan).fit(CORPUS, groups=groups), by="merged")
    with pytest.raises(InputError, match="publishes the mean of its chains"):
        publish(LabeledLDA(**plan, burn_in=None, holdout=0.0).fit(CORPUS, [[name] for name in groups]))
    ovr = MedLDAClassifier(3, **plan, burn_in=None, multi_class="ovr").fit(CORPUS, ["a", "b", "c", "d"] * 10)
    with pytest.raises(InputError, match="chains of its own for each class"):
        publish(ovr)

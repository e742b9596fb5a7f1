"""Assignments of topics that stand for labels: the constraint holds in estimates, as in the labeled models' own."""

from pathlib import Path

import numpy as np
import pytest

from topicloom import LabeledLDA, datasets, estimates, mallet
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import Estimator
from topicloom.engine.prior import Prior, make_prior
from topicloom.errors import InputError


@pytest.fixture(scope="module")
def model() -> LabeledLDA:
    corpus = datasets.synthetic_labeled(30, 12, 4, doc_length=15, seed=2).corpus
    labels = [() if d == 3 else own for d, own in enumerate(corpus.labels or ())]
    return LabeledLDA(max_iter=6, burn_in=None, holdout=0, random_state=0).fit(corpus.with_metadata(labels=labels))


def plain(model: LabeledLDA) -> tuple[Corpus, Prior]:
    """Corpus and one α for all documents, as another tool would have them."""
    corpus, prior = model.corpus_, model.chains_[0].prior
    return corpus, make_prior(prior.alpha[0], prior.beta, corpus.n_docs)


@pytest.mark.parametrize("estimator", ["cgs_p", "standard"])
def test_estimates_are_those_of_the_labeled_model(model: LabeledLDA, estimator: Estimator) -> None:
    (corpus, prior), z = plain(model), model.chains_[0].state.z
    order = np.random.default_rng(0).permutation(corpus.n_tokens)
    own = estimates.label_prior(prior, corpus.labels, model.classes_)
    state = estimates.from_assignments(corpus.words[order], corpus.token_docs[order], z[order], own, corpus)
    counts = estimates.topic_counts(corpus, state, own, estimator)
    assert counts.doc is not None
    assert counts.word is not None
    theta, phi = model.estimate(estimator)
    labelled = np.arange(corpus.n_docs) != 3
    found = estimates.theta(counts.doc, 1, corpus, own)
    np.testing.assert_allclose(found[labelled], theta[labelled], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[3], 0.25, rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimates.phi(counts.word, 1, own).T, phi, rtol=0, atol=1e-12)
    unbound = estimates.topic_counts(corpus, state, prior, estimator)  # what a state without labels would give
    assert unbound.doc is not None
    assert np.abs(estimates.theta(unbound.doc, 1, corpus, prior) - theta)[labelled].max() > 0.01


def test_a_state_file_with_labels_beside_it_keeps_the_constraint(model: LabeledLDA, tmp_path: Path) -> None:
    chain = model.chains_[0]
    mallet.write_state(tmp_path / "state.gz", model.corpus_, chain.state.as_dense(), chain.prior)
    found = mallet.read_state(tmp_path / "state.gz", model.corpus_)
    own = estimates.label_prior(found.prior, model.corpus_.labels, model.classes_)
    counts = estimates.topic_counts(found.corpus, found.state, own, "cgs_p")
    assert counts.doc is not None
    theta = estimates.theta(counts.doc, 1, found.corpus, own)
    labelled = np.arange(len(theta)) != 3
    np.testing.assert_allclose(theta[labelled], model.estimate("cgs_p")[0][labelled], rtol=0, atol=1e-12)


def test_labels_come_by_name_by_number_or_as_a_matrix(model: LabeledLDA) -> None:
    corpus, prior = plain(model)
    by_name = estimates.label_prior(prior, corpus.labels, model.classes_)
    number = {name: k for k, name in enumerate(model.classes_.tolist())}
    by_number = estimates.label_prior(prior, [[number[name] for name in own] for own in corpus.labels or ()])
    truth = (by_name.alpha[by_name.alpha_row] > 0).astype(int)
    truth[3] = 0
    for other in (by_number, estimates.label_prior(prior, truth)):
        np.testing.assert_array_equal(other.alpha[other.alpha_row], by_name.alpha[by_name.alpha_row])
    assert len(by_name.alpha) < corpus.n_docs


def test_what_does_not_fit_is_refused(model: LabeledLDA) -> None:
    corpus, prior = plain(model)
    own = estimates.label_prior(prior, corpus.labels, model.classes_)
    z = model.chains_[0].state.z.copy()
    first = int(np.flatnonzero(own.alpha[own.alpha_row[0]] == 0)[0])
    z[0] = first
    with pytest.raises(InputError, match=f"1 token.* for instance topic {first} in document 0: α is 0 there"):
        estimates.from_assignments(corpus.words, corpus.token_docs, z, own, corpus)
    labels = [("strange",) if d == 5 else own for d, own in enumerate(corpus.labels or ())]
    with pytest.raises(InputError, match="document 5 has a label that no topic stands for; expected one of classes"):
        estimates.label_prior(prior, labels, model.classes_)
    with pytest.raises(InputError, match="expected a number from 0 to 3"):
        estimates.label_prior(prior, [[4]] * corpus.n_docs)
    with pytest.raises(InputError, match="give one for each"):
        estimates.label_prior(prior, [[0]])
    with pytest.raises(InputError, match="give the label of each of 4 topics"):
        estimates.label_prior(prior, [[0]] * corpus.n_docs, ["one"])
    with pytest.raises(InputError, match="takes one α for all documents"):
        estimates.label_prior(own, [[0]] * corpus.n_docs)

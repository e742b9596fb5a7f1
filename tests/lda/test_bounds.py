"""Bounds that can be asked for: against sums over all topics, scikit-learn, gensim, and each other."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, psi
from sklearn.decomposition import LatentDirichletAllocation

from tests.lda.variational_fits import BATCH, fitted, small_corpus, small_counts
from topicloom import VariationalLDA, load
from topicloom.errors import InputError
from topicloom.evaluation import token_probabilities
from topicloom.lda.variational import exact

COLLAPSED = ("cvb0", "cvb", "cvb_exact")
NEW = np.array([[2, 1, 0, 0, 1], [0, 0, 3, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return small_counts(small_corpus())


@pytest.fixture(scope="module")
def models() -> dict[str, VariationalLDA]:
    """Of five words, so that all topics of a new document can be listed."""
    rng = np.random.default_rng(0)
    train = np.concatenate([rng.poisson([3, 2, 0.2, 0.2, 1], (12, 5)), rng.poisson([0.2, 0.2, 3, 2, 1], (12, 5))])
    same: dict[str, Any] = {"doc_topic_prior": 0.4, "topic_word_prior": 0.3, "random_state": 0, "max_iter": 200}
    return {
        method: VariationalLDA(
            2, method=method, mean_change_tol=1e-9, max_doc_update_iter=200, batch_size=24, **same
        ).fit(train)
        for method in (*COLLAPSED, "vb", "svb", "scvb0")
    }


@pytest.mark.parametrize("mode", [*BATCH, "cvb_exact"])
def test_the_bound_of_the_training_corpus_is_that_of_the_fit(mode: str, counts: np.ndarray, tmp_path: Any) -> None:
    model = fitted(mode, counts, max_iter=3 if mode == "cvb_exact" else 8)
    assert model.bound() == pytest.approx(model.log_joint_[0], rel=1e-12)
    model.save(tmp_path)
    assert load(tmp_path).bound() == model.bound()
    if mode == "vb":
        return
    zero, second, exactly = (
        model.bound(form=form) / model.corpus_.n_tokens for form in ("zero", "second_order", "exact")
    )
    assert abs(zero - exactly) < 0.003
    assert zero - exactly < second - exactly  # the plain expansion is the higher, and the worse
    assert model.bound() == model.bound(form="exact" if mode == "cvb_exact" else "zero")


def _expected(model: VariationalLDA, row: np.ndarray, gamma: np.ndarray) -> float:
    """E[log p(w, z | φ)] + H(q) of one document with θ integrated out, by listing all z; γ by word."""
    words, alpha, phi = np.repeat(np.arange(5), row), model.alpha_, model.topic_word_
    total = 0.0
    for z in product(range(2), repeat=len(words)):
        n = np.bincount(z, minlength=2) if len(z) else np.zeros(2)
        joint = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(z)) + np.sum(gammaln(alpha + n) - gammaln(alpha))
        joint += sum(np.log(phi[k, v]) for k, v in zip(z, words, strict=True))
        q = np.prod([gamma[v, k] for k, v in zip(z, words, strict=True)])
        total += q * (joint - np.log(q)) if q > 0 else 0.0
    return float(total)


@pytest.mark.parametrize("mode", [*COLLAPSED, "scvb0"])
def test_the_bound_of_new_documents_is_a_sum_over_all_topics(mode: str, models: dict[str, VariationalLDA]) -> None:
    model = models[mode]
    corpus = model._new_corpus(NEW)
    pairs, soft = corpus.pairs, model._word_topics(corpus)
    expected = []
    for d, row in enumerate(NEW):
        gamma = np.full((5, 2), 0.5)
        own = slice(pairs.ptr[d], pairs.ptr[d + 1])
        gamma[pairs.word[own]] = soft[own] / pairs.count[own][:, None]
        expected.append(_expected(model, row, gamma))
    assert model.bound(NEW, form="exact") == pytest.approx(sum(expected), rel=1e-9)
    assert model.bound(NEW, form="zero") == pytest.approx(sum(expected), abs=0.02 * NEW.sum())
    assert model.bound(NEW, form="second_order") > model.bound(NEW, form="zero")
    assert model.bound(NEW[2:3]) == pytest.approx(0.0, abs=1e-9)  # without a word nothing is to be explained
    best = [np.log(sum(_weight(model, row, z) for z in product(range(2), repeat=row.sum()))) for row in NEW]
    assert np.all(np.array(expected) <= np.array(best) + 1e-12)  # a bound of log p(words | topics)
    assert sum(best) - sum(expected) < 0.1 * NEW.sum()


def _weight(model: VariationalLDA, row: np.ndarray, z: tuple[int, ...]) -> float:
    words, alpha = np.repeat(np.arange(5), row), model.alpha_
    n = np.bincount(z, minlength=2) if len(z) else np.zeros(2)
    joint = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(z)) + np.sum(gammaln(alpha + n) - gammaln(alpha))
    return float(np.exp(joint + sum(np.log(model.topic_word_[k, v]) for k, v in zip(z, words, strict=True))))


@pytest.mark.parametrize("mode", ["vb", "svb"])
def test_the_bound_of_new_documents_is_that_of_scikit_learn_and_of_gensim(
    mode: str, models: dict[str, VariationalLDA]
) -> None:
    model = models[mode]
    theirs = LatentDirichletAllocation(
        2, doc_topic_prior=0.4, topic_word_prior=0.3, mean_change_tol=1e-10, max_doc_update_iter=5000, max_iter=1
    ).fit(NEW)
    theirs.components_ = model.components_
    log_topics = psi(model.components_) - psi(model.components_.sum(axis=1))[:, None]
    theirs.exp_dirichlet_component_ = np.exp(log_topics)
    found = model.bound(NEW, with_topics=True)
    assert found == pytest.approx(theirs.score(NEW), rel=1e-6)
    gensim = pytest.importorskip("gensim.models")
    other = gensim.LdaModel(num_topics=2, id2word=dict(enumerate("abcde")), alpha=np.full(2, 0.4), eta=0.3,
                            gamma_threshold=1e-10, iterations=5000, dtype=np.float64)  # fmt: skip
    other.state.sstats[:] = model.components_ - 0.3
    other.sync_state()
    bags = [[(v, float(n)) for v, n in enumerate(row) if n] for row in NEW]
    assert found == pytest.approx(other.bound(bags), rel=1e-6)
    topics = model.bound(NEW, with_topics=True) - model.bound(NEW)
    assert topics < 0  # a divergence, less the documents' part
    if mode == "svb":
        assert model.bound() == pytest.approx(model.bound(model.corpus_, with_topics=True), rel=1e-12)


def test_bounds_that_there_are_not(models: dict[str, VariationalLDA]) -> None:
    for mode, X, options, message in [
        ("vb", None, {"form": "zero"}, "is for collapsed methods"),
        ("svb", NEW, {"form": "exact"}, 'method="svb" has one form'),
        ("cvb", NEW, {"with_topics": True}, "collapsed methods integrate topics out"),
        ("vb", None, {"with_topics": True}, "the training corpus always has them"),
        ("scvb0", None, {}, "give documents"),
        ("cvb", NEW * 0.5, {"form": "exact"}, "fractional weights"),
        ("cvb", NEW, {"form": "third"}, "form='third' is not known"),
    ]:
        with pytest.raises(InputError, match=message):
            models[mode].bound(X, **options)
    half = models["cvb"].bound(NEW * 0.5)
    assert np.isfinite(half)
    with pytest.raises(AttributeError, match=r"not fitted yet"):
        VariationalLDA(2).bound(NEW)


def test_likely_counts_have_the_probabilities_of_all() -> None:
    rng = np.random.default_rng(1)
    gamma, count = rng.dirichlet([0.02, 0.02, 0.02], 400), rng.integers(1, 4, 400).astype(float)
    every, plain, quick = np.arange(400), np.zeros(1300), np.zeros(1300)
    for k in range(3):
        size = exact.convolve_all(every, count, gamma, k, -1, plain)
        first, last = exact.convolve_likely(every, count, gamma, k, quick)
        assert 0 < first < last < size  # most counts are all but impossible
        np.testing.assert_allclose(quick[first : last + 1], plain[first : last + 1], rtol=1e-12, atol=1e-140)
        assert plain[:first].sum() + plain[last + 1 : size + 1].sum() < 1e-140


# -- averaged probabilities ------------------------------------------------------------------------------------------


def test_probabilities_of_tokens_are_averaged_over_samples() -> None:
    corpus, rng = small_corpus(), np.random.default_rng(2)
    phi, theta = rng.dirichlet(np.ones(corpus.n_words), (2, 3, 4)), rng.dirichlet(np.ones(4), (2, 3, corpus.n_docs))
    one = [np.sum(theta[s][corpus.token_docs] * phi[s][:, corpus.words].T, axis=1) for s in np.ndindex(2, 3)]
    np.testing.assert_allclose(token_probabilities(phi, theta, corpus), np.mean(one, axis=0), rtol=1e-12)
    np.testing.assert_allclose(token_probabilities(phi[1, 2], theta[1, 2], corpus), one[5], rtol=1e-12)
    for topics, shares, message in [
        (phi[0], theta[0, :2], "topics has 3 samples and theta 2"),
        (phi[0], theta[0, :, :2], "theta of sample 0 has shape"),
        (phi[0] * 2, theta[0], r"topics of sample 0: topic . sums to 2"),
        (phi[0, 0, 0], theta[0, 0, 0], "topics has shape"),
    ]:
        with pytest.raises(InputError, match=message):
            token_probabilities(topics, shares, corpus)

"""Weights refit on topics found without labels: the shares, the minimum, thresholds, missing targets, weights."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import topicloom
from tests.medlda.test_model import Data, classifier, regressor
from topicloom import MedLDAClassifier
from topicloom.engine.expected_counts import expected_counts
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError, LostClassesWarning
from topicloom.medlda import unseen
from topicloom.medlda.refit import LOGISTIC, PRECISION, SOFTMAX, SQUARED, refit
from topicloom.medlda.thresholds import best_thresholds
from topicloom.medlda.unseen import unseen_shares
from topicloom.numerics.rng import Purpose, path_key

FEW: dict[str, Any] = {"max_iter": 6, "burn_in": None}


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


# -- shares ----------------------------------------------------------------------------------------------------------


def test_a_document_is_left_out_of_its_own_topics(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its words had never been in the counts, in parts of any size."""
    model = classifier(**FEW).fit(data.X, data.names)
    corpus, chain = model.corpus_, model.chains_[0]
    found = unseen_shares(corpus, chain.state, chain.prior, 1)
    monkeypatch.setattr(unseen, "_ROOM", 300)
    np.testing.assert_array_equal(unseen_shares(corpus, chain.state, chain.prior, 2), found)
    np.testing.assert_allclose(found[7], 1 / 6)  # no words: the prior's mean
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for d in (0, 5, 100, 259):
        others = np.delete(np.arange(corpus.n_docs), d)
        z = np.delete(chain.state.z, np.arange(corpus.doc_ptr[d], corpus.doc_ptr[d + 1]))
        counts = rebuild_counts(corpus.select(others), z, 6).word_topic + chain.prior.beta[:, None]
        alone = corpus.select([d])
        expected = expected_counts(alone, counts / counts.sum(axis=0), chain.prior.alpha[0])
        np.testing.assert_allclose(found[d], expected[0] / alone.n_tokens, rtol=1e-9)
    whole = chain.state.word_topic + chain.prior.beta[:, None]
    plain = expected_counts(corpus, whole / whole.sum(axis=0), chain.prior.alpha[0])
    assert np.abs(plain[5] / corpus.doc_lengths[5] - found[5]).max() > 1e-4


# -- the minimum -----------------------------------------------------------------------------------------------------


def objective(eta: Any, share: Any, target: Any, weight: Any, loss: int) -> float:
    f = share @ eta
    if loss == SOFTMAX:
        own = np.argmax(target, axis=1)
        losses = weight[np.arange(len(f)), own] * (np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(f)), own])
    elif loss == LOGISTIC:
        losses = weight * np.logaddexp(0, -target * f)
    else:
        losses = 0.5 * weight * (target - f) ** 2
    return float(losses.sum() + 0.5 * PRECISION[loss] * np.sum(eta**2))


@pytest.mark.parametrize("loss", [SOFTMAX, LOGISTIC, SQUARED])
def test_refit_weights_are_at_the_minimum(loss: int) -> None:
    """No small step leads lower than rounding and the tolerance allow; documents of weight 0 do not count."""
    rng = np.random.default_rng(3)
    share = rng.dirichlet(np.full(5, 0.3), 200)
    own = (share @ rng.normal(0, 3, (5, 3)) + rng.normal(0, 1, (200, 3))).argmax(axis=1)
    target = np.where(own[:, None] == np.arange(3), 1.0, -1.0)
    if loss == SQUARED:
        target = share[:, :1] * 3 - share[:, 1:2] + rng.normal(0, 0.1, (200, 1))
    weight = rng.uniform(0.2, 3, target.shape)
    weight[150:] = 0.0
    eta = refit(share, target, weight, loss)
    least = objective(eta, share, target, weight, loss)
    for _ in range(40):
        step = rng.normal(0, 1, eta.shape)
        assert objective(eta + 0.05 * step, share, target, weight, loss) > least
        assert objective(eta + 0.003 * step, share, target, weight, loss) > least - 1e-4
    np.testing.assert_allclose(refit(share[:150], target[:150], weight[:150], loss), eta, atol=1e-9)
    assert np.abs(refit(share, target, np.ones(target.shape), loss) - eta).max() > 1e-3
    if loss == SQUARED:
        w = weight[:, 0]
        exact = np.linalg.solve((share.T * w) @ share + PRECISION[loss] * np.eye(5), (share.T * w) @ target)
        np.testing.assert_allclose(eta, exact, rtol=1e-8)


def test_intervals_have_the_probability_that_is_asked_for(data: Data) -> None:
    model = regressor(n_chains=2, **FEW).fit(data.X[data.train], data.numbers[data.train])
    with pytest.raises(InputError, match=r"call fit_intervals\(\) first"):
        model.predict_interval(data.X)
    model.fit_intervals(0.4)
    values, truth = model.predict(data.X[data.test]), data.numbers[data.test]
    for level in (0.5, 0.9):
        limits = model.predict_interval(data.X[data.test], level)
        assert limits.shape == (80, 2)
        np.testing.assert_allclose(np.ptp(limits, axis=1), np.ptp(limits[0]))
        assert np.all(limits[:, 0] < values)
        assert np.all(values < limits[:, 1])
        inside = int(((limits[:, 0] < truth) & (truth < limits[:, 1])).sum())
        assert 1e-7 < stats.binom.cdf(inside, 80, level) < 1 - 1e-7
    with pytest.raises(InputError, match="level=0 must lie between 0 and 1"):
        model.predict_interval(data.X[:1], 0)
    few = regressor(**FEW).fit(data.X[:20], data.numbers[:20])
    with pytest.raises(InputError, match=r"holdout=0\.02 of 19 documents is none"):
        few.fit_intervals(0.02)
    with pytest.raises(InputError, match="holdout"):
        few.fit_intervals(1.0)


def test_intervals_are_those_of_documents_that_were_held_out(data: Data, tmp_path: Any) -> None:
    """Of known documents alone; kept in files, and learned alike by a model from files."""
    y = np.where(np.arange(260) % 9 == 1, np.nan, data.numbers)
    model = regressor(checkpoint_dir=tmp_path / "run", **FEW).fit(data.X, y).fit_intervals(0.3)
    seen = [model.predict_interval(data.X)]
    rng = np.random.default_rng(int(path_key(model.seed_, Purpose.HELD_OUT)))
    known = np.flatnonzero((data.X.sum(axis=1) > 0) & ~np.isnan(y))
    held = np.isin(np.arange(260), rng.permutation(known)[: round(0.3 * len(known))])
    second = regressor(**FEW).fit(np.where(held[:, None], 0, data.X), y)
    assert second.intercept_ == model.intercept_
    misses = np.quantile(y[held] - second.predict(data.X[held]), [0.1, 0.9], method="weibull")
    limits = model.predict(data.X)[:, None] + misses
    np.testing.assert_allclose(model.predict_interval(data.X, 0.8), limits, rtol=1e-9)
    model.save(tmp_path / "model")
    again = topicloom.load(tmp_path / "model")
    assert again.fingerprint_ == model.fingerprint_
    seen.append(again.predict_interval(data.X))
    seen.append(topicloom.load(tmp_path / "run").fit_intervals(0.3).predict_interval(data.X))
    for found in seen[1:]:
        np.testing.assert_array_equal(found, seen[0])


def test_weights_are_those_of_unseen_shares(data: Data) -> None:
    X, y = data.X[data.train], data.numbers[data.train]
    plain, refitted = (regressor(n_chains=2, calibrate=given, **FEW).fit(X, y) for given in (False, True))
    np.testing.assert_array_equal(plain.chains_[0].state.eta, refitted.chains_[0].state.eta)
    words = X.sum(axis=1) > 0
    scaled = ((y - y.mean()) / y.std())[words, None]
    for index, chain in enumerate(refitted.chains_):
        share = unseen_shares(refitted.corpus_, chain.state, chain.prior, 1)[words]
        np.testing.assert_array_equal(refitted._etas[index], refit(share, scaled, np.ones(scaled.shape), SQUARED))
    np.testing.assert_array_equal(plain._etas[0], plain.chains_[0].state.eta)
    assert refitted.score(data.X[data.test], data.numbers[data.test]) > 0.5


def test_probabilities_of_classes_are_softmax(data: Data) -> None:
    model = classifier(loss="logistic", **FEW).fit(data.X, data.names)
    values = model.decision_function(data.X)
    expected = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(data.X), expected)
    plain = classifier(loss="logistic", calibrate=False, **FEW).fit(data.X, data.names)
    p = 1 / (1 + np.exp(-plain.decision_function(data.X)))
    np.testing.assert_allclose(plain.predict_proba(data.X), p / p.sum(axis=1, keepdims=True))


# -- thresholds ------------------------------------------------------------------------------------------------------


def test_thresholds_have_the_largest_f1() -> None:
    """Of a column with many documents its own, of one with few that of all columns together."""
    rng = np.random.default_rng(1)
    positive = rng.random((60, 4)) < np.array([0.5, 0.3, 0.9, 0.05])
    scores = np.round(rng.normal(0, 1, (60, 4)) + positive, 1)  # with ties

    def f1(threshold: float, columns: Any) -> float:
        chosen, own = scores[:, columns] > threshold, positive[:, columns]
        return float(2 * (chosen & own).sum() / (chosen.sum() + own.sum()))

    found = best_thresholds(scores, positive)
    shared, number = found[3], positive.sum(axis=0)  # too few documents have it
    assert f1(shared, slice(None)) == pytest.approx(max(f1(t, slice(None)) for t in [*scores.ravel(), -9.0]))
    for c in range(3):
        own = shared + (found[c] - shared) * (number[c] + 300) / number[c]
        assert f1(own - 1e-9, c) == pytest.approx(max(f1(t, c) for t in [*scores[:, c], -9.0]))
        assert abs(found[c] - shared) <= abs(own - shared)
    many = best_thresholds(np.repeat(scores, 4000, axis=0), np.repeat(positive, 4000, axis=0))
    assert f1(many[0], 0) == pytest.approx(max(f1(t, 0) for t in scores[:, 0]))
    assert np.all(best_thresholds(scores, np.zeros((60, 4), bool)) == 0)


def test_scores_of_label_sets_are_moved_to_their_thresholds(data: Data) -> None:
    sets = [[name, "all"] if d % 5 else [name] for d, name in enumerate(data.names)]
    model, plain = (classifier(calibrate=given, n_chains=2, **FEW).fit(data.X, sets) for given in (True, False))
    known, target = data.X.sum(axis=1) > 0, plain._training_targets().target
    shares = [unseen_shares(model.corpus_, chain.state, chain.prior, 1) for chain in model.chains_]
    etas = [refit(own[known], target[known], np.ones((259, 4)), LOGISTIC) for own in shares]
    said, part = np.zeros((259, 4)), np.arange(259) % 3
    for own in range(3):  # by weights that do not know the documents
        rest = part != own
        for share in (share[known] for share in shares):
            said[~rest] += (
                share[~rest] @ refit(share[rest], target[known][rest], np.ones((rest.sum(), 4)), LOGISTIC) / 2
            )
    thresholds = best_thresholds(said, target[known] > 0)
    for found, eta in zip(model._etas, etas, strict=True):
        np.testing.assert_allclose(found, eta - thresholds, rtol=1e-6, atol=1e-8)


# -- missing targets and weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["mh", "dense"])
def test_a_missing_target_is_no_loss(data: Data, sampler: str) -> None:
    """Tokens of such a document have the conditional of LDA, whatever stands in place of the target."""
    missing = np.arange(0, 260, 3)
    y = data.names.astype(object)
    y[missing] = None
    model = classifier(sampler=sampler, **FEW).fit(data.X, y)
    state, prior = model.chains_[0].state, model.chains_[0].prior
    assert np.all(state.supervision.weight[missing] == 0)
    assert np.all(np.delete(state.supervision.weight, missing, axis=0) == 30)
    corpus = model.corpus_
    token = int(corpus.doc_ptr[3]) + 2
    d, v, old = 3, corpus.words[token], state.z[token]
    doc = np.bincount(state.z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]], minlength=6) - (np.arange(6) == old)
    out = np.arange(6) == old
    expected = (state.word_topic[v] - out + prior.beta[v]) * (doc + prior.alpha[0]) / (
        state.topic - out + prior.beta_sum
    )  # fmt: skip
    found = model._chain_sampler().conditional(corpus, state, prior, token)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-9)
    y[missing] = np.nan
    assert classifier(sampler=sampler, **FEW).fit(data.X, y.tolist()).fingerprint_ == model.fingerprint_
    weighted = classifier(sampler=sampler, **FEW).fit(
        data.X, np.where(np.isin(np.arange(260), missing), "cow", data.names), ~np.isin(np.arange(260), missing)
    )
    np.testing.assert_array_equal(weighted.coef_, model.coef_)


def test_missing_numbers_and_label_sets(data: Data) -> None:
    y = np.where(np.arange(260) % 4 == 1, np.nan, data.numbers)
    model = regressor(**FEW).fit(data.X, y)
    assert model.intercept_ == pytest.approx(np.nanmean(y))
    with pytest.raises(InputError, match="entry 1 of y is missing"):
        model.score(data.X, y)
    with pytest.raises(InputError, match="entry 0 of y is missing"):
        regressor(**FEW).fit(data.X, np.full(260, np.nan))
    sets: list[Any] = [["ant", name] for name in data.names]
    sets[2] = None
    matrix = np.array([[1, name == "bee", name == "cow"] for name in data.names], float)
    matrix[2] = np.nan
    lists, rows = classifier(**FEW).fit(data.X, sets), classifier(**FEW).fit(data.X, matrix)
    np.testing.assert_array_equal(lists.coef_, rows.coef_)
    assert np.flatnonzero(lists.chains_[0].state.supervision.weight[:, 0] == 0).tolist() == [2]


def test_weights_of_documents(data: Data, tmp_path: Any) -> None:
    """Twice the weight for all is twice λ; weights are kept in files."""
    plain = classifier(loss_weight=60.0, **FEW).fit(data.X, data.names)
    model = classifier(**FEW).fit(data.X, data.names, sample_weight=np.full(260, 2.0))
    np.testing.assert_array_equal(model.chains_[0].state.z, plain.chains_[0].state.z)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(topicloom.load(tmp_path / "model").chains_[0].state.supervision.weight, 60.0)
    for wrong, message in (
        ([1.0, 2.0], r"sample_weight has shape \(2,\); expected \(260,\)"),
        (np.full(260, -1.0), "a weight that is not from 0"),
        (np.zeros(260), "sample_weight is zero for all documents"),
        (["a"] * 260, "entry 0"),
    ):
        with pytest.raises(InputError, match=message):
            classifier(**FEW).fit(data.X, data.names, sample_weight=wrong)


def test_balanced_label_sets_have_two_sides_of_equal_weight(data: Data) -> None:
    sets = [[name, "all"] if d % 5 else [name] for d, name in enumerate(data.names)]
    model = classifier(class_weight="balanced", **FEW).fit(data.X, sets)
    weight, positive = model.chains_[0].state.supervision.weight / 30, model._training_targets().target > 0
    for c in range(4):
        np.testing.assert_allclose(weight[positive[:, c], c].sum(), 130)
        np.testing.assert_allclose(weight[~positive[:, c], c].sum(), 130)


# -- lost classes, draws ---------------------------------------------------------------------------------------------


def test_a_class_that_is_never_predicted_is_told() -> None:
    texts = ["goal team", "law party"] * 30 + ["goal team"] * 2
    with pytest.warns(LostClassesWarning, match=r"class 'rare' \(2 documents\)\. Fit more topics"):
        MedLDAClassifier(3, max_iter=10, burn_in=5, random_state=0).fit(texts, ["a", "b"] * 30 + ["rare"] * 2)


def test_draws_of_the_weights_are_kept(data: Data) -> None:
    wanted = {"coef": "coef", "largest": lambda theta, phi, *, coef: coef.max()}
    model = regressor(n_chains=2, keep_draws=wanted).fit(data.X, data.numbers)
    assert model.draws_["coef"].shape == (2, 3, 1, 6)
    kept = model.draws_["coef"][0].mean(axis=0)
    plain = regressor(n_chains=2, calibrate=False).fit(data.X, data.numbers)
    np.testing.assert_allclose(kept, plain._scale * plain._etas[0].T, rtol=1e-5)
    np.testing.assert_allclose(model.draws_["largest"], model.draws_["coef"].max(axis=(2, 3)), rtol=1e-6)


@pytest.mark.parametrize("multi_class", ["multitask", "ovr"])
def test_intervals_of_the_weights(data: Data, multi_class: str) -> None:
    """Of each task those of the chain that ``coef_`` shows."""
    how = {"max_iter": 40, "burn_in": 2, "thin": 2, "calibrate": False, "n_chains": 2, "multi_class": multi_class}
    model = classifier(keep_draws="coef", **how).fit(data.X, data.names)
    found = model.coef_interval()
    np.testing.assert_allclose(found.mean, model.coef_, rtol=1e-5)
    kept = model.draws_["coef"]
    for task in range(3):
        own = kept[model._best_of(0), :, task] if multi_class == "multitask" else kept[model._best_of(task), :, 0]
        limits = np.quantile(own.astype(np.float64), [0.05, 0.95], axis=0, method="weibull")
        np.testing.assert_allclose([found.lower[task], found.upper[task]], limits, rtol=1e-12)
    assert np.all(model.coef_interval(0.5).lower >= found.lower)
    with pytest.raises(InputError, match='fit with keep_draws="coef" for intervals'):
        classifier(**FEW).fit(data.X, data.names).coef_interval()

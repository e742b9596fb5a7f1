"""Labeled models as estimators: label sets in every form, odd documents and labels, rules, probabilities, files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import topicloom
from tests.helpers.saved import file_of, put
from topicloom import DependencyLDA, LabeledLDA, PriorLDA
from topicloom.corpus import Corpus, from_matrix, split_documents
from topicloom.datasets import synthetic_labeled
from topicloom.engine.estimator.label_sets import read_labels
from topicloom.errors import InputError, StorageError
from topicloom.evaluation import label_calibration, label_set_scores

MODELS = [LabeledLDA, PriorLDA, DependencyLDA]
QUICK: dict[str, Any] = {
    "max_iter": 20, "burn_in": 10, "thin": 5, "predict_options": {"burn_in": 10, "n_samples": 3, "thin": 2},
    "random_state": 1,
}  # fmt: skip


def quick(kind: type = PriorLDA, **given: Any) -> Any:
    if issubclass(kind, DependencyLDA):
        given = {"n_label_topics": 3, "label_sweeps": 30, **given}
    return kind(**{**QUICK, **given})


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_labeled(160, 80, 6, doc_length=40, beta=0.1, seed=2).corpus


@pytest.fixture(scope="module")
def parts(corpus: Corpus) -> tuple[Corpus, Corpus]:
    return split_documents(corpus, 0.3, seed=0)


def truth_of(corpus: Corpus, names: Any) -> np.ndarray:
    assert corpus.labels is not None
    return np.array([[name in own for name in list(names)] for own in corpus.labels])


# -- it learns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
@pytest.mark.parametrize("kind", MODELS)
def test_labels_of_new_documents_are_found(kind: type, method: str, parts: tuple[Corpus, Corpus]) -> None:
    train, test = parts
    model = quick(kind, method=method).fit(train)
    truth = truth_of(test, model.classes_)
    rare = label_set_scores(truth, np.tile(truth.mean(axis=0) > 0.4, (len(truth), 1)))["micro_f1"]
    assert model.score(test) > max(0.75, rare)
    assert model.score(test) == pytest.approx(label_set_scores(truth, model.predict(test))["micro_f1"])
    assert label_set_scores(truth, model.predict(test))["example_f1"] > 0.7


def test_phi_is_the_truth_averaged_over_samples_and_chains() -> None:
    made = synthetic_labeled(400, 30, 4, doc_length=60, beta=0.3, seed=5)
    model = quick(LabeledLDA, n_chains=2, holdout=0.0).fit(made.corpus)
    assert list(model.classes_) == sorted(model.classes_)
    assert np.abs(model.topic_word_ - made.phi).sum(axis=1).max() < 0.35  # total variation below 0.18
    by_chain = [chain.kept.word / chain.kept.n_samples for chain in model.chains_]
    assert not np.array_equal(*by_chain)
    np.testing.assert_allclose(model.components_.T, np.mean(by_chain, axis=0) + 0.1, rtol=1e-12)
    theta = model.doc_topic_
    assert np.all(theta[~truth_of(made.corpus, model.classes_)] == 0)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    for estimator in ("standard", "cgs_p"):
        own, phi = model.estimate(estimator)
        assert own.shape == theta.shape
        np.testing.assert_allclose(phi.sum(axis=1), 1)


@pytest.mark.parametrize("estimator", ["standard", "cgs_p"])
@pytest.mark.parametrize("predict_estimator", ["standard", "cgs_p"])
def test_every_pair_of_estimators(estimator: str, predict_estimator: str, parts: tuple[Corpus, Corpus]) -> None:
    predict = {**QUICK["predict_options"], "estimator": predict_estimator}
    model = quick(estimator=estimator, predict_options=predict, holdout=0.0).fit(parts[0])
    whole_phi = np.allclose(model.components_ * 3 % 1, (0.1 * 3) % 1, atol=1e-9)  # sums of three whole counts
    assert whole_phi == (estimator == "standard")
    counts = model._fold(parts[1])
    assert np.allclose(counts * 3, np.rint(counts * 3), atol=1e-9) == (predict_estimator == "standard")


# -- ways in ---------------------------------------------------------------------------------------------------------


def test_all_forms_of_labels_mean_the_same(corpus: Corpus) -> None:
    X = corpus.to_matrix()
    assert corpus.labels is not None
    expected = quick(holdout=0.0).fit(from_matrix(X, labels=corpus.labels))
    names = expected.classes_.tolist()
    Y = truth_of(corpus, names)
    import pandas as pd

    for given in (list(corpus.labels), [set(own) for own in corpus.labels], pd.DataFrame(Y, columns=names)):
        model = quick(holdout=0.0).fit(X, given)
        assert model.classes_.tolist() == names
        np.testing.assert_array_equal(model.components_, expected.components_)
    for matrix in (Y, Y.astype(float), sp.csr_array(Y), sp.coo_matrix(Y), Y.astype(int).tolist()):
        model = quick(holdout=0.0).fit(X, matrix)
        assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5]
        np.testing.assert_array_equal(model.components_, expected.components_)
    assert expected.predict(X[:5]).shape == (5, 6)
    shown = expected.predict_labels(X[:5])
    for d, own in enumerate(shown):
        assert set(own) == {names[k] for k in np.flatnonzero(expected.predict(X[:5])[d])}


def test_one_label_a_document_may_be_given_as_a_vector() -> None:
    X = np.array([[9, 0, 0], [8, 1, 0], [0, 0, 7], [0, 1, 9]])
    for y in (["a", "a", "b", "b"], np.array([3, 3, 5, 5]), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])):
        model = quick(holdout=0.0, label_rule="count").fit(X, y)
        assert len(model.classes_) == 2
        np.testing.assert_array_equal(model.predict(X), [[1, 0], [1, 0], [0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "the documents have no labels"),
        ([["a"], ["b"]], "y has 2 entries but there are 3 documents"),
        (np.zeros((3, 2)), "no document has a label"),
        (np.array([[0, 1], [0, 2], [1, 0]]), "document 1: y has 2 in column 1"),
        (np.array([["a", "b"]] * 3), "y holds <U1 values"),
        (np.ones((2, 2)), "y has 2 rows but there are 3 documents"),
        (np.zeros((3, 0)), r"y has shape \(3, 0\)"),
        ([["a"], [1], ["b"]], "some labels are strings and some are not"),
        ([[], [], []], "no document has a label"),
        ([["a"], [None], []], "document 1: None is no label"),
        ([0.5, 1.0, 2.0], "document 0: 0.5 is no label"),
        ("abc", "y is str"),
        ({"a": 1}, "y is dict"),
    ],
)
def test_wrong_labels_are_refused(Y: Any, message: str) -> None:
    corpus = from_matrix(np.eye(3, dtype=int))
    with pytest.raises(InputError, match=message):
        read_labels(Y, corpus)
    with pytest.raises(InputError, match=message):
        PriorLDA().fit(corpus, Y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "vb"}, "method='vb'"),
        ({"estimator": "mean"}, "estimator='mean'"),
        ({"predict_options": {"estimator": "mean"}}, r"predict_options\['estimator'\]='mean'"),
        ({"ranking": "alpha"}, "ranking='alpha'"),
        ({"label_rule": "best"}, "label_rule='best'"),
        ({"n_labels": 0}, "n_labels=0"),
        ({"holdout": 1.0}, "holdout=1.0"),
        ({"holdout": 0.0, "label_rule": "threshold"}, "tuned on held-out documents"),
        ({"burn_in": 30}, "burn_in=30 leaves no sweep"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"doc_topic_prior": [0.1, 0.2]}, "one number here"),
        ({"doc_topic_prior": -1.0}, "doc_topic_prior contains -1"),
        ({"topic_word_prior": 0.0}, "topic_word_prior contains 0"),
        ({"frequency_weight": -1.0}, "frequency_weight=-1"),
        ({"smoothing": 0.0}, "smoothing=0"),
        ({"n_label_topics": 0}, "n_label_topics=0"),
        ({"n_rounds": 0}, "n_rounds=0"),
        ({"label_sweeps": 0}, "label_sweeps=0"),
    ],
)
def test_wrong_parameters_are_refused(given: dict[str, Any], message: str, corpus: Corpus) -> None:
    model = quick(DependencyLDA, **given)
    with pytest.raises(InputError, match=message):
        model.fit(corpus)
    assert not hasattr(model, "seed_")


def test_fractions_are_for_cvb0_alone() -> None:
    X = np.array([[1.5, 0.0, 0.2], [0.0, 2.5, 0.1], [1.0, 0.1, 0.1]])
    with pytest.raises(InputError, match="needs integer counts"):
        quick().fit(X, [["a"], ["b"], ["a"]])
    model = quick(method="cvb0", holdout=0.0, label_rule="count").fit(X, [["a"], ["b"], ["a"]])
    np.testing.assert_array_equal(model.predict(X), [[1, 0], [0, 1], [1, 0]])


# -- odd documents and labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
@pytest.mark.parametrize("kind", MODELS)
def test_odd_rows_and_columns(kind: type, method: str) -> None:
    made = synthetic_labeled(60, 40, 4, doc_length=30, seed=3).corpus
    X = made.to_matrix().toarray()
    Y = np.zeros((60, 6), int)
    Y[:, [0, 1, 3, 4]] = truth_of(made, sorted({name for own in made.labels or () for name in own}))
    Y[5] = 0  # no known label
    X[9] = 0  # no word
    Y[12] = [0, 0, 0, 1, 0, 0]  # one label alone
    # Columns 2 and 5 are labels that no document has.
    model = quick(kind, method=method).fit(X, Y)
    assert model.unlabeled_docs_.tolist() == [d == 5 for d in range(60)]
    assert model.label_counts_.tolist() == Y.sum(axis=0).tolist()
    assert model.alpha_[[2, 5]].tolist() == [0, 0]
    prior = model.alpha_ / model.alpha_.sum()
    np.testing.assert_allclose(model.doc_topic_[5], prior)
    np.testing.assert_array_equal(model.doc_topic_[12], [0, 0, 0, 1, 0, 0])
    for rule in ("auto", "meta", "count", "threshold", "proportional"):
        model.set_params(label_rule=rule)
        answer = model.predict(X)
        assert answer[:, [2, 5]].sum() == 0
        assert rule == "proportional" or answer.sum(axis=1).min() >= 1
    p = model.predict_proba(X)
    assert p[:, [2, 5]].max() == 0
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_array_equal(model.decision_function(X), p)
    model.set_params(ranking="counts")
    scores = model.decision_function(X)
    assert scores[:, [2, 5]].max() == 0
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    assert 1 < model.perplexity(X) < 40
    nothing = np.zeros((1, 40), int)
    if kind is not DependencyLDA:  # whose α of a document without words is the label topics' mean
        np.testing.assert_allclose(model.decision_function(nothing)[0], prior)
        np.testing.assert_allclose(model.transform(nothing)[0], prior)
    assert np.all(np.isfinite(model.predict_proba(nothing)))
    model.set_params(label_rule="meta")
    assert model.predict(nothing).sum() >= 1


def test_a_single_label() -> None:
    X = np.array([[3, 1], [2, 2], [0, 4], [1, 0]])
    for Y in ([["only"]] * 4, np.ones((4, 1), int)):
        for kind in MODELS:
            model = quick(kind).fit(X, Y)
            np.testing.assert_array_equal(model.predict(X), np.ones((4, 1)))
            model.set_params(ranking="counts")
            np.testing.assert_array_equal(model.decision_function(X), np.ones((4, 1)))
            assert np.all(model.predict_proba(X) > 0.5)


def test_words_of_documents_without_labels_teach_nothing(corpus: Corpus) -> None:
    assert corpus.labels is not None
    labels = [() if d % 3 == 0 else own for d, own in enumerate(corpus.labels)]
    some = quick(holdout=0.0).fit(corpus, labels)
    total = corpus.doc_lengths[[d % 3 != 0 for d in range(corpus.n_docs)]].sum()
    assert some.components_.sum() == pytest.approx(total + 0.1 * 80 * 6)
    with pytest.raises(InputError, match="every document with a label is empty"):
        PriorLDA().fit(np.array([[0, 0], [1, 2]]), [["a"], []])


def test_labels_that_training_never_saw_count_as_missed(parts: tuple[Corpus, Corpus]) -> None:
    train, test = parts
    model = quick(holdout=0.0).fit(train)
    assert test.labels is not None
    more = [(*own, "unheard of") for own in test.labels]
    truth = np.hstack([truth_of(test, model.classes_), np.ones((test.n_docs, 1), bool)])
    answer = np.hstack([model.predict(test), np.zeros((test.n_docs, 1), int)])
    assert model.score(test, more) == pytest.approx(label_set_scores(truth, answer)["micro_f1"])
    with pytest.raises(InputError, match="a column per class"):
        model.score(test, truth)


# -- rankings, rules, probabilities ----------------------------------------------------------------------------------


def test_rankings_with_and_without_the_prior(parts: tuple[Corpus, Corpus]) -> None:
    train, test = parts
    drawn = {**QUICK["predict_options"], "estimator": "standard"}
    model = quick(holdout=0.0, ranking="counts", predict_options=drawn).fit(train)
    counts, alpha = model._fold_all(test)
    np.testing.assert_allclose(model.decision_function(test), counts / counts.sum(axis=1, keepdims=True), atol=1e-7)
    tied = np.flatnonzero(counts[0] == 0)
    order = np.argsort(-model.decision_function(test)[0][tied], kind="stable")
    assert order.tolist() == np.argsort(-alpha[tied], kind="stable").tolist()
    model.set_params(ranking="theta")
    expected = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(test), expected)
    np.testing.assert_array_equal(model.decision_function(test), model.transform(test))


def test_rules(parts: tuple[Corpus, Corpus]) -> None:
    train, test = parts
    model = quick().fit(train)
    scores, p = model.decision_function(test), model.predict_proba(test)
    model.set_params(label_rule="count", n_labels=2)
    answer = model.predict(test)
    assert np.all(answer.sum(axis=1) == 2)
    assert np.all(np.where(answer, scores, np.inf).min(axis=1) >= np.where(answer, -np.inf, scores).max(axis=1))
    model.set_params(n_labels=99)
    assert model.predict(test).all()
    model.set_params(n_labels=None)
    assert np.all(model.predict(test).sum(axis=1) == 2)  # the mean of training
    model.set_params(label_rule="threshold")
    best = p == p.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(model.predict(test), (p >= model.threshold_) | best)
    found = {rule: model.set_params(label_rule=rule).predict(test) for rule in ("auto", "meta", "threshold")}
    np.testing.assert_array_equal(found["auto"], found[model.label_rule_])
    model.set_params(label_rule="proportional")
    share = model.label_counts_ / train.n_docs
    np.testing.assert_array_equal(model.predict(test).sum(axis=0), np.maximum(np.rint(share * test.n_docs), 1))
    model.set_params(label_rule="meta")
    sizes = model.predict(test).sum(axis=1)
    actual = truth_of(test, model.classes_).sum(axis=1)
    assert np.abs(sizes - actual).mean() <= np.abs(2 - actual).mean() + 0.1


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
def test_probabilities_are_calibrated(method: str) -> None:
    made = synthetic_labeled(900, 60, 8, doc_length=15, beta=0.2, seed=7).corpus
    train, test = split_documents(made, 0.4, seed=1)
    model = quick(method=method, holdout=0.3).fit(train)
    truth = truth_of(test, model.classes_)
    ours = label_calibration(truth, model.predict_proba(test))
    assert ours["mean_probability"] == pytest.approx(ours["base_rate"], abs=0.02)
    assert ours["calibration_error"] < 0.03
    plain = clone(model).set_params(holdout=0.0).fit(train)
    raw = label_calibration(truth, plain.predict_proba(test))
    assert ours["brier"] < raw["brier"]
    assert ours["calibration_error"] < raw["calibration_error"] / 2
    assert label_set_scores(truth, model.set_params(label_rule="threshold").predict(test))["micro_f1"] > 0.6


# -- the same answer twice -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
@pytest.mark.parametrize("kind", MODELS)
def test_threads_and_batches_change_nothing(kind: type, method: str, parts: tuple[Corpus, Corpus]) -> None:
    train, test = parts
    one, two = (quick(kind, method=method, n_chains=3, n_jobs=jobs).fit(train) for jobs in (1, 2))
    assert one.fingerprint_ == two.fingerprint_
    assert one.traces_ == two.traces_
    whole = one.decision_function(test)
    np.testing.assert_array_equal(two.decision_function(test), whole)
    np.testing.assert_array_equal(two.predict_proba(test), one.predict_proba(test))
    for rows in ([7], [30, 2, 11], list(range(0, test.n_docs, 5))):
        np.testing.assert_array_equal(one.decision_function(test.select(rows)), whole[rows])
        np.testing.assert_array_equal(one.predict(test.select(rows)), one.predict(test)[rows])


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
@pytest.mark.parametrize("kind", MODELS)
def test_saved_and_loaded(kind: type, method: str, parts: tuple[Corpus, Corpus], tmp_path: Path) -> None:
    train, test = parts
    model = quick(kind, method=method, n_chains=2).fit(train)
    model.save(tmp_path / "model")
    found = topicloom.load(tmp_path / "model")
    assert type(found) is kind
    assert found.get_params() | {"random_state": 1} == model.get_params() | {"random_state": 1}
    assert found.fingerprint_ == model.fingerprint_
    assert found.classes_.tolist() == model.classes_.tolist()
    for method in ("decision_function", "predict", "predict_proba", "transform"):
        np.testing.assert_array_equal(getattr(found, method)(test), getattr(model, method)(test))
    np.testing.assert_array_equal(found.doc_topic_, model.doc_topic_)
    np.testing.assert_array_equal(found.chains_[1].state.z, model.chains_[1].state.z)
    found.save(tmp_path / "again")
    assert topicloom.load(tmp_path / "again").fingerprint_ == model.fingerprint_
    model.save(tmp_path / "slim", corpus=False)
    slim = topicloom.load(tmp_path / "slim")
    np.testing.assert_array_equal(slim.predict(test), model.predict(test))
    with pytest.raises(StorageError, match="saved without its corpus"):
        _ = slim.doc_topic_


@pytest.mark.parametrize("method", ["gibbs", "cvb0"])
@pytest.mark.parametrize("kind", MODELS)
def test_resumed_runs_equal_straight_ones(kind: type, method: str, corpus: Corpus, tmp_path: Path) -> None:
    straight = quick(kind, method=method, n_chains=2, trace_every=3).fit(corpus)
    folder = tmp_path / "run"

    class StopError(Exception):
        pass

    def stop(chain: Any) -> None:
        if chain.index == 1 and chain.sweep == 13:
            raise StopError

    model = quick(kind, method=method, n_chains=2, trace_every=3, checkpoint_dir=folder, checkpoint_every=4)
    with pytest.raises(StopError):
        model.fit(corpus, callbacks=[stop])
    with pytest.raises(StorageError, match="has not finished"):
        topicloom.load(folder)
    resumed = topicloom.resume(folder)
    assert resumed.fingerprint_ == straight.fingerprint_
    assert resumed.traces_ == straight.traces_
    np.testing.assert_array_equal(resumed.predict_proba(corpus), straight.predict_proba(corpus))
    assert topicloom.load(folder).fingerprint_ == straight.fingerprint_
    longer = topicloom.resume(folder, max_iter=25)
    assert longer.fingerprint_ == quick(kind, method=method, n_chains=2, max_iter=25).fit(corpus).fingerprint_
    with pytest.raises(InputError, match="less than the 25 sweeps"):
        topicloom.resume(folder, max_iter=24)


def test_a_damaged_run_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    quick(checkpoint_dir=tmp_path / "run", holdout=0.0).fit(corpus)
    file_of(tmp_path / "run", "labels").unlink()
    with pytest.raises(StorageError, match=r"has no labels-\w+\.safetensors"):
        topicloom.resume(tmp_path / "run", max_iter=30)
    quick(checkpoint_dir=tmp_path / "other", holdout=0.0).fit(corpus.select(np.arange(50)))
    put(tmp_path / "run", "labels", file_of(tmp_path / "other", "labels"))
    with pytest.raises(StorageError, match="labels of 50 documents; the corpus has 160"):
        topicloom.resume(tmp_path / "run", max_iter=30)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["kind"] == "PriorLDA"


def test_callbacks_stop_a_fit(corpus: Corpus) -> None:
    model = quick().fit(corpus, callbacks=[lambda chain: chain.sweep == 4])
    assert model.n_iter_ == 4
    assert np.all(np.isfinite(model.predict_proba(corpus)))


# -- scikit-learn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_conventions(kind: type, corpus: Corpus) -> None:
    model = quick(kind)
    assert is_classifier(model)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert "n_chains" in repr(copy.set_params(n_chains=7))
    assert not hasattr(copy, "seed_")
    X, Y = corpus.to_matrix(), truth_of(corpus, sorted({name for own in corpus.labels or () for name in own}))
    scores = cross_val_score(model, X, Y, cv=2)
    assert np.all(scores > 0.5)
    pipeline = make_pipeline(FunctionTransformer(), model).fit(X, Y)
    assert pipeline.predict(X).shape == Y.shape
    assert pipeline.predict_proba(X).shape == Y.shape
    assert pipeline.decision_function(X).shape == Y.shape
    fitted = pipeline[-1]
    assert fitted.n_features_in_ == X.shape[1]
    assert np.isfinite(fitted.perplexity(X))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :5])


def test_texts_and_unknown_words(corpus: Corpus) -> None:
    texts = ["goal match ball goal", "vote law vote", "match ball team", "law court vote", "ball goal vote law"]
    model = quick(holdout=0.0, topic_word_prior=0.01).fit(
        texts, [["sport"], ["state"], ["sport"], ["state"], ["sport", "state"]]
    )
    with pytest.warns(topicloom.errors.UnknownWordsWarning):
        assert model.set_params(label_rule="count", n_labels=1).predict_labels(["goal goal unheard"]) == [("sport",)]

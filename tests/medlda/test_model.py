"""Supervised models as estimators: what they learn, inputs in every form, threads and shards, files, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

import topicloom
from tests.helpers.saved import file_of, files_in, put
from topicloom import MedLDAClassifier, MedLDARegressor
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_labeled, synthetic_lda
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError, StorageError
from topicloom.medlda.targets import Targets

QUICK: dict[str, Any] = {
    "n_components": 6, "loss_weight": 30.0, "weight_precision": 30.0, "max_iter": 20, "burn_in": 12, "thin": 4,
    "predict_options": {"burn_in": 8, "n_samples": 4}, "random_state": 1,
}  # fmt: skip


def classifier(**given: Any) -> MedLDAClassifier:
    return MedLDAClassifier(**{**QUICK, **given})


def regressor(**given: Any) -> MedLDARegressor:
    return MedLDARegressor(**{**QUICK, "weight_precision": 1.0, **given})


class Data:
    """Documents of five topics; the class is the likeliest of some topics, the number a weighted sum of all."""

    def __init__(self, n: int = 260) -> None:
        made = synthetic_lda(n, 60, 5, doc_length=40.0, alpha=0.2, seed=4)
        X = made.corpus.to_matrix().toarray()
        X[7] = 0  # an empty document
        self.X, self.theta = X, made.theta
        self.names = np.array(["ant", "bee", "cow"])[np.argmax(made.theta[:, :3], axis=1)]
        self.two = np.where(made.theta[:, 0] + made.theta[:, 1] > 0.4, "yes", "no")
        self.numbers = 10 + 3 * made.theta @ np.array([1.0, -1.0, 2.0, 0.0, 0.5])
        self.train, self.test = np.arange(0, n - 80), np.arange(n - 80, n)


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


# -- it learns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [
    {}, {"sampler": "mh"}, {"sampler": "dense"}, {"loss": "logistic"}, {"multi_class": "ovr"}, {"estimator": "cgs_p"},
    {"predict_options": {"burn_in": 8, "n_samples": 4, "estimator": "standard"}}, {"n_chains": 2}, {"n_shards": 3},
    {"burn_in": None},
    {"sampler": "mh", "sampler_options": {"composition": "cycle", "n_mh": 3, "n_gibbs": 1}},
], ids=str)  # fmt: skip
def test_classes_of_new_documents_are_found(data: Data, given: dict[str, Any]) -> None:
    model = classifier(**given).fit(data.X[data.train], data.names[data.train])
    share = np.unique(data.names[data.test], return_counts=True)[1].max() / len(data.test)
    assert model.score(data.X[data.test], data.names[data.test]) > share + 0.2
    values = model.decision_function(data.X[data.test])
    assert values.shape == (80, 3)
    np.testing.assert_array_equal(model.predict(data.X[data.test]), model.classes_[values.argmax(axis=1)])
    assert model.coef_.shape == (3, 6)
    assert model.transform(data.X[data.test]).shape == (80, 6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_two_classes(data: Data, loss: str) -> None:
    model = classifier(loss=loss).fit(data.X[data.train], data.two[data.train])
    values = model.decision_function(data.X[data.test])
    assert values.shape == (80,)
    assert model.coef_.shape == (1, 6)
    np.testing.assert_array_equal(model.predict(data.X[data.test]), np.where(values > 0, "yes", "no"))
    assert model.score(data.X[data.test], data.two[data.test]) > 0.75
    if loss == "hinge":
        assert not hasattr(model, "predict_proba")
    else:
        p = model.predict_proba(data.X[data.test])
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-values)))


def test_numbers_of_new_documents_are_found(data: Data) -> None:
    model = regressor().fit(data.X[data.train], data.numbers[data.train])
    assert model.score(data.X[data.test], data.numbers[data.test]) > 0.6
    empty = model.predict(np.zeros((1, 60), int))
    assert abs(empty[0] - data.numbers.mean()) < 3 * data.numbers.std()
    # An affine change of the numbers is one of the predictions, to rounding.
    other = regressor().fit(data.X[data.train], 100 * data.numbers[data.train] - 7)
    assert other.epsilon == model.epsilon
    wide = regressor(epsilon=0.1).fit(data.X[data.train], 100 * data.numbers[data.train] - 7)
    np.testing.assert_allclose(wide.predict(data.X), 100 * model.predict(data.X) - 7, rtol=1e-6)
    assert is_regressor(model)


def test_label_sets() -> None:
    corpus = synthetic_labeled(220, 60, 4, doc_length=40, beta=0.1, seed=2).corpus
    train, test = corpus.select(np.arange(150)), corpus.select(np.arange(150, 220))
    model = classifier(n_components=8, weight_precision=5.0, max_iter=40, burn_in=30).fit(train)
    assert model.predict(test).shape == (70, 4)
    assert model.score(test) > 0.75
    names = model.predict_labels(test)
    assert [sorted(own) for own in names] == [
        sorted(model.classes_[row > 0].tolist()) for row in model.predict(test)
    ]  # fmt: skip
    truth = np.array([[name in own for name in model.classes_] for own in train.labels or ()])
    for form in (truth.astype(int), sp.csr_array(truth), [list(own) for own in train.labels or ()]):
        same = clone(model).fit(train, form)
        np.testing.assert_array_equal(same.decision_function(test), model.decision_function(test))
    assert is_classifier(model)


def test_what_chains_predict_is_averaged(data: Data) -> None:
    model = classifier(n_chains=3).fit(data.X, data.names)
    corpus = model._new_corpus(data.X[:20])
    each = []
    for index in range(3):
        counts = model._fold_chain(corpus, index)
        share = counts / np.maximum(corpus.doc_lengths, 1)[:, None]
        share[7] = 1 / 6  # nothing known: the prior's mean
        each.append(share @ model._etas[index])
    np.testing.assert_allclose(model.decision_function(data.X[:20]), np.mean(each, axis=0), rtol=1e-12)
    assert np.abs(each[0] - each[1]).max() > 1e-6


def test_topics_and_weights_are_means_over_kept_samples(data: Data) -> None:
    kept: list[Any] = []

    def keep(chain: Any) -> None:
        if chain.sweep in (12, 16, 20):
            kept.append((chain.state.eta.copy(), chain.state.word_topic.copy()))

    model = classifier(calibrate=False).fit(data.X, data.names, callbacks=[keep])
    np.testing.assert_allclose(model.coef_.T, np.mean([eta for eta, _ in kept], axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.components_.T, np.mean([n for _, n in kept], axis=0) + 0.1, rtol=1e-12)


def test_one_against_the_rest_has_topics_for_each_class(data: Data) -> None:
    model = classifier(multi_class="ovr", n_chains=2).fit(data.X, data.names)
    assert len(model.chains_) == 6
    assert [chain.state.task.tolist() for chain in model.chains_] == [[0], [0], [1], [1], [2], [2]]
    alone = classifier(n_chains=2).fit(data.X, np.where(data.names == "ant", 1, 0))
    np.testing.assert_array_equal(alone.decision_function(data.X), model.decision_function(data.X)[:, 0])


def test_class_weights(data: Data) -> None:
    few = data.names == "cow"
    plain = classifier().fit(data.X, few)
    heavy = classifier(class_weight={True: 20.0}).fit(data.X, few)
    assert heavy.predict(data.X).sum() > plain.predict(data.X).sum()
    balanced = classifier(class_weight="balanced").fit(data.X, few)
    weight = balanced.chains_[0].state.supervision.weight[:, 0] / 30.0
    np.testing.assert_allclose(weight[few], len(few) / (2 * few.sum()))
    np.testing.assert_allclose(weight[~few], len(few) / (2 * (~few).sum()))
    many = classifier(class_weight="balanced").fit(data.X, data.names)
    weight = many.chains_[0].state.supervision.weight / 30.0
    for c, name in enumerate(many.classes_):
        own = data.names == name
        np.testing.assert_allclose(weight[own, c], len(own) / (3 * own.sum()))
        np.testing.assert_allclose(weight[~own, c], 1.0)


def test_the_precision_goes_with_the_loss() -> None:
    def targets(n: int, classes: int) -> Targets:
        own = np.arange(n)[:, None] % classes == np.arange(classes)
        return Targets("multiclass", np.where(own, 1.0, -1.0), np.arange(classes))

    many, few = targets(10_000, 20), targets(800, 20)
    assert MedLDAClassifier(loss_weight=102.4)._precision(many) == pytest.approx(4096)
    assert MedLDAClassifier(20)._precision(few) == pytest.approx(102.4 * 560 / 20)
    assert MedLDAClassifier(400)._precision(few) == pytest.approx(1024)
    assert MedLDAClassifier(20)._precision(targets(800, 80)) == pytest.approx(1024)  # 10 documents per class
    assert MedLDAClassifier(loss="logistic")._precision(many) == MedLDARegressor()._precision(many) == 1
    assert MedLDAClassifier(weight_precision=3.0)._precision(many) == 3


def test_the_topics_of_classes(data: Data) -> None:
    for kind in ("multitask", "ovr"):
        model = classifier(multi_class=kind).fit(data.X, data.names)
        frame = model.class_topics(2, 3)
        assert list(frame.columns) == ["class", "topic", "weight", "words"]
        assert frame["class"].tolist() == ["ant", "ant", "bee", "bee", "cow", "cow"]
        best = frame.iloc[0]
        assert best["weight"] == pytest.approx(model.coef_[0].max())
        assert best["topic"] == model.coef_[0].argmax()
        assert len(best["words"].split()) == 3
    two = classifier().fit(data.X, data.two).class_topics(1)
    assert two["class"].tolist() == ["no", "yes"]
    assert (two["weight"] > 0).all()
    assert regressor().fit(data.X, data.numbers).class_topics(1)["class"].tolist() == ["low", "high"]


# -- the same answer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["mh", "dense"])
def test_threads_change_nothing(data: Data, sampler: str) -> None:
    for shards in (1, 3):
        models = [
            classifier(sampler=sampler, n_shards=shards, n_jobs=jobs, n_chains=2).fit(data.X, data.names)
            for jobs in (1, 2, 4)
        ]
        for other in models[1:]:
            assert other.fingerprint_ == models[0].fingerprint_
            np.testing.assert_array_equal(other.coef_, models[0].coef_)
            np.testing.assert_array_equal(other.decision_function(data.X), models[0].decision_function(data.X))


@pytest.mark.parametrize("shards", [1, 4])
def test_counts_equal_those_rebuilt_from_z(data: Data, shards: int) -> None:
    def check(chain: Any) -> None:
        rebuilt = rebuild_counts(model_corpus, chain.state.z, 6)
        np.testing.assert_array_equal(chain.state.word_topic, rebuilt.word_topic)
        np.testing.assert_array_equal(chain.state.topic, rebuilt.topic)

    model_corpus = topicloom.from_matrix(data.X)
    for sampler in ("mh", "dense"):
        classifier(sampler=sampler, n_shards=shards, max_iter=4, burn_in=None).fit(
            model_corpus, data.names, callbacks=[check]
        )


@pytest.mark.parametrize("given", [{}, {"multi_class": "ovr"}, {"n_shards": 2, "sampler": "mh"}, {"loss": "logistic"}])
def test_a_stopped_run_goes_on_as_if_it_had_not(data: Data, tmp_path: Path, given: dict[str, Any]) -> None:
    whole = classifier(n_chains=2, **given).fit(data.X, data.names)

    stopped = classifier(n_chains=2, checkpoint_dir=tmp_path / "run", checkpoint_every=3, **given)
    with pytest.raises(ZeroDivisionError):
        stopped.fit(data.X, data.names, callbacks=[lambda chain: chain.sweep == 14 and 1 / 0])
    resumed = topicloom.resume(tmp_path / "run")
    for model in (resumed, topicloom.load(tmp_path / "run")):
        assert model.fingerprint_ == whole.fingerprint_
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        np.testing.assert_array_equal(model.decision_function(data.X), whole.decision_function(data.X))
        np.testing.assert_array_equal(model.chains_[1].state.eta, whole.chains_[1].state.eta)
        np.testing.assert_array_equal(model.doc_topic_, whole.doc_topic_)


def test_saved_models_are_the_same(data: Data, tmp_path: Path) -> None:
    for n, (model, y) in enumerate(
        [(classifier(), data.names), (classifier(multi_class="ovr"), data.names), (classifier(), data.two),
         (regressor(n_chains=2), data.numbers)]
    ):  # fmt: skip
        model.fit(data.X, y).save(tmp_path / str(n))
        loaded = topicloom.load(tmp_path / str(n))
        np.testing.assert_array_equal(loaded.predict(data.X), model.predict(data.X))
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        assert loaded.score(data.X, y) == model.score(data.X, y)
        assert loaded.class_topics().equals(model.class_topics())
        model.save(tmp_path / f"{n} alone", corpus=False)
        alone = topicloom.load(tmp_path / f"{n} alone")
        np.testing.assert_array_equal(alone.predict(data.X), model.predict(data.X))
        assert files_in(tmp_path / f"{n} alone") == ["manifest.json", "model.safetensors"]
    longer = topicloom.resume(tmp_path / "0", max_iter=24)
    np.testing.assert_array_equal(longer.coef_, classifier(max_iter=24).fit(data.X, data.names).coef_)
    file_of(tmp_path / "1", "targets").unlink()
    with pytest.raises(StorageError, match="not complete"):
        topicloom.load(tmp_path / "1").chains_  # noqa: B018


def test_rows_and_batches_change_nothing(data: Data) -> None:
    model = classifier(loss="logistic").fit(data.X, data.names)
    whole = model.decision_function(data.X)
    for rows in ([3], [9, 7, 50], list(range(0, 200, 7))):
        np.testing.assert_array_equal(model.decision_function(data.X[rows]), whole[rows])
    np.testing.assert_array_equal(model.decision_function(sp.csr_array(data.X)), whole)


def test_a_corpus_brings_its_targets(data: Data) -> None:
    corpus = topicloom.from_matrix(data.X)
    labelled = corpus.with_metadata(labels=[(name,) for name in data.names])
    np.testing.assert_array_equal(
        classifier().fit(labelled).decision_function(data.X),
        classifier().fit(data.X, data.names).decision_function(data.X),
    )
    assert classifier().fit(labelled).score(labelled) == classifier().fit(labelled).score(data.X, data.names)
    responded = corpus.with_metadata(responses=data.numbers)
    model = regressor().fit(responded)
    np.testing.assert_array_equal(model.predict(data.X), regressor().fit(data.X, data.numbers).predict(data.X))
    assert model.score(responded) == model.score(data.X, data.numbers)


def test_grid_search(data: Data) -> None:
    search = GridSearchCV(
        regressor(max_iter=6, burn_in=None), {"loss_weight": [1.0, 30.0], "epsilon": [0.0, 0.1]}, cv=2
    )
    search.fit(data.X, data.numbers)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "message"), [
    ({"loss": "squared"}, "loss='squared' is not known"),
    ({"sampler": "sparse"}, "sampler='sparse' is not known"),
    ({"sampler_options": {"composition": "all"}}, r"sampler_options\['composition'\]='all' is not known"),
    ({"multi_class": "crammer"}, "multi_class='crammer' is not known"),
    ({"estimator": "map"}, "estimator='map' is not known"),
    ({"predict_options": {"estimator": "map"}}, r"predict_options\['estimator'\]='map' is not known"),
    ({"sampler_options": {"n_mh": 0}}, r"sampler_options\['n_mh'\]=0 must be a whole number of at least 1"),
    ({"sampler_options": {"n_gibbs": 0}}, r"sampler_options\['n_gibbs'\]=0 must be a whole number of at least 1"),
    ({"n_components": 2.5}, "n_components=2.5 must be a whole number"),
    ({"loss_weight": 0.0}, r"loss_weight=0.0 must be a number from 1e-12 to 1e\+12"),
    ({"loss_weight": -1.0}, "loss_weight=-1.0 must be a number from 1e-12"),
    ({"weight_precision": np.inf}, "weight_precision=inf must be a number"),
    ({"doc_topic_prior": -1.0}, "doc_topic_prior contains -1.0"),
    ({"burn_in": 50}, "burn_in=50 leaves no sweep to keep"),
    ({"class_weight": "even"}, "class_weight='even' is not known"),
    ({"class_weight": {"dog": 2}}, "class_weight names 'dog', which is no class"),
    ({"class_weight": {"ant": -2}}, r"class_weight has a weight that is not from 0 to 1e\+12"),
    ({"class_weight": 3}, "class_weight must be 'balanced' or map class names"),
], ids=str)  # fmt: skip
def test_parameters_are_refused(data: Data, given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        classifier(checkpoint_dir=tmp_path / "run", **given).fit(data.X, data.names)
    assert not (tmp_path / "run").exists()


def test_data_are_refused(data: Data) -> None:
    for model, X, y, message in (
        (classifier(), data.X, data.names[:5], "y has 5 entries but there are 260 documents"),
        (classifier(), data.X, ["one"] * 260, "y has one class"),
        (classifier(), data.X, None, "requires y to be passed"),
        (regressor(), data.X, None, "requires y to be passed"),
        (regressor(), data.X, data.numbers[:5], "y has 5 entries but there are 260 documents"),
        (regressor(epsilon=-1.0), data.X, data.numbers, "epsilon=-1.0 must be a number from 0"),
        (regressor(loss="hinge"), data.X, data.numbers, "loss='hinge' is not known"),
        (classifier(), np.zeros((3, 4), int), [0, 1, 0], "all 3 documents are empty"),
        (classifier(), data.X + 0.5, data.names, "is not an integer"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(X, y)
    with pytest.raises(InputError, match=r"entry 3 of y is infinite; expected one finite number"):
        regressor().fit(data.X, np.where(np.arange(260) == 3, np.inf, data.numbers))
    with pytest.raises(ValueError, match="n_topics=0"):
        classifier().fit(data.X, data.names).class_topics(0)


def test_a_document_too_few(tmp_path: Path, data: Data) -> None:
    classifier().fit(data.X, data.names).save(tmp_path / "a")
    classifier().fit(data.X[:100], data.names[:100]).save(tmp_path / "b")
    put(tmp_path / "a", "targets", file_of(tmp_path / "b", "targets"))
    with pytest.raises(StorageError, match="has targets of 100 documents; the corpus has 260"):
        topicloom.load(tmp_path / "a").chains_  # noqa: B018


def test_empty_documents_and_unused_weights(data: Data) -> None:
    """A document without words has no loss, and gets what the prior's mean says."""
    X = data.X.copy()
    y = data.names.copy()
    y[7] = "cow"
    with_cow = classifier().fit(X, y)
    y[7] = "ant"
    np.testing.assert_array_equal(classifier().fit(X, y).coef_, with_cow.coef_)
    corpus: Corpus = with_cow._new_corpus(X)
    np.testing.assert_allclose(with_cow._values(corpus)[7], with_cow._etas[0].mean(axis=0), rtol=1e-12)

"""Compound LDA as a model: collections in, mixtures with intervals out, new documents, files, bad input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import topicloom
from topicloom import LDA, CompoundLDA
from topicloom.datasets import synthetic_compound
from topicloom.errors import InputError, UnknownGroupsWarning
from topicloom.lda.gibbs import sampler_names


@pytest.fixture(scope="module")
def data():
    return synthetic_compound(3, [40, 25, 35], 50, 4, doc_length=40, alpha=1.0, gamma=3.0, eta=0.1, seed=4)


@pytest.fixture(scope="module")
def model(data) -> CompoundLDA:
    return CompoundLDA(4, topic_word_prior=0.1, max_iter=150, random_state=1).fit(data.corpus)


def matched(model: CompoundLDA, data) -> np.ndarray:
    """For each true topic, the nearest found one."""
    return np.array([np.abs(model.topic_word_ - topic).sum(axis=1).argmin() for topic in data.phi])


@pytest.mark.parametrize("sampler", sampler_names())
def test_one_collection_with_a_flat_mixture_is_lda(data, sampler: str) -> None:
    options = {
        "topic_word_prior": 0.2, "max_iter": 12, "burn_in": 6, "thin": 2, "sampler": sampler, "random_state": 3,
    }  # fmt: skip
    plain = LDA(4, doc_topic_prior=0.25, **options).fit(data.corpus)
    flat = CompoundLDA(4, concentration=1.0, mixtures=np.full(4, 0.25), **options).fit(
        data.corpus, groups=["all"] * data.corpus.n_docs
    )
    np.testing.assert_array_equal(flat.chains_[0].state.z, plain.chains_[0].state.z)
    np.testing.assert_array_equal(flat.components_, plain.components_)
    np.testing.assert_array_equal(flat.doc_topic_, plain.doc_topic_)
    assert flat.trace_.log_joint == plain.trace_.log_joint
    matrix = data.corpus.to_matrix()
    np.testing.assert_array_equal(flat.transform(matrix), plain.transform(matrix))
    assert flat.perplexity(matrix) == plain.perplexity(matrix)
    np.testing.assert_array_equal(flat.alpha_, plain.alpha_)
    np.testing.assert_array_equal(flat.beta_, plain.beta_)


def test_one_collection_with_a_flat_mixture_learns_eta_as_lda_does(data) -> None:
    plain = LDA(5, doc_topic_prior=0.2, max_iter=40, random_state=3).fit(data.corpus)
    flat = CompoundLDA(5, concentration=1.0, mixtures=np.full(5, 0.2), max_iter=40, random_state=3)
    flat.fit(data.corpus, groups=[7] * data.corpus.n_docs)
    for name in ("components_", "alpha_", "beta_"):
        np.testing.assert_array_equal(getattr(flat, name), getattr(plain, name))


@pytest.mark.parametrize("method", ["ags", "mgs"])
@pytest.mark.parametrize("sampler", ["auto", "dense", "sparse", "mh", "warp", "partial"])
def test_every_sampler_finds_topics_and_mixtures(data, method: str, sampler: str) -> None:
    found = CompoundLDA(
        4,
        method=method,
        topic_word_prior=0.1,
        max_iter=150,
        sampler=sampler,
        random_state=0,
        method_options={"n_langevin": 3},
    ).fit(data.corpus)
    order = matched(found, data)
    assert sorted(order) == [0, 1, 2, 3]
    ends = np.cumsum([0, 40, 25, 35])
    shares = np.array([data.theta[ends[j] : ends[j + 1]].mean(axis=0) for j in range(3)])
    assert np.abs(found.pi_[:, order] - shares).sum(axis=1).max() < 0.25
    assert 1.5 < found.gamma_ < 6
    assert found.collections_ == ("collection0", "collection1", "collection2")
    assert found.collection_docs_.tolist() == [40, 25, 35]


def test_draws_are_distributions_and_intervals_cover_the_truth(data, model: CompoundLDA) -> None:
    sweeps, draws = model.pi_trace_
    assert sweeps.tolist() == list(range(5, 151, 5))
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    np.testing.assert_array_equal(model.pi_draws_, draws[sweeps >= 75])
    np.testing.assert_allclose(model.pi_.sum(axis=1), 1)
    table = model.prevalence(level=0.99, frame="polars")
    assert table.columns == ["collection", "topic", "mean", "lower", "upper"]
    lower, upper = (table[name].to_numpy().reshape(3, 4)[:, matched(model, data)] for name in ("lower", "upper"))
    assert np.mean((lower <= data.pi) & (data.pi <= upper)) > 0.8


def test_prevalence_of_merged_collections_and_of_any_labels(data, model: CompoundLDA) -> None:
    merged = model.prevalence(lambda label: label == "collection1", frame="polars")
    assert merged["collection"].to_list() == [False] * 4 + [True] * 4
    weights = np.array([40, 35]) / 75
    np.testing.assert_allclose(merged["mean"][:4], weights @ model.pi_[[0, 2]], rtol=1e-9)
    np.testing.assert_allclose(merged["mean"][4:], model.pi_[1], rtol=1e-9)
    named = model.prevalence({"collection0": "x", "collection1": "y", "collection2": "x"}, frame="polars")
    np.testing.assert_array_equal(named["mean"], merged["mean"])
    odd = model.prevalence([d % 2 for d in range(100)], frame="polars")
    assert odd.columns[0] == "label"
    np.testing.assert_allclose(odd["mean"][:4], model.doc_topic_[::2].mean(axis=0), atol=0.03)
    assert all(odd["lower"] < odd["mean"])
    assert all(odd["mean"] < odd["upper"])
    with pytest.raises(InputError, match="no entry for the collection 'collection2'"):
        model.prevalence({"collection0": 1, "collection1": 2})
    with pytest.raises(InputError, match="level=1"):
        model.prevalence(level=1.5)


def test_differences_and_trends(data, model: CompoundLDA) -> None:
    table = model.differences("collection0", "collection2", frame="polars")
    np.testing.assert_allclose(table["mean"], (model.pi_draws_[:, 0] - model.pi_draws_[:, 2]).mean(axis=0))
    back = model.differences("collection2", "collection0", frame="polars")
    np.testing.assert_allclose(back["probability"].to_numpy(), 1 - table["probability"].to_numpy())
    itself = model.differences("collection1", "collection1", frame="polars")
    assert itself["probability"].to_list() == [0.5] * 4
    order = ["collection2", "collection0", "collection1"]
    trend = model.trends(order, frame="polars")
    weight = np.sqrt(model.collection_docs_[[2, 0, 1]])  # polyfit squares it
    slopes = [np.polyfit(range(3), model.pi_[[2, 0, 1], k], 1, w=weight)[0] for k in range(4)]
    np.testing.assert_allclose(trend["mean"], slopes, atol=1e-9)
    later = model.trends(order, times=[0, 10, 20], frame="polars")
    np.testing.assert_allclose(later["mean"].to_numpy() * 10, slopes, atol=1e-9)
    with pytest.raises(InputError, match="'nowhere' is no collection"):
        model.differences("collection0", "nowhere")
    with pytest.raises(InputError, match="two times or more"):
        model.trends(["collection0"])
    with pytest.raises(InputError, match="one number for each of 3"):
        model.trends(times=[1, 2])


def test_labels_of_any_hashable_kind(data) -> None:
    corpus = data.corpus
    numbers = np.repeat([1999, 1987, 2010], [40, 25, 35])
    quick = CompoundLDA(3, max_iter=8, random_state=0)
    by_year = quick.fit(corpus, groups=numbers)
    assert by_year.collections_ == (1987, 1999, 2010)
    pairs = [("a", int(n)) if n > 1990 else None.__class__ for n in numbers]
    assert len(CompoundLDA(3, max_iter=3, random_state=0).fit(corpus, groups=pairs).collections_) == 3
    np.testing.assert_allclose(
        by_year.trends(frame="polars")["mean"],
        [np.polyfit([1987, 1999, 2010], by_year.pi_[:, k], 1, w=np.sqrt([25, 40, 35]))[0] for k in range(3)],
        atol=1e-9,
    )


def test_one_collection_is_lda_with_a_learned_base_measure(data) -> None:
    matrix = data.corpus.to_matrix()
    found = CompoundLDA(4, topic_word_prior=0.1, max_iter=60, random_state=0).fit(matrix, ["all"] * 100)
    assert found.collections_ == ("all",)
    np.testing.assert_allclose(found.alpha_, found.gamma_ * found.pi_[0])
    assert np.ptp(found.alpha_) > 0.05  # the base measure has become asymmetric


def test_collections_may_come_as_y(data) -> None:
    matrix, groups = data.corpus.to_matrix(), np.array(data.corpus.groups)
    quick = CompoundLDA(3, max_iter=6, random_state=0)
    by_name = clone(quick).fit(matrix, groups=groups)
    by_y = clone(quick).fit(matrix, groups)
    assert by_y.collections_ == ("collection0", "collection1", "collection2")
    assert by_y.fingerprint_ == by_name.fingerprint_
    assert clone(quick).fit(matrix, groups, groups=list(groups)).fingerprint_ == by_name.fingerprint_
    column = clone(quick).fit(matrix, groups[:, None])  # as scikit-learn's tools may give it
    assert column.fingerprint_ == clone(quick).fit(matrix, groups=pd.DataFrame({"a": groups})).fingerprint_
    assert column.fingerprint_ == by_name.fingerprint_
    with pytest.warns(UnknownGroupsWarning, match="no collection of any document is given"):
        without = by_y.score(matrix)
    assert by_y.score(matrix, groups) == by_y.score(matrix, groups=groups) != without
    assert without == by_y.score(matrix, groups=[None] * 100)
    theta = clone(quick).fit_transform(matrix, groups)
    np.testing.assert_array_equal(theta, by_y.transform(matrix))


def test_grid_search_takes_collections_as_y_and_never_loses_them(data) -> None:
    matrix, groups = data.corpus.to_matrix(), np.array(data.corpus.groups)
    search = GridSearchCV(CompoundLDA(max_iter=4, random_state=0), {"n_components": [2, 3]}, cv=2)
    assert search.fit(matrix, groups).best_estimator_.collections_ == ("collection0", "collection1", "collection2")
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    alone = clone(search).set_params(cv=GroupKFold(2), error_score="raise")
    with pytest.raises(InputError, match=r"requires y to be passed"):  # groups are for the splitter
        alone.fit(matrix, groups=groups)


@pytest.mark.parametrize("method", ["ags", "mgs", "vem"])
def test_collections_that_are_missing_or_contradict_each_other_are_refused(data, method: str) -> None:
    corpus, matrix = data.corpus, data.corpus.to_matrix()
    other = ["x", "y"] * 50
    model = CompoundLDA(3, method=method, max_iter=3, random_state=0)
    for arguments, options, message in [
        ((matrix,), {}, "use LDA"),
        ((corpus, other), {}, "the corpus has groups that differ"),
        ((matrix, other), {"groups": list(corpus.groups)}, "groups are given that differ"),
        ((matrix, other[:-1]), {}, "y has 99 labels but there are 100 documents"),
        ((matrix, 7), {}, "y is 7; give one label per document"),
        ((matrix, [None, *other[1:]]), {}, "document 0 has no collection"),
    ]:
        with pytest.raises(InputError, match=message):
            model.fit(*arguments, **options)
        assert not hasattr(model, "seed_")
    fitted = model.set_params(method="ags").fit(corpus)
    with pytest.raises(InputError, match="give one of them alone"):
        fitted.score(matrix, other, groups=other)


def test_new_documents_with_a_known_an_unknown_and_no_collection(data, model: CompoundLDA) -> None:
    corpus = data.corpus
    empty = np.zeros((4, 50), int)
    groups = ["collection1", "of the future", None, float("nan")]
    theta = model.transform(empty, groups)
    np.testing.assert_allclose(theta[0], model.pi_[1])
    np.testing.assert_allclose(theta[1], 0.25)
    np.testing.assert_allclose(theta[2], model.alpha_ / model.alpha_.sum())
    np.testing.assert_array_equal(theta[3], theta[2])
    words = corpus.to_matrix()[:6].toarray()
    whole = model.transform(words, ["collection0", "collection1"] * 3)
    np.testing.assert_array_equal(model.transform(words[[3, 2]], ["collection1", "collection0"]), whole[[3, 2]])
    assert np.abs(whole - model.transform(words)).max() > 0  # no collection
    np.testing.assert_array_equal(model.transform(corpus.select([0])), whole[[0]])  # the corpus's own
    with pytest.warns(UnknownGroupsWarning, match="'elsewhere' is none"):
        model.transform(words, ["elsewhere"] * 6)
    with pytest.raises(InputError, match="5 labels but there are 6 documents"):
        model.transform(words, ["collection0"] * 5)


def test_fit_transform_knows_the_collections(data) -> None:
    matrix, groups = data.corpus.to_matrix(), list(data.corpus.groups)
    quick = CompoundLDA(3, max_iter=10, random_state=0)
    theta = quick.fit_transform(matrix, groups=groups)
    np.testing.assert_array_equal(theta, quick.transform(matrix, groups))
    assert np.abs(theta - quick.transform(matrix)).max() > 0


def test_knowing_the_collection_predicts_better(data, model: CompoundLDA) -> None:
    more = synthetic_compound(3, [40, 25, 35], 50, 4, doc_length=4, alpha=1.0, gamma=3.0, eta=0.1, seed=4)
    corpus = more.corpus
    theta = data.pi[np.repeat([0, 1, 2], [40, 25, 35])]
    rng = np.random.default_rng(0)
    z = [rng.choice(4, 6, p=rng.dirichlet(20 * row)) for row in theta]
    X = np.array([np.bincount([rng.choice(50, p=data.phi[k]) for k in own], minlength=50) for own in z])
    known = model.perplexity(X, corpus.groups)
    assert known < model.perplexity(X)
    assert model.score(X, groups=corpus.groups) == pytest.approx(-np.log(known))


@pytest.mark.parametrize("inference", ["ags", "mgs"])
def test_the_burn_in_changes_no_chain(data, inference: str) -> None:
    """It says what is kept, and nothing else: the sweeps, and the steps of Langevin dynamics, stay the same."""
    quick = {"method": inference, "max_iter": 30, "thin": 5, "random_state": 0}
    plain = CompoundLDA(4, **quick).fit(data.corpus)
    for burn_in in (1, 10, 25):
        kept = CompoundLDA(4, **quick, burn_in=burn_in).fit(data.corpus)
        np.testing.assert_array_equal(kept.chains_[0].state.z, plain.chains_[0].state.z)
        np.testing.assert_array_equal(kept.pi_trace_[1], plain.pi_trace_[1])
        np.testing.assert_array_equal(kept.chains_[0].extra.log_step, plain.chains_[0].extra.log_step)


def test_averages_take_the_mean_of_the_priors(data) -> None:
    found = CompoundLDA(3, topic_word_prior=0.1, concentration=2.0, max_iter=20, burn_in=10, thin=5, random_state=0)
    found.fit(data.corpus)
    chain = found.chains_[0]
    assert chain.kept.n_samples == 3
    counts = chain.kept.doc / 3 + chain.extra.kept[chain.prior.alpha_row] / 3
    np.testing.assert_allclose(found.doc_topic_, counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(chain.extra.kept.sum(axis=1), 6.0)
    assert found.pi_trace_[0].tolist() == [5, 10, 15, 20]
    assert len(found.pi_draws_) == 3


@pytest.mark.parametrize("method", ["ags", "mgs"])
@pytest.mark.parametrize("n_paths", [1, 2])
def test_a_stopped_run_goes_on_as_if_it_never_stopped(data, tmp_path: Path, method: str, n_paths: int) -> None:
    options = {
        "method": method, "collection_prior": None, "n_chains": 2, "n_paths": n_paths, "checkpoint_every": 7,
        "random_state": 5,
    }  # fmt: skip
    straight = CompoundLDA(4, max_iter=40, **options).fit(data.corpus)
    stopped = CompoundLDA(4, max_iter=25, checkpoint_dir=tmp_path / "run", **options).fit(data.corpus)
    assert stopped.n_iter_ == 25
    whole = topicloom.resume(tmp_path / "run", max_iter=40)
    assert whole.fingerprint_ == straight.fingerprint_
    for name in ("pi_draws_", "doc_topic_", "collection_prior_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(straight, name))
    assert whole.trace_ == straight.trace_
    loaded = topicloom.load(tmp_path / "run")
    assert isinstance(loaded, CompoundLDA)
    assert loaded.collections_ == straight.collections_
    np.testing.assert_array_equal(loaded.pi_draws_, straight.pi_draws_)
    np.testing.assert_array_equal(loaded.doc_topic_, straight.doc_topic_)
    np.testing.assert_array_equal(loaded.transform(data.corpus), straight.transform(data.corpus))


def test_saved_without_its_corpus_a_model_keeps_its_mixtures(data, model: CompoundLDA, tmp_path: Path) -> None:
    model.save(tmp_path / "model", corpus=False)
    loaded = topicloom.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.pi_draws_, model.pi_draws_)
    assert loaded.differences("collection0", "collection1", frame="polars").equals(
        model.differences("collection0", "collection1", frame="polars")
    )


def test_threads_and_shards(data) -> None:
    one, two = (
        CompoundLDA(4, max_iter=15, n_shards=2, n_chains=2, n_jobs=n, random_state=0).fit(data.corpus) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.pi_draws_, two.pi_draws_)
    assert one.fingerprint_ == two.fingerprint_


def test_paths_and_estimators(data) -> None:
    found = CompoundLDA(4, topic_word_prior=0.1, n_paths=3, max_iter=60, random_state=0).fit(data.corpus)
    assert found.chains_[0].state.z.shape == (3 * data.corpus.n_tokens,)
    assert len(found.trace_.agreement) == 6
    assert sorted(matched(found, data)) == [0, 1, 2, 3]
    dense, plain = (found.estimate(name) for name in ("cgs_p", "standard"))
    assert dense[0].shape == plain[0].shape == (100, 4)
    assert np.abs(dense[0] - plain[0]).max() > 1e-3


def test_what_is_learned(data) -> None:
    quick = {"max_iter": 40, "random_state": 0}
    fixed = CompoundLDA(4, concentration=2.0, topic_word_prior=0.3, **quick).fit(data.corpus)
    assert (fixed.gamma_, fixed.beta_[0]) == (2.0, 0.3)
    np.testing.assert_array_equal(fixed.collection_prior_, np.ones(4))
    kept = CompoundLDA(4, learn_priors=False, collection_prior=None, **quick).fit(data.corpus)
    assert (kept.gamma_, kept.beta_[0], kept.collection_prior_[0]) == (1.0, 0.25, 1.0)
    learned = CompoundLDA(4, concentration=2.0, topic_word_prior=0.3, learn_priors=True, **quick).fit(data.corpus)
    assert learned.gamma_ != 2.0
    assert learned.beta_[0] != 0.3
    alpha = CompoundLDA(4, collection_prior={"shape": 2.0, "rate": 4.0}, **quick).fit(data.corpus)
    assert alpha.collection_prior_[0] != 1.0
    assert np.ptp(alpha.collection_prior_) == 0
    given = CompoundLDA(4, mixtures=data.pi, concentration=3.0, **quick).fit(data.corpus)
    np.testing.assert_array_equal(given.chains_[0].prior.alpha, 3.0 * data.pi)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gibbs"}, "method='gibbs' is not known; choose one of 'ags', 'mgs', 'vem'"),
        ({"concentration": 0}, r"concentration=0 must be a number from 1e-12 to 1e\+12"),
        ({"concentration": -1.0}, "concentration=-1.0 must be a number from 1e-12"),
        ({"collection_prior": [1.0, 2.0]}, "collection_prior has shape"),
        ({"collection_prior": {"scale": 1.0}}, "collection_prior has the key 'scale', .* keys may be 'shape', 'rate'"),
        (
            {"collection_prior": {"shape": 0.0}},
            r"collection_prior\['shape'\]=0.0 must be a number from 1e-12 to 1e\+12",
        ),
        ({"collection_prior": {"rate": "x"}, "learn_priors": False}, r"collection_prior\['rate'\]='x' must be"),
        ({"mixtures": np.full(3, 0.5)}, "positive shares that sum to 1"),
        ({"mixtures": np.full((2, 3), 1 / 3)}, "a row of them for each of 3 collections"),
        ({"mixtures": np.full(3, 1 / 3), "collection_prior": None}, "nothing to learn collection_prior from"),
        ({"method_options": {"n_langevin": 0}}, r"method_options\['n_langevin'\]=0"),
        ({"method_options": {"target_acceptance": 0.99}}, "from 0.05 to 0.95"),
        ({"burn_in": 99}, "leaves no sweep to keep"),
        ({"thin": 0}, "thin=0"),
    ],
)
def test_bad_parameters(data, options: dict, message: str) -> None:
    model = CompoundLDA(3, max_iter=5).set_params(**options)
    with pytest.raises(InputError, match=message):
        model.fit(data.corpus)
    assert not hasattr(model, "seed_")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("abc", "groups is 'abc'; give one label per document"),
        (3, "groups is 3"),
        (["a"] * 99, "99 labels but there are 100 documents"),
        (["a"] * 50 + [None] + ["b"] * 49, "document 50 has no collection"),
        ([["a"]] * 100, "document 0: .* is no label of a collection"),
    ],
)
def test_bad_groups(data, groups, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CompoundLDA(3, max_iter=5).fit(data.corpus, groups=groups)


def test_labels_that_a_file_cannot_hold(data, tmp_path: Path) -> None:
    groups = [("pair", d % 2) for d in range(100)]
    found = CompoundLDA(3, max_iter=3, random_state=0).fit(data.corpus, groups=groups)
    with pytest.raises(InputError, match="cannot be saved; use text, numbers or dates"):
        found.save(tmp_path / "model")


# -- without sampling ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def variational(data) -> CompoundLDA:
    return CompoundLDA(4, method="vem", max_iter=200, method_options={"tol": 1e-3}, random_state=2).fit(data.corpus)


def test_variational_em_finds_topics_and_mixtures(data, variational: CompoundLDA) -> None:
    order = matched(variational, data)
    assert sorted(order) == [0, 1, 2, 3]
    assert variational.converged_
    np.testing.assert_allclose(variational.pi_.sum(axis=1), 1)
    assert np.abs(variational.pi_[:, order] - data.pi).sum(axis=1).max() < 0.4
    assert variational.pi_draws_.shape == (200, 3, 4)
    np.testing.assert_allclose(variational.pi_draws_.mean(axis=0), variational.pi_, atol=0.05)
    bounds = variational.trace_.log_joint
    assert bounds == sorted(bounds)
    assert variational.doc_topic_.shape == (100, 4)
    apart = np.abs(variational.transform(data.corpus) - variational.doc_topic_).max(axis=1)
    assert np.median(apart) < 0.005
    assert np.mean(apart < 0.1) >= 0.98  # a few documents have two optima, and a new one starts from equal topics
    assert variational.perplexity(data.corpus) < 50
    assert len(variational.prevalence()) == 12


def test_variational_em_takes_fractions_and_goes_on_where_it_stopped(data, tmp_path: Path) -> None:
    matrix, groups = data.corpus.to_matrix() * 0.5, data.corpus.groups
    options = {"method": "vem", "collection_prior": None, "method_options": {"tol": 0.0}, "random_state": 1}
    straight = CompoundLDA(4, max_iter=12, **options).fit(matrix, groups=groups)
    CompoundLDA(4, max_iter=7, checkpoint_dir=tmp_path / "run", **options).fit(matrix, groups=groups)
    whole = topicloom.resume(tmp_path / "run", max_iter=12)
    assert whole.fingerprint_ == straight.fingerprint_
    np.testing.assert_array_equal(whole.pi_draws_, straight.pi_draws_)
    loaded = topicloom.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.pi_, straight.pi_)
    np.testing.assert_array_equal(loaded.transform(matrix, groups), straight.transform(matrix, groups))
    assert loaded.collection_prior_[0] == straight.collection_prior_[0] != 1.0


@pytest.mark.parametrize("options", [{"n_paths": 2}, {"mixtures": np.full(4, 0.25)}, {"method_options": {"tol": -1.0}}])
def test_options_that_variational_em_does_not_take(data, options: dict) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        CompoundLDA(4, method="vem", **options).fit(data.corpus)


def test_threads_do_not_change_variational_em(data, variational: CompoundLDA) -> None:
    two = CompoundLDA(4, method="vem", max_iter=200, random_state=2, n_jobs=2).fit(data.corpus)
    assert two.fingerprint_ == variational.fingerprint_

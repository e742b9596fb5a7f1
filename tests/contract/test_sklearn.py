"""scikit-learn's own checks of an estimator, and ours for what theirs leave out.

Their checks feed fractional data, which a sampler of whole tokens refuses by design. So they run twice: on ``LDA`` as
it is, where each check that meets fractional data is expected to fail with that one message, and on ``LDA`` with the
data rounded at the door, where every check must pass.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from tests.contract.rounded import Rounded
from topicloom import HDP, LDA, CompoundLDA, from_matrix
from topicloom.datasets import synthetic_lda

FRACTIONAL = "needs integer counts"
REASON = "the check's data are fractional; a sampler needs whole tokens and says so"
# check_estimator_sparse_* and the two fit2d_1* checks catch our error and raise their own in its place.
MEET_FRACTIONS = """
    check_dict_unchanged check_dont_overwrite_parameters check_dtype_object check_estimator_sparse_array
    check_estimator_sparse_matrix check_estimator_sparse_tag check_estimators_dtypes
    check_estimators_fit_returns_self check_estimators_nan_inf check_estimators_overwrite_params
    check_estimators_pickle check_f_contiguous_array_estimator check_fit2d_1feature check_fit2d_1sample
    check_fit2d_predict1d check_fit_check_is_fitted check_fit_idempotent check_fit_score_takes_y
    check_methods_sample_order_invariance check_methods_subset_invariance check_n_features_in
    check_n_features_in_after_fitting check_pipeline_consistency check_readonly_memmap_input
    check_transformer_data_not_an_array check_transformer_general check_transformer_n_iter
    check_transformer_preserve_dtypes
"""
EXPECTED = dict.fromkeys(MEET_FRACTIONS.split(), REASON)


class RoundedLDA(Rounded, LDA):
    pass


class RoundedCompoundLDA(Rounded, CompoundLDA):
    pass


class RoundedHDP(Rounded, HDP):
    pass


@pytest.mark.filterwarnings("ignore")
def test_checks_on_lda_fail_only_for_fractional_data() -> None:
    estimator = LDA(2, max_iter=5, random_state=0)
    results = check_estimator(estimator, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    assert len(results) > 40
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert not failed
    for result in results:
        if result["status"] == "xfail":
            chain = [result["exception"]]
            while (error := chain[-1].__cause__ or chain[-1].__context__) is not None:
                chain.append(error)
            assert any(FRACTIONAL in str(error) for error in chain), result["check_name"]
    unexpected = set(EXPECTED) - {result["check_name"] for result in results if result["status"] == "xfail"}
    assert not unexpected, "these checks pass now: take them off the list"


@pytest.mark.filterwarnings("ignore")
def test_every_check_passes_on_whole_numbers() -> None:
    results = check_estimator(RoundedLDA(2, max_iter=5, random_state=0), on_fail="raise", on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 45


# -- with three topics and more, and real counts --------------------------------------------------------------


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    X = synthetic_lda(60, 40, 4, doc_length=30.0, seed=3).corpus.to_matrix().toarray()
    X[7] = 0  # an empty document
    X[20] = X[30]
    return X


@pytest.fixture(scope="module", params=["cgs_p", "standard"])
def model(request, counts) -> LDA:
    return LDA(5, max_iter=40, random_state=1, estimator=request.param).fit(counts)


def test_a_subset_gives_the_same_rows(model: LDA, counts: np.ndarray) -> None:
    whole = model.transform(counts)
    for rows in ([3], [9, 7, 50], list(range(0, 60, 7))):
        np.testing.assert_array_equal(model.transform(counts[rows]), whole[rows])


def test_order_changes_only_the_order(model: LDA, counts: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_array_equal(model.transform(counts[order]), model.transform(counts)[order])


def test_equal_documents_get_equal_answers(model: LDA, counts: np.ndarray) -> None:
    theta = model.transform(counts)
    np.testing.assert_array_equal(theta[20], theta[30])
    np.testing.assert_array_equal(model.transform(np.repeat(counts[[4]], 3, axis=0)), theta[[4, 4, 4]])


def test_the_kind_of_input_changes_nothing(model: LDA, counts: np.ndarray) -> None:
    import pandas as pd

    dense = model.transform(counts)
    for other in (
        counts.astype(np.float32),
        counts.astype(np.uint8),
        np.asfortranarray(counts),
        sp.csr_array(counts),
        sp.csc_matrix(counts),
        sp.coo_array(counts),
        from_matrix(counts),
        counts.tolist(),
    ):
        np.testing.assert_array_equal(model.transform(other), dense)
    frame = pd.DataFrame(counts, columns=[f"gene{j}" for j in range(40)])
    fitted = clone(model).fit(frame)
    np.testing.assert_array_equal(fitted.transform(frame), clone(model).fit(counts).transform(counts))
    assert fitted.vocabulary_[3] == "gene3"
    assert list(fitted.feature_names_in_) == list(frame.columns)


def test_threads_change_nothing(counts: np.ndarray) -> None:
    one, two = (LDA(5, max_iter=20, random_state=1, n_jobs=n_jobs).fit(counts) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.doc_topic_, two.doc_topic_)
    np.testing.assert_array_equal(one.transform(counts), two.transform(counts))
    assert one.perplexity(counts) == two.perplexity(counts)
    assert one.fingerprint_ == two.fingerprint_


@pytest.mark.parametrize("n_shards", [1, 2])
@pytest.mark.parametrize("n_chains", [1, 2])
def test_threads_change_nothing_that_is_learned_or_kept(counts: np.ndarray, n_shards: int, n_chains: int) -> None:
    one, two = (
        LDA(5, max_iter=40, burn_in=15, thin=5, trace_every=5, n_shards=n_shards, n_chains=n_chains, random_state=1,
            n_jobs=n_jobs).fit(counts)
        for n_jobs in (1, 2)
    )  # fmt: skip
    assert one.traces_ == two.traces_
    assert one.alpha_.std() > 0.0
    for name in ("components_", "doc_topic_", "alpha_", "beta_", "log_joint_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_drop_in_for_the_scikit_learn_model(counts: np.ndarray) -> None:
    """The same code, with the class changed, runs on both and gives arrays of one meaning."""
    for cls in (LatentDirichletAllocation, LDA):
        model = cls(n_components=4, doc_topic_prior=0.5, topic_word_prior=0.1, max_iter=30, n_jobs=1, random_state=0)
        theta = model.fit_transform(counts)
        assert theta.shape == (60, 4)
        np.testing.assert_allclose(theta.sum(axis=1), 1)
        np.testing.assert_allclose(theta[7], 0.25)  # nothing known: the prior's mean
        assert model.components_.shape == (4, 40)
        # Pseudo-counts: the tokens plus the prior of every cell.
        assert model.components_.sum() == pytest.approx(counts.sum() + 4 * 40 * 0.1, rel=1e-6)
        assert model.n_features_in_ == 40
        assert np.isfinite(model.score(counts))
        assert 1 < model.perplexity(counts) < 60
        assert list(model.get_feature_names_out()) == [f"{cls.__name__.lower()}{k}" for k in range(4)]


def test_grid_search_pipelines_and_output_frames(counts: np.ndarray) -> None:
    search = GridSearchCV(LDA(max_iter=10, random_state=0), {"n_components": [2, 4]}, cv=2).fit(counts)
    assert search.best_params_["n_components"] in (2, 4)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    pipeline = make_pipeline(LDA(3, max_iter=10, random_state=0)).set_output(transform="pandas").fit(counts)
    assert list(pipeline.transform(counts).columns) == ["lda0", "lda1", "lda2"]


# -- collections ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        RoundedCompoundLDA(2, max_iter=5, random_state=0),
        RoundedCompoundLDA(2, method="mgs", max_iter=5, random_state=0),
        CompoundLDA(2, method="vem", max_iter=5, random_state=0),
        RoundedHDP(2, max_iter=5, random_state=0),
    ],
    ids=["ags", "mgs", "vem", "hdp"],
)
def test_every_check_passes_on_compound_lda_and_a_process(estimator: CompoundLDA | HDP) -> None:
    results = check_estimator(estimator, on_fail="raise", on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 45

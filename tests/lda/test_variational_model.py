"""LDA by variational inference: what it publishes, refuses, saves and repeats."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from typer.testing import CliRunner

import topicloom
from tests.helpers.saved import file_of
from tests.lda.variational_fits import ALL, BATCH, STREAM, fitted, small_corpus, small_counts
from topicloom import LDA, VariationalLDA, from_matrix
from topicloom.cli import app
from topicloom.corpus import Corpus, formats
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import read_arrays
from topicloom.lda.variational import batch as v
from topicloom.lda.variational import sampler as variational_sampler


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return small_corpus()


@pytest.fixture(scope="module")
def counts(corpus: Corpus) -> np.ndarray:
    return small_counts(corpus)


# -- the estimator's contract --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [*BATCH, *STREAM])
def test_every_scikit_learn_check_passes_on_any_counts(mode: str) -> None:
    results = check_estimator(VariationalLDA(2, method=mode, max_iter=3, random_state=0), on_fail="raise", on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 45


@pytest.mark.parametrize("mode", ALL)
def test_what_is_published(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, counts, doc_topic_prior=0.5, topic_word_prior=0.1)
    n_docs = 6 if mode == "cvb_exact" else 60
    tokens = counts[:n_docs].sum()
    assert model.components_.shape == (4, 40)
    assert model.doc_topic_.shape == (n_docs, 4)
    np.testing.assert_allclose(model.doc_topic_.sum(axis=1), 1)
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)
    if mode not in STREAM:  # a stream's counts are those of its last batches, scaled
        assert model.components_.sum() == pytest.approx(tokens + 4 * 40 * 0.1, rel=1e-5)
    theta = model.transform(counts)
    np.testing.assert_allclose(theta[7], 0.25)  # nothing known: the prior's mean
    np.testing.assert_array_equal(theta[20], theta[30])
    assert 1 < model.perplexity(counts) < 60
    assert model.score(counts) == -np.log(model.perplexity(counts))
    assert len(model.topics_frame(3)) == 12
    assert len(model.top_docs(0, 3)) == 3
    assert not model.converged_
    assert model.n_iter_ == len(np.unique(model.trace_.sweep)) * 10 + model.n_iter_ % 10
    assert len(model.trace_.change) == len(model.trace_.log_joint)
    with pytest.raises(InputError, match="draws none"):
        model.estimate("cgs_p")


@pytest.mark.parametrize("mode", ALL)
def test_topics_are_found(mode: str, corpus: Corpus) -> None:
    """Far better than no topics at all."""
    model = fitted(mode, corpus, max_iter=6 if mode == "cvb_exact" else 60)
    flat = LDA(1, max_iter=1, random_state=0).fit(corpus)
    assert model.perplexity(corpus) < (1.0 if mode == "cvb_exact" else 0.85) * flat.perplexity(corpus)


@pytest.mark.parametrize("mode", [*BATCH, *STREAM])
@pytest.mark.parametrize("shards", [1, 3])
def test_threads_change_nothing(mode: str, shards: int, counts: np.ndarray) -> None:
    models = [fitted(mode, counts, n_jobs=n_jobs, n_shards=shards) for n_jobs in (1, 2, 4)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].components_, other.components_)
        np.testing.assert_array_equal(models[0].doc_topic_, other.doc_topic_)
        np.testing.assert_array_equal(models[0].transform(counts), other.transform(counts))
        assert models[0].fingerprint_ == other.fingerprint_


def test_shards_are_part_of_a_collapsed_model_and_not_of_vb(counts: np.ndarray) -> None:
    for mode, same in (("cvb0", False), ("cvb", False), ("vb", True), ("svb", True)):
        one, three = (fitted(mode, counts, n_shards=n) for n in (1, 3))
        assert (one.fingerprint_ == three.fingerprint_) == same


@pytest.mark.parametrize("mode", ALL)
def test_a_document_does_not_depend_on_its_batch(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, counts)
    whole = model.transform(counts)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_array_equal(model.transform(counts[order]), whole[order])
    for rows in ([3], [9, 7, 50]):
        np.testing.assert_array_equal(model.transform(sp.csr_array(counts[rows])), whole[rows])
    np.testing.assert_array_equal(model.transform(from_matrix(counts)), whole)


# -- fractional counts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*BATCH, *STREAM])
def test_fractional_counts_are_welcome(mode: str, counts: np.ndarray) -> None:
    weights = counts * np.random.default_rng(0).uniform(0.2, 1.5, counts.shape)
    model = fitted(mode, weights, topic_word_prior=0.1, doc_topic_prior=0.5)
    if mode not in STREAM:
        assert model.components_.sum() == pytest.approx(weights.sum() + 4 * 40 * 0.1, rel=1e-5)
    assert np.isfinite(model.perplexity(weights))
    assert np.all(model.components_ > 0)


def test_exact_sums_need_whole_counts(counts: np.ndarray) -> None:
    with pytest.raises(InputError, match='method="cvb", which takes them'):
        VariationalLDA(2, method="cvb_exact").fit(counts[:5] * 0.5)


def test_gibbs_points_to_a_mode_that_takes_them(counts: np.ndarray) -> None:
    with pytest.raises(InputError, match='use VariationalLDA with method="cvb0"'):
        LDA(2).fit(counts * 0.5)


# -- convergence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", BATCH)
def test_it_stops_when_tokens_stay(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, counts, tol=1e-2, max_iter=500, doc_topic_prior=0.5, topic_word_prior=0.1)
    assert model.converged_
    assert model.n_iter_ < 500
    assert model.chains_[0].extra.change < 1e-2


def test_it_warns_when_they_do_not(counts: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match=r"not converged after max_iter=2.*Raise max_iter or tol"):
        fitted("cvb0", counts, tol=1e-6, max_iter=2)


def test_the_best_chain_is_published(counts: np.ndarray) -> None:
    model = fitted("cvb0", counts, n_chains=3)
    assert model.best_chain_ == np.argmax(model.log_joint_)
    assert len(set(model.log_joint_)) == 3


def test_callbacks_can_stop_a_run(counts: np.ndarray) -> None:
    seen = []
    model = VariationalLDA(3, method="vb", tol=0.0).fit(
        counts, callbacks=[lambda chain: seen.append(chain.sweep) or chain.sweep == 4]
    )
    assert seen == [1, 2, 3, 4]
    assert model.n_iter_ == 4


# -- priors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*BATCH, *STREAM])
def test_seed_words_pull_their_topic(mode: str, counts: np.ndarray) -> None:
    model = fitted(mode, from_matrix(counts), seed_words={2: ["word5"]}, seed_weight=50.0, topic_word_prior=0.1)
    assert np.argmax(model.topic_word_[:, 5]) == 2


# -- memory --------------------------------------------------------------------------------------------------------


def test_memory_is_announced_and_refused(counts: np.ndarray, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    model = VariationalLDA(1000, method="cvb0", max_iter=1, tol=0.0, verbose=1, random_state=0)
    pairs = int((counts > 0).sum())
    model.fit(counts)
    assert f"{pairs:,} distinct document/word pairs × 1,000 topics" in capsys.readouterr().err
    monkeypatch.setattr(variational_sampler, "available_memory", lambda: 2_000_000)
    with pytest.raises(InputError, match=r'needs 2\.7 MB .* 2\.0 MB are free\. Use method="scvb0" or "svb"'):
        model.fit(counts)
    VariationalLDA(20, method="svb", max_iter=1, tol=0.0).fit(counts)
    assert v.bytes_needed("cvb0", from_matrix(counts), 10) == 4 * pairs * 10 + 8 * 10 * 100
    monkeypatch.undo()
    free = variational_sampler.available_memory()
    assert free is None or free > 1e6


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ALL)
def test_saved_and_loaded(mode: str, counts: np.ndarray, tmp_path: Path) -> None:
    model = fitted(mode, counts)
    model.save(tmp_path / "model")
    loaded = topicloom.load(tmp_path / "model")
    assert loaded.fingerprint_ == model.fingerprint_
    np.testing.assert_array_equal(loaded.transform(counts), model.transform(counts))
    np.testing.assert_array_equal(loaded.doc_topic_, model.doc_topic_)
    assert loaded.trace_ == model.trace_
    assert loaded.perplexity(counts) == model.perplexity(counts)
    model.save(tmp_path / "bare", corpus=False)
    bare = topicloom.load(tmp_path / "bare")
    np.testing.assert_array_equal(bare.transform(counts), model.transform(counts))
    with pytest.raises(StorageError, match="without its corpus"):
        _ = bare.corpus_


@pytest.mark.parametrize("mode", ALL)
def test_a_stopped_run_goes_on_as_if_it_never_was(mode: str, counts: np.ndarray, tmp_path: Path) -> None:
    whole, at = (6, 3) if mode == "cvb_exact" else (23, 11)
    params = {"checkpoint_every": 2, "trace_every": 3, "n_chains": 2}
    straight = fitted(mode, counts, max_iter=whole, checkpoint_dir=tmp_path / "straight", **params)

    def stop(chain) -> None:
        if chain.sweep == at:
            raise KeyboardInterrupt

    model = VariationalLDA(4, method=mode, max_iter=whole, tol=0.0, random_state=1, batch_size=16,
                checkpoint_dir=tmp_path / "stopped", **params)  # fmt: skip
    X = counts[:6] if mode == "cvb_exact" else counts
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, callbacks=[stop])
    with pytest.raises(StorageError, match="has not finished"):
        topicloom.load(tmp_path / "stopped")
    resumed = topicloom.resume(tmp_path / "stopped", n_jobs=2)
    assert resumed.fingerprint_ == straight.fingerprint_
    np.testing.assert_array_equal(resumed.log_joint_, straight.log_joint_)
    assert resumed.traces_ == straight.traces_
    for role in ("chain-0", "chain-1", "model"):
        one, other = (read_arrays(file_of(tmp_path / folder, role)) for folder in ("stopped", "straight"))
        assert one[2] == other[2]  # the digest of all arrays
    longer = topicloom.resume(tmp_path / "stopped", max_iter=whole + 2)
    assert longer.n_iter_ == whole + 2


@pytest.mark.parametrize("mode", ["cvb0", "svb"])
def test_the_command_line_has_them_too(mode: str, corpus: Corpus, tmp_path: Path) -> None:
    formats.write(corpus, tmp_path / "counts.npz")
    fit = ["fit", tmp_path / "counts.npz", "--out", tmp_path / "run", "--method", mode, "-k", 4, "-n", 6]
    result = CliRunner().invoke(app, [*map(str, fit), "--tol", "0", "--batch-size", "20", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert shown["sweeps"] == 6
    model = topicloom.load(tmp_path / "run")
    assert isinstance(model, VariationalLDA)
    assert model.method == mode
    assert shown["log_joint_per_token"] == pytest.approx(model.log_joint_[0] / corpus.n_tokens)
    again = CliRunner().invoke(app, ["resume", str(tmp_path / "run"), "--sweeps", "8", "--quiet"])
    assert again.exit_code == 0, again.output
    assert topicloom.load(tmp_path / "run").n_iter_ == 8
    told = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run"), str(tmp_path / "counts.npz")])
    assert told.exit_code == 0, told.output


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "magic"}, "method='magic' is not known"),
        ({"tol": -1.0}, "tol=-1.0 must be a number of at least 0"),
        ({"tol": float("nan")}, "tol=nan must be"),
        ({"batch_size": 0}, "batch_size=0 must be a whole number of at least 1"),
        ({"learning_decay": 1.5}, "learning_decay=1.5 must be a number from 0 to 1"),
        ({"learning_offset": -1}, "learning_offset=-1 must be"),
        ({"max_doc_update_iter": 0}, "max_doc_update_iter=0"),
        ({"total_samples": 0}, "total_samples=0"),
        ({"mean_change_tol": "x"}, "mean_change_tol='x'"),
    ],
)
def test_bad_parameters(params: dict, message: str, counts: np.ndarray) -> None:
    with pytest.raises(InputError, match=message):
        VariationalLDA(3, **({"method": "svb"} | params)).fit(counts)


@pytest.mark.parametrize("mode", ["cvb0", "svb"])
def test_empty_corpora_are_refused(mode: str) -> None:
    with pytest.raises(InputError, match="all 3 documents are empty"):
        VariationalLDA(2, method=mode).fit(np.zeros((3, 4)))


def test_many_small_priors_do_not_underflow() -> None:
    """With tiny priors and many topics every exponent of the Gaussian form is far below what exp can hold."""
    X = np.ones((3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny = {"doc_topic_prior": 1e-7, "topic_word_prior": 1e-7}
        model = VariationalLDA(3000, method="cvb", max_iter=2, tol=0.0, random_state=0, **tiny).fit(X)
    assert np.isfinite(model.components_).all()

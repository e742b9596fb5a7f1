"""Topics that other samples of documents have: real ones are found again, one that a few documents make up is not."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.helpers.tasks import ShuffledTasks
from topicloom import LDA, CompoundLDA, LabeledLDA, MedLDAClassifier, VariationalLDA, from_matrix
from topicloom.corpus import Corpus
from topicloom.corpus._executors import using
from topicloom.datasets import bars
from topicloom.diagnostics import bootstrap
from topicloom.diagnostics.bootstrap import BootstrapStability, bootstrap_stability
from topicloom.errors import InputError
from topicloom.numerics.rng import Purpose, path_key

N_REAL, K = 4, 5


def one_odd_document() -> Corpus:
    """Documents of four topics with words of their own, and one document whose words no other has."""
    rng = np.random.default_rng(0)
    rows = np.zeros((61, 50), int)
    for d in range(60):
        rows[d] = np.bincount(10 * (d % N_REAL) + rng.integers(0, 10, 40), minlength=50)
    rows[60, 40:] = 8
    return from_matrix(rows, ids=[f"d{d}" for d in range(61)])


@pytest.fixture(scope="module")
def model() -> LDA:
    return LDA(K, doc_topic_prior=0.1, topic_word_prior=0.1, n_chains=4, max_iter=25, random_state=0).fit(
        one_odd_document()
    )


@pytest.fixture(scope="module")
def found(model: LDA) -> BootstrapStability:
    return bootstrap_stability(model)


def odd_topic(model: LDA) -> int:
    (k,) = (k for k, words in enumerate(model.top_words(10)) if set(words) == {f"word{v}" for v in range(40, 50)})
    return k


def test_a_topic_of_one_document_is_in_the_samples_that_have_the_document(
    model: LDA, found: BootstrapStability
) -> None:
    odd = odd_topic(model)
    seeds = [int(path_key(0, Purpose.BOOTSTRAP, number, 0)) >> 1 for number in range(20)]
    drawn = [60 in np.random.default_rng(seed).choice(61, 61) for seed in seeds]
    np.testing.assert_array_equal(found.alignment.matches[1:, odd] >= 0, drawn)
    wilson = binomtest(sum(drawn), 20).proportion_ci(0.95, method="wilson")
    assert (found.share.lower[odd], found.share.upper[odd]) == pytest.approx((wilson.low, wilson.high), abs=1e-12)
    assert found.kinds == tuple("unclear" if k == odd else "stable" for k in range(K))
    assert [row["share"] for row in found.rows()] == [sum(drawn) / 20 if k == odd else 1.0 for k in range(K)]
    assert found.score == pytest.approx((N_REAL + sum(drawn) / 20) / K)
    per_sample = (N_REAL + np.array(drawn)) / K
    assert found.score_error == pytest.approx(per_sample.std(ddof=1) / np.sqrt(20))
    assert str(found).startswith("4 of 5 topics are stable")
    assert found.noise == []


def test_what_too_few_samples_have_is_noise_and_is_named(model: LDA, found: BootstrapStability) -> None:
    odd, rows = odd_topic(model), found.alignment
    samples = bootstrap._Samples(model, model.corpus_, None, 0, model.topic_word_, rows.metric, rows.threshold)
    fits = list(zip(rows.matches[1:], rows.distances[1:], rows.unmatched[1:], strict=True))
    strict = bootstrap._judged(model, samples, fits, 0.93, 0.95)
    assert strict.noise == [odd]
    words = " ".join(model.top_words(3)[odd])
    assert f"Noise, which other documents of the same kind would not show: topic {odd} ({words})." in str(strict)
    assert strict.rows()[odd]["kind"] == "noise"
    assert strict.to_dict()["noise"] == [odd]


def test_neither_jobs_nor_backends_nor_order_matter(model: LDA, found: BootstrapStability) -> None:
    threads = bootstrap_stability(model, n_samples=3, n_jobs=2, verbose=1)
    np.testing.assert_array_equal(threads.alignment.matches, found.alignment.matches[:4])
    np.testing.assert_array_equal(threads.alignment.distances, found.alignment.distances[:4])
    with using(ShuffledTasks()):
        by_tasks = bootstrap_stability(model, n_samples=3)
    np.testing.assert_array_equal(by_tasks.alignment.distances, threads.alignment.distances)
    other = bootstrap_stability(model, n_samples=3, random_state=1)
    assert not np.array_equal(other.alignment.distances, threads.alignment.distances)


def test_another_process_would_be_given_all_that_it_needs(model: LDA, found: BootstrapStability) -> None:
    fresh = LDA(**model.get_params())
    samples = bootstrap._Samples(
        fresh, model.corpus_, None, 0, model.topic_word_, "hellinger", found.alignment.threshold
    )
    _, distances, _ = pickle.loads(pickle.dumps(samples)).one(2)
    np.testing.assert_array_equal(distances, found.alignment.distances[3])


def test_a_model_that_is_not_fitted_is_fitted_first(model: LDA) -> None:
    plain, corpus = LDA(K, max_iter=5, random_state=3), one_odd_document()
    once = bootstrap_stability(plain, corpus, n_samples=2)
    again = bootstrap_stability(LDA(K, max_iter=5, random_state=3).fit(corpus), n_samples=2)
    assert not hasattr(plain, "seed_")
    np.testing.assert_array_equal(once.alignment.distances, again.alignment.distances)
    changed = bootstrap_stability(once.model, n_samples=2, max_iter=2)
    assert not np.array_equal(changed.alignment.distances, once.alignment.distances)
    assert once.model.max_iter == 5


def test_other_families() -> None:
    corpus = bars(n_docs=20).corpus
    groups, quick = ["a", "b"] * 10, {"max_iter": 4, "random_state": 0}
    compound = CompoundLDA(3, **quick).fit(corpus, groups=groups)  # type: ignore[arg-type]
    assert bootstrap_stability(compound, n_samples=2).n_samples == 2
    supervised = MedLDAClassifier(3, burn_in=2, **quick).fit(corpus, groups)  # type: ignore[arg-type]
    assert bootstrap_stability(supervised, y=groups, n_samples=2).share.mean.shape == (3,)
    variational = VariationalLDA(3, tol=0.0, **quick).fit(corpus)  # type: ignore[arg-type]
    assert bootstrap_stability(variational, n_samples=2).n_samples == 2


def test_the_time_is_told(model: LDA, capsys: pytest.CaptureFixture[str]) -> None:
    bootstrap_stability(model, n_samples=2, verbose=1, max_iter=2)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bootstrap_stability: the first of 2 fits took")


@pytest.mark.parametrize(
    ("more", "message"),
    [({"n_samples": 1}, "n_samples"), ({"level": 1.0}, "between 0 and 1"), ({"min_share": 0.0}, "between 0 and 1"),
     ({"metric": "l2"}, "metric"), ({"n_jobs": 0}, "n_jobs"), ({"verbose": -1}, "verbose"),
     ({"y": [1]}, "one for each"), ({"n_components": 0}, "n_components"),
     ({"random_state": 0, "n_topics": 3}, "not a parameter of LDA"),
     ({"checkpoint_dir": "x"}, "not a parameter of LDA"), ({"corpus": "texts"}, "Corpus")],
)  # fmt: skip
def test_wrong_options_are_refused(model: LDA, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_stability(model, **more)


def test_what_cannot_be_fitted_again_is_refused() -> None:
    corpus = bars(n_docs=4).corpus
    for thing in ("model", np.zeros(3), LabeledLDA()):
        with pytest.raises(InputError, match="give a"):
            bootstrap_stability(thing, corpus)
    with pytest.raises(InputError, match="not fitted"):
        bootstrap_stability(LDA(2))
    with pytest.raises(InputError, match="fewer than two documents"):
        bootstrap_stability(LDA(2), from_matrix([[3, 1], [0, 0]]))

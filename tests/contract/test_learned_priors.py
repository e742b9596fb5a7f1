"""Learned priors stay where data can tell them, also on fractional counts and tiny corpora; what went wrong is said."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

import topicloom as tl
from topicloom.compound import mixtures, vem
from topicloom.datasets import docstrings, synthetic_lda
from topicloom.engine import learn_priors as hyper
from topicloom.engine.documents_by_count import documents_by_count
from topicloom.engine.estimator.published import _ALIKE, mean_distance
from topicloom.engine.learn_priors import MOST
from topicloom.engine.prior import make_prior
from topicloom.engine.state import rebuild_counts
from topicloom.errors import AlikeTopicsWarning, PriorsWarning
from topicloom.lda.variational import priors as variational_priors

MODES = ("cvb0", "cvb", "vb", "scvb0", "svb")
SAMPLERS = ("dense", "sparse", "words", "mh", "warp", "partial")
K = 5


def by_default(model: Any, *data: Any, **more: Any) -> tuple[Any, list[type[Warning]]]:
    """The fitted model, and what was warned of beside convergence."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(*data, **more)
    return model, [each.category for each in told if each.category is not ConvergenceWarning]


def distance(model: Any) -> float:
    mass = np.maximum(model.components_.sum(axis=1) - model.beta_.sum(), 0)
    return mean_distance(model.topic_word_.T, mass / mass.sum())


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what keeps priors from running away."""
    for module in (hyper, variational_priors, mixtures, vem):
        monkeypatch.setattr(module, "runs_away", lambda *_: False)


# -- fractional counts -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts() -> sp.csr_matrix:
    """Documents whose weights sum to 3.4 each."""
    return TfidfTransformer().fit_transform(docstrings().select(range(400)).to_matrix())


@pytest.mark.parametrize("mode", MODES)
def test_weighted_counts_give_topics_that_differ(mode: str, texts: sp.csr_matrix) -> None:
    model, told = by_default(tl.VariationalLDA(K, method=mode, max_iter=60, random_state=0), texts)
    assert distance(model) > 0.1
    assert model.alpha_.sum() < texts.sum() / texts.shape[0]
    assert model.beta_[0] <= 1 / K
    assert AlikeTopicsWarning not in told


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("mode", ["cvb0", "cvb", "scvb0", "svb"])
def test_without_limits_they_would_be_one_and_the_model_says_so(mode: str, texts: sp.csr_matrix) -> None:
    model, told = by_default(tl.VariationalLDA(K, method=mode, max_iter=60, random_state=0), texts)
    assert distance(model) < 0.01
    assert told == [AlikeTopicsWarning]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("norm", ["l2", None])
def test_topics_are_found_by_weights_too(mode: str, norm: str | None) -> None:
    """Total variation to the true topics, as weighted, after matching."""
    data = synthetic_lda(300, 200, K, doc_length=80, alpha=0.1, beta=0.05, seed=3)
    weigh = TfidfTransformer(norm=norm)
    X = weigh.fit_transform(data.corpus.to_matrix())
    model, told = by_default(tl.VariationalLDA(K, method=mode, max_iter=80, random_state=0), X)
    truth = data.phi * weigh.idf_
    truth /= truth.sum(axis=1, keepdims=True)
    found = (model.components_ - model.beta_) / (model.components_ - model.beta_).sum(axis=1, keepdims=True)
    apart = 0.5 * np.abs(found[:, None] - truth).sum(axis=2)
    assert apart[linear_sum_assignment(apart)].mean() < 0.35
    assert told == []


# -- small counts ----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
NOISE = RNG.poisson(0.01, (300, 500))
NOISE = NOISE[NOISE.sum(axis=1) > 0]
TINY = {
    "one document": np.array([[3, 1, 0, 2]]),
    "two documents": np.array([[1, 1, 0, 0], [0, 0, 1, 1]]),
    "documents that are all the same": np.tile(RNG.poisson(2.0, 12) + 1, (20, 1)),
    "documents of one word": np.eye(9, dtype=int)[RNG.integers(0, 9, 40)],
    "noise": NOISE[:60],
}
MODELS: dict[str, Callable[[], Any]] = {
    **{name: lambda s=name: tl.LDA(3, sampler=s, max_iter=60, random_state=0) for name in SAMPLERS},
    **{m: lambda m=m: tl.VariationalLDA(3, method=m, max_iter=40, random_state=0) for m in (*MODES, "cvb_exact")},
    **{m: lambda m=m: tl.CompoundLDA(3, method=m, max_iter=40, random_state=0) for m in ("ags", "mgs", "vem")},
}


@pytest.mark.parametrize("which", TINY)
@pytest.mark.parametrize("name", MODELS)
def test_priors_of_tiny_corpora_stay_within_their_data(name: str, which: str) -> None:
    X = TINY[which]
    groups = {"groups": [d % 2 for d in range(len(X))]} if name in ("ags", "mgs", "vem") else {}
    model, _ = by_default(MODELS[name](), X, **groups)
    assert model.alpha_.sum() <= max(MOST * X.sum() / len(X), 1)
    assert model.beta_.sum() <= max(MOST * X.sum() / 3, X.shape[1] / 3) * (1 + 1e-9)
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("name", [*SAMPLERS, "ags", "mgs"])
def test_words_that_tell_nothing_do_not_raise_their_prior_without_end(
    name: str, request: pytest.FixtureRequest
) -> None:
    groups = {"groups": [d % 2 for d in range(len(NOISE))]} if name in ("ags", "mgs") else {}

    def weight() -> float:
        model, _ = by_default(MODELS[name]().set_params(max_iter=200), NOISE, **groups)
        return float(model.beta_.sum() / (NOISE.sum() / 3))

    assert weight() <= MOST
    request.getfixturevalue("unlimited")
    assert weight() > MOST


def test_documents_and_topics_that_are_alike_do_not_raise_priors_without_end(request: pytest.FixtureRequest) -> None:
    """Each topic as often in each document, each word as often in each topic: the larger a prior, the likelier."""
    corpus = tl.from_matrix(np.full((3000, 3), 10))
    state = rebuild_counts(corpus, np.tile(np.repeat(np.arange(3), 10), 3000), 3)
    prior = make_prior(np.ones(3), np.ones(3), 3000)
    now = mixtures.start_mixtures(np.full((1, 3), 1 / 3), 1.0, np.ones(3))
    found = documents_by_count(corpus, state.z, prior)
    seen = vem.Evidence(np.array([3000]), 3000 * np.log(np.full((1, 3), 1 / 3)), 30.0)
    words = tl.from_matrix(np.full((20, 50), 2))
    even = rebuild_counts(words, np.repeat(np.arange(20), 100), 20)
    of_words = make_prior(np.ones(20), np.ones(50), 20)

    def learned() -> list[float]:
        """Priors after many steps, as they weigh against their data."""
        alpha, beta, gamma = prior, of_words, 1.0
        for _ in range(60):
            alpha, beta = hyper.learn_alpha(corpus, state, alpha), hyper.learn_beta(even, beta)
            gamma = mixtures.learn_gamma(found, corpus.doc_lengths, replace(now, gamma=gamma))
        by_newton = vem.fit_gamma(np.full((1, 3), 1e5), 1.0, seen)
        return [float(alpha.alpha.sum()) / 30, float(beta.beta[0]) / 2, gamma / 30, by_newton / 30]

    assert max(learned()) <= MOST
    request.getfixturevalue("unlimited")
    assert min(learned()) > MOST


def test_a_prior_that_falls_is_never_held() -> None:
    corpus = tl.from_matrix(np.array([[9, 0], [0, 9]]))
    state = rebuild_counts(corpus, np.repeat([0, 1], 9), 2)
    prior = make_prior(np.full(2, 1e6), np.full(2, 1e6), 2)
    assert hyper.learn_alpha(corpus, state, prior).alpha.max() < 1e3
    assert hyper.learn_beta(state, prior).beta[0] < 1e3


# -- what a model says -----------------------------------------------------------------------------------------------

APART = synthetic_lda(80, 40, 3, doc_length=30, alpha=0.1, beta=0.05, seed=1).corpus
LABELS = [("a",), ("b",), ("a", "b"), ("c",)] * 20
CLASSES = ["x", "y"] * 40
ALL: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "LDA": (lambda **more: tl.LDA(3, max_iter=40, random_state=0, **more), (APART,)),
    **{
        mode: (
            lambda mode=mode, **more: tl.VariationalLDA(3, method=mode, max_iter=40, random_state=0, **more),
            (APART,),
        )
        for mode in MODES
    },
    **{
        mode: (
            lambda mode=mode, **more: tl.CompoundLDA(3, method=mode, max_iter=40, random_state=0, **more),
            (APART.with_metadata(groups=[d % 2 for d in range(80)]),),
        )
        for mode in ("ags", "mgs", "vem")
    },
    "LabeledLDA": (lambda **more: tl.LabeledLDA(max_iter=20, burn_in=None, random_state=0, **more), (APART, LABELS)),
    "PriorLDA": (lambda **more: tl.PriorLDA(method="cvb0", max_iter=20, burn_in=None, **more), (APART, LABELS)),
    "MedLDA": (lambda **more: tl.MedLDAClassifier(3, max_iter=20, burn_in=None, **more), (APART, CLASSES)),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_topics_that_are_as_good_as_one_are_told(name: str) -> None:
    make, data = ALL[name]
    model, told = by_default(make(topic_word_prior=1e6), *data)
    assert distance(model) < _ALIKE
    assert told == [AlikeTopicsWarning]
    model, told = by_default(make(), *data)
    assert told == []


def test_the_message_names_what_is_wrong() -> None:
    cases = {
        r"the 3 topics are as good as one: .* differ by 0.00% from the mean. The prior of a topic's words sums to "
        r"4e\+07, its counts to 800: give a smaller topic_word_prior": tl.LDA(3, topic_word_prior=1e6, max_iter=20),
        r"The prior of a document's topics sums to 3e\+06, its counts to 30: give a smaller": tl.VariationalLDA(
            3, doc_topic_prior=1e6, method="cvb0", max_iter=300, tol=1e-4
        ),
    }
    for message, model in cases.items():
        with pytest.warns(AlikeTopicsWarning, match=message):
            model.fit(APART)


def test_one_topic_that_has_everything_is_told() -> None:
    """Variational Bayes gives documents that do not differ one topic."""
    noise = np.random.default_rng(0).poisson(1.0, (80, 40))
    with pytest.warns(
        AlikeTopicsWarning, match=r"Topic \d has \d+\.\d% of all counts.*Use fewer topics, or LDA, or VariationalLDA"
    ):
        tl.VariationalLDA(3, method="vb", learn_priors=False, max_iter=200, random_state=0).fit(noise * 0.1)


def test_labels_count_the_same_however_few_documents_have_them() -> None:
    """One document in two hundred has the rare label, whose words are its own."""
    X = np.zeros((200, 4), int)
    X[:, :2], X[0] = 5, [0, 0, 6, 6]
    model, told = by_default(tl.LabeledLDA(holdout=0, max_iter=10, burn_in=None), X, [["rare"]] + [["often"]] * 199)
    assert told == []
    assert model.label_counts_.tolist() == [199, 1]


def test_label_topics_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicloom.engine.estimator.published._ALIKE", 2.0)  # whatever the distance
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tl.DependencyLDA(n_label_topics=2, label_sweeps=5, max_iter=5, burn_in=None).fit(APART, LABELS)
    assert [str(each.message).partition(" are as good as one")[0] for each in told] == [
        "the 2 label topics (n_label_topics)",
        "the 3 labels' topics",
    ]  # and nothing of the model that probabilities are calibrated by


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_priors_that_outweigh_the_data_are_told(scale: float) -> None:
    """Topics given by seed words differ, however little the documents weigh."""
    X = tl.from_matrix(np.kron(np.eye(2), np.full((10, 3), 0.5 * scale)), list("abcdef"))
    model = tl.VariationalLDA(2, method="cvb0", topic_word_prior=1e-6, max_iter=50, tol=0, random_state=0)
    _, told = by_default(model, X)
    assert told == ([] if scale == 1 else [PriorsWarning])
    if scale < 1:
        with pytest.warns(PriorsWarning, match=r"doc_topic_prior was to be learned, but .* it sums to 1, a document's "
                          r"counts to 0\.0015\. Give doc_topic_prior"):  # fmt: skip
            model.fit(X)


@pytest.mark.parametrize("mode", ["scvb0", "svb"])
def test_a_stream_tells_it_once_and_not_of_its_first_batches(mode: str) -> None:
    model = tl.VariationalLDA(3, method=mode, topic_word_prior=1e9, batch_size=10, random_state=0, total_samples=80)
    parts = [APART.select(range(first, first + 40)) for first in (0, 40)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        calls = []
        for part in parts * 3:
            model.partial_fit(part)
            calls.append([each.category for each in told])
    assert calls == [[], [], *[[AlikeTopicsWarning]] * 4]


def test_a_few_topics_of_many_and_one_word_are_no_cause() -> None:
    assert by_default(tl.LDA(3, max_iter=5, random_state=0), np.full((4, 1), 9))[1] == []
    assert by_default(tl.LDA(1, max_iter=5, random_state=0), APART)[1] == []


def test_mean_distance_is_that_of_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    phi, share = rng.dirichlet(np.ones(50), 4).T, rng.dirichlet(np.ones(4))
    mean = sum(share[k] * phi[:, k] for k in range(4))
    expected = sum(share[k] * 0.5 * np.abs(phi[:, k] - mean).sum() for k in range(4))
    assert mean_distance(phi, share) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr("topicloom.engine.estimator.published._AT_ONCE", 28)
    assert mean_distance(phi, share) == pytest.approx(expected, rel=1e-12)
    assert mean_distance(np.eye(4), np.full(4, 0.25)) == pytest.approx(0.75)


# -- convergence -----------------------------------------------------------------------------------------------------


def test_a_run_whose_priors_still_move_says_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def restless(index: Any, state: Any, mode: Any, prior: Any, **_: Any) -> tuple[Any, Any, float]:
        return state, prior, 0.25

    monkeypatch.setattr("topicloom.lda.variational.sampler.learn_priors", restless)
    message = (
        r"not converged after max_iter=40 iterations: topics have settled, but learned priors still moved by 0\.25 of "
        r"their size, and 0\.01 counts as settled\. Raise max_iter, or give the priors\."
    )
    with pytest.warns(ConvergenceWarning, match=message):
        tl.VariationalLDA(3, method="cvb0", max_iter=40, tol=1e-3, random_state=0).fit(APART)


def test_a_run_whose_topics_still_move_says_that() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"the last one moved 0\.\d+ of the tokens, tol=1e-09\. Raise max_iter or"
    ):
        tl.VariationalLDA(3, method="cvb0", max_iter=2, tol=1e-9, random_state=0).fit(APART)

"""Where diagnostics get topics from: arrays, states, models, draws of a chain; and what they refuse."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import topicloom
from tests.diagnostics.naive_topics import assert_equals_naive, random_state
from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics.topics import MEASURES, Assignments, topic_diagnostics
from topicloom.engine.prior import make_prior
from topicloom.engine.state import rebuild_counts, rebuild_lists
from topicloom.errors import InputError
from topicloom.mallet import MalletState

# -- sources -----------------------------------------------------------------------------------------------------


def test_plain_arrays_in_any_order_and_both_kinds_of_state_give_the_same() -> None:
    given = random_state(3)
    expected = topic_diagnostics(given)
    order = np.random.default_rng(0).permutation(given.corpus.n_tokens)
    columns = (a[order] for a in (given.corpus.words, given.corpus.token_docs, given.state.z))
    lists = rebuild_lists(given.corpus, given.state.z, 4)
    same_prior = make_prior(given.prior.alpha[0], given.prior.beta, given.corpus.n_docs)
    plain = topic_diagnostics(
        Assignments(*columns, 4, given.corpus.vocabulary), alpha=same_prior.alpha[0], beta=same_prior.beta
    )
    for name in MEASURES:
        np.testing.assert_allclose(
            getattr(topic_diagnostics((given.corpus, lists, given.prior)), name), getattr(expected, name), rtol=1e-13
        )
        np.testing.assert_allclose(
            getattr(plain, name),
            getattr(topic_diagnostics((given.corpus, given.state, same_prior)), name),
            rtol=1e-13,
            atol=1e-15,
        )


@pytest.mark.parametrize("kind", ["uint64", "int8", ">i4", "list"])
def test_arrays_may_be_of_any_kind_of_whole_number(kind: str) -> None:
    columns = [[0, 1, 2, 0], [1, 0, 2, 2], [0, 1, 1, 0]]
    given = columns if kind == "list" else [np.array(column, kind) for column in columns]
    expected = topic_diagnostics(Assignments(*(np.array(column) for column in columns), 2)).rows()
    assert topic_diagnostics(Assignments(*given, 2)).rows() == expected


def test_priors_that_are_given_take_the_place_of_the_sources() -> None:
    given = random_state(5)
    corpus, state, _ = given
    alpha, beta = np.array([0.1, 3.0, 0.2, 0.1]), np.linspace(0.1, 2.0, corpus.n_words)
    for prior in (given.prior, make_prior(np.ones(4), np.ones(corpus.n_words), corpus.n_docs)):
        both = make_prior(alpha, beta, corpus.n_docs)
        assert_equals_naive(
            topic_diagnostics((corpus, state, prior), 5, alpha=alpha, beta=beta), given._replace(prior=both)
        )
    flat = make_prior(np.full(4, 5 / 4), np.full(corpus.n_words, 0.01), corpus.n_docs)
    assert_equals_naive(topic_diagnostics((corpus, state), 5), given._replace(prior=flat))
    only_alpha = given.prior._replace(alpha=alpha[None], alpha_row=np.zeros(corpus.n_docs, np.int32))
    assert_equals_naive(topic_diagnostics(given, 5, alpha=alpha), given._replace(prior=only_alpha))
    only_beta = flat._replace(alpha=given.prior.alpha, alpha_row=given.prior.alpha_row)
    assert_equals_naive(topic_diagnostics(given, 5, beta=0.01), given._replace(prior=only_beta))


@pytest.fixture(scope="module")
def texts() -> Corpus:
    rng = np.random.default_rng(2)
    documents = [" ".join(f"w{8 * (d % 2) + rng.integers(8)}" for _ in range(12)) for d in range(20)]
    return topicloom.from_texts(documents, labels=[("a",) if d % 2 else ("a", "b") for d in range(20)])


@pytest.mark.parametrize("n_paths", [1, 3])
def test_a_fitted_model_is_judged_by_its_published_chain(texts: Corpus, n_paths: int) -> None:
    model = topicloom.LDA(3, max_iter=20, n_chains=2, n_paths=n_paths, random_state=4).fit(texts)
    chain = model.chains_[model.best_chain_]
    one = chain.prior._replace(alpha_row=chain.prior.alpha_row[: texts.n_docs])
    z = chain.state.z[: texts.n_tokens]
    expected = MalletState(texts, rebuild_counts(texts, z, 3), one)
    assert_equals_naive(topic_diagnostics(model, 6), expected)


def test_documents_with_labels_have_the_prior_of_their_labels_alone(texts: Corpus) -> None:
    model = topicloom.LabeledLDA(max_iter=20, burn_in=10, random_state=4).fit(texts)
    chain = model.chains_[model.best_chain_]
    allowed = [[0] if d % 2 else [0, 1] for d in range(20)]
    expected = MalletState(texts, chain.state, chain.prior)
    assert_equals_naive(topic_diagnostics(model, 6), expected, allowed)


def test_a_loaded_model_gives_the_same(texts: Corpus, tmp_path: Path) -> None:
    model = topicloom.LDA(3, max_iter=10, random_state=4).fit(texts)
    model.save(tmp_path / "model")
    assert topic_diagnostics(topicloom.load(tmp_path / "model")).rows() == topic_diagnostics(model).rows()


# -- draws -------------------------------------------------------------------------------------------------------


def test_draws_of_one_chain_give_means_and_intervals(texts: Corpus) -> None:
    chains: list[Any] = []

    def collect(chain: Any) -> None:
        copied = chain.state._replace(z=chain.state.z.copy())
        chains.append(SimpleNamespace(state=copied, prior=chain.prior))

    model = topicloom.LDA(3, max_iter=40, random_state=1).fit(texts, callbacks=[collect])
    kept = chains[10:]
    found = topic_diagnostics(model, 5, draws=kept, level=0.8)
    each = [topic_diagnostics((texts, draw.state, draw.prior), 5) for draw in kept]
    assert found.intervals is not None
    assert list(found.intervals) == list(MEASURES)
    for name, interval in found.intervals.items():
        values = np.stack([getattr(one, name) for one in each])
        np.testing.assert_allclose(interval.mean, values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(interval.lower, np.quantile(values, 0.1, axis=0, method="weibull"), rtol=1e-12)
        np.testing.assert_allclose(interval.upper, np.quantile(values, 0.9, axis=0, method="weibull"), rtol=1e-12)
    # The state itself is as without draws, and rows have the intervals beside it.
    alone = topic_diagnostics(model, 5)
    np.testing.assert_array_equal(found.coherence, alone.coherence)
    row = found.rows()[1]
    assert row["tokens_lower"] <= row["tokens_mean"] <= row["tokens_upper"]
    assert "with intervals" in repr(found)
    # Arrays and states are taken with the source's prior, tuples with their own.
    last = kept[-1]
    for draws in (
        [last.state.z],
        [last.state],
        np.stack([last.state.z]),
        [(texts, last.state, model.chains_[0].prior)],
    ):
        again = topic_diagnostics(model, 5, draws=draws)
        assert again.intervals is not None
        np.testing.assert_array_equal(again.intervals["coherence"].upper, alone.coherence)


@pytest.mark.parametrize(
    ("draws", "says"),
    [
        ([], "a list of one or more states"),
        ("z", "a list of one or more states"),
        (3, "a list of one or more states"),
        ([np.zeros(3, np.int64)], "draw 0: z has shape"),
        ([[0, 1]], "draw 0: there is no topic per token in list"),
        ([random_state(0).state, random_state(0).state._replace(z=np.full(60, 9))], "draw 1: z has"),
        ([random_state(2)], "draw 0 has another corpus"),
    ],
)
def test_draws_that_do_not_fit_are_refused(draws: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(random_state(0), draws=draws)


# -- hostile input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "expected a fitted model"),
        ("state.gz", "expected a fitted model"),
        ((1, 2, 3), "expected a fitted model"),
        (Assignments([], [], [], 2), "no tokens"),
        (Assignments([0], [0], [0], 0), "n_topics=0"),
        (Assignments([0], [0], [0], True), "n_topics=True"),
        (Assignments([0], [0], [2], 2), "z has 2; its numbers go from 0 to 1"),
        (Assignments([-1], [0], [0], 2), "words has -1"),
        (Assignments([0], [1 << 40], [0], 2), "docs has 1099511627776"),
        (Assignments([1 << 30], [0], [0], 2), "words has 1073741824"),
        (Assignments([0, 1], [0], [0, 0], 2), "docs has 1 entry and words 2"),
        (Assignments([0.5], [0], [0], 2), "words must be a vector of whole numbers"),
        (Assignments([[0]], [0], [0], 2), "words must be a vector of whole numbers"),
        (Assignments([0], [0], [object()], 2), "z must be a vector of whole numbers"),
        (Assignments([1], [0], [0], 2, ["a"]), "outside the vocabulary"),
        (Assignments([1], [0], [0], 2, "ab"), "vocabulary must be a sequence"),
        (Assignments([1], [0], [0], 2, ["a", "a"]), "'a' twice"),
        ((random_state(0).corpus, np.zeros(3, np.int64), random_state(0).prior), "z has shape"),
        ((random_state(0).corpus, random_state(0).state.z), "number of topics is not known"),
        ((random_state(0).corpus, random_state(0).state, "prior"), "not that of a topic model"),
        ((random_state(0).corpus, None, random_state(0).prior), "no topic per token in NoneType"),
        ((random_state(0).corpus, random_state(0).state, random_state(0, n_words=9).prior), "the prior has 9 words"),
        ((topicloom.from_matrix([[0.5, 1.0]]), np.zeros(2, np.int64), None), "weighted"),
    ],
)  # fmt: skip
def test_sources_that_cannot_be_judged_are_refused(source: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(source)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_top_words": 0}, "n_top_words=0"),
        ({"n_top_words": 2.5}, "n_top_words=2.5"),
        ({"level": 2}, "level=2"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"alpha": [1.0, 2.0]}, "alpha has shape"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"beta": np.nan}, "beta is nan"),
        ({"draws": [random_state(0).state.z], "level": 1.0}, "level=1.0"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(random_state(0), **options)


def test_models_without_a_topic_per_token_are_refused(texts: Corpus) -> None:
    with pytest.raises(InputError, match="no topic per token in VariationalState"):
        topic_diagnostics(topicloom.VariationalLDA(2, max_iter=200, random_state=1).fit(texts))
    with pytest.raises(InputError, match="not that of a topic model"):
        topic_diagnostics(topicloom.HMM(2, max_iter=20, random_state=1).fit(texts))
    with pytest.raises(NotFittedError):
        topic_diagnostics(topicloom.LDA(2))

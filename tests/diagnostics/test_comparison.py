"""Models compared: the formulas, their coverage, every kind of model, verdicts, and the message of every bad input."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

import topicloom
from tests.contract.test_messages import ODD, complaint
from topicloom import HMM, LDA, CompoundLDA, LabeledLDA, MedLDAClassifier, PriorLDA, VariationalLDA
from topicloom.corpus import Corpus, split_documents
from topicloom.datasets import synthetic_compound, synthetic_labeled, synthetic_lda
from topicloom.diagnostics import comparison
from topicloom.diagnostics.alignment import chain_topics
from topicloom.diagnostics.comparison import Comparison, Difference, compare, compare_all, ratio_error
from topicloom.errors import InputError
from topicloom.evaluation import completion_perplexity, completion_scores, left_to_right

FALSE_ALARM = 1e-7  # of each statistical test
QUICK: dict[str, Any] = {"max_iter": 30, "random_state": 0}


@pytest.fixture(scope="module")
def documents() -> tuple[Corpus, Corpus]:
    return split_documents(synthetic_lda(n_docs=150, n_words=60, n_topics=5, doc_length=30, seed=1).corpus, 0.3)


@pytest.fixture(scope="module")
def models(documents: tuple[Corpus, Corpus]) -> dict[str, LDA]:
    return {str(k): LDA(k, **QUICK).fit(documents[0]) for k in (1, 3, 5)}


@pytest.fixture(scope="module")
def found(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> Comparison:
    return compare_all(models, documents[1])


# -- formulas ----------------------------------------------------------------------------------------------------


def test_scores_are_those_of_perplexity(
    found: Comparison, models: dict[str, LDA], documents: tuple[Corpus, Corpus]
) -> None:
    for name, per_token in zip(found.names, found.per_token, strict=True):
        one = models[name]
        perplexity = completion_perplexity(one.topic_word_, one.alpha_, documents[1], n_samples=10)
        assert np.exp(-per_token) == pytest.approx(perplexity, rel=1e-12)


def test_the_difference_is_paired_over_documents(
    found: Comparison, models: dict[str, LDA], documents: tuple[Corpus, Corpus]
) -> None:
    a, b = (completion_scores(models[k].topic_word_, models[k].alpha_, documents[1], n_samples=10) for k in ("5", "3"))
    delta, n = a.log_likelihood - b.log_likelihood, a.tokens
    x = delta.sum() / n.sum()
    d = len(n)
    y = np.sqrt(d / (d - 1) * sum((delta[i] - x * n[i]) ** 2 for i in range(d))) / n.sum()
    one = found.difference("5", "3")
    assert (one.value, one.error) == pytest.approx((x, y), rel=1e-12)
    assert one.documents_error == one.error
    assert one.fits_error == 0
    assert np.isnan(one.monte_carlo_error)
    turned = found.difference("3", "5")
    assert (turned.value, turned.error) == pytest.approx((-x, y))
    apart = np.hypot(*(ratio_error(s.log_likelihood, n) for s in (a, b)))
    assert one.error < 0.7 * apart  # what pairing is for


def test_errors_over_documents_cover() -> None:
    """±2 errors hold the true ratio in 95.4% of 4,000 samples of 200 documents, within 1.5% and binomial limits."""
    rng, hits, n = np.random.default_rng(0), 0, 4000
    for _ in range(n):
        tokens = rng.integers(1, 200, 200)
        delta = 0.05 * tokens + rng.normal(0, 1, 200) * np.sqrt(tokens) + rng.normal(0, 0.1, 200) * tokens
        delta[:3], tokens[:3] = 0.0, 0  # empty documents change nothing
        hits += abs(delta.sum() / tokens.sum() - 0.05) < 2 * ratio_error(delta, tokens)
    promised = norm.cdf(2) - norm.cdf(-2)
    assert binom.cdf(hits, n, promised - 0.015) > FALSE_ALARM / 2
    assert binom.sf(hits - 1, n, promised + 0.015) > FALSE_ALARM / 2


@pytest.mark.parametrize("measure", ["completion", "left_to_right"])
def test_differences_of_parts_vary_as_their_errors_promise(measure: Any, models: dict[str, LDA]) -> None:
    """60 parts of 50 documents from one source: their distances to the whole, in errors, have a mean square of 1.

    Each is a t variate of 49 degrees, whose mean square is 1.04; the limits are those of χ² with a false-alarm rate of
    1e-7, widened by as much. The Monte Carlo error is in the spread between documents, so it must not be added again.
    """
    corpus = synthetic_lda(n_docs=3000, n_words=60, n_topics=5, doc_length=20, seed=4).corpus
    options = {"n_samples": 1} if measure == "completion" else {"n_runs": 2, "n_particles": 2}
    whole = compare(models["5"], models["3"], corpus, measure, **options)
    parts = np.arange(3000).reshape(60, 50)
    total = 0.0
    for part in parts:
        delta, tokens = whole.by_document[part], whole.tokens[part]
        total += ((delta.sum() / tokens.sum() - whole.value) / ratio_error(delta, tokens)) ** 2
    assert chi2.isf(1 - FALSE_ALARM / 2, 59) < total < 1.04 * chi2.isf(FALSE_ALARM / 2, 59)
    if measure == "left_to_right":
        assert whole.monte_carlo_error > 0.1 * whole.documents_error  # there is some to be added twice


@pytest.mark.parametrize("measure", ["left_to_right", "annealed"])
def test_monte_carlo_errors_are_what_seeds_do(
    measure: Any, models: dict[str, LDA], documents: tuple[Corpus, Corpus]
) -> None:
    """The variance over 40 seeds is that of the errors: a false-alarm rate of 1e-7 for normal values."""
    few = documents[1].select(range(15))
    options = {"n_particles": 5} if measure == "left_to_right" else {"temperatures": 100, "n_particles": 20}
    runs = [compare(models["5"], models["3"], few, measure, seed=seed, **options) for seed in range(40)]
    values = np.array([run.value for run in runs])
    expected = np.mean([run.monte_carlo_error**2 for run in runs])
    ratio = values.var(ddof=1) * 39 / expected
    assert chi2.isf(1 - FALSE_ALARM / 2, 39) < ratio < chi2.isf(FALSE_ALARM / 2, 39)
    assert all(run.monte_carlo_error < run.documents_error for run in runs)


def test_measures_agree_where_they_measure_the_same(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> None:
    one = compare(models["5"], models["1"], documents[1], "left_to_right")
    other = compare(models["5"], models["1"], documents[1], "annealed", temperatures=300)
    error = np.hypot(one.monte_carlo_error, other.monte_carlo_error)
    assert abs(one.value - other.value) < norm.isf(FALSE_ALARM / 2) * error
    assert one.clear
    assert other.clear


# -- chains and fits ---------------------------------------------------------------------------------------------


def test_chains_are_fits_and_their_variation_is_added(documents: tuple[Corpus, Corpus]) -> None:
    train, test = documents
    several = LDA(5, n_chains=3, **QUICK).fit(train)
    one = LDA(3, **QUICK).fit(train)
    result = compare(several, one, test)
    chains = [
        SimpleNamespace(topic_word_=phi, alpha_=chain.prior.alpha[0], vocabulary_=train.vocabulary)
        for phi, chain in zip(chain_topics(several), several.chains_, strict=True)
    ]
    same = compare(chains, [one], test)
    assert result.n_fits == same.n_fits == (3, 1)
    assert (result.value, result.error) == (same.value, same.error)
    per_chain = [compare(chain, one, test).value for chain in chains]
    assert result.value == pytest.approx(np.mean(per_chain))
    assert result.fits_error == pytest.approx(np.std(per_chain, ddof=1) / np.sqrt(3))
    assert result.error == pytest.approx(np.hypot(result.documents_error, result.fits_error))


def test_a_model_does_not_differ_from_itself(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> None:
    for measure in comparison.MEASURES:
        result = compare(models["3"], models["3"], documents[1].select(range(4)), measure)  # type: ignore[arg-type]
        assert result.value == result.error == 0
        assert not result.clear
        assert result.verdict == "A and B cannot be told apart: 0.0000 ± 0.0000 nats per token"


# -- every kind of model -----------------------------------------------------------------------------------------


def test_models_of_every_kind(documents: tuple[Corpus, Corpus]) -> None:
    train, test = split_documents(synthetic_labeled(80, 40, 4, doc_length=20, seed=2).corpus, 0.3)
    classes = [labels[0] for labels in train.labels or ()]
    options = {"max_iter": 20, "burn_in": 10, "thin": 5, "random_state": 0}
    given = {
        "gibbs": LDA(4, **QUICK).fit(train),
        "variational": VariationalLDA(4, method="cvb0", max_iter=30, tol=0.0, random_state=0).fit(train),
        "labeled": LabeledLDA(n_chains=2, **options).fit(train),
        "prior": PriorLDA(**options).fit(train),
        "supervised": MedLDAClassifier(4, n_chains=2, **options).fit(train, classes),
    }
    for measure in ("completion", "left_to_right"):
        rows = compare_all(given, test, measure).rows()  # type: ignore[arg-type]
        assert {row["model"] for row in rows} == set(given)
        assert all(np.isfinite([row["per_token"], row["difference"], row["error"]]).all() for row in rows)
        assert rows[0]["verdict"] == "best"
        assert rows[0]["difference"] == rows[0]["error"] == 0
        assert all(row["difference"] <= 0 for row in rows)
        assert {row["model"]: row["n_fits"] for row in rows}["labeled"] == 1  # it averages its chains
        assert {row["model"]: row["n_fits"] for row in rows}["supervised"] == 2


def test_documents_of_collections_have_priors_of_their_own() -> None:
    train, test = split_documents(synthetic_compound(3, 30, 40, 4, doc_length=15, seed=3).corpus, 0.3)
    grouped, plain = CompoundLDA(4, **QUICK).fit(train), LDA(4, **QUICK).fit(train)
    result = compare_all({"grouped": grouped, "plain": plain}, test, "left_to_right", n_runs=2, n_particles=3)
    alpha, rows = grouped._document_prior(test)
    assert rows is not None
    for d in (0, 7):
        single = compare_all(
            {"a": SimpleNamespace(topic_word_=grouped.topic_word_, alpha_=alpha[rows[d]]), "b": plain},
            test, "left_to_right", n_runs=2, n_particles=3,
        )  # fmt: skip
        assert single.scores[0].by_fit[0, d] == result.scores[0].by_fit[0, d]


def test_the_order_of_words_does_not_matter(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> None:
    order = np.random.default_rng(0).permutation(60)
    words = tuple(np.array(models["3"].vocabulary_)[order].tolist())
    turned = SimpleNamespace(
        topic_word_=models["3"].topic_word_[:, order], alpha_=models["3"].alpha_, vocabulary_=words
    )
    result = compare(models["5"], turned, documents[1])
    assert result.value == compare(models["5"], models["3"], documents[1]).value


def test_unknown_words_are_counted_and_texts_are_cut_as_by_the_first() -> None:
    texts = ["river bank water", "money bank loan", "river water water", "loan money money"] * 5
    a, b = (LDA(k, **QUICK).fit(texts) for k in (1, 2))
    with pytest.warns(topicloom.errors.UnknownWordsWarning):
        result = compare_all({"a": a, "b": b}, ["river bank zebra", "money loan loan zebra", "bank water"])
    assert result.n_unknown == 2
    assert result.tokens.tolist() == [1, 1, 1]


# -- verdicts ----------------------------------------------------------------------------------------------------


def test_verdicts(found: Comparison) -> None:
    assert found.best == "5"
    result = found.difference("1", "5")
    assert result.clear
    assert re.fullmatch(r"5 beats 1 by 0\.\d{4} ± 0\.\d{4} nats per token", str(result))
    assert [row["verdict"] for row in found.rows()] == ["best", "worse", "worse"]


@pytest.mark.parametrize(
    ("value", "error", "clear"),
    [
        (0.02, 0.01, True),
        (-0.02, 0.01, True),
        (0.0199, 0.01, False),
        (-0.0199, 0.01, False),
        (0.0, 0.0, False),
        (1e-9, 0.0, True),
    ],
)
def test_two_errors_tell_models_apart(value: float, error: float, clear: bool) -> None:
    empty = np.empty(0)
    one = Difference("A", "B", "completion", value, error, error, 0.0, np.nan, (1, 1), empty, empty.astype(int))
    assert one.clear is clear
    assert ("cannot be told apart" in one.verdict) is not clear
    if clear:
        assert one.verdict.startswith("A beats B" if value > 0 else "B beats A")


def test_tiny_errors_are_shown_with_their_digits() -> None:
    assert comparison._shown(0.123456789, 0.000012345) == "0.123457 ± 0.000012"
    assert comparison._shown(12.3, 4.5) == "12.3000 ± 4.5000"


# -- bad input ---------------------------------------------------------------------------------------------------


def test_other_vocabularies_are_refused_with_the_remedy(
    models: dict[str, LDA], documents: tuple[Corpus, Corpus]
) -> None:
    less = LDA(2, **QUICK).fit(documents[0].with_vocabulary(documents[0].vocabulary[:50]))
    with pytest.raises(
        InputError, match=r"B has another vocabulary: it lacks 10 words .*\.from_texts\(texts, vocabulary"
    ):
        compare(models["3"], less, documents[1])
    with pytest.raises(InputError, match="has 10 that the first lacks"):
        compare(less, models["3"], documents[1])
    with pytest.raises(InputError, match="topics over 3 words and the documents a vocabulary of 60"):
        compare(models["3"], SimpleNamespace(topic_word_=np.full((1, 3), 1 / 3), alpha_=[1.0]), documents[1])


def test_bad_requests_are_told(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> None:
    a, test = models["3"], documents[1]
    impossible = SimpleNamespace(topic_word_=np.eye(60)[:1], alpha_=[1.0])
    for wrong, message in (
        (lambda: compare(a, LDA(3), test), "which has no topic_word_ and alpha_"),
        (lambda: compare(a, HMM(2), test), "which has no topic_word_ and alpha_"),
        (lambda: compare(a, [], test), "B is an empty list"),
        (lambda: compare(a, a, test, "bound"), "measure='bound' is not known"),  # type: ignore[arg-type]
        (lambda: compare(a, a, test, n_particles=5), "n_particles is no option of measure='completion'"),
        (lambda: compare(a, a, test, "annealed", n_runs=5), "its options are temperatures, n_particles"),
        (lambda: compare(a, a, test, names=("x", "x")), "not all different"),
        (lambda: compare(a, a, test, names=("x", "")), "a string with something in it"),
        (lambda: compare(a, a, test, names=("x",)), "give two of them"),  # type: ignore[arg-type]
        (lambda: compare_all({"a": a}, test), "at least two"),
        (lambda: compare(a, impossible, test), "probability 0 in every topic"),
        (lambda: compare(a, a, test.select([0])), "a standard error needs at least 2"),
        (lambda: compare(a, a, test, seed=0.5), "seed=0.5 must be"),  # type: ignore[arg-type]
        (lambda: compare_all(models, test).difference("3", "9"), "'9' is none of the models"),
        (lambda: compare(a, SimpleNamespace(topic_word_=a.topic_word_, alpha_=[1.0]), test), "there are 3 topics"),
        (lambda: compare(a, SimpleNamespace(topic_word_=a.topic_word_, alpha_=[0.0] * 3), test), "0 for every topic"),
        (lambda: compare(a, SimpleNamespace(topic_word_=a.topic_word_, alpha_=[1.0, -1.0, 1.0]), test), "positive"),
    ):
        assert message in str(complaint(wrong)), message


def test_arguments_of_any_kind(models: dict[str, LDA], documents: tuple[Corpus, Corpus]) -> None:
    good = {"a": models["1"], "b": models["3"], "held_out": documents[1].select(range(3)), "measure": "completion",
            "names": ("a", "b"), "seed": 0, "n_jobs": 1, "n_samples": 1, "burn_in": 1}  # fmt: skip
    assert complaint(lambda: compare(**good)) is None  # type: ignore[arg-type]
    for name in good:
        for value in ODD.values():
            complaint(lambda name=name, value=value: compare(**{**good, name: value}))  # type: ignore[arg-type]
    for name in ("topic_word_", "alpha_", "vocabulary_"):
        for value in ODD.values():
            own = {"topic_word_": models["3"].topic_word_, "alpha_": models["3"].alpha_, name: value}
            odd = SimpleNamespace(**own)
            complaint(lambda odd=odd: compare(**{**good, "b": odd}))  # type: ignore[arg-type]
            complaint(lambda odd=odd: compare(**{**good, "a": odd}))  # type: ignore[arg-type]


def test_left_to_right_of_a_pair_is_that_of_the_library(
    models: dict[str, LDA], documents: tuple[Corpus, Corpus]
) -> None:
    test = documents[1].select(range(5))
    result = compare_all(models, test, "left_to_right", n_runs=2)
    one = models["3"]
    first = left_to_right(one.topic_word_, one.alpha_, test)
    assert np.abs(result.scores[1].by_fit[0] - first).max() < 2

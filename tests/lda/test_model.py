"""The LDA estimator: what it learns, what it publishes, what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from topicloom import LDA, Corpus, VariationalLDA, from_matrix, from_texts
from topicloom.corpus import split_documents
from topicloom.datasets import bars, synthetic_lda
from topicloom.engine.estimates import topic_counts
from topicloom.errors import InputError, SeedWordWarning, UnknownWordsWarning
from topicloom.evaluation import completion_perplexity

TEXTS = [
    "The cat sat on the mat.",
    "Dogs chase the cat",
    "Stocks fell as markets closed",
    "Markets and stocks rose",
] * 10


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(120, 60, 4, doc_length=50.0, alpha=0.2, beta=0.05, seed=2).corpus


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> LDA:
    return LDA(4, max_iter=60, random_state=0).fit(corpus)


# -- learning --------------------------------------------------------------------------------------------------


def test_bars_are_found() -> None:
    """Every true topic has a learned one within a small distance (Griffiths and Steyvers' picture test)."""
    data = bars(5, 600, doc_length=100, seed=0)
    model = LDA(10, doc_topic_prior=1.0, topic_word_prior=0.05, max_iter=150, random_state=1).fit(data.corpus)
    distance = np.abs(data.phi[:, None] - model.topic_word_[None]).sum(axis=2)
    assert distance.min(axis=1).max() < 0.15
    assert len(set(distance.argmin(axis=1))) == 10


def test_the_dense_estimate_predicts_better(corpus: Corpus) -> None:
    """From one and the same sample, θᵖ and φᵖ give a lower held-out perplexity than θ and φ."""
    data = synthetic_lda(400, 200, 10, doc_length=40, alpha=0.2, beta=0.05, seed=5).corpus
    train, test = split_documents(data, 0.25, seed=1)
    model = LDA(10, doc_topic_prior=0.2, topic_word_prior=0.05, max_iter=100, random_state=3).fit(train)
    scores = {
        name: completion_perplexity(model.estimate(name)[1], model.alpha_, test, estimator=name, burn_in=20)
        for name in ("standard", "cgs_p")
    }
    assert scores["cgs_p"] < scores["standard"]


def test_published_arrays_agree_with_each_other(model: LDA, corpus: Corpus) -> None:
    assert model.components_.shape == model.topic_word_.shape == (4, 60)
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)
    np.testing.assert_allclose(model.components_ / model.components_.sum(axis=1, keepdims=True), model.topic_word_)
    assert model.doc_topic_.shape == (120, 4)
    np.testing.assert_allclose(model.doc_topic_.sum(axis=1), 1)
    theta, phi = model.estimate("cgs_p")
    np.testing.assert_array_equal(theta, model.doc_topic_)
    np.testing.assert_array_equal(phi, model.topic_word_)
    assert model.vocabulary_ == corpus.vocabulary
    assert model.n_iter_ == 60
    assert model.trace_.sweep == [10, 20, 30, 40, 50, 60]
    assert model.log_joint_[0] == pytest.approx(model.trace_.log_joint[-1])


def test_learned_priors_are_kept_apart_from_given_ones(corpus: Corpus) -> None:
    learned = LDA(4, max_iter=40, random_state=0).fit(corpus)
    assert len(np.unique(learned.alpha_)) == 4
    assert np.all(learned.beta_ == learned.beta_[0])
    assert learned.beta_[0] != 0.25
    given = LDA(4, doc_topic_prior=[0.1, 0.2, 0.3, 0.4], topic_word_prior=0.07, max_iter=40, random_state=0).fit(corpus)
    np.testing.assert_array_equal(given.alpha_, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(given.beta_, 0.07)
    both = LDA(4, doc_topic_prior=0.3, topic_word_prior=0.07, learn_priors=True, max_iter=40, random_state=0).fit(
        corpus
    )
    assert both.alpha_[0] != 0.3
    assert both.beta_[0] != 0.07
    one = LDA(4, learn_priors="symmetric", topic_word_prior=0.07, max_iter=40, random_state=0).fit(corpus)
    assert len(set(one.alpha_)) == 1
    assert one.alpha_[0] != 0.25
    assert set(one.beta_) == {0.07}  # given, so it is not learned
    fixed = LDA(4, learn_priors=False, max_iter=40, random_state=0).fit(corpus)
    np.testing.assert_array_equal(fixed.alpha_, 0.25)
    vector = LDA(4, topic_word_prior=np.linspace(0.1, 1, 60), max_iter=30, random_state=0).fit(corpus)
    np.testing.assert_array_equal(vector.beta_, np.linspace(0.1, 1, 60))


def test_kept_samples_are_averaged(corpus: Corpus) -> None:
    model = LDA(4, max_iter=30, burn_in=20, thin=5, random_state=0, doc_topic_prior=0.2, topic_word_prior=0.1).fit(
        corpus
    )
    kept = []

    def keep(chain) -> None:
        if chain.sweep in (20, 25, 30):
            kept.append(topic_counts(corpus, chain.state, chain.prior, "cgs_p"))

    plain = LDA(4, max_iter=30, random_state=0, doc_topic_prior=0.2, topic_word_prior=0.1)
    plain.fit(corpus, callbacks=[keep])
    mean = (kept[0].word + kept[1].word + kept[2].word) / 3 + 0.1
    np.testing.assert_allclose(model.components_, mean.T, rtol=1e-13)
    docs = (kept[0].doc + kept[1].doc + kept[2].doc) / 3 + 0.2
    np.testing.assert_allclose(model.doc_topic_, docs / docs.sum(axis=1, keepdims=True), rtol=1e-13)


def test_the_best_of_several_chains_is_published(corpus: Corpus) -> None:
    model = LDA(4, max_iter=15, n_chains=3, random_state=0, learn_priors=False).fit(corpus)
    assert model.log_joint_.shape == (3,)
    assert model.best_chain_ == np.argmax(model.log_joint_)
    assert len(set(model.log_joint_)) == 3
    first = LDA(4, max_iter=15, random_state=0, learn_priors=False).fit(corpus)
    assert first.log_joint_[0] == model.log_joint_[0]


def test_seed_words_draw_their_topics() -> None:
    corpus = from_texts(TEXTS, stop_words="english")
    model = LDA(2, seed_words={1: ["cat"], 0: ["markets"]}, max_iter=50, random_state=0).fit(corpus)
    top = model.top_words(3)
    assert "markets" in top[0]
    assert "cat" in top[1]
    swapped = LDA(2, seed_words=[["cat"], ["markets"]], max_iter=50, random_state=0).fit(corpus)
    assert "cat" in swapped.top_words(3)[0]
    with pytest.warns(SeedWordWarning, match=r"not in the vocabulary, without effect: 'whale'"):
        LDA(2, seed_words={0: ["whale", "cat"]}, max_iter=5, random_state=0).fit(corpus)


def test_seeds_and_random_states(corpus: Corpus) -> None:
    one, two = (LDA(3, max_iter=5, random_state=7).fit(corpus) for _ in range(2))
    assert one.fingerprint_ == two.fingerprint_
    assert one.seed_ == 7
    state = LDA(3, max_iter=5, random_state=np.random.RandomState(7)).fit(corpus)
    assert state.fingerprint_ == LDA(3, max_iter=5, random_state=state.seed_).fit(corpus).fingerprint_
    assert state.fingerprint_ != one.fingerprint_


def test_memory_is_announced_and_progress_shown(corpus: Corpus, capsys) -> None:
    LDA(3, max_iter=3, random_state=0, verbose=1).fit(corpus)
    shown = capsys.readouterr()
    assert "memory: about" in shown.err
    assert "3 of 3 sweeps in" in shown.err
    assert "threads" not in shown.err
    assert shown.out == ""


# -- rows, texts, unknown words ----------------------------------------------------------------------------------


def test_an_empty_document_keeps_its_row() -> None:
    X = np.array([[3, 1, 0], [0, 0, 0], [0, 2, 4]])
    model = LDA(2, doc_topic_prior=[0.3, 0.9], max_iter=10, random_state=0).fit(X)
    np.testing.assert_array_equal(model.empty_docs_, [False, True, False])
    np.testing.assert_allclose(model.doc_topic_[1], [0.25, 0.75])
    np.testing.assert_allclose(model.transform(X)[1], [0.25, 0.75])


def test_texts_go_in_as_they_are() -> None:
    model = LDA(2, max_iter=20, random_state=0).fit(TEXTS)
    assert "cat" in model.vocabulary_
    theta = model.transform(["Mat? The CAT!", "markets"])
    np.testing.assert_array_equal(theta[1], model.transform(["markets"])[0])
    corpus = from_texts(["markets"], vocabulary=model.vocabulary_)
    np.testing.assert_array_equal(theta[1], model.transform(corpus)[0])


def test_unknown_words_are_counted_and_reported() -> None:
    model = LDA(2, max_iter=10, random_state=0).fit(TEXTS)
    with pytest.warns(UnknownWordsWarning, match=r"67% of the words in 1 document are not in the model's vocabulary"):
        model.transform(["whale kraken cat"])
    other = from_texts(["the cat and the unicorn sat on the mat"])
    frame = model.doc_topics_frame(other)
    assert frame["unknown_share"][0] == pytest.approx(1 / 9)
    assert frame["tokens"][0] == 8


def test_a_corpus_in_another_vocabulary_is_matched_by_name(model: LDA, corpus: Corpus) -> None:
    order = np.random.default_rng(0).permutation(60)
    shuffled = from_matrix(corpus.to_matrix()[:, order], [corpus.vocabulary[v] for v in order])
    np.testing.assert_array_equal(model.transform(shuffled), model.transform(corpus))


# -- tables ------------------------------------------------------------------------------------------------------


def test_frames(model: LDA, corpus: Corpus) -> None:
    topics = model.topics_frame(5, frame="pandas")
    assert isinstance(topics, pd.DataFrame)
    assert list(topics.columns) == ["topic", "rank", "word", "probability"]
    assert len(topics) == 20
    assert topics["word"][0] == model.top_words(1)[0][0]
    assert topics["probability"][0] == model.topic_word_[0].max()
    docs = model.doc_topics_frame(frame="polars")
    assert isinstance(docs, pl.DataFrame)
    assert docs.shape == (120, 6)
    np.testing.assert_array_equal(docs["topic_2"].to_numpy(), model.doc_topic_[:, 2])
    best = model.top_docs(1, 3)
    assert best["document"][0] == model.doc_topic_[:, 1].argmax()
    assert list(best["share"]) == sorted(model.doc_topic_[:, 1], reverse=True)[:3]


# -- refusals ----------------------------------------------------------------------------------------------------

GOOD = np.array([[1, 2], [3, 0]])
BAD_DATA = {
    "fractional": ([[1, 0.5], [2, 1]], r"document 0: count 0.5 for 'word1' is not an integer"),
    "negative": ([[1, -2], [2, 1]], r"Negative values in data"),
    "NaN": ([[1, np.nan], [2, 1]], r"NaN"),
    "infinite": ([[1, np.inf], [2, 1]], r"document 0, column 1: the count is inf; counts must be finite"),
    "all empty": ([[0, 0], [0, 0]], r"all 2 documents are empty"),
    "no documents": (np.zeros((0, 3)), r"0 sample"),
    "no words": (np.zeros((3, 0)), r"0 feature"),
    "one dimension": ([1, 2, 3], r"X has shape \(3,\); expected a documents × words matrix"),
    "a bare text": ("the cat", r"X must be a list or another iterable of strings, .* for one document give \[text\]"),
    "fractional and sparse": (sp.csr_array([[1, 0.25]]), r"document 0: count 0.25"),
    "bytes": ([b"a", b"b"], r"document 0 is b'a' \(bytes\); every text must be a string"),
}
BAD_PARAMETERS = {
    "n_components": (0, r"n_components=0 must be a whole number of at least 1"),
    "max_iter": (2.5, r"max_iter=2.5 must be a whole number"),
    "thin": (0, r"thin=0"),
    "n_chains": (True, r"n_chains=True"),
    "burn_in": (900, r"burn_in=900 leaves no sweep to keep of max_iter=500"),
    "estimator": ("dense", r"estimator='dense' is not known; choose one of 'standard', 'cgs_p'"),
    "sampler": ("magic", r"sampler='magic' is not known"),
    "doc_topic_prior": (-1, r"doc_topic_prior contains -1.0; every value must be from 1e-12 to 1e\+12"),
    "topic_word_prior": ([0.1, np.nan], r"topic_word_prior contains nan"),
    "seed_words": ({12: ["a"]}, r"topics are numbered 0 to 2"),
    "seed_weight": (0, r"seed_weight=0 must be a number from 1e-12 to 1e\+12"),
    "n_jobs": (0, r"n_jobs=0"),
    "predict_options": ({"n_samples": 0}, r"predict_options\['n_samples'\]=0"),
    "sampler_options": ({"n_mh": 1.5}, r"sampler_options\['n_mh'\]=1.5 must be a whole number of at least 1"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_named(name: str) -> None:
    data, message = BAD_DATA[name]
    with pytest.raises(ValueError, match=message):
        LDA(2, max_iter=5).fit(data)


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters_are_named(name: str) -> None:
    value, message = BAD_PARAMETERS[name]
    extra = {"seed_words": {0: ["word0"]}} if name == "seed_weight" else {}
    with pytest.raises(InputError, match=message):
        LDA(3, **extra).set_params(**{name: value}).fit(GOOD)


@pytest.mark.parametrize("inference", ["cvb0", "gibbs", "em"])
def test_what_is_not_a_sampler_has_a_class_of_its_own(inference: str) -> None:
    with pytest.raises(InputError, match=r'leave it out, or use VariationalLDA with method="cvb0"') as told:
        LDA(3, inference=inference)
    assert isinstance(told.value, TypeError)  # as of any other parameter that there is not
    with pytest.raises(TypeError, match=r"LDA.__init__\(\) got an unexpected keyword argument 'inferences'"):
        LDA(3, inferences=inference)
    with pytest.raises(ValueError, match="Invalid parameter 'inferences'"):
        LDA(3).set_params(inferences=inference)
    with pytest.raises(InputError, match=r'leave it out, or use VariationalLDA with method="cvb0"'):
        LDA(3).set_params(inference=inference)
    with pytest.raises(InputError, match="method='em' is not known; choose one of 'cvb0'"):
        VariationalLDA(3, method="em").fit(GOOD)


def test_mismatched_priors_are_named() -> None:
    with pytest.raises(
        InputError, match=r"doc_topic_prior has shape \(2,\); give one number, or one for each of 3 topics"
    ):
        LDA(3, doc_topic_prior=[1, 2]).fit(GOOD)
    with pytest.raises(InputError, match=r"topic_word_prior has shape \(3,\); .* each of 2 words"):
        LDA(3, topic_word_prior=[1, 2, 3]).fit(GOOD)
    with pytest.raises(InputError, match=r"learns one β for all words, but topic_word_prior is a vector"):
        LDA(3, topic_word_prior=[1, 2], learn_priors=True).fit(GOOD)
    with pytest.raises(InputError, match=r'learn_priors=\'flat\' must be None, True, False or "symmetric"'):
        LDA(3, learn_priors="flat").fit(GOOD)  # type: ignore[arg-type]


def test_new_documents_must_fit_the_model(model: LDA) -> None:
    with pytest.raises(ValueError, match=r"X has 2 features, but LDA is expecting 60"):
        model.transform(GOOD)
    with pytest.raises(
        InputError,
        match=r"does not know how to cut texts: .* Give tokenizer= as in the fit, .* or a Corpus",
    ):
        model.transform(["some text"])
    with pytest.raises(InputError, match=r"topic 9 does not exist; topics are numbered 0 to 3"):
        model.top_docs(9)


def test_a_refused_fit_changes_nothing(corpus: Corpus, tmp_path) -> None:
    model = LDA(3, max_iter=5, random_state=0).fit(corpus)
    before = model.fingerprint_
    with pytest.raises(InputError):
        model.set_params(checkpoint_dir=tmp_path / "run", doc_topic_prior=-1).fit(corpus)
    assert model.fingerprint_ == before
    assert not (tmp_path / "run").exists()

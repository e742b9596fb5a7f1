"""Explanations: contributions of words add up to what the model says, and are those of a slow, independent version."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.mutating import mutate
from topicloom import Corpus
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.engine.word_topics import sample_word_topics
from topicloom.errors import InputError

TEXTS = (
    "goal match team goal coach", "vote law party vote", "atom quark field atom", "team coach match", "law court vote",
    "quark atom energy field", "goal team vote", "court law party party", "field energy quark", "match goal coach team",
    "", "party vote atom",
)  # fmt: skip
LABELS = [["sport"], ["state"], ["nature"], ["sport"], ["state"], ["nature"], ["sport", "state"], ["state"],
          ["nature"], ["sport"], [], ["state", "nature"]]  # fmt: skip
CLASSES = [0, 1, 2] * 4
pytestmark = pytest.mark.filterwarnings("ignore")  # short fits, and texts with unknown words
NEW = ["Goal! The team, the team; a vote of law.", "", "quark", "zebra", "Law law LAW court atom atom field party goal"]
QUICK = {"max_iter": 6, "random_state": 3, "burn_in": 3, "thin": 1}
DRAWN = {"predict_options": {"burn_in": 3, "n_samples": 2, "n_chains": 2}}

FOLDED = {"predict_options": {"method": "cvb0", "tol": 1e-3}}


def made(name: str) -> tuple[Any, Any, dict[str, Any]]:
    """A model, and what it is fitted with; "folded" ones find topics of new documents by CVB0."""
    short = FOLDED if name.endswith(" folded") else DRAWN
    kind, _, more = name.removesuffix(" folded").partition(" ")
    if kind == "lda":
        options = {"paths": {"n_paths": 2}, "hard": {"predict_options": {"estimator": "standard"}}}.get(more, {})
        return topicloom.LDA(30 if more == "wide" else 3, **QUICK, **(short | options)), None, {}
    if kind == "variational":
        batches = {"batch_size": 4} if more in ("scvb0", "svb") else {}
        return topicloom.VariationalLDA(3, method=more, tol=0.0, max_iter=6, random_state=3, **batches), None, {}
    if kind == "compound":
        own = {"burn_in": None, "method_options": {"tol": 0.0}} if more == "vem" else short
        model = topicloom.CompoundLDA(3, method=more, **(QUICK | own))
        return model, None, {"groups": [2001, 2002] * 6}
    if kind == "medlda":
        target = {"binary": [c > 0 for c in CLASSES], "labels": LABELS, "numbers": np.arange(12.0)}.get(more, CLASSES)
        kinds = {"numbers": topicloom.MedLDARegressor}
        own = {"multi_class": "ovr"} if more == "ovr" else {}
        return kinds.get(more, topicloom.MedLDAClassifier)(4, n_chains=2, **QUICK, **short, **own), target, {}
    kinds = {"prior": topicloom.PriorLDA, "dependency": topicloom.DependencyLDA}
    own = {"cvb0": {"method": "cvb0"}, "theta": {"ranking": "theta"}, "dependency": {"label_sweeps": 2}}.get(more, {})
    return kinds.get(more, topicloom.LabeledLDA)(**QUICK, **short, **own), LABELS, {}


def fitted(name: str) -> Any:
    model, y, more = made(name)
    return model.fit(topicloom.from_texts(TEXTS), *([] if y is None else [y]), **more)


def new_documents(model: Any, name: str) -> Corpus:
    """The texts as a corpus; where topics are computed, tokens have weights."""
    corpus = topicloom.from_texts(NEW, vocabulary=model.vocabulary_)
    if not name.endswith(" folded"):
        return corpus
    weights = np.random.default_rng(5).uniform(0.1, 2.5, corpus.n_tokens)
    return Corpus(words=corpus.words, doc_ptr=corpus.doc_ptr, vocabulary=corpus.vocabulary, weights=weights)


def totals(frame: Any, by: str) -> dict[tuple[int, Any], tuple[float, float]]:
    """The sum of a document's contributions to a target, with the rest, and the value that it is said to be."""
    out = {}
    for (document, target), rows in frame.groupby(["document", by]):
        assert rows["value"].nunique() == rows["rest"].nunique() == 1
        out[document, target] = rows["contribution"].sum() + rows["rest"].iloc[0], rows["value"].iloc[0]
    return out


TOPICS = (
    "lda", "lda wide", "lda paths", "lda hard", "variational vb", "variational cvb0", "variational cvb",
    "variational cvb_exact", "variational scvb0", "variational svb", "compound ags", "compound vem", "labels prior",
    "labels cvb0", "labels dependency", "medlda ovr", "lda folded", "lda paths folded", "compound ags folded",
    "labels labeled folded", "labels dependency folded", "medlda ovr folded",
)  # fmt: skip


@pytest.mark.parametrize("name", TOPICS)
def test_contributions_to_topics_add_up_to_theta(name: str) -> None:
    model = fitted(name)
    corpus = new_documents(model, name)
    if "compound" in name:
        corpus = corpus.with_metadata(groups=[2001, 1999, None, 2002, 2002])
    theta = model.transform(corpus)
    k = theta.shape[1]
    found = totals(model.explain(corpus, topics=range(k), top=None, frame="pandas"), "topic")
    assert len(found) == len(NEW) * k
    for (d, topic), (total, value) in found.items():
        assert abs(total - theta[d, topic]) < 1e-12, (d, topic)
        assert abs(value - theta[d, topic]) < 1e-12


@pytest.mark.parametrize(
    "name", ["labels labeled", "labels theta", "labels cvb0", "labels dependency", "medlda classes", "medlda labels",
             "medlda binary", "medlda ovr", "medlda numbers", "labels theta folded", "labels dependency folded",
             "medlda classes folded", "medlda numbers folded"],
)  # fmt: skip
def test_contributions_to_labels_add_up_to_what_is_predicted(name: str) -> None:
    model = fitted(name)
    given = new_documents(model, name)
    by = "class" if "medlda" in name else "label"
    frame = model.explain(given, n_best=None, top=None, frame="pandas")
    if "medlda numbers" in name:
        assert by not in frame
        frame[by] = "number"
        said = {"number": model.predict(given)}
    elif name == "medlda binary":
        said = {False: -model.decision_function(given), True: model.decision_function(given)}
    else:
        said = dict(zip(model.classes_.tolist(), model.decision_function(given).T, strict=True))
    found = totals(frame, by)
    assert len(found) == len(NEW) * len(said)
    for (d, target), (total, value) in found.items():
        assert abs(total - said[target][d]) < 1e-12 * max(1.0, abs(value)), (d, target)
        assert abs(value - said[target][d]) < 1e-12 * max(1.0, abs(value))
    one = model.explain(given, top=3, n_best=1, frame="pandas")
    if "medlda numbers" not in name:  # the best is the predicted one
        best = {key: max(said, key=lambda name, d=key: said[name][d]) for key in range(len(NEW))}
        assert {(d, name) for d, name in zip(one["document"], one[by], strict=True)} == set(best.items())


# -- independent versions --------------------------------------------------------------------------------------------


def naive_transitions(words: list[int], phi: np.ndarray, alpha: np.ndarray, z: list[int]) -> np.ndarray:
    """T_j(k) of each token given the topics of the others (CGS_p eqs. 31, 33), as written."""
    out = []
    for j, v in enumerate(words):
        n = np.bincount([k for i, k in enumerate(z) if i != j], minlength=len(alpha))
        weights = phi[v] * (n + alpha)
        out.append(weights / weights.sum())
    return np.array(out)


@pytest.mark.parametrize("n_topics", [3, 16])  # a long document, and one that is short beside the number of topics
@pytest.mark.parametrize("soft", [True, False])
def test_word_topics_are_means_over_the_samples_of_fold_in(n_topics: int, soft: bool) -> None:
    """Against posterior expectations by enumeration: E[T_j] = p(z_j = k | words), whichever estimator reads it."""
    rng = np.random.default_rng(1)
    phi, alpha = rng.dirichlet(np.full(4, 0.7), n_topics).T.copy(), rng.uniform(0.1, 0.6, n_topics)
    doc = [0, 2, 2] if n_topics == 16 else [0, 0, 2, 3]
    corpus = Corpus(words=np.array(doc, np.int32), doc_ptr=np.array([0, len(doc)]), vocabulary=("a", "b", "c", "d"))
    chains = 20_000 if soft else 60_000
    found = sample_word_topics(corpus, phi, alpha, burn_in=15, n_chains=chains, seed=2, soft=soft)
    pairs = corpus.pairs
    exact, mean_of_transitions, total = np.zeros((3, n_topics))[: len(pairs.word)], 0.0, 0.0
    for z in np.ndindex(*[n_topics] * len(doc)):
        n = np.bincount(z, minlength=n_topics)
        rising = np.prod([np.prod(alpha[k] + np.arange(n[k])) for k in np.flatnonzero(n)])
        p = rising * np.prod(phi[doc, list(z)])
        own = np.zeros_like(exact)
        for j, v in enumerate(doc):
            own[np.searchsorted(pairs.word, v), z[j]] += p
        exact, total = exact + own, total + p
        mean_of_transitions = mean_of_transitions + (
            p * naive_transitions(doc, phi, alpha, list(z)) if n_topics == 3 else 0.0
        )
    exact = exact / total
    sums = exact.sum(axis=1)
    np.testing.assert_allclose(sums, pairs.count)
    spread = 5.5 * np.sqrt(np.maximum(exact * (1 - exact / sums[:, None]) * sums[:, None], 1e-9) / chains)
    assert np.all(np.abs(found - exact) < np.maximum(spread, 1e-3))
    if n_topics == 3:  # the average of T is the posterior, as the equations promise
        by_word = [mean_of_transitions[[i for i, v in enumerate(doc) if v == w]].sum(axis=0) for w in pairs.word]
        np.testing.assert_allclose(np.array(by_word) / total, exact, atol=1e-12)


def check_one_sample(sample: Callable[..., np.ndarray]) -> None:
    """With the drawn topics of all samples known, T of every token by the equation."""
    rng = np.random.default_rng(4)
    phi, alpha = rng.dirichlet(np.full(5, 0.7), 3).T.copy(), np.array([0.2, 0.5, 0.9])
    # Every word but one can have one topic alone: their topics are known in every sample.
    phi[[0, 1, 2]] = np.eye(3) * 0.2
    doc = [0, 0, 1, 2, 2, 2, 4]
    corpus = Corpus(words=np.array(doc, np.int32), doc_ptr=np.array([0, 7]), vocabulary=tuple("abcde"))
    found = sample(corpus, phi, alpha, burn_in=2, n_samples=3, seed=1)
    expected = naive_transitions(doc, phi, alpha, [0, 0, 1, 2, 2, 2, 0])[-1]  # its own topic does not matter to it
    np.testing.assert_allclose(found[-1], expected, rtol=1e-12)
    np.testing.assert_allclose(found[:3], np.diag([2.0, 1.0, 3.0]), rtol=1e-12)


def test_samples_are_read_as_the_equations_say() -> None:
    check_one_sample(sample_word_topics)
    check_one_sample(mutate("engine.word_topics").sample_word_topics)  # the right source through the mutants' door


def test_words_that_count_themselves_are_rejected() -> None:
    """A mutant: a token is not taken out of its document before its topics are weighed."""
    wrong = mutate("engine.fold_in", ("mix[own] = (doc[own] - 1) + alpha[own]", "mix[own] = doc[own] + alpha[own]"))
    mutant = mutate("engine.word_topics")
    mutant._whole_words.__globals__["_add_soft"] = wrong._add_soft
    with pytest.raises(AssertionError):
        check_one_sample(mutant.sample_word_topics)


def test_contributions_that_are_not_divided_by_the_length_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = mutate("medlda.supervised", ("self._found_with(index)) / of_words", "self._found_with(index))"))
    monkeypatch.setattr(topicloom.MedLDAClassifier, "_label_parts", mutant.SupervisedTopics._label_parts)
    with pytest.raises(AssertionError):
        test_contributions_to_labels_add_up_to_what_is_predicted("medlda classes")


def test_batches_rows_and_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    docs = [rng.integers(0, 50, rng.integers(0, 60)).astype(np.int32) for _ in range(70)]
    ptr = np.concatenate(([0], np.cumsum([len(own) for own in docs])))
    corpus = Corpus(words=np.concatenate(docs), doc_ptr=ptr, vocabulary=tuple(f"w{v}" for v in range(50)))
    phi, alpha = rng.dirichlet(np.full(50, 0.1), 40).T, rng.uniform(0.1, 1, 40)
    whole = sample_word_topics(corpus, phi, alpha, burn_in=3, n_samples=2)
    np.testing.assert_array_equal(sample_word_topics(corpus, phi, alpha, burn_in=3, n_samples=2, n_jobs=3), whole)
    folded = fold_in_corpus(corpus, phi, alpha, burn_in=3, n_samples=2)
    for soft, counts in ((True, folded.soft), (False, folded.hard)):
        mine = sample_word_topics(corpus, phi, alpha, burn_in=3, n_samples=2, soft=soft)
        sums = np.array([mine[corpus.pairs.ptr[d] : corpus.pairs.ptr[d + 1]].sum(axis=0) for d in range(70)])
        np.testing.assert_allclose(sums, counts, atol=1e-12)
    some = [40, 3, 41]
    own = [whole[corpus.pairs.ptr[d] : corpus.pairs.ptr[d + 1]] for d in some]
    np.testing.assert_array_equal(
        sample_word_topics(corpus.select(some), phi, alpha, burn_in=3, n_samples=2), np.concatenate(own)
    )


def test_a_document_is_explained_alike_in_any_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("labels dependency")
    texts = [text for text in NEW if text != "zebra"]
    whole = model.explain(texts, top=None, frame="pandas")
    monkeypatch.setattr("topicloom.engine.estimator.explained._ENTRIES", 12)  # a few words at a time
    assert model.explain(texts, top=None, frame="pandas").equals(whole)
    for d, text in enumerate(texts):
        alone = model.explain([text], top=None, frame="pandas")
        rows = whole[whole["document"] == d]
        assert alone["contribution"].tolist() == rows["contribution"].tolist()
        assert alone["word"].tolist() == rows["word"].tolist()


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_words_for_and_against_in_their_order() -> None:
    model = fitted("medlda classes")
    whole = model.explain(NEW[4:], labels=1, top=None, frame="pandas")
    assert whole["word"].tolist() == whole.sort_values("contribution", ascending=False, kind="stable")["word"].tolist()
    assert dict(zip(whole["word"], whole["count"], strict=True)) == {
        "law": 3, "atom": 2, "court": 1, "field": 1, "party": 1, "goal": 1,
    }  # fmt: skip
    some = model.explain(NEW[4:], labels=[1], top=1, frame="pandas")
    kept = whole[(whole["contribution"] == whole["contribution"].max()) | (
        whole["contribution"] == min(whole["contribution"].min(), 0.0))]  # fmt: skip
    assert some["word"].tolist() == kept["word"].tolist()
    empty = model.explain([""], labels=1, frame="pandas")
    assert empty["word"].isna().all()
    assert len(empty) == 1
    assert empty["value"].iloc[0] == model.decision_function([""])[0, 1]


def test_tokens_stand_where_the_text_has_them() -> None:
    model = fitted("medlda binary")
    text = "Law — the LAW! 😀 court; zebra, atom."
    tokens = model.explain_tokens([text], labels=True, frame="pandas")
    assert [text[a:b].lower() for a, b in zip(tokens["start"], tokens["end"], strict=True)] == tokens["word"].tolist()
    assert tokens["word"].tolist() == ["law", "law", "court", "atom"]
    words = model.explain([text], labels=True, top=None, frame="pandas").set_index("word")
    shares = words["contribution"] / words["count"]
    np.testing.assert_allclose(tokens["contribution"], shares[tokens["word"]], rtol=1e-15)
    plain = topicloom.from_texts([text], vocabulary=model.vocabulary_, keep_texts=False)  # in order, without its text
    assert set(model.explain_tokens(plain, labels=True, frame="pandas")["start"]) == {-1}
    with pytest.raises(InputError, match=r"X has counts alone"):
        model.explain_tokens(plain.to_matrix())


def test_bad_questions_are_named() -> None:
    labels, lda, numbers = (
        fitted("labels labeled"),
        fitted("lda").set_topic_names({0: "space"}),
        fitted("medlda numbers"),
    )
    assert lda.explain(NEW, topics="space", frame="pandas")["name"].unique().tolist() == ["space"]
    assert labels.explain(NEW, labels=2, frame="pandas")["label"].unique().tolist() == ["state"]
    for model, options, message in (
        (lda, {"topics": 3}, r"topic 3 does not exist"),
        (lda, {"labels": "sport"}, r"LDA predicts no labels or classes"),
        (numbers, {"labels": "sport"}, r"MedLDARegressor predicts no labels or classes"),
        (labels, {"labels": "zebra"}, r"'zebra' is no label of this model; there are 'nature', 'sport', 'state'"),
        (labels, {"labels": []}, r"labels is empty"),
        (labels, {"labels": "sport", "topics": 1}, r"give topics or labels, one of them"),
        (labels, {"n_best": 0}, r"n_best=0 must be a whole number"),
        (labels, {"top": 0}, r"top=0 must be a whole number"),
    ):
        with pytest.raises(InputError, match=message):
            model.explain(NEW, **options)

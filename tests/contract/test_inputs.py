"""The same documents in every form that people have them: the same topics, bit for bit. All else is refused."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import topicloom
from topicloom import (
    HDP,
    HMM,
    LDA,
    CompoundLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    VariationalLDA,
    as_corpus,
    from_frame,
    from_matrix,
    from_texts,
)
from topicloom.corpus._given import told_apart
from topicloom.corpus.inputs import Reading, options_of
from topicloom.errors import InputError, MissingTextsWarning

# Words are in alphabetical order within each document, so that bags of words and matrices give the same stream.
TEXTS = ["apple apple bank river", "bank bank loan", "apple river river", "loan money", "money river", "bank money"]
WORDS = [text.split() for text in TEXTS]
VOCABULARY = ["apple", "bank", "loan", "money", "river"]
COUNTS = np.array([[words.count(word) for word in VOCABULARY] for words in WORDS])
BAGS = [[(v, int(n)) for v, n in enumerate(row) if n] for row in COUNTS]
CLASSES = ["a", "b", "a", "b", "a", "b"]
TABLE = {"review": TEXTS, "kind": CLASSES, "stars": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]}


class Shelf:
    """A collection of one's own that can be gone through again and again."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)


def docs() -> list[Any]:
    nlp = pytest.importorskip("spacy", reason="spaCy is not installed").blank("en")
    return list(nlp.pipe(TEXTS))


def dataset() -> Any:
    return pytest.importorskip("datasets", reason="datasets is not installed").Dataset.from_dict(TABLE)


def dictionary() -> Any:
    return pytest.importorskip("gensim.corpora", reason="gensim is not installed").Dictionary([VOCABULARY])


def mm_corpus(folder: Path) -> Any:
    corpora = pytest.importorskip("gensim.corpora", reason="gensim is not installed")
    corpora.MmCorpus.serialize(str(folder / "bags.mm"), BAGS)
    return corpora.MmCorpus(str(folder / "bags.mm"))


FRAME = {"text": "review"}
NAMED = {"vocabulary": VOCABULARY}
# Each is made anew, since some can be read once; and how it is read.
KINDS: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "tuple": (lambda _: tuple(TEXTS), {}),
    "pandas": (lambda _: pd.Series(TEXTS), {}),
    "pandas strings": (lambda _: pd.Series(TEXTS, dtype="string", index=range(5, 11)), {}),
    "index": (lambda _: pd.Index(TEXTS), {}),
    "polars": (lambda _: pl.Series(TEXTS), {}),
    "pyarrow": (lambda _: pa.array(TEXTS), {}),
    "chunks": (lambda _: pa.chunked_array([TEXTS[:2], TEXTS[2:]]), {}),
    "array": (lambda _: np.array(TEXTS), {}),
    "objects": (lambda _: np.array(TEXTS, object), {}),
    "generator": (lambda _: (text for text in TEXTS), {}),
    "own class": (lambda _: Shelf(TEXTS), {}),
    "words": (lambda _: WORDS, {}),
    "words of polars": (lambda _: pl.Series(WORDS), {}),
    "words of pandas": (lambda _: pd.Series([np.array(words) for words in WORDS]), {}),
    "words, streamed": (lambda _: (tuple(words) for words in WORDS), {}),
    "docs": (lambda _: docs(), {}),
    "docs, streamed": (lambda _: iter(docs()), {}),
    "bags": (lambda _: BAGS, NAMED),
    "gensim": (lambda folder: mm_corpus(folder), NAMED),
    "frame": (lambda _: pd.DataFrame(TABLE), FRAME),
    "polars frame": (lambda _: pl.DataFrame(TABLE), FRAME),
    "table": (lambda _: pa.table(TABLE), FRAME),
    "batch": (lambda _: pa.RecordBatch.from_pydict(TABLE), FRAME),
    "dataset": (lambda _: dataset(), FRAME),
    "column of a dataset": (lambda _: dataset()["review"], {}),
    "corpus": (lambda _: from_texts(TEXTS), {}),
    "matrix": (lambda _: sp.csr_array(COUNTS), NAMED),
    "frame of counts": (lambda _: pd.DataFrame(COUNTS, columns=VOCABULARY), {}),
    "list of rows": (lambda _: COUNTS.tolist(), NAMED),
}
QUICK: dict[str, Any] = {"max_iter": 6, "random_state": 0}
MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any], dict[str, str]]] = {  # targets as they are, and in columns
    "LDA": (lambda: LDA(2, **QUICK), {}, {}),
    "HDP": (lambda: HDP(2, **QUICK), {}, {}),
    "VariationalLDA": (lambda: VariationalLDA(2, tol=0, **QUICK), {}, {}),
    "LabeledLDA": (lambda: LabeledLDA(holdout=0, burn_in=3, **QUICK), {"y": CLASSES}, {"label": "kind"}),
    "MedLDAClassifier": (lambda: MedLDAClassifier(2, burn_in=3, **QUICK), {"y": CLASSES}, {"label": "kind"}),
    "CompoundLDA": (lambda: CompoundLDA(2, **QUICK), {"groups": CLASSES}, {"group": "kind"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """Every model, fitted on a list of texts."""
    return {name: make().fit(TEXTS, **targets) for name, (make, targets, _) in MODELS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_topics(kind: str, plain: dict[str, Any], tmp_path: Path) -> None:
    given, reading = KINDS[kind]
    for name, (make, targets, columns) in MODELS.items():
        in_columns = reading == FRAME
        model = make().fit(given(tmp_path), **reading, **(columns if in_columns else targets))
        assert model.fingerprint_ == plain[name].fingerprint_, name
        # New documents of the same kind, with columns as they were; words of bags and matrices have their numbers.
        same = model.transform(given(tmp_path), **({} if in_columns or name != "CompoundLDA" else {"groups": CLASSES}))
        groups = (CLASSES,) if name == "CompoundLDA" else ()
        np.testing.assert_array_equal(same, plain[name].transform(TEXTS, *groups), err_msg=name)


def test_every_option_of_reading_is_typed() -> None:
    kinds: tuple[Any, ...] = ("texts", "bags", "frame", "matrix")
    assert {name for kind in kinds for name in options_of(kind)} <= set(Reading.__annotations__)


def test_a_gensim_dictionary_names_the_words() -> None:
    words = dictionary()
    corpus = as_corpus(BAGS, vocabulary=words)
    assert corpus.vocabulary == tuple(VOCABULARY)
    np.testing.assert_array_equal(corpus.to_matrix().toarray(), COUNTS)
    model = LDA(2, **QUICK).fit(BAGS, vocabulary=words)
    other = type(words)([["money", "cash", "apple"]])  # numbers of its own
    new = model._new_corpus([other.doc2bow(["cash", "money"])], {"vocabulary": other}, report=False)
    assert [new.vocabulary[v] for v in new.words] == ["money"]
    assert new.unknown.tolist() == [1]
    with pytest.warns(UserWarning, match="not in the model's vocabulary"):
        assert model._new_corpus([[(1, 1), (7, 2)]]).unknown.tolist() == [2]


def test_classes_of_a_dataset_have_their_names() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    data = dataset().cast_column("kind", datasets.ClassLabel(names=["b", "a"])).select([5, 0, 1])
    assert from_frame(data, text="review", label="kind").labels == (("b",), ("a",), ("b",))


def test_words_of_docs_have_a_letter() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    doc = spacy.blank("en")("The U.S. sold 12 houses, didn't it? हिन्दी $5")
    assert set(as_corpus([doc]).vocabulary) == {"the", "u.s.", "sold", "houses", "did", "n't", "it", "हिन्दी"}
    assert "The" in as_corpus([doc], lowercase=False).vocabulary
    corpus = as_corpus([doc], tokenizer=lambda doc: [token.shape_ for token in doc], lowercase=False)
    assert "Xxx" in corpus.vocabulary
    assert corpus.reading is None  # a function cannot be remembered
    with pytest.raises(InputError, match=r"[Gg]ive tokenizer="):
        LDA(1, **QUICK).fit(corpus).transform([doc])


# -- what a model remembers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_model_finds_the_columns_of_its_fit(make: Callable[..., Any], tmp_path: Path) -> None:
    frame, renamed = make(TABLE), make({"body": TEXTS, "kind": CLASSES})
    models = {
        LDA(2, **QUICK): {},
        LabeledLDA(holdout=0, burn_in=3, **QUICK): {"label": "kind"},
        MedLDARegressor(2, burn_in=3, **QUICK): {"response": "stars"},
        CompoundLDA(2, **QUICK): {"group": "kind"},
    }
    for model, columns in models.items():
        model.fit(frame, text="review", stop_words=["loan"], **columns).save(tmp_path / "model")
        loaded = topicloom.load(tmp_path / "model")
        theta = model.transform(frame)
        np.testing.assert_array_equal(loaded.transform(frame), theta)
        np.testing.assert_array_equal(loaded.transform(renamed, text="body"), theta)
        assert loaded.score(frame) == model.score(from_frame(frame, text="review", stop_words=["loan"], **columns))
        with pytest.raises(
            InputError, match=r"no column 'review', from which the fit read its texts; it has 'body', 'k"
        ):
            loaded.transform(renamed)
    groups = loaded.transform(make({"review": TEXTS}), group=None)
    np.testing.assert_array_equal(groups, loaded.transform(make({"review": TEXTS}), [None] * 6))
    with pytest.raises(
        InputError, match=r"no column 'kind', .* its groups; .* group=, or give group=None to read none"
    ):
        loaded.transform(make({"review": TEXTS}))


def test_counts_of_a_frame_with_other_columns() -> None:
    frame = pd.DataFrame({"id": list("uvwxyz"), **dict(zip(VOCABULARY, COUNTS.T, strict=True)), "kind": CLASSES})
    model = LabeledLDA(holdout=0, burn_in=3, **QUICK).fit(frame, id="id", label="kind")
    assert model.vocabulary_ == tuple(VOCABULARY)
    np.testing.assert_array_equal(model.transform(frame), model.transform(COUNTS))
    np.testing.assert_array_equal(model.transform(frame.drop(columns="kind")), model.transform(COUNTS))


def test_documents_are_read_once(plain: dict[str, Any]) -> None:
    for make, kept in ((iter, {}), (pd.Series, {})):
        theta = LDA(2, **QUICK).fit_transform(make(TEXTS), **kept)
        np.testing.assert_array_equal(theta, plain["LDA"].transform(TEXTS))
    theta = CompoundLDA(2, **QUICK).fit_transform(pd.DataFrame(TABLE), text="review", group="kind")
    np.testing.assert_array_equal(theta, plain["CompoundLDA"].transform(TEXTS, CLASSES))
    frame = pd.DataFrame(TABLE, index=list("uvwxyz"))
    out = LDA(2, **QUICK).set_output(transform="pandas").fit_transform(frame, text="review")
    assert out.index.tolist() == list("uvwxyz")
    stream = VariationalLDA(2, method="svb", random_state=0).partial_fit(frame, text="review", vocabulary=VOCABULARY)
    assert stream.partial_fit(frame).transform(frame).shape == (6, 2)


# -- what is missing, and what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        list, iter, lambda X: np.array(X, object), lambda X: pd.Series(X, dtype="string"), pd.Series, pl.Series,
        pa.array,
        lambda X: pd.Series([float("nan") if x is None else x for x in X]),
        lambda X: [pd.NaT if x is None else x for x in X], lambda X: [None if x is None else [x] for x in X],
    ],
)  # fmt: skip
def test_missing_texts(make: Callable[[list[Any]], Any]) -> None:
    texts = ["apple", None, "bank", None]
    many = "" if make is iter else "; 2 of 4 are"
    with pytest.raises(InputError, match=rf'(row|document) 1 is missing \(\S+\){many}\. Give missing="empty"'):
        LDA(2, **QUICK).fit(make(texts))
    with pytest.warns(MissingTextsWarning, match=r"2 of 4 documents are missing and are read as empty"):
        model = LDA(2, **QUICK).fit(make(texts), missing="empty")
    assert model.empty_docs_.tolist() == [False, True, False, True]
    with pytest.warns(MissingTextsWarning):  # as in the fit
        model.transform(make(texts))


def test_missing_texts_of_a_frame_are_remembered() -> None:
    frame = pd.DataFrame({"review": ["apple", None], "stars": [4.5, 1.0]})
    with pytest.warns(MissingTextsWarning, match="1 of 2 documents is missing and is read as an empty document"):
        model = LDA(2, **QUICK).fit(frame, text="review", missing="empty")
    with pytest.warns(MissingTextsWarning):
        model.transform(frame)
    with pytest.raises(InputError, match="row 1 of the column 'review' is missing"):
        model.transform(frame, missing="error")
    with pytest.raises(
        InputError, match=r"row 0 .*'stars' holds the number 4\.5, not a text; is 'stars' the column of t"
    ):
        LDA(2, **QUICK).fit(frame, text="stars")
    with pytest.raises(InputError, match="missing='no' is not known"):
        from_texts(TEXTS, missing="no")  # type: ignore[arg-type]


class Watched:
    """An iterator without an end, which counts what is taken of it."""

    def __init__(self, entry: Any) -> None:
        self.entry, self.taken = entry, 0

    def __iter__(self) -> "Watched":
        return self

    def __next__(self) -> Any:
        self.taken += 1
        return self.entry


@pytest.mark.parametrize(
    "entry", [3, None, {"text": "a"}, np.ones(3), [1, 2], [], object(), b"a"], ids=lambda entry: type(entry).__name__
)
def test_what_has_no_end_is_left_alone(entry: Any) -> None:
    for fit in (LDA(2, **QUICK).fit, HMM(2, **QUICK).fit, from_texts, as_corpus):
        endless = Watched(entry)
        if fit.__name__ == "fit" and isinstance(entry, list | np.ndarray) and "HMM" in repr(fit):
            continue  # sequences, which an HMM reads to their end
        with pytest.raises(InputError):
            fit(endless)
        assert endless.taken <= 1000


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a text": ("a text", {}, r"X must be a list .*for one document give \[text\], for a file topicloom\.read"),
    "a path": (Path("a.csv"), {}, r"read the file with topicloom\.read\(path\)"),
    "a dict": ({"a": "text"}, {}, r"no order of documents; give a list, such as list\(X\.values\(\)\)"),
    "rows": ([{"text": "a"}], {}, r"entry 0 of X is .*give the texts alone, \[row\[\"text\"\] for row in X\]"),
    "a lazy frame": (pl.LazyFrame(TABLE), {}, r"X is a lazy frame; call its collect\(\) first"),
    "no column": (pd.DataFrame(TABLE), {}, r"column 'review' .* holds texts.* with text='review' or text='kind'"),
    "another": (pd.DataFrame(TABLE), {"text": "x"}, r"text='x': the frame has no such column; it has 'review', 'kind'"),
    "which": (pd.DataFrame(TABLE), {"strip": "html"}, r"'strip' apply to texts; name their column with text='review'"),
    "a mistake": (TEXTS, {"stop_word": "a"}, r"'stop_word' is not known; X holds texts; it can be read with "),
    "no frame": (TEXTS, {"text": "a"}, r"text='a' does not apply: X holds texts; it can be read with "),
    "counts": (COUNTS, {"min_df": 2}, r"min_df=2 does not apply: X is a matrix of counts; it can .* vocabulary, "),
    "a corpus": (from_matrix(COUNTS), {"min_df": 2}, r"does not apply: X is a Corpus, which is read already"),
    "mixed": ([["a"], "b"], {}, r"document 1 is 'b' \(str\); every document must be a list of words, as the first is"),
    "a number": ([["a", 3]], {}, r"document 0 has 3 as word 1; every word must be a string"),
    "cut words": (WORDS, {"tokenizer": str.split}, r"which are taken as they are; leave out tokenizer="),
    "unnamed": ([[(0, 1)], [(7, 1)]], {"vocabulary": ["a"]}, r"document 1: there is no word 7, of 1\. Give the Dict"),
    "negative": ([[(-1, 1)]], {}, r"document 0: there is no word -1, of .*Number words from 0"),
    "no pair": ([[(0, 1)], [(1, 2, 3)]], {}, r"document 1 is \[\(1, 2, 3\)\]; expected a bag of words"),
    "words by name": ([[(0, 1)]], {"vocabulary": {"a": 0}}, r"vocabulary must map the numbers of words"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_remedy(name: str) -> None:
    X, reading, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        LDA(2, **QUICK).fit(X, **reading)


def test_targets_are_given_once_and_cutting_is_the_models(plain: dict[str, Any]) -> None:
    frame = pd.DataFrame(TABLE)
    for fit, y in ((LabeledLDA().fit, CLASSES), (CompoundLDA(2).fit, CLASSES), (MedLDARegressor(2).fit, COUNTS[:, 0])):
        column = {"LabeledLDA": "label", "CompoundLDA": "group"}.get(type(fit.__self__).__name__, "response")
        with pytest.raises(InputError, match=rf"y is given, and {column}='kind', too; give one of them alone"):
            fit(frame, y, text="review", **{column: "kind"})
    with pytest.raises(InputError, match=r"groups are given, and group='kind', too"):
        CompoundLDA(2).fit(frame, groups=CLASSES, text="review", group="kind")
    for wrong in ({"stop_words": "english"}, {"tokenizer": str.split}):
        with pytest.raises(InputError, match=r"does not apply: X holds texts; it can be read with missing, ids"):
            plain["LDA"].transform(TEXTS, **wrong)
    own = LDA(2, **QUICK).fit(TEXTS, tokenizer=str.split)
    np.testing.assert_array_equal(own.transform(TEXTS, tokenizer=str.split), plain["LDA"].transform(TEXTS))


def test_sequences_of_many_kinds() -> None:
    steps = [[0, 1, 1, 0], [1, 0]]
    expected = HMM(2, **QUICK).fit(steps).fingerprint_
    for given in (pd.Series(steps), pl.Series(steps), pa.array(steps), iter(steps)):
        assert HMM(2, **QUICK).fit(given).fingerprint_ == expected
    assert HMM(2, **QUICK).fit(pa.array(["x", "y", "x"])).alphabet_ == ("x", "y")
    for given, message in ((itertools.count(), r"give a list, such as list\(X\)"), (sp.eye_array(3), "not dia_array")):
        with pytest.raises(InputError, match=message):
            HMM(2, **QUICK).fit(given)
    with pytest.raises(InputError, match=r"choose one: \[\[token\.pos_ for token in doc\]"):
        HMM(2, **QUICK).fit(docs())


def test_annotated_data_are_known_by_their_class() -> None:
    named = type("AnnData", (), {"__module__": "anndata._core.anndata"})
    assert told_apart(named()).kind == "cells"

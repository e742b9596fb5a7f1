"""Whatever a user gives: it works, or one of our own errors says in one line what, where and what to do."""

import inspect
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
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
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
    evaluation,
)
from topicloom import corpus as corpora
from topicloom.errors import InputError, MissingExtraError, StorageError

COUNTS = np.random.default_rng(0).poisson(1.0, (6, 4)) + 1
TEXTS = ["river bank water"] * 3 + ["money bank loan"] * 3
CORPUS = topicloom.from_texts(TEXTS)
CLASSES = list("ababab")
SETS = [["a"], ["b"]] * 3
QUICK: dict[str, Any] = {"max_iter": 3, "random_state": 0}
SAMPLED: dict[str, Any] = QUICK | {"burn_in": 1}


class Broken:
    """Something that fails when it is looked into."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("broken")


ODD: dict[str, Any] = {
    "none": None, "text": "a", "number": 3, "dict": {"a": 1}, "set": {"a", "b"}, "short": [["a"]], "nan": [np.nan] * 6,
    "infinite": [np.inf] * 6, "huge": [1e300] * 6, "complex": [1j] * 6, "nones": [None] * 6, "bytes": [b"a", b"b"] * 3,
    "nested": [[["a"]]] * 6, "mixed": ["a", 1] * 3, "ragged": [["a"], [], ["b"], ["a", "b"], ["a"], ["b"]],
    "sets": [{"a"}, {"b"}] * 3, "decimals": [Decimal("1.5")] * 6, "numpy strings": [np.str_("a"), np.str_("b")] * 3,
    "strings": np.array(CLASSES), "lists": np.array([["a"], ["b", "c"]] * 3, object), "table": np.full((6, 2), 2),
    "strings in a table": np.array([["a", "b"]] * 6), "cube": np.zeros((6, 2, 2)), "sparse": sp.csr_array(np.eye(6)),
    "dates": np.array(["2020-01-01"] * 6, "datetime64[D]"), "no dates": np.array(["NaT"] * 6, "datetime64[D]"),
    "masked": np.ma.masked_array([1, 2] * 3, mask=[1, 0] * 3), "series": pd.Series(CLASSES),
    "missing dates": pd.Series(pd.to_datetime([None] * 6)), "missing numbers": pd.array([1, None] * 3, dtype="Int64"),
    "frame": pd.DataFrame({"a": ["x"] * 6}), "broken": Broken(),
}  # fmt: skip


def complaint(call: Callable[[], object]) -> str | None:
    """The error, which must be one of ours and one line; None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except (InputError, StorageError, MissingExtraError) as error:
        text = str(error)
        assert "\n" not in text, text
        assert "np." not in text.replace("np.matrix", "").replace("np.asarray", ""), text
        assert len(text) < 600, text
        return text
    return None


# -- data ------------------------------------------------------------------------------------------------------------

PHI = np.array([[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]])
THETA = np.full((6, 2), 0.5)
DRAWS = np.random.default_rng(0).dirichlet(np.ones(3), (5, 4))
COUNTED = topicloom.from_matrix(COUNTS)
SIX = [1, 2, 3, 1, 2, 3]

FUNCTIONS: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (topicloom.from_matrix, {"X": COUNTS, "vocabulary": None, "ids": None, "labels": None, "groups": None,
                             "responses": None, "times": None}),
    (topicloom.from_texts, {"texts": TEXTS, "tokenizer": None, "token_pattern": r"\w+", "lowercase": True, "min_df": 1,
                            "max_df": 1.0, "max_words": None, "stop_words": None, "vocabulary": None, "strip": (),
                            "normalizer": None, "phrases": None, "ngrams": (1, 1), "n_jobs": 1}),
    (corpora.stop_words, {"languages": "english"}), (CORPUS.prune, {"min_df": 1, "max_df": 1.0, "max_words": None}),
    (topicloom.from_frame, {"frame": pd.DataFrame({"text": TEXTS}), "text": "text"}),
    (topicloom.read, {"path": "none.csv"}), (topicloom.load, {"path": "none"}), (topicloom.resume, {"path": "none"}),
    (CORPUS.select, {"documents": [0, 1]}), (CORPUS.keep_tokens, {"mask": np.ones(CORPUS.n_tokens, bool)}),
    (CORPUS.with_vocabulary, {"vocabulary": ["river"]}),
    (corpora.split_documents, {"corpus": CORPUS, "test_share": 0.5, "seed": 0}),
    (corpora.split_halves, {"corpus": CORPUS, "seed": 0}),
    (corpora.hold_out_tokens, {"corpus": CORPUS, "share": 0.5, "seed": 0}),
    (topicloom.datasets.synthetic_lda, {"n_docs": 5, "n_words": 6, "n_topics": 2, "doc_length": 5, "seed": 0}),
    (topicloom.datasets.synthetic_compound, {"n_collections": 2, "docs_per_collection": 3}),
    (evaluation.coherence, {"topics": [["river", "bank"]], "corpus": CORPUS, "measure": "u_mass", "n_words": 2,
                            "window": None, "epsilon": None, "aggregate": None}),
    (evaluation.topic_diversity, {"topics": PHI, "n_words": 2}),
    (evaluation.exclusivity, {"topics": PHI, "n_words": 2}),
    (evaluation.topic_sizes, {"theta": THETA, "lengths": np.ones(6)}), (evaluation.effective_words, {"topics": PHI}),
    (evaluation.topic_distances, {"topics": PHI, "metric": "cosine"}),
    (evaluation.topic_map, {"topics": PHI, "metric": "hellinger", "n_words": None}),
    (evaluation.topic_discrepancy, {"topics": PHI, "truth": PHI}),
    (evaluation.completion_perplexity, {"topics": PHI, "alpha": np.ones(2), "corpus": COUNTED, "estimator": "cgs_p",
                                        "burn_in": 1, "thin": 1, "n_samples": 1, "n_chains": 1, "seed": 0,
                                        "n_jobs": 1}),
    (evaluation.log_likelihood, {"topics": PHI, "theta": THETA, "corpus": COUNTED}),
    (evaluation.left_to_right, {"topics": PHI, "alpha": np.ones(2), "corpus": COUNTED, "n_particles": 2, "seed": 0,
                                "n_jobs": 1}),
    (evaluation.draw_interval, {"draws": DRAWS, "level": 0.9}),
    (evaluation.mixture_difference, {"draws": DRAWS, "first": 0, "second": 1, "level": 0.9}),
    (evaluation.mixture_trend, {"draws": DRAWS, "times": [0, 1, 2, 3], "level": 0.9, "weights": [1, 1, 1, 1]}),
    (evaluation.merged_draws, {"draws": DRAWS, "numbers": [0, 0, 1, 1], "weights": [1, 1, 1, 1]}),
    (evaluation.topic_weights, {"theta": THETA, "times": SIX, "unit": None, "documents": None}),
    (evaluation.time_entropy, {"weights": THETA}),
    (evaluation.bucket_lengths, {"times": range(6), "weights": THETA, "share": 0.05}),
    (evaluation.label_set_scores, {"true": np.eye(3), "predicted": np.eye(3)}),
    (evaluation.label_ranking_scores, {"true": np.eye(3), "scores": np.eye(3)}),
    (evaluation.label_calibration, {"true": np.eye(3), "probability": np.eye(3), "n_bins": 2}),
    (evaluation.topic_linkage, {"rows": PHI, "metric": "cityblock", "method": "single"}),
    (evaluation.topic_clusters, {"rows": PHI, "n_clusters": 1}),
    (evaluation.silhouette_widths, {"rows": np.vstack([PHI, PHI]), "clusters": [0, 0, 1, 1]}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "good"), FUNCTIONS, ids=[function.__name__ for function, _ in FUNCTIONS])
def test_arguments_of_any_kind(
    function: Callable[..., object], good: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint(lambda: function(**good)) is None or function.__name__ in ("read", "load", "resume")
    for name in good:
        for value in ODD.values():
            complaint(lambda name=name, value=value: function(**{**good, name: value}))


MODELS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "LDA": (lambda **given: LDA(**{"n_components": 2, **QUICK, **given}), lambda model: model.fit(CORPUS)),
    "cvb0": (lambda **given: VariationalLDA(**{"n_components": 2, "method": "cvb0", **QUICK, **given}),
             lambda model: model.fit(CORPUS)),
    "svb": (lambda **given: VariationalLDA(**{"n_components": 2, "method": "svb", **QUICK, **given}),
            lambda model: model.fit(CORPUS)),
    "CompoundLDA": (lambda **given: CompoundLDA(**{"n_components": 2, **QUICK, **given}),
                    lambda model: model.fit(CORPUS, groups=CLASSES)),
    "LabeledLDA": (lambda **given: LabeledLDA(**{**SAMPLED, **given}), lambda model: model.fit(CORPUS, SETS)),
    "DependencyLDA": (lambda **given: DependencyLDA(**{"n_label_topics": 1, **SAMPLED, **given}),
                      lambda model: model.fit(CORPUS, SETS)),
    "MedLDAClassifier": (lambda **given: MedLDAClassifier(**{"n_components": 2, **SAMPLED, **given}),
                         lambda model: model.fit(CORPUS, CLASSES)),
    "MedLDARegressor": (lambda **given: MedLDARegressor(**{"n_components": 2, **SAMPLED, **given}),
                        lambda model: model.fit(CORPUS, SIX)),
    "HDP": (lambda **given: HDP(**{"initial_topics": 2, **QUICK, **given}), lambda model: model.fit(CORPUS)),
    "HMM": (lambda **given: HMM(**{"n_components": 2, **QUICK, **given}), lambda model: model.fit([[0, 1, 1, 0]] * 3)),
}  # fmt: skip
SOME_ODD = ("none", "text", "dict", "nan", "huge", "ragged", "numpy strings", "strings", "no dates", "frame", "broken")


@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_any_kind(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, fit = MODELS[name]
    assert complaint(lambda: fit(make())) is None
    for parameter in make()._get_param_names():
        for odd in SOME_ODD:
            if parameter != "checkpoint_dir" or not isinstance(ODD[odd], str):
                complaint(lambda parameter=parameter, odd=odd: fit(make(**{parameter: ODD[odd]})))


FITS: dict[str, Callable[[Any], object]] = {
    "X": lambda X: LDA(2, **QUICK).fit(X), "labels": lambda y: LabeledLDA(**SAMPLED).fit(COUNTS, y),
    "label sets": lambda y: PriorLDA(**SAMPLED).fit(COUNTS, y),
    "classes": lambda y: MedLDAClassifier(2, **SAMPLED).fit(COUNTS, y),
    "numbers": lambda y: MedLDARegressor(2, **SAMPLED).fit(COUNTS, y),
    "groups": lambda y: CompoundLDA(2, **QUICK).fit(COUNTS, groups=y),
    "y": lambda y: CompoundLDA(2, **QUICK).fit(COUNTS, y),
    "sequences": lambda X: HMM(2, **QUICK).fit(X), "lengths": lambda X: HMM(2, **QUICK).fit([0, 1, 1], X),
    "callbacks": lambda y: LDA(2, **QUICK).fit(COUNTS, callbacks=y),
}  # fmt: skip


MISSING = ("no dates", "missing dates", "missing numbers", "masked", "nones")
MAY_LACK = {
    "callbacks": MISSING,
    "sequences": MISSING,  # symbols that are missing are integrated out
    "numbers": ("missing numbers",),  # of some documents, whose words alone count
}


@pytest.mark.parametrize("what", FITS)
def test_data_of_any_kind(what: str) -> None:
    for odd, value in ODD.items():
        found = complaint(lambda value=value: FITS[what](value))
        if odd in MISSING and odd not in MAY_LACK.get(what, ()):
            assert found is not None, odd  # what is missing is never taken for a value


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: fit(make()) for name, (make, fit) in MODELS.items()}


@pytest.mark.parametrize(
    "name", ["LDA", "CompoundLDA", "HDP", "LabeledLDA", "MedLDAClassifier", "MedLDARegressor", "HMM"]
)
def test_questions_of_any_kind(name: str, fitted: dict[str, Any]) -> None:
    model = fitted[name]
    required = {"X": [0, 1] if name == "HMM" else CORPUS, "topic": 0, "first": "a", "second": "b", "estimator": "cgs_p",
                "lengths": 3, "word": CORPUS.vocabulary[0], "names": {0: "one"}, "words": list(CORPUS.vocabulary),
                "source": __file__, "target": "none/a.csv"}  # fmt: skip
    left_out = {
        "explore",
        "fit",
        "fit_transform",
        "save",
        "partial_fit",
        "get_feature_names_out",
        "get_metadata_routing",
    }
    of_scikit_learn = ("params", "_request")  # what its base class has
    methods = [m for m in dir(type(model)) if m[0] != "_" and not any(part in m for part in of_scikit_learn)]
    for method in sorted(set(methods) - left_out - {"set_output"}):
        ask = getattr(model, method, None)
        if not callable(ask):
            continue
        takes = [p for p in inspect.signature(ask).parameters.values() if p.kind is not p.VAR_KEYWORD]
        good = {p.name: required[p.name] if p.default is p.empty else p.default for p in takes}
        for argument in good:
            for odd in SOME_ODD:
                complaint(lambda ask=ask, argument=argument, odd=odd, good=good: ask(**{**good, argument: ODD[odd]}))


FRAME = pd.DataFrame({"body": ["some text", "more of it"]})
MATRICES: dict[str, tuple[Any, str]] = {
    "strings": (np.array([["a"]]), r"document 0, column 0: found 'a'; counts must be numbers. If X holds texts"),
    "bytes": (np.array([b"a text", b"another"]), r"document 0 is b'a text' \(bytes\); .* decode bytes first"),
    "one dimension": (np.arange(3), r"X has shape \(3,\); expected .* with 2 dimensions. .* X.reshape\(1, -1\)"),
    "three": (np.zeros((2, 2, 2)), r"X has shape \(2, 2, 2\); expected .* with 2 dimensions"),
    "pandas": (FRAME, r"column 'body' of the frame X holds texts, not counts\. Name .* with text='body', or"),
    "polars": (pl.DataFrame(dict(FRAME)), r"column 'body' of the frame X holds texts, not counts"),
    "pyarrow": (pa.table({"body": ["some text"]}), r"column 'body' of the frame X holds texts, not counts"),
    "categories": (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), r"column 'a' of the frame X holds texts"),
    "a series": (pd.Series(["a text", None], name="body"), r"row 1 of the column 'body' is missing \(None\)"),
    "numbers in a series": (pl.Series([1, 2]), r"X has shape \(2,\); expected .* with 2 dimensions"),
    "missing": (pd.DataFrame({"a": [1, None]}), r"document 1, column 'a': the count is NaN; .* Fill missing counts"),
    "dates": (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), r"X holds datetime64.* values; counts must be"),
    "sparse": (sp.csc_array([[1.0, np.nan]]), r"document 0, column 1: the count is NaN"),
    "negative": (sp.csr_array([[0, 2], [1, -1]]), r"document 1, column 1 is -1; counts must be 0 or more"),
    "rows": ([[1, 2], [1]], r"row 1 of the list has 1 entry, and row 0 has 2"),
    "a missing text": (["a text", None], r"document 1 is missing \(None\)\. Give missing=\"empty\""),
    "numbers among texts": (["a text", 1.5], r"document 1 holds the number 1.5, not a text"),
    "a generator": ((row for row in [{"text": "a"}]), r"X is of the type generator and holds {'text': 'a'}; give"),
    "nothing": ([], r"X is an empty list"),
    "broken": (Broken(), r"X cannot be made an array \(broken\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_what_is_no_matrix_is_told_where_and_why(name: str) -> None:
    X, message = MATRICES[name]
    with pytest.raises(InputError, match=message):
        LDA(2, **QUICK).fit(X)
    model, of_texts = LDA(2, **QUICK).fit(COUNTS), LDA(2, **QUICK).fit(TEXTS)
    if name != "a generator":  # which is used up
        with pytest.raises(InputError, match=message):
            (of_texts if message.startswith(("document 0 is", "document 1 ", "row")) else model).transform(X)
    with pytest.raises(InputError, match=r"X has 3 features, but LDA is expecting 4 .* Give the words of the fit"):
        model.transform(COUNTS[:, :3])


TARGETS: dict[str, tuple[Callable[[Any], object], Any, str]] = {
    "dates": (FITS["numbers"], ODD["dates"], r"entry 0 of y is 2020-01-01; expected one finite number"),
    "a mask": (FITS["numbers"], ODD["masked"], r"entry 0 of y is missing \(masked\)"),
    "text": (FITS["numbers"], CLASSES, r"entry 0 of y is 'a'; expected one finite number"),
    "one class": (FITS["classes"], np.array(["a"] * 6), r"y has one class, 'a'; at least two"),
    "fractions": (FITS["classes"], [0.5] * 6, r"y is continuous \(entry 0 is 0.5\), which MedLDARegressor is for"),
    "bytes": (FITS["labels"], [b"a"] * 6, r"document 0: b'a' is no label"),
    "no group": (FITS["groups"], pd.Series(pd.to_datetime(["2020-01-01", None] * 3)), r"document 1 has no collection"),
    "NA": (FITS["groups"], pd.array([1, None] * 3, dtype="Int64"), r"document 1 has no collection"),
    "a masked y": (FITS["y"], ODD["masked"], r"document 0 has no collection"),
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_no_target_is_told_where_and_why(name: str) -> None:
    fit, y, message = TARGETS[name]
    with pytest.raises(InputError, match=message):
        fit(y)


DATED = pd.DataFrame({"text": TEXTS[:3], "day": pd.to_datetime(["2020-01-01", None, "2021-05-01"])})


@pytest.mark.parametrize("frame", [DATED, pl.DataFrame(dict(DATED))], ids=["pandas", "polars"])
def test_a_missing_date_is_told_with_its_place(frame: Any) -> None:
    for role in ("time", "group", "id"):
        with pytest.raises(InputError, match=r"row 1, column 'day': the cell is empty, expected "):
            topicloom.from_frame(frame, text="text", **{role: "day"})
    days = DATED["day"]
    with pytest.raises(InputError, match=r"times: entry 1 is NaT; every document needs a time"):
        topicloom.from_texts(TEXTS[:3], times=days)
    with pytest.raises(InputError, match=r"times: entry 1 is missing \(NaT\)"):
        evaluation.topic_weights(THETA[:3], days.to_numpy())
    with pytest.raises(InputError, match=r"responses: entry 1 is None; each must be a number"):
        topicloom.from_texts(TEXTS[:3], responses=[1, None, 2])
    grouped = topicloom.from_texts(TEXTS[:3], groups=days)
    with pytest.raises(InputError, match=r"document 1 has no collection"):
        CompoundLDA(2, **QUICK).fit(grouped)


# -- the first compile ------------------------------------------------------------------------------------------------

FIRST = """
import sys, topicloom
model = topicloom.load(sys.argv[1])
model.transform(["river water"])
model.transform(["money"])
"""


def test_a_first_transform_says_once_that_it_compiles(tmp_path: Path) -> None:
    LDA(2, **QUICK).fit(TEXTS).save(tmp_path / "model")
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "TOPICLOOM_QUIET": ""}
    for lines in (1, 0):  # the second finds compiled code
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", FIRST, str(tmp_path / "model")],
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        said = done.stderr.splitlines()
        assert len(said) == lines
        assert all(line.startswith("topicloom: compiling for this machine, once after an install") for line in said)

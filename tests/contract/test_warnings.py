"""Every warning of ours is given where it should be, once, and points at the user's line."""

import linecache
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import topicloom
from tests.contract.test_messages import CLASSES, CORPUS, QUICK, SAMPLED, SETS, TEXTS
from tests.helpers.workers import losing_a_worker
from topicloom import LDA, CompoundLDA, errors
from topicloom.engine.estimator import names

WARNED: dict[str, tuple[type[Warning], str]] = {
    "unknown words": (errors.UnknownWordsWarning, "fitted.transform(['nothing of this is known'])"),
    "missing texts": (errors.MissingTextsWarning, "fitted.transform(['river', None], missing='empty')"),
    "a table of them": (errors.UnknownWordsWarning, "fitted.doc_topics_frame(['nothing of this is known'])"),
    "unknown groups": (errors.UnknownGroupsWarning, "collections.transform(CORPUS, ['none'] * 6)"),
    "a score": (errors.UnknownGroupsWarning, "collections.score(CORPUS, ['none'] * 6)"),
    "a score without groups": (errors.UnknownGroupsWarning, "collections.score(CORPUS)"),
    "function words": (errors.FunctionWordsWarning,
                       "LDA(2, **QUICK).fit([f'the of and to in is that it was for on with w{i}a w{i}b w{i}c' "
                       "for i in range(60)])"),
    "few features": (errors.FewFeaturesWarning,
                     "corpora.from_anndata(__import__('anndata').AnnData(np.eye(3)), min_features=2)"),
    "cells": (errors.LabelsWarning, "corpora.from_frame(pd.DataFrame({'t': TEXTS, 'l': 'a;b'}), text='t', label='l')"),
    "files": (errors.SkippedFilesWarning, "topicloom.read(Path(topicloom.__file__).parent, suffix='errors.py')"),
    "seed words": (errors.SeedWordWarning, "LDA(2, seed_words={0: ['absent']}, **QUICK).fit(CORPUS)"),
    "interrupted": (errors.InterruptedFitWarning, "LDA(2, **QUICK).fit(CORPUS, callbacks=[stop])"),
    "interrupted, variational": (errors.InterruptedFitWarning,
                                 "VariationalLDA(2, method='vb', **QUICK).fit(CORPUS, callbacks=[stop])"),
    "interrupted, labels": (errors.InterruptedFitWarning, "LabeledLDA(**SAMPLED).fit(CORPUS, SETS, callbacks=[stop])"),
    "interrupted, classes": (errors.InterruptedFitWarning,
                             "MedLDAClassifier(2, **SAMPLED).fit(CORPUS, CLASSES, callbacks=[stop])"),
    "interrupted, states": (errors.InterruptedFitWarning, "HMM(2, **QUICK).fit([[0, 1]] * 3, callbacks=[stop])"),
    "alike topics": (errors.AlikeTopicsWarning, "LDA(2, topic_word_prior=1e6, **QUICK).fit(CORPUS)"),
    "alike topics, streams": (errors.AlikeTopicsWarning,
                              "VariationalLDA(2, method='svb', topic_word_prior=1e6, batch_size=1, "
                              "**QUICK).partial_fit(CORPUS).partial_fit(CORPUS)"),
    "alike topics, collections": (errors.AlikeTopicsWarning,
                                  "CompoundLDA(2, topic_word_prior=1e6, **QUICK).fit_transform(CORPUS, CLASSES)"),
    "workers": (errors.WorkersLostWarning, "with losing_a_worker(): LDA(2, **QUICK).fit(CORPUS)"),
    "names of another chain": (errors.TopicNamesWarning, "fitted._keep_names(names.SavedNames(1, ('a', 'b')))"),
    "lost classes": (errors.LostClassesWarning,
                     "MedLDAClassifier(2, **SAMPLED).fit(['river', 'bank'] * 30 + ['river'] * 2, "
                     "['x', 'y'] * 30 + ['rare'] * 2)"),
    "priors": (errors.PriorsWarning,
               "VariationalLDA(2, method='cvb0', topic_word_prior=1e-6, tol=0, **QUICK).fit(LIGHT)"),
    "not converged": (ConvergenceWarning, "VariationalLDA(2, method='vb', tol=1e-12, **QUICK).fit(CORPUS)"),
    "not converged, states": (
        ConvergenceWarning, "HMM(2, method='em', tol=1e-12, start={'n_runs': 1}, **QUICK).fit([[0, 1, 1, 0]] * 3)"
    ),
    "a column": (DataConversionWarning, "MedLDARegressor(2, **SAMPLED).fit(CORPUS, [[1.0], [2.0]] * 3)"),
    "a column of classes": (DataConversionWarning,
                            "MedLDAClassifier(2, **SAMPLED).fit(CORPUS, np.array(CLASSES).reshape(-1, 1))"),
}  # fmt: skip


def test_every_warning_of_ours_is_tried() -> None:
    ours = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning)}
    assert ours <= {kind for kind, _ in WARNED.values()}


@pytest.fixture
def user_file(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Runs a line as if it stood in a user's file, as line 3 of it."""
    path = tmp_path / "analysis.py"

    def run(line: str, **names: Any) -> None:
        source = f"# a user's file\n\n{line}\n"
        path.write_text(source)
        exec(compile(source, str(path), "exec"), names)

    yield run
    linecache.clearcache()


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal; a shell that starts tests in the background makes them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("name", WARNED)
def test_warnings_point_at_the_users_line(name: str, user_file: Callable[..., None], ctrl_c: None) -> None:
    category, line = WARNED[name]
    calls = 0

    def stop(chain: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            os.kill(os.getpid(), signal.SIGINT)

    light = np.kron(np.eye(2), np.full((10, 3), 0.0005))
    distinct = LDA(2, doc_topic_prior=0.1, topic_word_prior=0.1, **QUICK).fit(TEXTS)
    known = {
        **{public: getattr(topicloom, public) for public in topicloom.__all__},
        "topicloom": topicloom,
        "corpora": topicloom.corpus,
        "np": np,
        "pd": pd,
        "Path": Path,
        "names": names,
        "CORPUS": CORPUS,
        "CLASSES": CLASSES,
        "SETS": SETS,
        "TEXTS": TEXTS,
        "QUICK": QUICK,
        "SAMPLED": SAMPLED,
        "LIGHT": light,
        "fitted": distinct,
        "collections": CompoundLDA(2, **QUICK).fit(CORPUS, groups=CLASSES),
        "stop": stop,
        "losing_a_worker": losing_a_worker,
    }
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        user_file(line, **known)
    (mine,) = [warning for warning in found if issubclass(warning.category, category)]
    for warning in found:
        assert (Path(warning.filename).name, warning.lineno) == ("analysis.py", 3), warning.message
    assert "\n" not in str(mine.message)

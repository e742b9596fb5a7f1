"""The multi-label experiments of Papanikolaou, Foulds, Rubin and Tsoumakas, "Dense Distributions from Sparse Samples"
(JMLR 2017), section 6, as markdown tables on standard output.

    python -m reproduce.prior_lda --data DIR

DIR holds one folder a corpus, with labels and a published split. Progress goes to standard error. ``tables`` are the
paper's tables 6 to 8 with average ranks and the z-test; ``samples`` is appendix G; ``scale`` sets Prior-LDA beside a
linear SVM, ``dependency`` Dependency-LDA beside Prior-LDA; ``rules`` has the ways to choose label sets and how well
probabilities are calibrated; ``defaults`` compares options on held-out training documents; ``stop-words`` repeats the
first corpus's table without the 33 stop words of Lucene's English analyzer.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from reproduce import _label_defaults, _label_samples, _prior_lda
from reproduce._common import load_split, note, run_sections, table
from reproduce._prior_lda import Budget, Task, prepare
from topicloom import DependencyLDA, PriorLDA
from topicloom._types import FloatArray
from topicloom.engine.estimator.label_sets import indicator
from topicloom.errors import InputError
from topicloom.evaluation import label_calibration, label_ranking_scores, label_set_scores
from topicloom.labeled.label_rules import RULES

SECTIONS = ("tables", "samples", "stop-words", "scale", "dependency", "rules", "defaults")
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with""".split()  # noqa: SIM905 (a list of words is easier to read so)
)
_OFTEN = 100
_SHOWN = ("micro_f1", "macro_f1", "example_f1", "one_error", "ranking_loss", "average_precision")


@dataclass(frozen=True)
class Settings:
    """The paper's settings; ``QUICK`` has small ones, to see that everything runs."""

    budget: Budget = field(default_factory=Budget)
    model: dict[str, Any] = field(default_factory=dict)
    max_docs: int | None = None


QUICK = Settings(
    Budget(burn_in=5, thin=2, chains=2, samples=3),
    {"max_iter": 10, "burn_in": 5, "thin": 5, "predict_options": {"burn_in": 5, "n_samples": 2}},
    max_docs=150,
)


@dataclass(frozen=True)
class Options:
    data: Path
    corpora: Sequence[str]
    scale_corpora: Sequence[str]
    default_corpora: Sequence[str]
    runs: int
    keep: Path | None
    settings: Settings


def _task(options: Options, name: str) -> Task:
    train, test, _ = load_split(options.data, name, options.settings.max_docs)
    return prepare(name, train, test, options.settings.budget.beta)


def tables(options: Options) -> str:
    parts, found, n_docs = [], {}, {}
    for name in options.corpora:
        task = _task(options, name)
        found[name] = [_kept_run(options, task, seed) for seed in range(options.runs)]
        n_docs[name] = task.test.n_docs
        parts.append(_prior_lda.report(task, found[name]))
    parts.append(_label_samples.ranks(found, n_docs))
    budget = options.settings.budget
    head = (
        f"β = {budget.beta}, burn-in {budget.burn_in}, thin {budget.thin}, α by eqs. 58 and 59, numbers of labels by a "
        f"linear Meta-Labeler; runs: {options.runs}."
    )
    return "\n\n".join([head, *parts])


def _kept_run(options: Options, task: Task, seed: int) -> _prior_lda.Scores:
    """A run, or what is kept of it from before."""
    path = None if options.keep is None else options.keep / f"{task.name}-{seed}.json"
    if path is not None and path.is_file():
        return {tuple(key): value for key, value in json.loads(path.read_text())}
    scores = _prior_lda.run(task, options.settings.budget, seed)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([[list(key), value] for key, value in scores.items()]))
    return scores


def samples(options: Options) -> str:
    budget = options.settings.budget
    parts = [
        f"One chain: φ from the first n samples, θᵖ from n samples of one chain for each new document; burn-in "
        f"{budget.burn_in}, thin {budget.thin}. CVB0 has {budget.burn_in} iterations. Runs: {options.runs}."
    ]
    for name in options.corpora:
        task = _task(options, name)
        runs = [_label_samples.curve(task, budget, seed) for seed in range(options.runs)]
        parts.append(_label_samples.curves(task, runs))
    return "\n\n".join(parts)


def defaults(options: Options) -> str:
    settings = options.settings
    runs = min(options.runs, 2)
    return _label_defaults.section(options.data, options.default_corpora, settings.model, settings.max_docs, runs)


def stop_words(options: Options) -> str:
    """Runs without a few stop words, which the paper's copy of bibtex seems to lack."""
    parts = []
    for name in options.corpora[:1]:
        train, test, _ = load_split(options.data, name, options.settings.max_docs)
        often = [v for v, word in enumerate(train.vocabulary) if word in STOP_WORDS]
        kept = [part.keep_tokens(~np.isin(part.words, often)) for part in (train, test)]
        task = prepare(name, *kept)
        runs = [_prior_lda.run(task, options.settings.budget, seed) for seed in range(options.runs)]
        note_ = f"Without {len(often)} stop words, {train.n_words - len(often):,} words are left; {len(runs)} runs."
        parts.append(f"{note_}\n\n{_prior_lda.report(task, runs)}")
    return "\n\n".join(parts)


def _measures(task: Task, answer: Any, scores: FloatArray) -> dict[str, float]:
    return label_set_scores(task.truth, answer) | label_ranking_scores(task.truth, scores)


def _fitted(kind: type[PriorLDA], task: Task, options: Options, seed: int, **given: Any) -> PriorLDA:
    model = kind(**{"random_state": seed, **options.settings.model, **given})
    return model.fit(task.train)


def scale(options: Options) -> str:
    rows = []
    for name in options.scale_corpora:
        task = _task(options, name)
        Y = indicator(task.sets)
        X, new = task.train.to_matrix(), task.test.to_matrix()
        for matrix in (X, new):
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        svm = make_pipeline(TfidfTransformer(sublinear_tf=True), OneVsRestClassifier(LinearSVC()))
        labelled = task.sets.sizes > 0
        svm.fit(X[labelled], Y[labelled].astype(int))
        margins = svm.decision_function(new)
        own = _measures(task, svm.predict(new), margins)
        rows.append([name, "linear SVM, one per label", *(f"{own[m]:.4f}" for m in _SHOWN)])
        own = _measures(task, _prior_lda.best_labels(margins, task.sizes), margins)
        rows.append([name, "linear SVM, Meta-Labeler", *(f"{own[m]:.4f}" for m in _SHOWN)])
        for kind in (PriorLDA, DependencyLDA):
            model = _fitted(kind, task, options, 0, n_chains=options.settings.budget.chains)
            own = _measures(task, model.predict(task.test), model.decision_function(task.test))
            rows.append([name, kind.__name__, *(f"{own[m]:.4f}" for m in _SHOWN)])
            note(f"{name}: {kind.__name__}")
    return (
        "LinearSVC of scikit-learn on tf-idf (log counts), its defaults, one per label; labels with a positive margin, "
        "or as many as the Meta-Labeler says. The topic models have five chains; all else is default.\n\n"
        + table(["corpus", "model", *_SHOWN], rows)
    )


def dependency(options: Options) -> str:
    rows, better = [], []
    for name in [*options.corpora, *options.scale_corpora]:
        task = _task(options, name)
        found: dict[str, list[dict[str, float]]] = {"PriorLDA": [], "DependencyLDA": []}
        for seed in range(min(options.runs, 3)):
            for kind in (PriorLDA, DependencyLDA):
                model = _fitted(kind, task, options, seed)
                counts, alpha = model._fold_all(task.test)
                answer = model._predict(task.test, counts, alpha)
                found[kind.__name__].append(_measures(task, answer, model._scores(counts, alpha)))
                note(f"{name}, run {seed}: {kind.__name__}")
        for kind_name, own in found.items():
            rows.append([name, kind_name, *(_prior_lda.cell([one[m] for one in own]) for m in _SHOWN)])
        gap = float(np.mean([one["example_f1"] for one in found["DependencyLDA"]])) - float(
            np.mean([one["example_f1"] for one in found["PriorLDA"]])
        )
        better.append(f"{name} {gap:+.4f}")
    return (
        f"Defaults, one chain; runs: {min(options.runs, 3)}.\n\n"
        + table(["corpus", "model", *_SHOWN], rows)
        + f"\n\nExample-based F1 of DependencyLDA over PriorLDA: {', '.join(better)}."
    )


def rules(options: Options) -> str:
    rows, calibration = [], []
    for name in [*options.corpora, *options.scale_corpora]:
        task = _task(options, name)
        model = _fitted(PriorLDA, task, options, 0)
        counts, alpha = model._fold_all(task.test)
        for rule in RULES:
            own = label_set_scores(task.truth, model.set_params(label_rule=rule)._predict(task.test, counts, alpha))
            rows.append([name, rule, *(f"{value:.4f}" for value in own.values())])
        for what in ("calibrated", "plain shares"):
            if what == "plain shares":
                model._calibration = None
            p = model._probability(counts)
            own = label_calibration(task.truth, p)
            often = task.truth.sum(axis=0) >= _OFTEN
            ratio = p.sum(axis=0)[often] / task.truth.sum(axis=0)[often]
            spread = f"{ratio.min():.2f} to {ratio.max():.2f}" if often.any() else "–"
            calibration.append([name, what, *(f"{value:.4f}" for value in own.values()), spread])
        note(f"{name}: rules")
    return (
        "PriorLDA, defaults, one chain, one run; a fifth of the training documents held out for the threshold and the "
        "calibration.\n\n"
        + table(["corpus", "rule", "micro_f1", "macro_f1", "example_f1"], rows)
        + "\n\nProbabilities of test documents' labels; ten groups of equal size by probability; expected / "
        f"observed by label, over labels with at least {_OFTEN} test documents.\n\n"
        + table(
            [
                "corpus",
                "",
                "calibration error",
                "Brier",
                "mean probability",
                "share of true labels",
                "expected / observed",
            ],
            calibration,
        )
    )


PARTS: dict[str, tuple[str, Callable[[Options], str]]] = {
    "tables": ("Prior-LDA (section 6, tables 6 to 8)", tables),
    "samples": ("Number of samples (appendix G)", samples),
    "stop-words": ("Without stop words", stop_words),
    "scale": ("Beside a linear SVM", scale),
    "dependency": ("Dependency-LDA beside Prior-LDA", dependency),
    "rules": ("Label sets and probabilities", rules),
    "defaults": ("Choice of the defaults", defaults),
}


def parse(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m reproduce.prior_lda", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpora", nargs="*", default=["bibtex", "delicious"])
    parser.add_argument("--scale-corpora", nargs="*", default=["reuters21578", "enron"])
    parser.add_argument(
        "--default-corpora", nargs="*", default=["bibtex", "delicious", "reuters21578", "enron", "yelp", "nyt"]
    )
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--runs", type=int, default=5, help="runs that the tables are averaged over")
    parser.add_argument("--keep", type=Path, help="folder for the tables' single runs, which are then not done again")
    parser.add_argument("--quick", action="store_true", help="small settings, to see that everything runs")
    given = parser.parse_args(arguments)
    if given.runs < 1:
        parser.error("--runs must be at least 1")
    options = Options(
        given.data, given.corpora, given.scale_corpora, given.default_corpora, given.runs, given.keep,
        QUICK if given.quick else Settings(),
    )  # fmt: skip
    named = {*given.corpora, *given.scale_corpora, *(given.default_corpora if "defaults" in given.sections else ())}
    missing = sorted(name for name in named if not (given.data / name).is_dir())
    if missing:
        parser.error(f"{given.data} has no folder {', '.join(missing)}")
    return options, [name for name in SECTIONS if name in given.sections]


def main(arguments: Sequence[str]) -> None:
    run_sections("reproduce.prior_lda", arguments, *parse(arguments), PARTS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")

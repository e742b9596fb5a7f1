"""CGS_p appendix G: how good label sets are against the number of samples, and section 6's ranks and z-test."""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from reproduce._common import note, table
from reproduce._prior_lda import (
    METHODS,
    OWN_FORM,
    PRINTED,
    SETUPS,
    Budget,
    Scores,
    Task,
    cell,
    mean_of,
    score_sets,
    train_cvb0,
    train_gibbs,
)  # fmt: skip
from topicloom._types import FloatArray
from topicloom.engine.estimates import phi
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.lda.variational import batch as variational

SAMPLES = (1, 2, 5, 10, 20, 30)
MEASURES = ("micro_f1", "macro_f1", "example_f1")
_TEST_DOCS = {"delicious": 3181, "bibtex": 2515}  # of the paper
# The marks of tables 6 to 8: which methods differ from the best one, by setup; rows of SETUPS, columns of METHODS.
MARKS = {
    ("delicious", "micro_f1"): ("11110", "10101"), ("bibtex", "micro_f1"): ("10100", "10101"),
    ("delicious", "macro_f1"): ("10101", "10101"), ("bibtex", "macro_f1"): ("11110", "10101"),
    ("delicious", "example_f1"): ("11110", "10101"), ("bibtex", "example_f1"): ("10111", "10101"),
}  # fmt: skip


# -- appendix G ----------------------------------------------------------------------------------------------------


def curve(task: Task, budget: Budget, seed: int) -> Scores:
    """Of one chain: φ from its first n samples, θᵖ from as many samples of one chain for new documents."""
    scores: Scores = {}
    sums: dict[int, dict[str, FloatArray]] = {}
    last = max(SAMPLES)
    train_gibbs(task, Budget(budget.burn_in, budget.thin, 1, last, budget.beta), seed, at=sums)
    for n, word in sums.items():
        if n not in SAMPLES:
            continue
        for method, of_phi in (("φ+θᵖ", "standard"), ("CGS_p", "cgs_p")):
            folded = fold_in_corpus(
                task.test, phi(word[of_phi], n, task.prior), task.alpha, burn_in=budget.burn_in, thin=budget.thin,
                n_samples=n, n_chains=1, seed=seed,
            )  # fmt: skip
            assert folded.soft is not None
            score_sets(task, scores, str(n), method, folded.soft)
        note(f"{task.name}, run {seed}: {n} samples")
    word, _ = train_cvb0(task, Budget(budget.burn_in, budget.thin, 1, 1, budget.beta), seed)
    counts = variational.fold_in(task.test, "cvb0", word, task.alpha, tol=1e-4, max_rounds=budget.burn_in)
    for n in SAMPLES:
        score_sets(task, scores, str(n), "CVB0", counts)
    return scores


def curves(task: Task, runs: Sequence[Scores]) -> str:
    """A table, and from how many samples on each method is above CVB0 with both rankings."""
    rows = []
    for measure in MEASURES:
        for method in ("φ+θᵖ", "CGS_p", "CVB0"):
            for ranking in ("without α", "with α"):
                values = (cell([one[str(n), method, ranking, measure] for one in runs]) for n in SAMPLES)
                rows.append([f"{measure}, {method}, {ranking}", *values])
    ahead = []
    for ours, theirs in (("without α", "with α"), ("without α", "without α"), ("with α", "with α")):
        found = []
        for measure in MEASURES:
            above = [
                n
                for n in SAMPLES
                if mean_of(runs, str(n), "CGS_p", ours, measure) > mean_of(runs, str(n), "CVB0", theirs, measure)
            ]
            found.append(f"{measure} {', '.join(map(str, above)) or 'never'}")
        ahead.append(f"- CGS_p {ours} above CVB0 {theirs} at these numbers of samples: {'; '.join(found)}.")
    return f"**{task.name}**\n\n" + table(["samples", *map(str, SAMPLES)], rows) + "\n\n" + "\n".join(ahead)


# -- ranks and z-test ----------------------------------------------------------------------------------------------


def own_scores(runs: Sequence[Scores], setup: str, measure: str) -> list[float]:
    """Each method in the ranking that the printed figure has; CVB0's seems to be with α."""
    return [mean_of(runs, setup, method, OWN_FORM.get(method, "with α"), measure) for method in METHODS]


def alike(runs: Sequence[Scores], setup: str, measure: str) -> list[float]:
    return [mean_of(runs, setup, method, "without α", measure) for method in METHODS]


def differs(values: Sequence[float], n_docs: int) -> list[bool]:
    """One-sample z-test for proportions against the best, level 0.05, with as many trials as test documents."""
    best = max(values)
    return [(best - value) / sqrt(best * (1 - best) / n_docs) > 1.959964 for value in values]


def ranks(found: Mapping[str, Sequence[Scores]], n_docs: Mapping[str, int]) -> str:
    """Average ranks over the corpora and marks of the z-test: printed, ours as printed, ours all without α."""
    rows = []
    agreed, marks = 0, 0
    for measure in MEASURES:
        for s, setup in enumerate(SETUPS):
            given: dict[str, dict[str, list[float]]] = {"printed": {}, "ours": {}, "ours, all without α": {}}
            for name, runs in found.items():
                if (name, measure) in PRINTED:
                    given["printed"][name] = list(PRINTED[name, measure][s])
                given["ours"][name] = own_scores(runs, setup, measure)
                given["ours, all without α"][name] = alike(runs, setup, measure)
            for what, by_name in given.items():
                if not by_name:
                    continue
                order = np.mean([_rank(values) for values in by_name.values()], axis=0)
                sizes = {name: _TEST_DOCS[name] if what == "printed" else n_docs[name] for name in by_name}
                worse = {name: differs(values, sizes[name]) for name, values in by_name.items()}
                if what == "printed":
                    for name, own in worse.items():
                        printed = [mark == "1" for mark in MARKS[name, measure][s]]
                        agreed += int(np.sum(np.array(own) == printed))
                        marks += len(own)
                cells = [f"{order[m]:.2f} ({sum(own[m] for own in worse.values())})" for m in range(len(METHODS))]
                rows.append([f"{measure}, {setup}, {what}", *cells])
    return (
        f"Average rank over {' and '.join(found)}, and in brackets in how many of them the method differs from the "
        "best one (one-sample z-test for proportions, level 0.05, as many trials as test documents). This reading "
        f"gives {agreed} of the {marks} printed marks.\n\n" + table(["", *METHODS], rows)
    )


def _rank(values: Sequence[float]) -> list[float]:
    """1 is the highest; equal values share the mean of their ranks."""
    return [sum(v > x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]

"""How the defaults of label models were chosen: on held-out training documents, never on test documents."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reproduce._common import load_split, note, table
from topicloom import PriorLDA
from topicloom._types import BoolArray, FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.estimator.label_sets import true_labels
from topicloom.evaluation import label_set_scores

_MOST = 6000  # documents of a corpus
_WAYS = {"Gibbs": {"method": "gibbs"}, "CVB0": {"method": "cvb0"}}


def held_out(data: Path, name: str, seed: int, max_docs: int | None) -> tuple[Corpus, Corpus]:
    """Three quarters and a quarter of the labelled training documents."""
    train, _, _ = load_split(data, name, max_docs)
    assert train.labels is not None
    train = train.select(np.array([len(own) > 0 for own in train.labels]))
    order = np.random.default_rng(100 + seed).permutation(train.n_docs)[:_MOST]
    cut = len(order) // 4
    return train.select(np.sort(order[cut:])), train.select(np.sort(order[:cut]))


def _log_loss(truth: BoolArray, p: FloatArray) -> float:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return float(-np.where(truth, np.log(p), np.log1p(-p)).sum(axis=1).mean())


def section(data: Path, names: Sequence[str], model: dict[str, object], max_docs: int | None, runs: int) -> str:
    given = {key: value for key, value in model.items() if key != "predict_options"}
    losses, sets = [], []
    for name in names:
        for seed in range(runs):
            train, new = held_out(data, name, seed, max_docs)
            for way, options in _WAYS.items():
                fitted = PriorLDA(random_state=seed, predict_options=options, **given).fit(train)  # type: ignore[arg-type]
                truth = true_labels(new.labels, new.n_docs, fitted.classes_)[:, : len(fitted.classes_)]
                counts, alpha = fitted._fold_all(new)
                by_label = fitted._probability(counts)
                assert fitted._calibration is not None
                own = fitted._calibration
                n = len(own.slope)
                fitted._calibration = own._replace(offset=np.zeros(n), slope=np.ones(n))
                shared = fitted._probability(counts)
                fitted._calibration = own
                losses.append([name, seed, way, f"{_log_loss(truth, shared):.3f}", f"{_log_loss(truth, by_label):.3f}"])
                for rule in ("meta", "threshold", "auto"):
                    cells = []
                    for ranking in ("counts", "probability"):
                        fitted.set_params(label_rule=rule, ranking=ranking)
                        found = label_set_scores(truth, fitted._predict(new, counts, alpha))
                        cells += [f"{found['micro_f1']:.3f}", f"{found['macro_f1']:.3f}"]
                    sets.append([name, seed, way, rule, *cells])
            note(f"defaults: {name}, run {seed}")
    return "\n\n".join(
        [
            f"PriorLDA on three quarters of the labelled training documents (at most {_MOST:,} in all), judged on the "
            "last quarter. Log loss per document of probabilities with one calibration for all labels, and with an "
            "offset and a slope by label:",
            table(["corpus", "run", "prediction", "one for all", "by label"], losses),
            "Micro-F and Macro-F by the rule, the prediction and the ranking (the rule threshold has its own):",
            table(
                ["corpus", "run", "prediction", "rule", "counts: micro", "macro", "probability: micro", "macro"], sets
            ),
        ]
    )

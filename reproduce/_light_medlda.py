"""What the LightMedLDA study shares: tasks from folders, one measured fit, rows of tables."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduce._common import load_split, note, spread
from topicloom import MedLDAClassifier, MedLDARegressor
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.errors import InputError

PREDICT = {"method": "gibbs", "burn_in": 20, "thin": 2, "n_samples": 5}


@dataclass(frozen=True)
class Options:
    """The study's size; ``quick`` is for seeing that everything runs."""

    data: Path
    classes: str = "news20"
    pair: tuple[str, str] = ("alt.atheism", "talk.religion.misc")
    labels: str = "reuters21578"
    numbers: Sequence[str] = ("movie_scale", "yelp")
    topics: Sequence[int] | None = None
    others: Sequence[str] = ("news16", "bbc")
    runs: int = 1
    quick: bool = False
    repeated: str = "bbc"
    seeds: Sequence[int] = (16,)

    def sizes(self, own: Sequence[int]) -> list[int]:
        """Numbers of topics: as asked for, else the section's own."""
        return [3] if self.quick else list(self.topics or own)

    def sweeps(self, own: int) -> int:
        return min(own, 4) if self.quick else own


class Fit(NamedTuple):
    """Scores and seconds of training (processor time), an entry a run."""

    score: list[float]
    seconds: list[float]

    def cells(self, digits: int = 3) -> list[str]:
        seconds = f"{np.mean(self.seconds):.1f}"
        return [spread(self.score, digits) if len(self.score) > 1 else f"{self.score[0]:.{digits}f}", seconds]


def one_class(corpus: Corpus) -> list[str]:
    if corpus.labels is None:
        raise InputError("the corpus has no labels.")
    return [own[0] for own in corpus.labels]


def classes_task(options: Options) -> tuple[Corpus, Corpus]:
    train, test, _ = load_split(options.data, options.classes)
    return train, test


def pair_task(options: Options) -> tuple[Corpus, Corpus]:
    """The two groups of the paper's binary task."""
    parts = classes_task(options)
    train, test = (part.select(np.isin(one_class(part), options.pair)) for part in parts)
    return train, test


def numbers_task(options: Options, name: str) -> tuple[Corpus, Corpus]:
    """70 % of the documents to learn from, 30 % to predict, drawn at random."""
    from reproduce._common import load

    corpus = load(options.data, name)
    order = np.random.default_rng(0).permutation(corpus.n_docs)
    n_test = int(0.3 * corpus.n_docs)
    return corpus.select(np.sort(order[n_test:])), corpus.select(np.sort(order[:n_test]))


def measure(model: Any, train: Corpus, test: Corpus, runs: int, name: str) -> Fit:
    """Fit and score with as many seeds as runs."""
    scores, seconds = [], []
    for seed in range(runs):
        model.set_params(random_state=seed)
        started = time.process_time()
        model.fit(train)
        seconds.append(time.process_time() - started)
        scores.append(float(model.score(test)))
    note(f"{name}: {np.mean(scores):.3f}, {np.mean(seconds):.1f} s")
    return Fit(scores, seconds)


def classifier(k: int, sweeps: int, loss_weight: float, alpha_sum: float = 6.4, **others: Any) -> MedLDAClassifier:
    """The paper's settings: symmetric α, β = 0.01, the last five samples, one thread."""
    nu = {} if others.get("loss") == "logistic" else {"weight_precision": (loss_weight / 1.6) ** 2}
    given: dict[str, Any] = {
        **nu, "loss_weight": loss_weight, "doc_topic_prior": alpha_sum / k, "calibrate": False,
        "topic_word_prior": 0.01, "sampler": "mh", "max_iter": sweeps, "burn_in": max(sweeps - 4, 1), "thin": 1,
        "trace_every": sweeps, "predict_options": PREDICT, **others,
    }  # fmt: skip
    return MedLDAClassifier(k, **given)


def regressor(k: int, sweeps: int, loss_weight: float, **others: Any) -> MedLDARegressor:
    given: dict[str, Any] = {
        "loss_weight": loss_weight, "epsilon": 1e-3, "doc_topic_prior": 6.4 / k,
        "topic_word_prior": 0.01, "sampler": "mh", "max_iter": sweeps, "burn_in": max(sweeps - 4, 1), "thin": 1,
        "trace_every": sweeps, "calibrate": False, "n_chains": 1, "predict_options": PREDICT, **others,
    }  # fmt: skip
    return MedLDARegressor(k, **given)


def tf_idf(corpus: Corpus, like: Any = None) -> tuple[Any, Any]:
    """tf-idf features of a corpus, and what made them."""
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = corpus.to_matrix()
    made = like or TfidfTransformer(sublinear_tf=True).fit(counts)
    X = made.transform(counts)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # all that scikit-learn's solvers take
    return X, made


def svm_accuracy(train: Corpus, test: Corpus) -> float:
    """A linear SVM on tf-idf, to compare with."""
    from sklearn.svm import LinearSVC

    X, made = tf_idf(train)
    model = LinearSVC(C=1.0).fit(X, one_class(train))
    return float(model.score(tf_idf(test, made)[0], one_class(test)))


def ridge_r2(train: Corpus, test: Corpus) -> float:
    """Ridge regression on tf-idf, to compare with."""
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score

    X, made = tf_idf(train)
    answer: FloatArray = Ridge(alpha=1.0).fit(X, train.responses).predict(tf_idf(test, made)[0])
    return float(r2_score(test.responses, answer))

"""How often intervals hold the truth, on corpora drawn from the model.

Topics are matched to the true ones by their words. A rate counts all collections (or labels) and topics of a corpus;
its standard error is that of the mean over corpora, which are independent.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from reproduce._common import note, table
from reproduce._compound_synthetic import aligned
from topicloom import LDA, CompoundLDA, Corpus
from topicloom._types import FloatArray, Int64Array
from topicloom.datasets import synthetic_compound
from topicloom.diagnostics.topic_stability import stability
from topicloom.evaluation import label_prevalence

K, V, LENGTH = 4, 50, 50
ALPHA, GAMMA, ETA = 1.0, 3.0, 0.1
LEVEL = 0.9
SIZES = {
    "5 × 5": (5,) * 5,
    "10 × 2": (2,) * 10,
    "5 × 40": (40,) * 5,
    "1, 3, 10, 30, 100": (1, 3, 10, 30, 100),
}
Rates = dict[str, list[float]]


class Made(NamedTuple):
    """A corpus whose documents have labels, and the truth."""

    corpus: Corpus
    phi: FloatArray
    theta: FloatArray
    label: Int64Array  # of each document
    collection: Int64Array  # of each document
    pi: FloatArray  # of collections
    mean: FloatArray  # of labels: E θ of a document of the label


def make(seed: int, sizes: Sequence[int], mixed: bool) -> Made:
    """Labels are the collections or, if ``mixed``, draw their documents from two collections in shares of their own."""
    rng = np.random.default_rng(seed)
    n = len(sizes)
    phi = _dirichlet(rng, np.full((K, V), ETA))
    pi = _dirichlet(rng, np.full((2 if mixed else n, K), ALPHA))
    label = np.repeat(np.arange(n), sizes)
    share = np.linspace(0.2, 0.8, n)
    collection = (rng.random(len(label)) < share[label]).astype(np.int64) if mixed else label
    mean = (1 - share)[:, None] * pi[0] + share[:, None] * pi[1] if mixed else pi
    theta = _dirichlet(rng, GAMMA * pi[collection])
    z = np.array([rng.choice(K, LENGTH, p=row) for row in theta]).ravel()
    words = np.array([rng.choice(V, p=phi[k]) for k in z], np.int32)
    corpus = Corpus(words, np.arange(len(label) + 1) * LENGTH, tuple(f"word{v}" for v in range(V)))
    return Made(corpus, phi, theta, label, collection, pi, mean)


def _dirichlet(rng: np.random.Generator, parameter: FloatArray) -> FloatArray:
    drawn = np.maximum(rng.standard_gamma(parameter), 1e-300)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def fit(made: Made, groups: Any, seed: int, sweeps: int, known: bool) -> CompoundLDA:
    given: dict[str, Any] = {"concentration": GAMMA, "topic_word_prior": ETA} if known else {}
    return CompoundLDA(K, max_iter=sweeps, random_state=seed, **given).fit(made.corpus, groups=groups)


class Judge:
    """Collects how often a model's tables hold the truth."""

    def __init__(self) -> None:
        self.rates: Rates = {}

    def add(self, name: str, lower: Any, upper: Any, truth: FloatArray, order: FloatArray) -> None:
        low, high = (np.asarray(limit).reshape(-1, K)[:, order] for limit in (lower, upper))
        self.rates.setdefault(name, []).append(float(np.mean((low <= truth) & (truth <= high))))

    def table(self, name: str, found: Any, truth: FloatArray, order: FloatArray) -> None:
        self.add(name, found["lower"], found["upper"], np.atleast_2d(truth), order)

    def shown(self) -> dict[str, str]:
        """Each rate in percent, with its standard error."""
        return {
            name: f"{100 * np.mean(own):.1f} ± {100 * np.std(own) / np.sqrt(len(own)):.1f}"
            for name, own in self.rates.items()
        }


def last_sample_only(model: CompoundLDA, label: Int64Array, n_labels: int) -> tuple[FloatArray, FloatArray]:
    """The simplest intervals by labels: topics are those of the last sample, and documents the only ones."""
    share = model.doc_topic_
    spread = share * (1 - share) / (model.corpus_.doc_lengths + model.gamma_ + 1)[:, None]
    inside = label == np.arange(n_labels)[:, None]
    mean = np.array([share[own].mean(axis=0) for own in inside])
    reach = float(ndtri((1 + LEVEL) / 2)) * np.array([np.sqrt(spread[own].sum(axis=0)) / own.sum() for own in inside])
    return np.maximum(mean - reach, 0), np.minimum(mean + reach, 1)


def of_collections(seed: int, sizes: Sequence[int], sweeps: int, known: bool, judge: Judge) -> None:
    """Prevalence, merged prevalence, differences and trends, with the true collections."""
    made = make(seed, sizes, mixed=False)
    model = fit(made, made.label, seed, sweeps, known)
    order, pi, n = aligned(model.topic_word_, made.phi), made.pi, np.array(sizes)
    judge.table("prevalence", model.prevalence(frame="pandas"), pi, order)
    lower, upper = np.quantile(model.pi_draws_, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    judge.add("prevalence, plain quantiles", lower, upper, pi, order)
    own = np.array([made.theta[made.label == j].mean(axis=0) for j in range(len(n))])
    judge.table("prevalence of documents", model.prevalence(of="documents", frame="pandas"), own, order)
    late = np.arange(len(n)) > 1
    both = np.array([np.average(pi[part], axis=0, weights=n[part]) for part in (~late, late)])
    judge.table("prevalence, merged", model.prevalence(lambda label: label > 1, frame="pandas"), both, order)
    last = len(n) - 1
    judge.table("differences", model.differences(last, 0, frame="pandas"), pi[last] - pi[0], order)
    away = np.arange(len(n)) - np.average(np.arange(len(n)), weights=n)
    slope = (n * away) @ pi / np.sum(n * away**2)
    judge.table("trends", model.trends(frame="pandas"), slope, order)


def of_labels(seed: int, sizes: Sequence[int], sweeps: int, known: bool, judge: Judge, mixed: bool) -> None:
    """Prevalence by labels of documents, of a model that was fitted without them."""
    made = make(seed, sizes, mixed)
    groups = made.collection if mixed else np.zeros(len(made.label), int)
    model = fit(made, groups, seed, sweeps, known)
    order = aligned(model.topic_word_, made.phi)
    documents = np.array([made.theta[made.label == j].mean(axis=0) for j in range(len(sizes))])
    plain = last_sample_only(model, made.label, len(sizes))
    for of, truth in (("population", made.mean), ("documents", documents)):
        found = model.prevalence(made.label, of=of, frame="pandas")  # type: ignore[arg-type]
        judge.table(f"by labels, {of}", found, truth, order)
        judge.add(f"by labels, {of}, last sample only", *plain, truth, order)


def of_plain(seed: int, sizes: Sequence[int], sweeps: int, known: bool, judge: Judge) -> None:
    """``label_prevalence`` of a plain LDA, which knows nothing of the labels."""
    made = make(seed, sizes, mixed=False)
    given: dict[str, Any] = {"topic_word_prior": ETA, "learn_priors": True} if known else {}
    model = LDA(K, max_iter=sweeps, random_state=seed, **given).fit(made.corpus)
    order, alpha = aligned(model.topic_word_, made.phi), model.alpha_
    size = made.corpus.doc_lengths + alpha.sum()
    found = label_prevalence(model.doc_topic_, made.label, size, base=alpha, level=LEVEL)
    judge.add("label_prevalence", found.lower, found.upper, made.pi, order)


def collections_table(n_corpora: int, sweeps: int, sizes: Sequence[str]) -> str:
    settings: tuple[tuple[str, Callable[..., None], dict[str, Any]], ...] = (
        ("collections", of_collections, {}),
        ("labels = true collections, fitted as one", of_labels, {"mixed": False}),
        ("labels across two collections", of_labels, {"mixed": True}),
        ("labels, plain LDA", of_plain, {}),
    )
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name, study, more in settings:
        for priors in ("known", "learned"):
            for size in sizes:
                judge = Judge()
                for seed in range(n_corpora):
                    study(seed, SIZES[size], sweeps, priors == "known", judge, **more)
                for interval, rate in judge.shown().items():
                    rows.setdefault((name, interval, priors), []).append(rate)
                note(f"coverage: {name}, {size}, {priors} priors: done")
    return table(["setting", "interval", "γ and η", *sizes], [[*key, *rates] for key, rates in rows.items()])


# -- the share of runs that have a topic -----------------------------------------------------------------------


def stability_table(n_trials: int) -> str:
    """Wilson's intervals, with runs whose chance of a topic is known."""
    rows = []
    for n_runs in (5, 10, 20):
        for chance in (0.5, 0.8, 0.95):
            held = []
            for trial in range(n_trials):
                rng = np.random.default_rng([trial, n_runs])
                topics = np.eye(8)[:4]
                has = rng.random((n_runs, 4)) < chance
                runs = [topics, *(np.where(own[:, None], topics, np.eye(8)[4:]) for own in has)]
                share = stability(runs, reference=0, level=LEVEL).share
                held.append(np.mean((share.lower <= chance) & (chance <= share.upper)))
            rows.append([n_runs, f"{chance:.0%}", f"{np.mean(held):.1%}"])
    return table(["other runs", "true share", "intervals of 90% that hold it"], rows)


# -- learned priors --------------------------------------------------------------------------------------------


def learned_table(n_corpora: int, sweeps: int) -> str:
    """γ and η have no interval; α of collections is drawn, and its draws are in the chain."""
    gammas, etas, inside = [], [], []
    for seed in range(n_corpora):
        rng = np.random.default_rng([seed, 9])
        alpha = float(rng.gamma(2.0, 0.5))
        made = make_with_alpha(seed, alpha)
        model = CompoundLDA(
            K, max_iter=sweeps, random_state=seed, thin=2, collection_prior={"shape": 2.0, "rate": 2.0}
        ).fit(made.corpus, groups=made.label)
        extra = model.chains_[0].extra
        late = np.array(extra.alphas)[len(extra.alphas) // 2 :]
        low, high = np.quantile(late, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull")
        inside.append(low <= alpha <= high)
        gammas.append(model.gamma_)
        etas.append(float(model.beta_[0]))
    rows = [
        ["α, drawn", "from its prior", f"{np.mean(inside):.1%} of the intervals of 90% of its draws hold it"],
        ["γ, maximised", f"{GAMMA}", f"{np.mean(gammas):.2f} ± {np.std(gammas):.2f} over corpora; no interval"],
        ["η, maximised", f"{ETA}", f"{np.mean(etas):.3f} ± {np.std(etas):.3f} over corpora; no interval"],
    ]
    return table(["prior", "truth", "found"], rows)


def make_with_alpha(seed: int, alpha: float, sizes: Sequence[int] = (20,) * 6) -> Made:
    """As ``make``, with another α."""
    made = synthetic_compound(
        len(sizes), sizes[0], V, K, doc_length=LENGTH, alpha=alpha, gamma=GAMMA, eta=ETA, seed=seed
    )
    label = np.repeat(np.arange(len(sizes)), sizes)
    return Made(made.corpus, made.phi, made.theta, label, label, made.pi, made.pi)

"""Compound LDA beside LDA: the paper's methods M1, M2 and M3, LDA's own hyperparameters, and clusters of topics.

M1 is compound LDA with the collections. M2 is LDA on the whole corpus, whose sampled topics are counted by collection.
M3 is LDA on each collection apart, whose topics are matched one to one with those of M1.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduce._common import load_split, note, spread, table
from reproduce._compound_corpora import CASES, Case, grouped
from reproduce._compound_synthetic import METHODS, aligned
from topicloom import LDA, CompoundLDA
from topicloom._types import FloatArray, Int64Array
from topicloom.corpus import Corpus, split_halves
from topicloom.datasets import synthetic_compound
from topicloom.evaluation import coherence, silhouette_widths, topic_clusters, topic_sizes

SMALL = 0.001  # share of the tokens below which a topic is called tiny
NEAR = 1.0  # L1 distance of two topics, of at most 2, below which they say much the same


@dataclass(frozen=True)
class Baselines:
    """One corpus by all methods; topics of M3 come in the order of M1."""

    name: str
    case: Case
    train: Corpus
    labels: tuple[Hashable, ...]
    clda: CompoundLDA
    lda: LDA
    apart: tuple[LDA, ...]
    order: tuple[Int64Array, ...]  # for each topic of M1, its partner's number in each model of M3
    perplexity: tuple[float, float, float]


def rows_of(corpus: Corpus, labels: Sequence[Hashable]) -> Int64Array:
    number = {label: j for j, label in enumerate(labels)}
    return np.array([number[label] for label in corpus.groups or ()])


def sampled_shares(model: LDA, rows: Int64Array, n: int) -> FloatArray:
    """Share of each topic in the last sampled z of each collection [J, K]."""
    corpus = model.corpus_
    z = np.asarray(model.chains_[model.best_chain_].state.z)
    counts = np.zeros((n, model.n_components))
    np.add.at(counts, (rows[corpus.token_docs], z), 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def fit(train: Corpus, test: Corpus, name: str, sweeps: int, quick: bool) -> Baselines:
    case = CASES[name]
    k = 5 if quick else case.n_topics
    options: dict[str, Any] = {"max_iter": sweeps, "trace_every": 10, "random_state": 0}
    clda = CompoundLDA(k, **options).fit(train)
    labels = clda.collections_
    lda = LDA(k, learn_priors="symmetric", **options).fit(train)
    note(f"baselines: {name}: M1 and M2 fitted")
    apart, order, total, tokens = [], [], 0.0, 0
    rows, test_rows = rows_of(train, labels), rows_of(test, labels)
    for j in range(len(labels)):
        own = LDA(k, learn_priors="symmetric", **options).fit(train.select(rows == j))
        part = test.select(test_rows == j)
        n = split_halves(part)[1].n_tokens
        total, tokens = total + n * np.log(own.perplexity(part)), tokens + n
        apart.append(own)
        order.append(aligned(own.topic_word_, clda.topic_word_))
    note(f"baselines: {name}: M3 fitted")
    perplexity = clda.perplexity(test), lda.perplexity(test), float(np.exp(total / tokens))
    return Baselines(name, case, train, labels, clda, lda, tuple(apart), tuple(order), perplexity)


def shares(b: Baselines) -> tuple[FloatArray, FloatArray, FloatArray]:
    """π of M1's last draw, and the shares of M2 and M3, all [J, K] with M1's topics."""
    rows, n = rows_of(b.train, b.labels), len(b.labels)
    second = sampled_shares(b.lda, rows, n)[:, aligned(b.lda.topic_word_, b.clda.topic_word_)]
    third = [sampled_shares(own, np.zeros(own.corpus_.n_docs, np.int64), 1)[0, order]
             for own, order in zip(b.apart, b.order, strict=True)]  # fmt: skip
    return b.clda.chains_[b.clda.best_chain_].extra.pi, second, np.array(third)


def section(data: Path, names: Sequence[str], sweeps: int, max_docs: int | None, quick: bool) -> str:
    parts, fitted = [], []
    for name in names:
        train, test, how = load_split(data, name)
        found = fit(grouped(train, name, max_docs), grouped(test, name, max_docs), name, sweeps, quick)
        fitted.append(found)
        parts.append(f"**{name}**, K = {found.clda.n_components}, {how}:\n\n{by_collection(found)}")
        if name == "yelp":
            parts.append("Table 2, topics by how their share changes from one star to five:\n\n" + sentiment(found))
    return "\n\n".join([learned(fitted), summary(fitted), *parts])


def learned(fitted: Sequence[Baselines]) -> str:
    """η and α of LDA by Gibbs-EM (section 4.2.3)."""
    rows = []
    for b in fitted:
        trace, k = b.lda.trace_, b.lda.n_components
        late = slice(len(trace.sweep) * 3 // 4, None)
        eta, alpha = np.mean(trace.beta_mean[late]), np.mean(trace.alpha_sum[late]) / k
        rows.append([b.name, k, f"{eta:.3f} ({b.case.lda[0]})", f"{alpha:.3f} ({b.case.lda[1]})"])
    return (
        f"LDA's own η and α, one number each, means of the last quarter of {fitted[0].lda.n_iter_} sweeps; the paper's "
        "in brackets.\n\n" + table(["corpus", "K", "η", "α"], rows)
    )


def summary(fitted: Sequence[Baselines]) -> str:
    """Perplexity of held-out documents, and how near M2 and M3 come to M1 (figures 10 and 11)."""
    rows = []
    for b in fitted:
        first, second, third = shares(b)
        far = [np.abs(own.topic_word_[order] - b.clda.topic_word_).sum(axis=1)
               for own, order in zip(b.apart, b.order, strict=True)]  # fmt: skip
        m2 = np.abs(b.lda.topic_word_[aligned(b.lda.topic_word_, b.clda.topic_word_)] - b.clda.topic_word_).sum(axis=1)
        rows.append(
            [
                b.name, *(f"{value:.0f}" for value in b.perplexity), f"{np.median(m2):.2f}", f"{np.median(far):.2f}",
                f"{np.mean(np.array(far) > NEAR):.0%}",
                *(f"{agreement(first, other):.2f}" for other in (second, third)),
            ]
        )  # fmt: skip
    header = ["corpus", "perplexity, M1", "M2", "M3", "L1 from M1's topics, median: M2", "M3",
              f"M3's topics farther than {NEAR:g}", "correlation with M1's changes: M2", "M3"]  # fmt: skip
    return (
        "Perplexity is of held-out documents by completion, each with its collection known to M1 and M3. A change is a "
        "topic's share in a collection less its mean over collections.\n\n" + table(header, rows)
    )


def agreement(first: FloatArray, other: FloatArray) -> float:
    """Correlation of two methods' changes, over all topics and collections."""
    changes = [(pi - pi.mean(axis=0)).ravel() for pi in (first, other)]
    return float(np.corrcoef(*changes)[0, 1])


def by_collection(b: Baselines, n_topics: int = 5) -> str:
    """Shares of the topics that change most with M1, by all three methods."""
    first, second, third = shares(b)
    chosen = np.argsort(-np.ptp(first, axis=0))[:n_topics]
    words = b.clda.top_words(5)
    rows = []
    for k in chosen:
        for method, pi in (("M1", first), ("M2", second), ("M3", third)):
            name = " ".join(words[k]) if method == "M1" else ""
            rows.append([f"{name}", method, *(f"{share:.1%}" for share in pi[:, k])])
    return table(["topic", "method", *map(str, b.labels)], rows)


def sentiment(b: Baselines) -> str:
    """Topics of the five stars, most positive first: how many rise or fall with every star, and how surely."""
    trends = b.clda.trends(times=range(len(b.labels)), frame="polars")
    slope, rises = trends["mean"].to_numpy(), trends["probability"].to_numpy()
    pi, words = b.clda.pi_, b.clda.top_words(8)
    order = np.argsort(-slope)
    steps = np.diff(pi, axis=0)
    counts = [
        f"{int(np.sum(rises > 0.99))} topics rise with probability above 0.99, {int(np.sum(rises < 0.01))} fall; "
        f"{int(np.sum((steps > 0).all(axis=0)))} rise with every star, {int(np.sum((steps < 0).all(axis=0)))} fall "
        f"with every star, of {len(slope)}."
    ]
    ends = [*order[:6], *order[-6:]] if len(order) > 12 else list(order)
    rows = [[f"{' '.join(words[k])}", *(f"{share:.1%}" for share in pi[:, k]), f"{rises[k]:.2f}"] for k in ends]
    return "\n\n".join([*counts, table(["topic", *map(str, b.labels), "P(rises)"], rows)])


# -- clusters: figures 7, 8, 15, 16, 17 --------------------------------------------------------------------------------


def clusters(data: Path, name: str, sweeps: int, max_docs: int | None, quick: bool) -> str:
    """One-collection compound LDA and LDA on one corpus, by sizes, likeness, coherence and clusters."""
    train, _, _ = load_split(data, name)
    corpus, case = grouped(train, name, max_docs), CASES[name]
    k = 5 if quick else case.n_topics
    options: dict[str, Any] = {"max_iter": sweeps, "trace_every": sweeps, "random_state": 0}
    models = {
        "cLDA, J = 1": CompoundLDA(k, **options).fit(corpus, groups=["all"] * corpus.n_docs),
        "LDA": LDA(k, doc_topic_prior=case.lda[1], topic_word_prior=case.lda[0], **options).fit(corpus),
    }
    note(f"clusters: {name}: fitted")
    sizes, words, docs = [], [], []
    numbers = [max(2, k // 9), max(2, k // 3), max(2, k * 2 // 3)] if not quick else [2, 3]
    for label, model in models.items():
        share = topic_sizes(model.doc_topic_, corpus.doc_lengths)
        distance = _l1(model.topic_word_)
        values = coherence(model.topic_word_, corpus, "u_mass", n_words=10, aggregate="sum")
        sizes.append([label, k, *(f"{q:,.0f}" for q in np.quantile(share, [0, 0.25, 0.5, 0.75, 1]) * corpus.n_tokens),
                      int(np.sum(share < SMALL)), int(np.sum(np.triu(distance < NEAR, 1))),
                      " / ".join(f"{q:.1f}" for q in np.quantile(values, [0.25, 0.5, 0.75]))])  # fmt: skip
        words.append([label, *(_widths(model.topic_word_, n) for n in numbers)])
        docs.append([label, *(_widths(model.doc_topic_[:: max(1, corpus.n_docs // 1500)], n) for n in numbers)])
    header = ["model", "K", "tokens of a topic: least", "quartile", "median", "quartile", "most",
              f"topics below {SMALL:.1%}", f"pairs of topics nearer than {NEAR:g}", "coherence, quartiles"]  # fmt: skip
    of = ["silhouette, quartiles", *(f"{n} clusters" for n in numbers)]
    return "\n\n".join(
        [f"**{name}**, {sweeps} sweeps (figures 8, 15 and 17):", table(header, sizes), "Topics (figure 7):",
         table(of, words), "Documents (figure 16):", table(of, docs)]
    )  # fmt: skip


def _l1(topics: FloatArray) -> FloatArray:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(topics, "cityblock")))


def _widths(rows: FloatArray, n: int) -> str:
    widths = silhouette_widths(rows, topic_clusters(rows, n))
    return " / ".join(f"{q:.3f}" for q in np.quantile(widths, [0.25, 0.5, 0.75]))


# -- figure 20, figure 14, and M1 to M3 where the truth is known -------------------------------------------------------


def alphas(data: Path, name: str, sweeps: int, max_docs: int | None, quick: bool) -> str:
    """Perplexity of compound LDA against α, with η and γ as the paper estimated them (figure 20)."""
    train, test, _ = load_split(data, name)
    train, test, case = grouped(train, name, max_docs), grouped(test, name, max_docs), CASES[name]
    eta, gamma = case.clda
    rows = []
    for alpha in (0.1, 1.0, 10.0):
        model = CompoundLDA(
            5 if quick else case.n_topics, collection_prior=alpha, concentration=gamma, topic_word_prior=eta,
            max_iter=sweeps, trace_every=sweeps, random_state=0,
        ).fit(train)  # fmt: skip
        rows.append([f"{alpha:g}", f"{model.perplexity(test):.0f}"])
        note(f"alphas: {name}: {rows[-1]}")
    return f"**{name}**, η = {eta}, γ = {gamma}, {sweeps} sweeps, one run each.\n\n{table(['α', 'perplexity'], rows)}"


LAGS = (1, 2, 5, 10, 20, 50)


def autocorrelation(sweeps: int, quick: bool) -> str:
    """Of π_11 and π_22 by AGS and MGS on the corpus of section 3.2 (figure 14)."""
    length = 20 if quick else 200
    data = synthetic_compound(2, 100, 40, 3, doc_length=length, alpha=0.1, gamma=1.0, eta=0.25, seed=0)
    rows = []
    for name, how in METHODS.items():
        if name == "VEM":
            continue
        options: dict[str, Any] = {"max_iter": sweeps, "burn_in": sweeps // 2, "thin": 1, "trace_every": sweeps}
        model = CompoundLDA(
            3, collection_prior=0.1, concentration=1.0, topic_word_prior=0.25, random_state=0, **options, **how
        ).fit(data.corpus)
        draws = model.pi_draws_[:, :, aligned(model.topic_word_, data.phi)]
        for j, k in ((0, 0), (1, 1)):
            x = draws[:, j, k] - draws[:, j, k].mean()
            power = float(np.mean(x * x))
            rows.append(
                [f"{name}, π_{j + 1}{k + 1}", *(f"{float(np.mean(x[lag:] * x[:-lag])) / power:.2f}" for lag in LAGS)]
            )
    return f"Sweeps {sweeps // 2} to {sweeps}, one chain each.\n\n" + table(
        ["autocorrelation at lag", *map(str, LAGS)], rows
    )


def known_truth(n_corpora: int, sweeps: int, quick: bool) -> str:
    """L1 error of the collections' mixtures by M1, M2 and M3, on documents drawn from the model."""
    sizes = (20, 100) if quick else (20, 100, 400)
    rows = []
    for n_docs in sizes:
        errors: dict[str, list[float]] = {"M1": [], "M2": [], "M3": []}
        for seed in range(n_corpora):
            data = synthetic_compound(4, n_docs, 300, 8, doc_length=60, alpha=0.5, gamma=4.0, eta=0.05, seed=seed)
            for method, value in _errors(data, sweeps).items():
                errors[method].append(value)
        rows.append([n_docs, *(spread(errors[m], 3) for m in errors),
                     f"{nearer(errors, 'M1', 'M2')}, {nearer(errors, 'M2', 'M3')} of {n_corpora}"])  # fmt: skip
        note(f"truth: {n_docs} documents per collection: done")
    header = ["documents per collection", "M1", "M2", "M3", "M1 nearer than M2, M2 than M3"]
    return (
        f"{n_corpora} corpora, J = 4, K = 8, V = 300, 60 words per document, (α, γ, η) = (0.5, 4, 0.05), priors "
        f"learned, {sweeps} sweeps; topics of each method matched with the true ones.\n\n{table(header, rows)}"
    )


def nearer(errors: dict[str, list[float]], first: str, second: str) -> int:
    """In how many corpora the first method is nearer to the truth."""
    return sum(a < b for a, b in zip(errors[first], errors[second], strict=True))


def _errors(data: Any, sweeps: int) -> dict[str, float]:
    corpus, labels = data.corpus, tuple(sorted(set(data.corpus.groups)))
    options: dict[str, Any] = {"max_iter": sweeps, "trace_every": sweeps, "random_state": 0}
    rows = rows_of(corpus, labels)
    clda = CompoundLDA(8, **options).fit(corpus)
    lda = LDA(8, learn_priors="symmetric", **options).fit(corpus)
    third = []
    for j in range(len(labels)):
        own = LDA(8, learn_priors="symmetric", **options).fit(corpus.select(rows == j))
        order = aligned(own.topic_word_, data.phi)
        third.append(sampled_shares(own, np.zeros(own.corpus_.n_docs, np.int64), 1)[0, order])
    found = {
        "M1": clda.chains_[0].extra.pi[:, aligned(clda.topic_word_, data.phi)],
        "M2": sampled_shares(lda, rows, len(labels))[:, aligned(lda.topic_word_, data.phi)],
        "M3": np.array(third),
    }
    return {method: float(np.abs(pi - data.pi).sum(axis=1).mean()) for method, pi in found.items()}

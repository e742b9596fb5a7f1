"""Compound LDA on real corpora: figure 5, the hyperparameters of section 4.2.3, figure 6, figures 10 and 11."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from reproduce._common import load, load_split, note, spread, table
from topicloom import LDA, CompoundLDA
from topicloom.corpus import Corpus
from topicloom.evaluation import coherence, draw_interval, silhouette_widths, topic_clusters, topic_sizes
from topicloom.explore import plots


@dataclass(frozen=True)
class Case:
    """A corpus with the paper's number of topics and its estimates of the hyperparameters."""

    n_topics: int
    curve: tuple[int, ...]  # numbers of topics of figure 5 that are tried
    clda: tuple[float, float]  # η and γ
    lda: tuple[float, float]  # η and α
    ordered: bool = False  # whether its collections come in an order


CASES = {
    "news16": Case(30, (10, 30, 60), (0.05, 2.07), (0.053, 0.048)),
    "yelp": Case(40, (10, 40, 60), (0.034, 3.44), (0.029, 0.12), True),
    "nips_years": Case(90, (30, 90), (0.026, 6.72), (0.027, 0.06), True),
}
PERIODS = ((1990, "1987-1990"), (1993, "1991-1993"), (1996, "1994-1996"), (1999, "1997-1999"))


def period(year: Any) -> str:
    return next(name for last, name in PERIODS if int(year) <= last)


def grouped(corpus: Corpus, name: str, max_docs: int | None) -> Corpus:
    """The corpus, or some of its documents, with its collections: news groups, stars, or periods of years."""
    if max_docs is not None and max_docs < corpus.n_docs:
        corpus = corpus.select(np.linspace(0, corpus.n_docs - 1, max_docs).astype(int))
    assert corpus.groups is not None
    groups: list[Hashable] = [period(g) for g in corpus.groups] if name == "nips_years" else list(corpus.groups)
    return corpus.with_metadata(groups=groups)


# -- figure 5 ------------------------------------------------------------------------------------------------------


def perplexities(
    train: Corpus, test: Corpus, case: Case, n_topics: int, sweeps: int, seed: int
) -> tuple[float, float, float]:
    """Of LDA, of compound LDA with one collection and with all, hyperparameters fixed to the paper's estimates."""
    eta, gamma = case.clda
    options = {"max_iter": sweeps, "trace_every": sweeps, "random_state": seed}
    plain = LDA(n_topics, doc_topic_prior=case.lda[1], topic_word_prior=case.lda[0], **options).fit(train)
    own = {"concentration": gamma, "topic_word_prior": eta}
    one = CompoundLDA(n_topics, **own, **options).fit(train, groups=["all"] * train.n_docs)
    every = CompoundLDA(n_topics, **own, **options).fit(train)
    return plain.perplexity(test), one.perplexity(test, [None] * test.n_docs), every.perplexity(test)


def figure5(data: Path, names: Sequence[str], sweeps: int, runs: int, max_docs: int | None, quick: bool) -> str:
    parts = []
    for name in names:
        train, test, how = load_split(data, name)
        train, test = grouped(train, name, max_docs), grouped(test, name, max_docs)
        case = CASES[name]
        rows = []
        for k in (5,) if quick else case.curve:
            n = runs if k == case.n_topics else 1
            found = [perplexities(train, test, case, k, sweeps, seed) for seed in range(n)]
            note(f"figure5: {name}, K = {k}: {found}")
            rows.append(
                [k, *(spread([f[i] for f in found], 0) if n > 1 else f"{found[0][i]:.0f}" for i in range(3)), n]
            )
        header = ["K", "LDA", "cLDA, one collection", f"cLDA, {len(set(train.groups or ()))} collections", "runs"]
        parts.append(f"**{name}** ({how}):\n\n{table(header, rows)}")
    head = (
        f"Perplexity of the second half of each held-out document by completion (eqs. 21, 97, 98), {sweeps} sweeps, "
        "hyperparameters fixed to the paper's estimates at its K."
    )
    return "\n\n".join([head, *parts])


# -- hyperparameters, topics, collections ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    name: str
    case: Case
    corpus: Corpus
    clda: CompoundLDA
    lda: LDA


def fit_all(data: Path, names: Sequence[str], sweeps: int, max_docs: int | None, quick: bool) -> list[Fitted]:
    fitted = []
    for name in names:
        case = CASES[name]
        corpus = grouped(load(data, name), name, max_docs)
        k = 5 if quick else case.n_topics
        options = {"max_iter": sweeps, "trace_every": 10, "random_state": 0}
        clda = CompoundLDA(k, **options).fit(corpus)
        lda = LDA(k, doc_topic_prior=case.lda[1], topic_word_prior=case.lda[0], **options).fit(corpus)
        note(f"topics: {name}: η {clda.beta_[0]:.4f}, γ {clda.gamma_:.2f}")
        fitted.append(Fitted(name, case, corpus, clda, lda))
    return fitted


def hyperparameters(fitted: Sequence[Fitted]) -> str:
    rows = []
    for f in fitted:
        eta, gamma = f.case.clda
        late = slice(len(f.clda.trace_.sweep) * 3 // 4, None)
        eta_late, gamma_late = (np.mean(values[late]) for values in (f.clda.trace_.beta_mean, f.clda.trace_.alpha_sum))
        rows.append([f.name, f.clda.n_components, f"{eta_late:.3f} ({eta})", f"{gamma_late:.2f} ({gamma})"])
    header = ["corpus", "K", "η (paper)", "γ (paper)"]
    return f"Means of the last quarter of {fitted[0].clda.n_iter_} sweeps, α = 1.\n\n" + table(header, rows)


def figure6(fitted: Sequence[Fitted]) -> str:
    """Topic sizes (tokens, as quartiles) and coherence (eq. 22, ten words), and how well topics cluster."""
    rows = []
    for f in fitted:
        for name, model in (("LDA", f.lda), (f"cLDA, J = {len(f.clda.collections_)}", f.clda)):
            tokens = topic_sizes(model.doc_topic_, f.corpus.doc_lengths) * f.corpus.n_tokens
            low, mid, high = np.quantile(tokens, [0.25, 0.5, 0.75])
            values = coherence(model.topic_word_, f.corpus, "u_mass", n_words=10, aggregate="sum")
            groups = max(2, model.n_components // 3)
            widths = silhouette_widths(model.topic_word_, topic_clusters(model.topic_word_, groups))
            rows.append([f.name, name, f"{low:,.0f} / {mid:,.0f} / {high:,.0f}", f"{tokens.std() / tokens.mean():.2f}",
                         f"{np.median(values):.1f}", f"{values.mean():.1f}", f"{np.median(widths):.3f}"])  # fmt: skip
    header = ["corpus", "model", "tokens of a topic, quartiles", "spread / mean", "coherence, median", "mean",
              "silhouette, median (K/3 clusters)"]  # fmt: skip
    return table(header, rows)


def changing(f: Fitted, n_topics: int) -> list[int]:
    """The topics that change most over ordered collections, half of them rising, or those that differ most."""
    model = f.clda
    if not f.case.ordered:
        return [int(k) for k in np.argsort(-np.ptp(model.pi_, axis=0))[:n_topics]]
    order = np.argsort(-model.trends(times=range(len(model.collections_)), frame="polars")["mean"].to_numpy())
    return [int(k) for k in (*order[: n_topics // 2], *order[-(n_topics // 2) :])]


def figure(f: Fitted, folder: Path, n_topics: int = 8) -> None:
    """Shares of topics that change, a panel a topic (figures 10 and 11)."""
    import_module("matplotlib").use("Agg")
    chosen = changing(f, n_topics)
    names = [" ".join(words) for words in f.clda.top_words(6)]
    found = draw_interval(f.clda.pi_draws_[:, :, chosen])
    panels = plots.draw_group_panels(*found, groups=f.clda.collections_, labels=[names[k] for k in chosen])
    panels.savefig(folder / f"compound_{f.name}.png", dpi=100, metadata={"Software": None})


def collections(f: Fitted, n_topics: int = 6) -> str:
    """The topics that change most, or differ most, with 90% intervals."""
    model = f.clda
    probability = model.trends(times=range(len(model.collections_)), frame="polars")["probability"].to_numpy()
    chosen = changing(f, n_topics)
    frame = model.prevalence(frame="polars")
    mean, lower, upper = (
        frame[name].to_numpy().reshape(len(model.collections_), -1) for name in ("mean", "lower", "upper")
    )
    words = model.top_words(6)
    rows = [
        [
            f"{k}: {' '.join(words[k])}",
            *(f"{mean[j, k]:.1%} ({lower[j, k]:.1%} to {upper[j, k]:.1%})" for j in range(len(mean))),
            *([f"{probability[k]:.2f}"] if f.case.ordered else []),
        ]
        for k in chosen
    ]
    header = ["topic", *map(str, model.collections_), *(["P(rises)"] if f.case.ordered else [])]
    return f"**{f.name}**, K = {model.n_components}, {model.n_iter_} sweeps:\n\n{table(header, rows)}"

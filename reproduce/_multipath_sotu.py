"""Topics of the State of the Union over time, one path against five (multipath Gibbs, section 4.2.2, supplement A)."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduce._common import note, table
from topicloom import LDA, Corpus, from_texts
from topicloom._types import FloatArray
from topicloom.corpus import from_matrix
from topicloom.evaluation import (
    TopicWeights,
    bucket_lengths,
    time_entropy,
    topic_weights,
)
from topicloom.explore import plots

LAST_YEAR, MOST_COMMON, SHARE = 2013, 40, 0.05


@dataclass(frozen=True)
class Budget:
    n_topics: int = 500
    sweeps: int = 200
    seeds: Sequence[int] = (0, 1)
    paths: Sequence[int] = (1, 5)
    max_speeches: int | None = None


QUICK = Budget(20, 5, (0,), (1, 2), 20)


@dataclass(frozen=True)
class Run:
    """What is measured of a fitted model."""

    weights: TopicWeights
    buckets: FloatArray
    agreement: float
    log_joint: float  # a token

    @property
    def entropy(self) -> FloatArray:
        return time_entropy(self.weights.weights)

    @property
    def topic_weight(self) -> FloatArray:
        return np.asarray(self.weights.weights.sum(axis=0))


def read(data: Path, max_speeches: int | None = None) -> Corpus:
    """Paragraphs as documents, without stop words, the 40 most common words and words that occur once.

    As in the paper but for stemming, which we leave out.
    """
    with gzip.open(data / "sotu" / "texts.jsonl.gz", "rt", encoding="utf-8") as lines:
        speeches = [json.loads(line) for line in lines]
    speeches = [speech for speech in speeches if speech["year"] <= LAST_YEAR][:max_speeches]
    parts = [(part, speech["year"]) for speech in speeches for part in speech["text"].split("\n\n") if part.strip()]
    whole = from_texts([part for part, _ in parts], stop_words="english", min_df=1, max_df=1.0)
    counts = whole.word_counts
    common = set(np.argsort(-counts, kind="stable")[:MOST_COMMON].tolist())
    kept = [word for v, word in enumerate(whole.vocabulary) if counts[v] > 1 and v not in common]
    corpus = from_matrix(whole.with_vocabulary(kept).to_matrix(), kept)
    return corpus.select(~corpus.empty_docs).with_metadata(
        times=np.array([year for _, year in parts])[~corpus.empty_docs]
    )


def fit(corpus: Corpus, n_paths: int, seed: int, budget: Budget) -> Run:
    model = LDA(
        budget.n_topics, doc_topic_prior=10 / budget.n_topics, topic_word_prior=0.01, n_paths=n_paths,
        estimator="standard", max_iter=budget.sweeps, trace_every=budget.sweeps,
        random_state=seed,
    ).fit(corpus)  # fmt: skip
    # θ_d of the paper has no prior: the share of each topic among the tokens of the first path.
    first = model.chains_[0].state.z[: corpus.n_tokens]
    doc = np.zeros((corpus.n_docs, budget.n_topics))
    np.add.at(doc, (corpus.token_docs, first), 1.0)
    found = topic_weights(doc / corpus.doc_lengths[:, None], corpus.times)
    trace = model.trace_
    agreed = trace.agreement[-1] if trace.agreement else 1.0
    run = Run(found, bucket_lengths(*found, SHARE), agreed, float(model.log_joint_[0]) / corpus.n_tokens)
    note(f"sotu: {n_paths} paths, seed {seed}: mean entropy {run.entropy.mean():.4f}, agreement {agreed:.3f}")
    return run


def summary(run: Run) -> list[float]:
    used = np.isfinite(run.buckets).all(axis=1)
    lengths, weight = run.buckets[used], run.topic_weight[used]
    each = np.repeat(weight / weight.sum() / lengths.shape[1], lengths.shape[1])
    return [
        float(run.entropy.mean()),
        float(np.median(lengths)),
        float(np.mean(lengths < 5)),
        float(each @ (lengths.ravel() < 5)),
        float(np.sort(run.topic_weight)[::-1][:10].sum() / run.topic_weight.sum()),
        run.agreement,
        run.log_joint,
    ]


HEADER = [
    "paths, seed", "mean yearly entropy", "median bucket", "buckets under 5 years", "the same, weighted by topics",
    "weight of the 10 largest topics", "agreement of paths", "log joint per token and path",
]  # fmt: skip


def section(data: Path, budget: Budget, figures: Path | None) -> str:
    corpus = read(data, budget.max_speeches)
    runs = {(m, seed): fit(corpus, m, seed, budget) for m in budget.paths for seed in budget.seeds}
    rows = [[f"{m}, {seed}", *(f"{x:.3f}" for x in summary(run))] for (m, seed), run in runs.items()]
    assert corpus.times is not None
    years = np.unique(corpus.times)
    text = (
        f"{corpus.n_docs:,} paragraphs, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens, {years[0]} to {years[-1]}"
        f" ({len(years)} years with an address), T = {budget.n_topics}, η = 0.01, α = {10 / budget.n_topics:g}, "
        f"{budget.sweeps} sweeps; buckets of {SHARE:.0%}, mean length "
        f"{np.nanmean(next(iter(runs.values())).buckets):.1f} years for every topic."
    )
    if figures is not None:
        draw(runs, budget, figures / "multipath_sotu.png")
    verdict = "\n".join(f"- {line}" for line in verdicts(runs, budget))
    return f"{text}\n\n{table(HEADER, rows)}\n\n{verdict}"


def verdicts(runs: dict[tuple[int, int], Run], budget: Budget) -> list[str]:
    """The paper's claims, with the numbers; means over seeds, of the most paths against one."""
    one, many = min(budget.paths), max(budget.paths)

    def mean(m: int, what: int) -> float:
        return float(np.mean([summary(runs[m, seed])[what] for seed in budget.seeds]))

    entropy = {m: np.mean([runs[m, seed].entropy for seed in budget.seeds], axis=0) for m in (one, many)}
    lower = float(np.mean(entropy[many] < entropy[one]))
    spread = float(np.mean([np.std([runs[m, s].entropy.mean() for s in budget.seeds]) for m in (one, many)]))
    lines = [
        f"Entropy lower with {many} paths in every year: {'holds' if lower == 1 else 'DOES NOT HOLD'} (in {lower:.0%} "
        f"of the years; mean {mean(one, 0):.3f} → {mean(many, 0):.3f}, standard deviation over seeds {spread:.3f})."
    ]
    for what, name in ((2, "Short buckets (under 5 years) more frequent"), (3, "the same, weighted by topics")):
        held = "holds" if mean(many, what) > mean(one, what) else "DOES NOT HOLD"
        lines.append(f"{name} with {many} paths: {held} ({mean(one, what):.3f} → {mean(many, what):.3f}).")
    lines.append(f"Weight of the ten largest topics: {mean(one, 4):.3f} → {mean(many, 4):.3f}.")
    return lines


def draw(runs: dict[tuple[int, int], Run], budget: Budget, path: Path) -> None:
    """Bucket lengths, yearly entropies, weighted bucket lengths and sorted topic weights, as figures 7 and 8."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = {f"m = {m}": runs[m, budget.seeds[0]] for m in budget.paths}
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    buckets = {name: run.buckets for name, run in shown.items()}
    plots.bucket_lengths(buckets, ax=axes[0, 0])
    plots.entropy_over_time({name: run.weights for name, run in shown.items()}, ax=axes[0, 1])
    plots.bucket_lengths(buckets, topic_weight={name: run.topic_weight for name, run in shown.items()}, ax=axes[1, 0])
    for name, run in shown.items():
        axes[1, 1].plot(np.sort(run.topic_weight)[::-1], label=name, lw=1)
    axes[1, 0].set_title("weighted by topics", fontsize=9)
    axes[1, 1].set(yscale="log", xlabel="topic, by weight", ylabel="weight")
    axes[1, 1].legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)

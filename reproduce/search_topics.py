"""How often criteria for the number of topics find the number that a corpus was made with.

    python -m reproduce.search_topics [--topics 5 10 20 40 80] [--seeds 3] [--docs 1000] [--length 80] [--words 2000]
        [--sweeps 200] [--chains 4] [--jobs 1] [--keep FOLDER] [--quick]

Corpora are drawn from LDA with K topics whose words follow Zipf's law and documents of log-normal lengths, and searched
with K/4, K/2, K/1.4, K, 1.4 K, 2 K and 4 K topics. For every criterion: how often its choice is K. For the range of
``search_topics``: how often it holds K, and how many numbers it has. Where it does not hold K, a chain with K topics
that starts at the true topics shows whether the criterion is wrong or chains that start at random are stuck. No data is
needed.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reproduce._common import describe_run, note, table, word_topic_prob
from topicloom._types import Int32Array
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics.search import TopicSearch, search_topics
from topicloom.diagnostics.search_tasks import make_folds, task_seed
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Plan, run_chains, start_chain
from topicloom.evaluation import completion_scores
from topicloom.lda.gibbs import get_sampler

FACTORS = (0.25, 0.5, 2**-0.5, 1.0, 2**0.5, 2.0, 4.0)
SPREAD = 0.6  # of the logarithm of lengths
NAMES = {
    "completion": "held-out completion, highest",
    "left_to_right": "left-to-right, highest",
    "c_npmi": "coherence c_npmi",
    "u_mass": "coherence u_mass",
    "c_v": "coherence c_v",
    "exclusivity": "exclusivity",
    "diversity": "diversity",
    "stability": "stability",
    "dispersion": "residual dispersion (Taddy 2012)",
    "harmonic_mean": "harmonic mean (Griffiths and Steyvers 2004)",
    "mean_cosine": "mean cosine (Cao and others 2009)",
    "singular_divergence": "singular values (Arun and others 2010)",
    "mean_divergence": "mean divergence (Deveaud and others 2014)",
}


@dataclass(frozen=True)
class Settings:
    topics: tuple[int, ...] = (5, 10, 20, 40, 80)
    seeds: int = 3
    docs: int = 1000
    length: float = 80.0  # median
    words: int = 2000
    sweeps: int = 200
    chains: int = 4
    jobs: int = 1


QUICK = Settings(topics=(4,), seeds=1, docs=80, length=20.0, words=60, sweeps=6, chains=2)


def make_corpus(n_topics: int, settings: Settings, seed: int) -> tuple[Corpus, Int32Array]:
    """Documents with about three topics each, whose words follow Zipf's law without its first ranks (stop words).

    Returns the corpus and the true topic of every token.
    """
    share = 1.0 / (np.arange(settings.words) + 10.0)
    longest = int(8 * settings.length)
    made = synthetic_lda(
        settings.docs, settings.words, n_topics, doc_length=longest, alpha=2.0 / n_topics,
        beta=0.05 * settings.words * share / share.sum(), seed=seed,
    )  # fmt: skip
    # Tokens of a document are in random order, so that its first ones are a document of that length.
    lengths = settings.length * np.exp(SPREAD * np.random.default_rng([seed, 1]).normal(size=settings.docs))
    place = np.arange(made.corpus.n_tokens) % longest
    kept = place < np.repeat(np.clip(lengths, 5, longest), longest)
    return made.corpus.keep_tokens(kept), made.z[kept]


def grid(n_topics: int) -> list[int]:
    return sorted({max(round(n_topics * factor), 2) for factor in FACTORS})


@dataclass(frozen=True)
class Case:
    """One corpus, searched with all evidence for all numbers, and with halving."""

    truth: int
    seed: int
    full: TopicSearch
    halved: TopicSearch
    from_truth: float | None  # completion of a chain that starts at the true topics; of cases that are missed


def run_case(truth: int, seed: int, settings: Settings, folder: Path) -> Case:
    corpus, z = make_corpus(truth, settings, seed)

    def search(halving: bool) -> TopicSearch:
        return search_topics(
            corpus, grid(truth), n_chains=settings.chains, max_iter=settings.sweeps, halving=halving,
            left_to_right_docs=50, n_jobs=settings.jobs, random_state=seed, checkpoint_dir=folder,
        )  # fmt: skip

    full = search(False)
    started = None if holds(full.recommended, truth) else from_truth(corpus, z, truth, seed, settings)
    case = Case(truth, seed, full, search(True), started)
    note(f"K = {truth}, seed {seed}, {corpus!r}: range {case.full.recommended}, highest {case.full.choices()}")
    return case


def from_truth(corpus: Corpus, z: Int32Array, truth: int, seed: int, settings: Settings) -> float:
    """Completion per token after as many sweeps as the search had, on its documents, from the true topics on."""
    (held_out,) = make_folds(corpus, 1, 0.2, seed)
    training = np.ones(corpus.n_docs, bool)
    training[held_out] = False
    train, sampler = corpus.select(training), get_sampler("dense")
    prior = make_prior(np.full(truth, 1 / truth), np.full(corpus.n_words, 1 / truth), train.n_docs)
    chain = start_chain(sampler, train, prior, seed, 0)
    chain.state = sampler.restore(train, z[np.repeat(training, corpus.doc_lengths)], truth)
    plan = Plan(seed, settings.sweeps, None, 1, "cgs_p", learn_alpha=True, learn_beta=True)
    if run_chains(sampler, train, [chain], plan):
        raise KeyboardInterrupt
    topics = np.ascontiguousarray(word_topic_prob(train, chain, "cgs_p").T)
    logs, tokens = completion_scores(
        topics, chain.prior.alpha[0], corpus.select(held_out), burn_in=20, thin=2, n_samples=5, n_chains=2,
        seed=task_seed(seed, 2),
    )  # fmt: skip
    return float(logs.sum() / tokens.sum())


def missed(cases: Sequence[Case]) -> list[list[str]]:
    """A row per case whose range does not hold the truth."""
    rows = []
    for case in cases:
        if case.from_truth is not None:
            scores = dict(zip(case.full.n_topics.tolist(), case.full.completion.tolist(), strict=True))
            best = case.full.choices()["completion"]
            numbers = [f"{scores[case.truth]:.4f}", f"{case.from_truth:.4f}", str(best), f"{scores[best]:.4f}"]
            rows.append([str(case.truth), str(case.seed), *numbers])
    return rows


def holds(range_: tuple[int, int], truth: int) -> bool:
    return range_[0] <= truth <= range_[1]


def lines(cases: Sequence[Case], topics: Sequence[int]) -> list[list[str]]:
    """A row per criterion: how often it is right, for each true number and over all."""

    def row(name: str, right: Sequence[bool], width: Sequence[int]) -> list[str]:
        by_topic = [[r for r, case in zip(right, cases, strict=True) if case.truth == k] for k in topics]
        shares = [f"{sum(one)} of {len(one)}" for one in by_topic]
        return [name, *shares, f"{sum(right)} of {len(right)}", f"{np.mean(width):.1f}"]

    ones = [1] * len(cases)
    out = []
    for name, shown in NAMES.items():
        out.append(row(shown, [case.full.choices().get(name) == case.truth for case in cases], ones))
    smallest = [case.full.recommended[0] == case.truth for case in cases]
    out.append(row("smallest of the range", smallest, ones))
    width = [int(case.full.within_one_se.sum()) for case in cases]
    out.append(row("**range** (one standard error)", [holds(c.full.recommended, c.truth) for c in cases], width))
    width = [int(case.halved.within_one_se.sum()) for case in cases]
    out.append(row("**range**, with halving", [holds(c.halved.recommended, c.truth) for c in cases], width))
    width = [len(case.full.cannot_tell_apart) for case in cases]
    out.append(row("cannot be told apart", [c.truth in c.full.cannot_tell_apart for c in cases], width))
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog="python -m reproduce.search_topics", description=__doc__.splitlines()[0])
    default = Settings()
    parser.add_argument("--topics", type=int, nargs="+", default=list(default.topics))
    for name in ("seeds", "docs", "words", "sweeps", "chains", "jobs"):
        parser.add_argument(f"--{name}", type=int, default=getattr(default, name))
    parser.add_argument("--length", type=float, default=default.length)
    parser.add_argument("--keep", type=Path, help="folder that keeps finished fits, so that a run can be resumed")
    parser.add_argument("--quick", action="store_true")
    chosen = vars(parser.parse_args(given))
    quick, keep = chosen.pop("quick"), chosen.pop("keep")
    settings = QUICK if quick else replace(default, **{**chosen, "topics": tuple(chosen["topics"])})
    print(describe_run("reproduce.search_topics", given))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if keep is None else keep
        cases = [run_case(k, seed, settings, folder) for k in settings.topics for seed in range(settings.seeds)]
    header = ["criterion", *(f"K = {k}" for k in settings.topics), "all", "numbers in it"]
    print(table(header, lines(cases, settings.topics)))
    if rows := missed(cases):
        columns = [
            "missed K",
            "seed",
            "its completion",
            "the same, from the true topics",
            "highest number",
            "its completion",
        ]
        print("\n" + table(columns, rows))
    dropped = [len(case.halved.dropped) for case in cases]
    lost = sum(case.truth in {one.n_topics for one in case.halved.dropped} for case in cases)
    print(f"\nHalving dropped {np.mean(dropped):.1f} of {len(FACTORS)} numbers on average, the true one {lost} times.")


if __name__ == "__main__":
    main()

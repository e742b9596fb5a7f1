"""CGS_p section 5.7, table 4 and figure 6: the four pairs of estimators on top of samplers for large corpora."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reproduce._common import note, spread, table, train
from topicloom import mallet
from topicloom.corpus import Corpus
from topicloom.engine.estimates import Estimator, phi, theta, topic_counts
from topicloom.engine.run import Chain, Plan, run_chains, start_chain
from topicloom.engine.threads import run_parallel
from topicloom.evaluation import log_likelihood
from topicloom.lda.gibbs import get_sampler

HARD: Estimator = "standard"
SOFT: Estimator = "cgs_p"
PAIRS: dict[str, tuple[Estimator, Estimator]] = {  # φ, then θ
    "φ + θ": (HARD, HARD),
    "φᵖ + θ": (SOFT, HARD),
    "φ + θᵖ": (HARD, SOFT),
    "φᵖ + θᵖ": (SOFT, SOFT),
}


@dataclass(frozen=True)
class Budget:
    samplers: tuple[str, ...] = ("sparse", "warp")
    n_topics: int = 100
    sweeps: int = 200
    curve_topics: tuple[int, ...] = (50, 100, 500, 1000)
    curve_sweeps: tuple[int, ...] = (50, 100, 200, 500)


class Estimates(NamedTuple):
    """Training log-likelihoods of pairs, and the seconds that an estimator's φ and θ took."""

    likelihood: dict[str, float]
    seconds: dict[Estimator, float]


def estimate(corpus: Corpus, chain: Chain, pairs: Sequence[str]) -> Estimates:
    shares, words, seconds = {}, {}, {}
    for estimator in (HARD, SOFT):
        started = time.process_time()
        counts = topic_counts(corpus, chain.state, chain.prior, estimator)
        assert counts.doc is not None
        assert counts.word is not None
        shares[estimator], words[estimator] = (
            theta(counts.doc, 1, corpus, chain.prior),
            phi(counts.word, 1, chain.prior),
        )
        seconds[estimator] = time.process_time() - started
    found = {}
    for name in pairs:
        of_words, of_docs = PAIRS[name]
        found[name] = log_likelihood(words[of_words].T, shares[of_docs], corpus)
    return Estimates(found, seconds)


def table4(corpora: dict[str, Corpus], budget: Budget, runs: int, jobs: int) -> str:
    tasks = [(sampler, name, run) for name in corpora for sampler in budget.samplers for run in range(runs)]

    def run_one(task: tuple[str, str, int]) -> dict[str, float]:
        sampler, name, seed = task
        chain = next(train(corpora[name], budget.n_topics, [budget.sweeps], seed, sampler=sampler))
        note(f"samplers: {name}, {sampler}, run {seed}")
        return estimate(corpora[name], chain, list(PAIRS)).likelihood

    found = dict(zip(tasks, run_parallel(run_one, tasks, jobs), strict=True))
    rows, held = [], 0
    for sampler in budget.samplers:
        for pair in PAIRS:
            means = [np.mean([found[sampler, name, run][pair] for run in range(runs)]) for name in corpora]
            rows.append([sampler, pair, *(f"{mean / 1e7:.4f}" for mean in means)])
    for one in found.values():
        held += one["φ + θ"] < min(one["φᵖ + θ"], one["φ + θᵖ"]) and max(one, key=one.__getitem__) == "φᵖ + θᵖ"
    return "\n\n".join(
        [
            f"Table 4: log-likelihood of the training documents, ×10⁷, after {budget.sweeps} sweeps, K = "
            f"{budget.n_topics}, α = 0.1, β = 0.01, mean of {runs} runs:",
            table(["sampler", "estimators", *corpora], rows),
            f"φ + θ lowest and φᵖ + θᵖ highest, as in the paper: in {held} of {len(found)} runs.",
        ]
    )


def of_mallet(path: Path, sweeps: int, runs: int) -> str:
    """The four pairs on a state that MALLET wrote, and on as many sweeps of ours over the same words and priors."""
    found = mallet.read_state(path)
    corpus, prior = found.corpus, found.prior
    chain = start_chain(get_sampler("dense"), corpus, prior, 0, 0)
    chain.state = found.state
    theirs = estimate(corpus, chain, list(PAIRS)).likelihood
    ours = []
    for seed in range(runs):
        chain = start_chain(get_sampler("sparse"), corpus, prior, seed, 0)
        plan = Plan(seed=seed, max_iter=sweeps, burn_in=None, thin=1, estimator="standard", trace_every=sweeps + 1)
        run_chains(get_sampler("sparse"), corpus, [chain], plan)
        ours.append(estimate(corpus, chain, list(PAIRS)).likelihood)
    rows = [
        [pair, f"{theirs[pair] / corpus.n_tokens:.4f}", spread([own[pair] / corpus.n_tokens for own in ours], 4)]
        for pair in PAIRS
    ]
    return (
        f"{corpus.n_docs:,} documents of {corpus.n_tokens:,} tokens, {corpus.n_words:,} words, K = {prior.n_topics}, "
        f"α = {prior.alpha[0, 0]:g}, β = {prior.beta[0]:g}. Log-likelihood per training token of MALLET's last state, "
        f"and of ours after {sweeps} sweeps of `sparse`, mean ± standard deviation of {runs} runs.\n\n"
        + table(["estimators", "MALLET's state", "ours"], rows)
    )


def figure6(corpora: dict[str, Corpus], budget: Budget) -> str:
    """As a table: seconds of the sweeps so far with those of the estimate, and the likelihood per token."""
    rows, overtakes = [], []
    for name, corpus in corpora.items():
        for sampler in budget.samplers:
            for n_topics in budget.curve_topics:
                spent, started, ahead = 0.0, time.process_time(), None
                for chain in train(corpus, n_topics, budget.curve_sweeps, 0, sampler=sampler):
                    spent += time.process_time() - started
                    got = estimate(corpus, chain, ["φ + θ", "φᵖ + θᵖ"])
                    hard, soft = (got.likelihood[p] / corpus.n_tokens for p in ("φ + θ", "φᵖ + θᵖ"))
                    rows.append(
                        [name, sampler, n_topics, chain.sweep, f"{spent + got.seconds[HARD]:.1f}", f"{hard:.4f}",
                         f"{spent + got.seconds[SOFT]:.1f}", f"{soft:.4f}"]
                    )  # fmt: skip
                    if soft <= hard:
                        ahead = None
                    elif ahead is None:
                        ahead = chain.sweep
                    started = time.process_time()
                note(f"samplers: {name}, {sampler}, K = {n_topics}")
                overtakes.append([name, sampler, n_topics, "never" if ahead is None else ahead])
    return "\n\n".join(
        [
            "Figure 6: log-likelihood per training token against processor time, the estimate's own included; one run:",
            table(
                ["corpus", "sampler", "K", "sweeps", "φ + θ: s", "log-likelihood", "φᵖ + θᵖ: s", "log-likelihood"], rows
            ),
            "From which of these sweeps on φᵖ + θᵖ is ahead:",
            table(["corpus", "sampler", "K", "sweeps"], overtakes),
        ]
    )


def report(corpora: dict[str, Corpus], budget: Budget, runs: int, jobs: int) -> str:
    return table4(corpora, budget, runs, jobs) + "\n\n" + figure6(corpora, budget)

"""CGS_p section 5.3, figures 1 and 2: perplexity of held-out halves against the number of samples averaged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduce._common import note, spread, table, train_to, word_topic_prob
from topicloom.corpus import Corpus, split_halves
from topicloom.evaluation import completion_perplexities

Pair = tuple[str, str]  # estimators of φ and θ
Curve = dict[tuple[int, int], dict[Pair, float]]  # {(chains, samples per chain): {pair: perplexity}}

NAMES: dict[Pair, str] = {
    ("standard", "standard"): "φ+θ",
    ("standard", "cgs_p"): "φ+θᵖ",
    ("cgs_p", "standard"): "φᵖ+θ",
    ("cgs_p", "cgs_p"): "φᵖ+θᵖ",
}
PLAIN, THETA_P, _, BOTH = NAMES


@dataclass(frozen=True)
class Budget:
    """How long to train and how to predict."""

    n_topics: int = 100
    sweeps: int = 200
    burn_in: int = 50
    thin: int = 5
    samples: Mapping[int, Sequence[int]] | None = None  # {chains: numbers of samples per chain}

    def points(self) -> list[tuple[int, int]]:
        samples = self.samples or {1: (1, 2, 5, 10, 20, 50), 5: (1, 2, 5, 10)}
        return [(chains, n) for chains, numbers in samples.items() for n in numbers]


def run(train: Corpus, test: Corpus, budget: Budget, seed: int, name: str = "") -> Curve:
    """One training chain, φ and φᵖ of its last state, and the perplexity of all four pairs at every point.

    A document's random numbers follow from its words and the seed, so the points of one number of chains are prefixes
    of the same chains, and θ and θᵖ come from the same samples.
    """
    chain = train_to(train, budget.n_topics, budget.sweeps, seed)
    phi, phi_p = (word_topic_prob(train, chain, estimator).T for estimator in ("standard", "cgs_p"))
    note(f"completion: {name}, run {seed}: trained")
    halves = split_halves(test)
    curve = {}
    for n_chains, n_samples in budget.points():
        curve[n_chains, n_samples] = completion_perplexities(
            phi, phi_p, chain.prior.alpha[0], test, burn_in=budget.burn_in, thin=budget.thin, n_samples=n_samples,
            n_chains=n_chains, seed=seed, split=halves,
        )  # fmt: skip
    note(f"completion: {name}, run {seed}: scored")
    return curve


def report(name: str, how: str, train: Corpus, test: Corpus, curves: Sequence[Curve]) -> str:
    """Tables of one corpus, and whether the paper's claims hold on it."""
    points = list(curves[0])
    parts = [
        f"**{name}**: {train.n_docs:,} training documents ({train.n_tokens:,} tokens), {test.n_docs:,} test documents "
        f"({test.n_tokens:,} tokens); {how}. Mean ± standard deviation over {len(curves)} runs."
    ]
    for n_chains in dict.fromkeys(chains for chains, _ in points):
        rows = [
            [n, *(spread([curve[n_chains, n][pair] for curve in curves]) for pair in NAMES)]
            for chains, n in points
            if chains == n_chains
        ]
        head = "samples, one chain" if n_chains == 1 else f"samples from each of {n_chains} chains"
        parts.append(table([head, *NAMES.values()], rows))
    parts.append("\n".join(f"- {line}" for line in verdicts(curves)))
    return "\n\n".join(parts)


def verdicts(curves: Sequence[Curve]) -> list[str]:
    """Does one dense sample beat a standard one, and do both meet as samples are averaged?"""
    points = list(curves[0])
    first = points[0]
    one_sample = [[curve[first][pair] for pair in (BOTH, THETA_P, PLAIN)] for curve in curves]
    means = np.mean(one_sample, axis=0)
    ordered = sum(a < b < c for a, b, c in one_sample)
    holds = "holds" if means[0] < means[1] < means[2] else "DOES NOT HOLD"
    shown = " < " if holds == "holds" else ", "
    lines = [
        f"One sample, φᵖ+θᵖ < φ+θᵖ < φ+θ: **{holds}** on average ({shown.join(f'{m:.1f}' for m in means)}), and in "
        f"{ordered} of {len(curves)} runs."
    ]
    for n_chains in dict.fromkeys(chains for chains, _ in points):
        least, most = (f([n for chains, n in points if chains == n_chains]) for f in (min, max))
        gaps = [np.mean([c[n_chains, n][PLAIN] - c[n_chains, n][THETA_P] for c in curves]) for n in (least, most)]
        close = "converge" if abs(gaps[1]) < abs(gaps[0]) else "do NOT converge"
        lines.append(
            f"{n_chains} chain{'s' if n_chains > 1 else ''}: θ and θᵖ **{close}**: perplexity of φ+θ less that of "
            f"φ+θᵖ is {gaps[0]:.1f} with {least} and {gaps[1]:.2f} with {most} samples per chain."
        )
    last = max(points, key=lambda point: point[0] * point[1])
    gain = np.mean([curve[last][THETA_P] - curve[last][BOTH] for curve in curves])
    wins = sum(curve[last][BOTH] < curve[last][THETA_P] for curve in curves)
    lines.append(
        f"φᵖ against φ at the most samples ({last[0]} × {last[1]}): φᵖ+θᵖ is {gain:.1f} below φ+θᵖ, lower in {wins} of "
        f"{len(curves)} runs, so the advantage of φᵖ {'stays' if gain > 0 else 'DOES NOT STAY'}."
    )
    return lines

"""Compound LDA on documents drawn from the model: section 3.2 with table 1, and figure 4."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from reproduce._common import note, spread, table
from topicloom import CompoundLDA
from topicloom._types import FloatArray
from topicloom.datasets import synthetic_compound

METHODS: dict[str, dict[str, Any]] = {
    "AGS": {"method": "ags"},
    "MGS, one step per sweep": {"method": "mgs", "method_options": {"n_langevin": 1}},
    "MGS, five steps": {"method": "mgs", "method_options": {"n_langevin": 5}},
    "VEM": {"method": "vem", "method_options": {"tol": 1e-4}},
}
PAPER = {"AGS": "42, 23", "MGS, one step per sweep": "248, 139", "MGS, five steps": "", "VEM": "never"}
NEAR = 0.1  # L1 distance to the posterior mean


@dataclass(frozen=True)
class Run:
    """One method on one corpus, topics matched to the true ones."""

    reached: float  # sweep from which on the first draw near the posterior mean came; inf: none
    last: FloatArray  # [J] L1 error of the last draw
    mean: FloatArray  # [J] of the posterior mean
    within: bool  # an error of at most 0.07 in both collections, at some sweep
    iterations: int


def aligned(found: FloatArray, truth: FloatArray) -> FloatArray:
    """For each true topic the one found topic that is matched to it, so that distances sum to the least."""
    return np.asarray(linear_sum_assignment(cdist(truth, found, "cityblock"))[1])


def one_corpus(seed: int, sweeps: int, doc_length: int) -> dict[str, Run]:
    data = synthetic_compound(2, 100, 40, 3, doc_length=doc_length, alpha=0.1, gamma=1.0, eta=0.25, seed=seed)
    runs: dict[str, Run] = {}
    reference: FloatArray | None = None
    for name, how in METHODS.items():
        trace: list[FloatArray] = []

        def watch(chain: Any, trace: list[FloatArray] = trace) -> None:
            tau = chain.state.tau if hasattr(chain.state, "tau") else None
            trace.append(chain.extra.pi if tau is None else tau / tau.sum(axis=1, keepdims=True))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = CompoundLDA(
                3, collection_prior=0.1, concentration=1.0, topic_word_prior=0.25, max_iter=sweeps, thin=1,
                trace_every=sweeps, estimator="standard", random_state=seed, **how,
            ).fit(data.corpus, callbacks=[watch])  # fmt: skip
        order = aligned(model.topic_word_, data.phi)
        draws = np.array(trace)[:, :, order]
        mean = model.pi_[:, order]
        if reference is None:
            reference = mean
        near = np.abs(draws - reference).sum(axis=2).max(axis=1) <= NEAR
        error = np.abs(draws - data.pi).sum(axis=2)
        runs[name] = Run(
            float(np.argmax(near) + 1) if near.any() else np.inf, error[-1], np.abs(mean - data.pi).sum(axis=1),
            bool((error.max(axis=1) <= 0.07).any()), len(draws),
        )  # fmt: skip
    note(f"synthetic: corpus {seed}: {', '.join(f'{name} {run.reached:.0f}' for name, run in runs.items())}")
    return runs


def study(n_corpora: int, sweeps: int, doc_length: int) -> str:
    runs = [one_corpus(seed, sweeps, doc_length) for seed in range(n_corpora)]
    rows = []
    for name in METHODS:
        own = [run[name] for run in runs]
        reached = np.array([run.reached for run in own])
        rows.append(
            [
                name,
                f"{np.median(reached):.0f}" if np.isfinite(np.median(reached)) else "never",
                f"{np.isfinite(reached).mean():.0%}",
                f"{np.mean([run.within for run in own]):.0%}",
                spread([float(run.last.mean()) for run in own], 3),
                spread([float(run.mean.mean()) for run in own], 3),
                f"{np.median([run.mean.mean() for run in own]):.3f}",
                f"{np.median([run.iterations for run in own]):.0f}",
                PAPER[name],
            ]
        )
    header = [
        "method", f"sweeps to within {NEAR} of the posterior mean, median", "chains that got there",
        "within 0.07 of the truth at some sweep", "L1 error of the last draw",
        "of the posterior mean", "its median", "iterations",
        "sweeps to the region, paper",
    ]  # fmt: skip
    return (
        f"{n_corpora} corpora, K = 3, J = 2, V = 40, 100 documents of {doc_length} words in each collection, "
        f"(α, γ, η) = (0.1, 1, 0.25), known; {sweeps} sweeps, π starts flat. The posterior mean is that of AGS. Errors "
        "are means over the two collections; mean ± standard deviation over corpora.\n\n" + table(header, rows)
    )


def gibbs_em(n_runs: int, sweeps: int) -> str:
    """Figure 4: η and γ from (1, 1), on one corpus with different chains, and on different corpora."""

    def learn(corpus_seed: int, seed: int) -> tuple[float, float]:
        data = synthetic_compound(2, 100, 40, 3, doc_length=200, alpha=1.0, gamma=0.8, eta=0.5, seed=corpus_seed)
        model = CompoundLDA(
            3, concentration=1.0, topic_word_prior=1.0, learn_priors=True, max_iter=sweeps, trace_every=10,
            random_state=seed,
        ).fit(data.corpus)  # fmt: skip
        late = slice(len(model.trace_.sweep) // 2, None)  # each step's maximum wanders with its sample: their mean
        return float(np.mean(model.trace_.beta_mean[late])), float(np.mean(model.trace_.alpha_sum[late]))

    rows = []
    for what, pairs in (
        ("one corpus, different chains", [(0, seed) for seed in range(n_runs)]),
        ("different corpora", [(seed, seed) for seed in range(n_runs)]),
    ):
        found: Sequence[tuple[float, float]] = [learn(*pair) for pair in pairs]
        note(f"gibbs-em: {what}: done")
        etas, gammas = [eta for eta, _ in found], [gamma for _, gamma in found]
        rows.append([what, spread(etas, 3), spread(gammas, 3), f"{min(etas):.3f} to {max(etas):.3f}",
                     f"{min(gammas):.3f} to {max(gammas):.3f}"])  # fmt: skip
    header = [f"{n_runs} runs", "η (truth 0.5)", "γ (truth 0.8)", "range of η", "range of γ"]
    return (
        f"K = 3, J = 2, V = 40, 100 documents of 200 words in each collection, α = 1; from (η, γ) = (1, 1), {sweeps} "
        "sweeps of AGS, the mean of the second half's steps.\n\n" + table(header, rows)
    )

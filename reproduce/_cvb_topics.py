"""CGS_p section 5.5, figures 4, 5 and 14: perplexity and training likelihood against the number of topics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduce._common import load_split, note, table, train, word_topic_prob
from reproduce._variational import normal, symmetric, variational_states
from topicloom._types import FloatArray
from topicloom.corpus import Corpus, split_halves
from topicloom.engine.estimates import Estimator, theta, topic_counts
from topicloom.evaluation import completion_perplexities, log_likelihood
from topicloom.lda.variational import batch as v

ALPHA, BETA = 0.1, 0.01
METHODS = ("CGS", "CGS_p", "CVB0", "VB")
ESTIMATOR: dict[str, Estimator] = {"CGS": "standard", "CGS_p": "cgs_p"}
Scores = dict[tuple[str, int], float]  # {(method, iterations): value}


@dataclass(frozen=True)
class Budget:
    n_topics: Sequence[int] = (20, 50, 100, 200, 300, 500)
    iterations: Sequence[int] = (10, 25, 50, 100, 200, 400)  # at which the training likelihood is taken
    trained: int = 200  # at which perplexity is taken; one of the above
    predicted: int = 200
    max_docs: int | None = None


def section(data: Path, budget: Budget, name: str = "reuters21578") -> str:
    training, test, how = load_split(data, name, budget.max_docs)
    halves = split_halves(test)
    perplexity: dict[int, dict[str, float]] = {}
    likelihood: dict[int, Scores] = {}
    for n_topics in budget.n_topics:
        perplexity[n_topics], likelihood[n_topics] = {}, {}
        _run_gibbs(training, test, halves, n_topics, budget, perplexity[n_topics], likelihood[n_topics])
        for method in ("CVB0", "VB"):
            _run_variational(
                method, training, halves, n_topics, budget, perplexity[n_topics], likelihood[n_topics]
            )  # fmt: skip
        note(f"topics: K = {n_topics}: {perplexity[n_topics]}")
    text = [
        f"{name}: {training.n_docs:,} training and {test.n_docs:,} test documents ({how}); α = {ALPHA}, "
        f"β = {BETA}, one run. Perplexity of held-out halves after {budget.trained} iterations, each method with its "
        "own θ:",
        table(["K", *METHODS], [[k, *(f"{perplexity[k][m]:.0f}" for m in METHODS)] for k in budget.n_topics]),
        "Log likelihood per training token against iterations (figure 5):",
        table(
            ["K, method", *(str(i) for i in budget.iterations)],
            [[f"{k}, {m}", *(f"{likelihood[k][m, i]:.3f}" for i in budget.iterations)]
             for k in budget.n_topics for m in METHODS],
        ),
        "\n".join(f"- {line}" for line in verdicts(perplexity, likelihood, budget)),
    ]  # fmt: skip
    return "\n\n".join(text)


def _run_gibbs(
    training: Corpus, test: Corpus, halves: tuple[Corpus, Corpus], n_topics: int, budget: Budget,
    perplexity: dict[str, float], likelihood: Scores,
) -> None:  # fmt: skip
    for iteration, chain in zip(
        budget.iterations, train(training, n_topics, budget.iterations, 0, alpha=ALPHA, beta=BETA), strict=True
    ):
        phis = {}
        for method, estimator in ESTIMATOR.items():
            counts = topic_counts(training, chain.state, chain.prior, estimator, words=False)
            assert counts.doc is not None
            phis[method] = word_topic_prob(training, chain, estimator)
            shares = theta(counts.doc, 1, training, chain.prior)
            likelihood[method, iteration] = log_likelihood(phis[method].T, shares, training) / training.n_tokens
        if iteration == budget.trained:
            found = completion_perplexities(
                phis["CGS"].T, phis["CGS_p"].T, np.full(n_topics, ALPHA), test, burn_in=budget.predicted, split=halves
            )
            perplexity["CGS"], perplexity["CGS_p"] = found["standard", "standard"], found["cgs_p", "cgs_p"]


def _run_variational(
    method: str, training: Corpus, halves: tuple[Corpus, Corpus], n_topics: int, budget: Budget,
    perplexity: dict[str, float], likelihood: Scores,
) -> None:  # fmt: skip
    prior = symmetric(training, n_topics, ALPHA, BETA)
    for iteration, _, state in variational_states(method, training, prior, 0, budget.iterations):
        phi = normal(state.word, 0)
        likelihood[method, iteration] = log_likelihood(phi.T, normal(state.doc, 1), training) / training.n_tokens
        if iteration == budget.trained:
            perplexity[method] = completion(method, state.word, prior.alpha[0], halves, budget.predicted)


def completion(method: str, word: FloatArray, alpha: FloatArray, halves: tuple[Corpus, Corpus], rounds: int) -> float:
    """Perplexity of the second halves, θ by the method's own update of the first."""
    observed, held_out = halves
    mode = {"CVB0": "cvb0", "VB": "vb"}[method]
    counts = v.fold_in(observed, mode, word, alpha, tol=1e-3, max_rounds=rounds)
    score = log_likelihood(normal(word, 0).T, normal(counts + alpha, 1), held_out)
    return float(np.exp(-score / held_out.n_tokens))


def verdicts(perplexity: dict[int, dict[str, float]], likelihood: dict[int, Scores], budget: Budget) -> list[str]:
    """The paper's claims, with the numbers."""
    lines = []
    for k in budget.n_topics:
        p = perplexity[k]
        order = ", ".join(f"{m} {p[m]:.0f}" for m in sorted(METHODS, key=lambda m: p[m]))
        last = budget.iterations[-1]
        best = max(METHODS, key=lambda m: likelihood[k][m, last])
        lines.append(f"K = {k}: perplexity from best to worst: {order}; highest training likelihood: {best}.")
    vb_worst = [k for k in budget.n_topics if max(METHODS, key=lambda m: perplexity[k][m]) == "VB"]
    lines.append(
        f"VB has the highest perplexity at K = {', '.join(map(str, vb_worst)) or 'none'} (paper: almost everywhere)."
    )
    better = [k for k in budget.n_topics if perplexity[k]["CGS_p"] < perplexity[k]["CGS"]]
    lines.append(f"CGS_p below CGS at K = {', '.join(map(str, better)) or 'none'} (paper: everywhere).")
    first = [k for k in budget.n_topics if perplexity[k]["CVB0"] < min(perplexity[k]["CGS"], perplexity[k]["CGS_p"])]
    lines.append(f"CVB0 below both at K = {', '.join(map(str, first)) or 'none'} (paper, on Reuters-21578: up to 200).")
    return lines

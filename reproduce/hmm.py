"""Kozdoba and Mannor, "Interdependent Gibbs samplers" (2018), section 4.1: the hidden Markov model, figures 2 and 3.

    python -m reproduce.hmm [--runs 16] [--sweeps 500] [--symbols 200000] [--high 0.19] [--figures FOLDER] [--quick]
    python -m reproduce.hmm --sweeps 10000 --looks 500 1000 3000 10000 [--methods C1 C5]

Two states that stay with probability 0.55, ten symbols, one sequence, Dir(1) priors: data log-likelihoods of the
parameters found by the collapsed (C) and partially collapsed (PC) samplers with one and five paths, by Baum-Welch (BW),
and of the truth. The sequence is simulated, so no data is needed.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from reproduce._common import describe_run, note, table
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.run import Plan, run_chains, start_chain
from topicloom.errors import InputError
from topicloom.hmm import forward_backward
from topicloom.hmm.sampler import em_sampler, estimate, gibbs_sampler
from topicloom.hmm.state import Parameters, make_hmm_prior, make_parameters

STAY = 0.55
DATA_SEED, SEED = 0, 1
SAMPLERS = {"C1": ("collapsed", 1), "C5": ("collapsed", 5), "PC1": ("partial", 1), "PC5": ("partial", 5)}


@dataclass(frozen=True)
class Settings:
    runs: int = 16
    sweeps: int = 500
    iterations: int = 2000  # of Baum-Welch, at most
    symbols: int = 200_000
    high: float = 0.19  # probability of each of a state's own symbols; the other state's have 0.2 − high
    looks: tuple[int, ...] = ()  # sweeps after which log-likelihoods are taken, beside the last
    methods: tuple[str, ...] = (*SAMPLERS, "BW")


QUICK = Settings(runs=2, sweeps=3, iterations=5, symbols=2000)


def emissions(high: float) -> FloatArray:
    """[2, 10]: the first state prefers the even symbols, the second the odd ones."""
    even = np.where(np.arange(10) % 2 == 0, high, 0.2 - high)
    return np.array([even, even[::-1]])


def truth(high: float) -> Parameters:
    transition = np.array([[STAY, 1 - STAY], [1 - STAY, STAY]])
    return make_parameters(np.full(2, 0.5), transition, emissions(high))


def sequence(n_symbols: int, high: float) -> Corpus:
    _, (symbols,) = forward_backward.simulate(truth(high), np.array([n_symbols]), DATA_SEED)
    return Corpus(symbols, np.array([0, n_symbols]), tuple(map(str, range(10))), ordered=True)


@dataclass
class Found:
    """Where the runs of one method ended, in ascending order of log-likelihood."""

    values: FloatArray
    emission: FloatArray  # [2, 10] of the last
    looks: dict[int, FloatArray] = field(default_factory=dict)  # of all runs, in their own order, after some sweeps


def run_all(corpus: Corpus, method: str, settings: Settings) -> Found:
    """All runs of one method; the starts of one number are the same parameters for every method."""
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 10)))
    em = method == "BW"
    sampler = em_sampler(1e-3, prior) if em else gibbs_sampler(*SAMPLERS[method], prior)
    max_iter = settings.iterations if em else settings.sweeps
    plan = Plan(seed=SEED, max_iter=max_iter, burn_in=None, thin=1, estimator="standard", trace_every=10**9)
    stops = [] if em else [sweep for sweep in settings.looks if sweep < max_iter]
    found, looks = [], np.empty((len(stops) + 1, settings.runs))
    for run in range(settings.runs):
        chain = start_chain(sampler, corpus, prior, plan.seed, run)
        for i, stop in enumerate([*stops, max_iter]):
            if run_chains(sampler, corpus, [chain], replace(plan, max_iter=stop)):
                raise KeyboardInterrupt
            known = estimate(corpus, chain, plan.estimator)
            given = Parameters(known.moves, known.emission)
            looks[i, run] = forward_backward.log_likelihoods(corpus, given).sum()
            note(f"{method}, run {run + 1} of {settings.runs}: {looks[i, run]:.1f} after {chain.sweep}")
        found.append((float(looks[-1, run]), given))
    found.sort(key=lambda pair: pair[0])
    by_look = dict(zip([*stops, max_iter], looks, strict=True))
    return Found(np.array([value for value, _ in found]), found[-1][1].emission.T, {} if em else by_look)


def one_symbol_at_a_time(corpus: Corpus) -> float:
    """Log-likelihood of independent symbols: what a model that sees no states can reach."""
    n = corpus.word_counts[corpus.word_counts > 0]
    return float(np.sum(n * np.log(n / n.sum())))


def verdicts(found: dict[str, Found], level: float, independent: float) -> list[str]:
    """What holds of the paper's claims, with the figures."""
    middle = {method: float(np.median(f.values)) - level for method, f in found.items()}
    lines = []
    for one, five in (("C1", "C5"), ("PC1", "PC5")):
        if one not in found or five not in found:
            continue
        verb = "holds" if middle[five] > middle[one] else "DOES NOT HOLD"
        lines.append(
            f"Multipath's median above one path's, {five} over {one}: {verb} ({middle[five]:+.1f} against "
            f"{middle[one]:+.1f})."
        )
    half = (independent - level) / 2
    stuck = ", ".join(f"{m} {int(np.sum(f.values - level < half))} of {len(f.values)}" for m, f in found.items())
    lines.append(
        f"Runs that ended nearer to independent symbols ({independent - level:+.1f}) than to the truth: {stuck}."
    )
    above = ", ".join(f"{m} {int(np.sum(f.values > level))}" for m, f in found.items())
    lines.append(f"Runs above the truth's log-likelihood: {above}.")
    return lines


def report(corpus: Corpus, found: dict[str, Found], high: float) -> str:
    level = float(forward_backward.log_likelihoods(corpus, truth(high)).sum())
    independent = one_symbol_at_a_time(corpus)
    n_runs = max(len(f.values) for f in found.values())
    rows: list[list[str]] = [
        [str(rank + 1), *(f"{f.values[rank] - level:+.1f}" for f in found.values())] for rank in range(n_runs)
    ]
    rows.append(["**median**", *(f"**{np.median(f.values) - level:+.1f}**" for f in found.values())])
    name = "C5" if "C5" in found else next(iter(found))
    best = found[name]
    order = [0, 1] if best.emission[0, 0] > best.emission[1, 0] else [1, 0]
    shown = [
        [f"state {k + 1}, {name}", *(f"{p:.3f}" for p in matrix[k])]
        for k in range(2)
        for name, matrix in (("truth", emissions(high)), ("found", best.emission[order]))
    ]
    return "\n\n".join(
        [
            f"Log-likelihood of the truth: {level:.1f}; of independent symbols {independent - level:+.1f} from it. "
            "Final log-likelihoods, less the truth's, in ascending order (figure 2):",
            table(["run", *found], rows),
            "\n".join(f"- {line}" for line in verdicts(found, level, independent)),
            f"Emissions of the {name} run with the highest likelihood (figure 3):",
            table(["symbol", *map(str, range(10))], shown),
            *([on_the_way(found, level, independent)] if any(len(f.looks) > 1 for f in found.values()) else []),
        ]
    )


def on_the_way(found: dict[str, Found], level: float, independent: float) -> str:
    """How many runs were nearer to independent symbols than to the truth after some sweeps, and all medians."""
    half, sampled = (independent - level) / 2, {m: f for m, f in found.items() if f.looks}
    sweeps = list(next(iter(sampled.values())).looks)

    def stand(values: FloatArray) -> str:
        return f"{int(np.sum(values - level < half))} of {len(values)} ({np.median(values) - level:+.1f})"

    rows = [[str(sweep), *(stand(f.looks[sweep]) for f in sampled.values())] for sweep in sweeps]
    return table(["sweeps", *(f"{m}: on the plateau (median)" for m in sampled)], rows)


def draw(corpus: Corpus, found: dict[str, Found], high: float, folder: Path) -> Path:
    """Figure 2."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    level = float(forward_backward.log_likelihoods(corpus, truth(high)).sum())
    figure, axes = pyplot.subplots(figsize=(5.5, 3.8), layout="constrained")
    for method, f in found.items():
        axes.plot(np.arange(1, len(f.values) + 1), f.values - level, marker="o", markersize=3, label=method)
    axes.axhline(0, color="black", linewidth=0.8, label="truth")
    axes.set_xlabel("run, in ascending order")
    axes.set_ylabel("log-likelihood − truth's")
    axes.legend()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hmm.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
    return path


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduce.hmm", description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=Settings.runs)
    parser.add_argument("--sweeps", type=int, default=Settings.sweeps)
    parser.add_argument("--symbols", type=int, default=Settings.symbols)
    parser.add_argument("--high", type=float, default=Settings.high, help="probability of a state's own symbols")
    parser.add_argument("--looks", type=int, nargs="*", default=[], help="sweeps at which runs are looked at")
    parser.add_argument("--methods", nargs="+", choices=Settings.methods, default=Settings.methods)
    parser.add_argument("--figures", type=Path, help="folder to draw figure 2 into")
    parser.add_argument("--quick", action="store_true", help="a trial of the program, not of the claim")
    given = parser.parse_args(arguments)
    if min(given.runs, given.sweeps, given.symbols) < 1:
        parser.error("--runs, --sweeps and --symbols must be at least 1")
    if not 0.1 < given.high < 0.2:
        parser.error("--high must lie between 0.1 (no difference) and 0.2 (no overlap)")
    chosen = Settings(
        runs=given.runs, sweeps=given.sweeps, symbols=given.symbols, high=given.high, looks=tuple(sorted(given.looks)),
        methods=tuple(given.methods),
    )  # fmt: skip
    settings = QUICK if given.quick else chosen
    corpus = sequence(settings.symbols, settings.high)
    found = {method: run_all(corpus, method, settings) for method in settings.methods}
    print(describe_run("reproduce.hmm", arguments) + "\n")
    print(
        f"Two states, staying probability {STAY}; ten symbols: a state emits each of its own five with probability "
        f"{settings.high:g}, each of the other's with {0.2 - settings.high:g}. {settings.symbols:,} symbols in one "
        f"sequence; Dir(1) priors; {settings.runs} runs of {settings.sweeps} sweeps, and of Baum-Welch with at most "
        f"{settings.iterations} iterations (converged at a rise of 0.001).\n"
    )
    print(report(corpus, found, settings.high))
    if given.figures is not None:
        note(f"drawn: {draw(corpus, found, settings.high, given.figures)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")

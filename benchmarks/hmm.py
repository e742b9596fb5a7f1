"""Baum-Welch and Viterbi beside hmmlearn's, and the samplers' sweeps, all on one thread, taken in turn.

    python -m benchmarks.hmm [--symbols 200000] [--states 2 20] [--iterations 5] [--rounds 5] [--paths 1 2 5]
                             [--features 3] [--only symbols numbers sweeps] [--clock cpu]

Needs ``topicloom[bench]``. hmmlearn runs its faster, scaling form. Both start from the same parameters and do the same
number of iterations without a test of convergence; the log-likelihoods that they reach are to agree to 1e-6, and the
log probabilities of their best paths, sums of as many terms as there are symbols, to 1e-5. Numbers are compared with
its GaussianHMM, with variances and with full covariances, and flat priors in both. The sequences are simulated, so no
data is needed.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, rival, table
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.sampler import Key
from topicloom.errors import InputError, MissingExtraError
from topicloom.hmm import em as hmm_em
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.emissions.choices import make_emission
from topicloom.hmm.observations import as_rows, read_numbers
from topicloom.hmm.state import HMMPrior, Known, Parameters, make_hmm_prior, make_known, make_parameters, stacked

SEED = 1
PARTS = ("symbols", "numbers", "sweeps")
Usual = tuple[FloatArray, FloatArray, FloatArray]  # initial [K], transition [K, K], emission [K, V]


def drawn_parameters(n_states: int, n_symbols: int, seed: int) -> Usual:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(n_states), n_states) * 0.5 + 0.5 * np.eye(n_states)
    return rng.dirichlet(np.ones(n_states)), transition, rng.dirichlet(np.ones(n_symbols), n_states)


def simulated(n_symbols: int, n_states: int, length: int) -> Corpus:
    given = make_parameters(*drawn_parameters(n_states, n_symbols, SEED))
    _, (symbols,) = forward_backward.simulate(given, np.array([length]), SEED)
    return Corpus(symbols, np.array([0, length]), tuple(map(str, range(n_symbols))), ordered=True)


def flat(n_states: int, n_symbols: int) -> HMMPrior:
    return make_hmm_prior(np.ones(n_states), np.ones((n_states, n_states)), np.ones((n_states, n_symbols)))


class Ours:
    def __init__(self, corpus: Corpus, start: Usual, iterations: int) -> None:
        self._corpus, self._start, self._iterations = corpus, make_known(*start), iterations
        self._prior = flat(len(start[0]), corpus.n_words)
        self.found = Parameters(self._start.moves, self._start.emission)

    def fit(self) -> None:
        given = self._start
        for _ in range(self._iterations):
            given, _ = hmm_em.iterate(self._corpus, given, self._prior)
        self.found = Parameters(given.moves, given.emission)

    def decode(self) -> None:
        self.best = float(forward_backward.best_paths(self._corpus, self.found)[0].sum())

    def score(self) -> float:
        return float(forward_backward.log_likelihoods(self._corpus, self.found).sum())


class Hmmlearn:
    def __init__(self, module: Any, corpus: Corpus, start: Usual, iterations: int) -> None:
        self._X = np.asarray(corpus.words, np.int64)[:, None]
        self._start, self._n_symbols = start, corpus.n_words
        self._model = module.CategoricalHMM(
            len(start[0]), n_iter=iterations, tol=-np.inf, implementation="scaling", init_params="",
            n_features=corpus.n_words,
        )  # fmt: skip

    def fit(self) -> None:
        model = self._model
        model.startprob_, model.transmat_, model.emissionprob_ = (values.copy() for values in self._start)
        model.fit(self._X)

    def decode(self) -> None:
        self.best = float(self._model.decode(self._X)[0])

    def score(self) -> float:
        return float(self._model.score(self._X))


@dataclass(frozen=True)
class NumberStart:
    """Where both begin with numbers: covariances are variances [K, F] or matrices [K, F, F]."""

    initial: FloatArray
    transition: FloatArray
    means: FloatArray
    covars: FloatArray


def simulated_numbers(n_places: int, n_states: int, n_features: int) -> tuple[FloatArray, NumberStart, NumberStart]:
    """Numbers of states that lie about two standard deviations apart, and starting values of both forms."""
    rng = np.random.default_rng(SEED)
    initial, transition, _ = drawn_parameters(n_states, 2, SEED)
    path = np.empty(n_places, np.int64)
    path[0] = rng.choice(n_states, p=initial)
    cumulated, drawn = transition.cumsum(axis=1), rng.random(n_places)
    for t in range(1, n_places):
        path[t] = min(int(np.searchsorted(cumulated[path[t - 1]], drawn[t])), n_states - 1)
    centres = 2 * rng.standard_normal((n_states, n_features))
    mixing = np.eye(n_features) + 0.3 * rng.standard_normal((n_states, n_features, n_features))
    values = centres[path] + np.einsum("tij,tj->ti", mixing[path], rng.standard_normal((n_places, n_features)))
    first, moves, _ = drawn_parameters(n_states, 2, SEED + 1)
    means = values[rng.choice(n_places, n_states, replace=False)]
    spread = np.cov(values.T).reshape(n_features, n_features)
    diagonal = NumberStart(first, moves, means, np.tile(np.diag(spread), (n_states, 1)))
    return values, diagonal, NumberStart(first, moves, means, np.tile(spread, (n_states, 1, 1)))


class OurNumbers:
    def __init__(self, values: FloatArray, start: NumberStart, iterations: int) -> None:
        k, kind = len(start.initial), "gaussian" if start.covars.ndim == 2 else "gaussian_full"
        self._seen = as_rows(read_numbers(values, None, kind), kind)
        emission = make_emission(kind, k, None, 0, self._seen, maximum=True)
        self._prior = HMMPrior(np.ones((k + 1, k)), emission)
        own = emission.from_state({"means": start.means, "covars": start.covars})
        self._start, self._iterations = Known(stacked(start.initial, start.transition), own), iterations
        self._known = self._start

    def fit(self) -> None:
        self._known = hmm_em.improved(self._seen, self._start, self._prior, self._iterations)

    def decode(self) -> None:
        given, top = gibbs.on_rows(self._known, self._seen, self._prior)
        taken = 0.0 if top is None else float(top[self._seen.rows].sum())
        self.best = float(forward_backward.best_paths(self._seen, given)[0].sum()) + taken

    def score(self) -> float:
        return hmm_em.log_likelihood(self._seen, self._known, self._prior)


class HmmlearnNumbers:
    def __init__(self, module: Any, values: FloatArray, start: NumberStart, iterations: int) -> None:
        self._X, self._start = values, start
        self._model = module.GaussianHMM(
            len(start.initial), "diag" if start.covars.ndim == 2 else "full", n_iter=iterations, tol=-np.inf,
            implementation="scaling", init_params="", covars_prior=0, covars_weight=1,
        )  # fmt: skip
        self._model.n_features = values.shape[1]

    def fit(self) -> None:
        model, start = self._model, self._start
        model.startprob_, model.transmat_ = start.initial.copy(), start.transition.copy()
        model.means_, model.covars_ = start.means.copy(), start.covars.copy()
        model.fit(self._X)

    def decode(self) -> None:
        self.best = float(self._model.decode(self._X)[0])

    def score(self) -> float:
        return float(self._model.score(self._X))


def in_pairs(label: str, ours: Any, theirs: Any, given: argparse.Namespace) -> list[list[str]]:
    """Two rows: Baum-Welch and Viterbi."""
    rows = []
    for name, work, per in (("Baum-Welch, an iteration", "fit", given.iterations), ("Viterbi", "decode", 1)):
        for tool in (ours, theirs):
            getattr(tool, work)()  # compiles, or prepares, and is not counted
        seconds = in_turn([getattr(ours, work), getattr(theirs, work)], given.rounds, given.clock)
        ns = [float(np.median(taken)) / per / given.symbols * 1e9 for taken in seconds]
        apart = abs(ours.score() - theirs.score()) if work == "fit" else abs(ours.best - theirs.best)
        rows.append([f"{name}, {label}", f"{ns[0]:.1f}", f"{ns[1]:.1f}", f"{ns[1] / ns[0]:.1f}", f"{apart:.1e}"])
    return rows


def compare_symbols(module: Any, corpus: Corpus, n_states: int, given: argparse.Namespace) -> list[list[str]]:
    start = drawn_parameters(n_states, corpus.n_words, SEED + 1)
    ours, theirs = Ours(corpus, start, given.iterations), Hmmlearn(module, corpus, start, given.iterations)
    return in_pairs(f"symbols, K = {n_states}", ours, theirs, given)


def compare_numbers(module: Any, n_states: int, given: argparse.Namespace) -> list[list[str]]:
    values, *starts = simulated_numbers(given.symbols, n_states, given.features)
    rows = []
    for name, start in zip(("variances", "full covariances"), starts, strict=True):
        tools = OurNumbers(values, start, given.iterations), HmmlearnNumbers(module, values, start, given.iterations)
        rows += in_pairs(f"{name}, K = {n_states}", *tools, given)
    return rows


def sweeps(corpus: Corpus, n_states: int, paths: Sequence[int], rounds: int, clock: str) -> list[list[str]]:
    """A row a sampler and number of paths; their sweeps take turns."""
    prior = flat(n_states, corpus.n_words)
    rows = []
    for sampler in gibbs.SAMPLERS:
        states = [gibbs.init(corpus, prior, m, Key(SEED, 0, 0)) for m in paths]
        done = [0] * len(paths)

        def sweep(i: int, sampler: str = sampler, states: Any = states, done: Any = done) -> None:
            done[i] += 1
            states[i], _ = gibbs.sweep(corpus, states[i], prior, Key(SEED, 0, done[i]), sampler)

        for i in range(len(paths)):
            sweep(i)
        seconds = in_turn([lambda i=i: sweep(i) for i in range(len(paths))], rounds, clock)  # type: ignore[misc]
        medians = [float(np.median(taken)) for taken in seconds]
        for m, median in zip(paths, medians, strict=True):
            rate = m * corpus.n_tokens / median / 1e6
            cells = [f"{1000 * median:.1f}", f"{rate:.1f}", f"{median / medians[0] / (m / paths[0]):.2f}"]
            rows.append([f"{sampler}, K = {n_states}", str(m), *cells])
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hmm", description=__doc__.split("\n\n")[0])
    parser.add_argument("--symbols", type=int, default=200_000, help="length of the sequence")
    parser.add_argument("--states", nargs="+", type=int, default=[2, 20])
    parser.add_argument("--iterations", type=int, default=5, help="of Baum-Welch in a fit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--paths", nargs="+", type=int, default=[1, 2, 5])
    parser.add_argument("--features", type=int, default=3, help="numbers at a place")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu", help="cpu: a busy machine does not count")
    given = parser.parse_args(arguments)
    if min(given.symbols, given.iterations, given.rounds, given.features, *given.states, *given.paths) < 1:
        parser.error("all numbers must be at least 1")
    rival("hmmlearn")
    module = rival("hmmlearn.hmm")
    compared, swept = [], []
    for n_states in given.states:
        print(f"K = {n_states}", file=sys.stderr, flush=True)
        corpus = simulated(10 if n_states <= 10 else 50, n_states, given.symbols)
        if "symbols" in given.only:
            compared += compare_symbols(module, corpus, n_states, given)
        if "numbers" in given.only:
            compared += compare_numbers(module, n_states, given)
        if "sweeps" in given.only:
            swept += sweeps(corpus, n_states, given.paths, 3 * given.rounds, given.clock)
    command = " ".join(["python -m benchmarks.hmm", *arguments])
    print(
        f"`{command}`\n\n{machine(rival('hmmlearn'))}\n\nOne sequence of {given.symbols:,} symbols; 10 kinds of symbol "
        f"up to 10 states, 50 beyond; {given.features} numbers at a place; one thread; {given.clock} time, medians of "
        f"{given.rounds} rounds in turn.\n"
    )
    if compared:
        print(table(["", "ns a place, topicloom", "hmmlearn (scaling)", "times as fast", "log P apart"], compared))
        print()
    if swept:
        print(table(["sweep", "paths m", "ms", "M symbols · paths/s", "time / (m · plain)"], swept))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

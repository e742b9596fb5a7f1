"""Baum-Welch and Viterbi beside hmmlearn's, and the samplers' sweeps, all on one thread, taken in turn.

    python -m benchmarks.hmm [--symbols 200000] [--states 2 20] [--iterations 5] [--rounds 5] [--paths 1 2 5]
                             [--clock cpu]

Needs ``topicloom[bench]``. hmmlearn runs its faster, scaling form. Both start from the same parameters and do the same
number of iterations without a test of convergence; the log-likelihoods that they reach, and the log probabilities of
their best paths, are to agree to 1e-6. The sequence is simulated, so no data is needed.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._common import CLOCKS, in_turn, machine, rival, table
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.sampler import Key
from topicloom.errors import InputError, MissingExtraError
from topicloom.hmm import em as hmm_em
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.state import HMMPrior, Parameters, make_hmm_prior, make_known, make_parameters

SEED = 1
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


def compare(module: Any, corpus: Corpus, n_states: int, iterations: int, rounds: int, clock: str) -> list[list[str]]:
    """Two rows: Baum-Welch and Viterbi."""
    start = drawn_parameters(n_states, corpus.n_words, SEED + 1)
    ours, theirs = Ours(corpus, start, iterations), Hmmlearn(module, corpus, start, iterations)
    rows = []
    for name, work, per in (("Baum-Welch, an iteration", "fit", iterations), ("Viterbi", "decode", 1)):
        for tool in (ours, theirs):
            getattr(tool, work)()  # compiles, or prepares, and is not counted
        seconds = in_turn([getattr(ours, work), getattr(theirs, work)], rounds, clock)
        ns = [float(np.median(taken)) / per / corpus.n_tokens * 1e9 for taken in seconds]
        apart = abs(ours.score() - theirs.score()) if work == "fit" else abs(ours.best - theirs.best)
        rows.append([f"{name}, K = {n_states}", f"{ns[0]:.1f}", f"{ns[1]:.1f}", f"{ns[1] / ns[0]:.1f}", f"{apart:.1e}"])
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
    parser.add_argument("--clock", choices=CLOCKS, default="cpu", help="cpu: a busy machine does not count")
    given = parser.parse_args(arguments)
    if min(given.symbols, given.iterations, given.rounds, *given.states, *given.paths) < 1:
        parser.error("all numbers must be at least 1")
    rival("hmmlearn")
    module = rival("hmmlearn.hmm")
    compared, swept = [], []
    for n_states in given.states:
        print(f"K = {n_states}", file=sys.stderr, flush=True)
        corpus = simulated(10 if n_states <= 10 else 50, n_states, given.symbols)
        compared += compare(module, corpus, n_states, given.iterations, given.rounds, given.clock)
        swept += sweeps(corpus, n_states, given.paths, 3 * given.rounds, given.clock)
    command = " ".join(["python -m benchmarks.hmm", *arguments])
    print(
        f"`{command}`\n\n{machine(rival('hmmlearn'))}\n\nOne sequence of {given.symbols:,} symbols; 10 kinds of symbol "
        f"up to 10 states, 50 beyond; one thread; {given.clock} time, medians of {given.rounds} rounds in turn.\n"
    )
    print(table(["", "ns a symbol, topicloom", "hmmlearn (scaling)", "times as fast", "log P apart"], compared))
    print()
    print(table(["sweep", "paths m", "ms", "M symbols · paths/s", "time / (m · plain)"], swept))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")

"""Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari and Gelman 2018).

Parameters and data are drawn from the model, then a chain is run on the data. If it draws from the posterior, the truth
is one more draw: its rank among them is uniform. Quantities do not depend on topics' numbers, so that a chain may
number them as it likes. Ties are broken at random.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy import stats

from reproduce._common import note, table
from topicloom import CompoundLDA, VariationalLDA
from topicloom._types import FloatArray, Int64Array
from topicloom.compound.mixtures import Mixing, start_mixtures
from topicloom.compound.sampler import with_mixtures
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_compound, synthetic_labeled, synthetic_lda
from topicloom.engine import probes, shards
from topicloom.engine.estimator.label_sets import read_labels
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Chain, Plan, advance, start_chain
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.hmm.sampler import gibbs_sampler
from topicloom.hmm.state import make_hmm_prior
from topicloom.labeled.sampler import gibbs as labeled_gibbs
from topicloom.lda.gibbs import get_sampler
from topicloom.medlda.sampler import Options as MedOptions
from topicloom.medlda.sampler import Tasks, medlda_sampler

# With less thinning draws depend on each other, and the truth is too rarely among their middle ones.
N_DRAWS, BURN_IN, THIN = 19, 100, 20
BINS = 10
DOCS, WORDS, TOPICS, LENGTH = 6, 8, 3, 10
ALPHA, BETA, GAMMA = (0.3, 0.6, 1.0), 0.3, 2.0
BASE = ("log joint", "same topic, one pair", "same topic, all pairs", "likeness of documents", "effective topics")


class Trial(NamedTuple):
    """One data set: what runs on it, and the quantities of its truth."""

    truth: FloatArray
    draws: Iterable[FloatArray]


class Study(NamedTuple):
    """A sampler that is to be judged."""

    name: str
    quantities: tuple[str, ...]
    trial: Callable[[int], Trial]
    exact: bool = True


class Result(NamedTuple):
    """Ranks [trials, quantities], from 0 to the number of draws."""

    study: Study
    ranks: Int64Array
    n_draws: int

    @property
    def histogram(self) -> Int64Array:
        """[quantities, BINS]."""
        bins = self.ranks * BINS // (self.n_draws + 1)
        return np.array([np.bincount(own, minlength=BINS) for own in bins.T])

    @property
    def p_values(self) -> FloatArray:
        return np.asarray([stats.chisquare(counts).pvalue for counts in self.histogram])


def run(study: Study, n_trials: int) -> Result:
    """Ranks of the truth in ``n_trials`` data sets, which are others for each study: p-values are independent."""
    ranks = np.empty((n_trials, len(study.quantities)), np.int64)
    first = crc32(study.name.encode()) << 20
    for seed in range(n_trials):
        trial, rng = study.trial(first + seed), np.random.default_rng([first, seed])
        draws = np.array(list(trial.draws))
        close = np.isclose(draws, trial.truth, rtol=1e-9, atol=1e-12)  # the same numbers, summed in another order
        less = ((draws < trial.truth) & ~close).sum(axis=0)
        ranks[seed] = less + rng.integers(0, close.sum(axis=0) + 1)
        n_draws = len(draws)
    return Result(study, ranks, n_draws)


# -- chains ----------------------------------------------------------------------------------------------------


def states(sampler: Sampler, corpus: Corpus, prior: Any, seed: int, schedule: Schedule = Schedule()) -> Iterator[Chain]:  # noqa: B008
    """The chain as it stands after each thinned sweep."""
    plan = Plan(
        seed=seed, max_iter=10**9, burn_in=None, thin=1, estimator="standard", trace_every=10**9,
        checkpoint_every=10**9, schedule=schedule,
    )  # fmt: skip
    chain = start_chain(sampler, corpus, prior, seed, 0)

    def sweeps(n: int) -> None:
        for _ in range(n if sampler.every_sweep else 1):
            advance(sampler, corpus, chain, plan, 1 if sampler.every_sweep else n)

    sweeps(BURN_IN)
    for _ in range(N_DRAWS):
        sweeps(THIN)
        yield chain


def of_topics(sampler: Sampler, corpus: Corpus, chain: Chain) -> FloatArray:
    """What ``BASE`` names."""
    prior = chain.prior
    found = probes.measure(corpus, chain.state.z, chain.state.topic, lambda d: prior.alpha[prior.alpha_row[d]])
    return np.concatenate(([sampler.log_joint(corpus, chain.state, prior, 1)], _summed(corpus, found)))


def _summed(corpus: Corpus, found: FloatArray) -> FloatArray:
    n = len(probes.probes_of(corpus).tokens)
    return np.array([found[0], found[:n].mean(), found[n:-1].mean(), found[-1]])


def chain_of(sampler: Sampler, corpus: Corpus, z: Any, prior: Any, *more: Any, extra: Any = None) -> Chain:
    """The truth, as a chain."""
    return Chain(0, 0, sampler.restore(corpus, z, *more), prior, extra=extra)


# -- what is drawn from each model -----------------------------------------------------------------------------


def lda(sampler: Sampler, name: str, schedule: Schedule = Schedule(), exact: bool = True) -> Study:  # noqa: B008
    def trial(seed: int) -> Trial:
        made = synthetic_lda(DOCS, WORDS, TOPICS, doc_length=LENGTH, alpha=ALPHA, beta=BETA, seed=seed)
        prior = make_prior(np.array(ALPHA), np.full(WORDS, BETA), DOCS)
        true = chain_of(sampler, made.corpus, made.z, prior, TOPICS)
        drawn = (of_topics(sampler, made.corpus, c) for c in states(sampler, made.corpus, prior, seed, schedule))
        return Trial(of_topics(sampler, made.corpus, true), drawn)

    return Study(name, BASE, trial, exact)


@contextmanager
def tiny_shards() -> Iterator[None]:
    """Cuts even a tiny corpus into pieces, so that parts see each other's moves late."""
    least, per_topic = shards.LEAST, shards.PER_TOPIC
    shards.LEAST = shards.PER_TOPIC = 0
    try:
        yield
    finally:
        shards.LEAST, shards.PER_TOPIC = least, per_topic


def sharded(n_shards: int) -> Study:
    plain = lda(get_sampler("dense"), f"dense, {n_shards} shards", Schedule(n_shards=n_shards), exact=False)

    def trial(seed: int) -> Trial:
        with tiny_shards():
            made = plain.trial(seed)
            return Trial(made.truth, list(made.draws))

    return plain._replace(trial=trial)


def labeled() -> Study:
    def trial(seed: int) -> Trial:
        made = synthetic_labeled(
            DOCS, WORDS, TOPICS, labels_per_doc=2.0, doc_length=LENGTH, alpha=0.7, beta=BETA, seed=seed
        )
        names, sets = read_labels(None, made.corpus)
        used = np.array([int(str(name).removeprefix("label")) for name in names])
        k, sampler = len(used), labeled_gibbs(sets)
        prior = make_prior(np.full(k, 0.7), np.full(WORDS, BETA), DOCS)
        true = chain_of(sampler, made.corpus, np.searchsorted(used, made.z), prior, k)

        def quantities(chain: Chain) -> FloatArray:
            first = float(np.sum(chain.state.z == 0))  # labels have names, so that this is the same in all draws
            return np.append(of_topics(sampler, made.corpus, chain), first)

        return Trial(quantities(true), map(quantities, states(sampler, made.corpus, prior, seed)))

    return Study("labeled", (*BASE, "tokens of the first label"), trial)


def compound(method: Any) -> Study:
    shape_rate = (2.0, 2.0)

    def trial(seed: int) -> Trial:
        rng = np.random.default_rng([seed, 2])
        alpha = float(rng.gamma(shape_rate[0], 1 / shape_rate[1]))
        made = synthetic_compound(
            2, DOCS // 2, WORDS, TOPICS, doc_length=LENGTH, alpha=alpha, gamma=GAMMA, eta=BETA, seed=seed
        )
        row = np.repeat([0, 1], DOCS // 2).astype(np.int32)
        mixing = Mixing(method, alpha_prior=shape_rate, n_steps=5, adapt_until=BURN_IN // 2)
        start = start_mixtures(np.full((2, TOPICS), 1 / TOPICS), GAMMA, np.full(TOPICS, 1.0))
        sampler = with_mixtures(get_sampler("dense"), mixing, start, row)
        prior = make_prior(start.rows(), np.full(WORDS, BETA), DOCS, alpha_row=row)
        pi = np.maximum(made.pi, 1e-150)
        extra = start_mixtures(pi, GAMMA, np.full(TOPICS, alpha))
        true = chain_of(
            sampler, made.corpus, made.z, prior._replace(alpha=extra.rows()), TOPICS, extra=extra
        )  # fmt: skip

        def quantities(chain: Chain) -> FloatArray:
            more = [float(np.sum(chain.extra.pi[0] * chain.extra.pi[1])), float(chain.extra.alpha[0])]
            return np.concatenate((of_topics(sampler, made.corpus, chain), more))

        return Trial(quantities(true), map(quantities, states(sampler, made.corpus, prior, seed)))

    return Study(f"compound, {method}", (*BASE, "likeness of collections", "learned α"), trial)


def medlda(loss: str, sampler_name: str) -> Study:
    """Losses that are a likelihood: logistic with weight 1, and ε-insensitive, whose constant does not depend on f."""
    nu, epsilon, weight = 0.5, 0.2, 1.0

    def draw_targets(rng: np.random.Generator, value: FloatArray) -> FloatArray:
        if loss == "logistic":
            return np.where(rng.random(value.shape) < 1 / (1 + np.exp(-value)), 1.0, -1.0)
        flat = rng.random(value.shape) < 2 * epsilon / (2 * epsilon + 1 / weight)
        size = np.where(
            flat, rng.uniform(0, epsilon, value.shape), epsilon + rng.exponential(0.5 / weight, value.shape)
        )
        return np.asarray(value + size * rng.choice([-1.0, 1.0], value.shape))

    def trial(seed: int) -> Trial:
        rng = np.random.default_rng([seed, 3])
        made = synthetic_lda(DOCS, WORDS, TOPICS, doc_length=LENGTH, alpha=ALPHA, beta=BETA, seed=seed)
        eta = rng.normal(size=(TOPICS, 1)) / np.sqrt(nu)
        shares = np.array([np.bincount(z, minlength=TOPICS) for z in made.z.reshape(DOCS, LENGTH)]) / LENGTH
        target = draw_targets(rng, shares @ eta)
        tasks = Tasks(target, np.full_like(target, weight), loss, epsilon, nu, [[0]])
        sampler = medlda_sampler(tasks, MedOptions(sampler=sampler_name))
        prior = make_prior(np.array(ALPHA), np.full(WORDS, BETA), DOCS)
        true = chain_of(sampler, made.corpus, made.z, prior, TOPICS, eta, np.array([0]))

        def quantities(chain: Chain) -> FloatArray:
            own = chain.state
            first = np.bincount(own.z[:LENGTH], minlength=TOPICS) @ own.eta[:, 0] / LENGTH
            return np.concatenate((of_topics(sampler, made.corpus, chain), [np.sum(own.eta**2), first]))

        return Trial(quantities(true), map(quantities, states(sampler, made.corpus, prior, seed)))

    quantities = (*BASE, "size of the weights", "value of the first document")
    return Study(f"MedLDA, {loss}, {sampler_name}", quantities, trial)


def hmm(method: str) -> Study:
    n_states, n_symbols, n_sequences, length = 2, 3, 4, 12

    def trial(seed: int) -> Trial:
        rng = np.random.default_rng([seed, 4])
        prior = make_hmm_prior(np.array([1.0, 0.5]), np.array([[1.5, 0.5], [0.7, 1.0]]), np.full((2, 3), 0.5))
        moves = np.array([rng.dirichlet(row) for row in prior.moves])
        emission = np.array([rng.dirichlet(column) for column in prior.emission.prior.T])
        z, words = np.empty((n_sequences, length), np.int64), np.empty((n_sequences, length), np.int32)
        for s, i in np.ndindex(n_sequences, length):
            z[s, i] = rng.choice(n_states, p=moves[n_states if i == 0 else z[s, i - 1]])
            words[s, i] = rng.choice(n_symbols, p=emission[z[s, i]])
        ptr = np.arange(n_sequences + 1) * length
        corpus = Corpus(words.ravel(), ptr, tuple("abc"))
        sampler = gibbs_sampler(method, 1, prior)

        def quantities(chain: Chain) -> FloatArray:
            own = chain.state
            found = _summed(corpus, probes.measure(corpus, own.z[0], np.bincount(own.z[0], minlength=n_states)))
            stays = float(np.trace(own.moves[:n_states]))
            return np.concatenate(([sampler.log_joint(corpus, own, prior)], found, [stays]))

        true = Chain(0, 0, sampler.restore(corpus, z.reshape(1, -1), n_states), prior)
        return Trial(quantities(true), map(quantities, states(sampler, corpus, prior, seed)))

    return Study(f"HMM, {method}", (*BASE, "moves to the same state"), trial)


def variational(method: Any) -> Study:
    """Draws of θ from q, in the place of a chain's: what the distribution says of documents."""
    names = ("likeness of two documents", "likeness of documents", "effective topics")

    def trial(seed: int) -> Trial:
        made = synthetic_lda(DOCS, WORDS, TOPICS, doc_length=LENGTH, alpha=ALPHA, beta=BETA, seed=seed)
        model = VariationalLDA(
            TOPICS, method=method, doc_topic_prior=ALPHA, topic_word_prior=BETA, max_iter=200, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, or found one topic only
            parameter = np.maximum(model.fit(made.corpus).chains_[0].state.doc, 1e-12)
        rng = np.random.default_rng([seed, 5])
        drawn = (np.array([rng.dirichlet(row) for row in parameter]) for _ in range(N_DRAWS))
        return Trial(_of_theta(made.theta), map(_of_theta, drawn))

    return Study(f"variational, {method}", names, trial, exact=False)


def _of_theta(theta: FloatArray) -> FloatArray:
    alike, mean = theta @ theta.T, theta.mean(axis=0)
    pairs = np.triu_indices(len(theta), 1)
    effective = np.exp(-np.sum(mean * np.log(np.maximum(mean, 1e-300))))
    return np.array([alike[0, 1], alike[pairs].mean(), effective])


def variational_compound() -> Study:
    """Draws of π from q(π)."""

    def trial(seed: int) -> Trial:
        made = synthetic_compound(
            2, DOCS // 2, WORDS, TOPICS, doc_length=LENGTH, alpha=1.0, gamma=GAMMA, eta=BETA, seed=seed
        )
        model = CompoundLDA(
            TOPICS, method="vem", concentration=GAMMA, topic_word_prior=BETA, max_iter=200, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, or found one topic only
            model.fit(made.corpus)
        return Trial(_of_pi(made.pi), map(_of_pi, model.pi_draws_[:N_DRAWS]))

    return Study("compound, vem", ("likeness of collections", "largest share"), trial, exact=False)


def _of_pi(pi: FloatArray) -> FloatArray:
    return np.array([np.sum(pi[0] * pi[1]), pi[0].max()])


# -- output ----------------------------------------------------------------------------------------------------

_BARS = "▁▂▃▄▅▆▇█"


def bars(counts: Int64Array) -> str:
    """A histogram in one line; a full bar is twice what is expected, or more."""
    heights = np.minimum(counts / (2 * counts.mean()), 1.0)
    return "".join(_BARS[min(int(h * len(_BARS)), len(_BARS) - 1)] for h in heights)


def report(studies: Iterable[Study], n_trials: int) -> tuple[str, list[tuple[str, bool, float]]]:
    """A table with a row for each sampler and quantity; and of each sampler whether it is exact, and its p-value.

    The p-value of a sampler is the least of its quantities' times their number.
    """
    rows, verdicts = [], []
    for study in studies:
        result = run(study, n_trials)
        p = min(1.0, float(result.p_values.min()) * len(result.p_values))
        verdicts.append((study.name, study.exact, p))
        note(f"sbc: {study.name}: p = {p:.2g}")
        for quantity, counts, own in zip(study.quantities, result.histogram, result.p_values, strict=True):
            rows.append([study.name, quantity, f"`{bars(counts)}`", f"{own:.2g}"])
    return table(["sampler", "quantity", f"ranks, {BINS} bins", "p"], rows), verdicts

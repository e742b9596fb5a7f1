"""Sweeps in blocks that leave the posterior exactly as it is, on any number of threads.

Parts of a round own their documents and words, so that only the topics' totals n_k couple them. They do so through the
topics' word distributions φ_k alone, of which each part needs nothing but its own words' *share* ω_kp = Σ_v φ_kv. With
n_kp and B_kp the sums of n_kv and β_kv over the words of part p, the Dirichlet distribution says that, given z,

    (ω_k1, …, ω_kP) ~ Dirichlet(n_k1 + B_k1, …, n_kP + B_kP),

and that, given the shares, the weight of topic k for a token of word v in part p and document d is

    (n_kv + β_kv) · (n_dk + α_k) · ω_kp / (n_kp + B_kp).

So shares are drawn from z, all parts then sweep their tokens with shares and totals of their own, and shares are
forgotten: two exact draws, neither refused. Parts meet where new shares are drawn, and all that travels between them
is one number per topic and part. Between meetings a part's draws depend on no other part's moves.

The functions of a stage (``prior_of_part``, ``draw_weights``, ``fill_share``, then the part's blocks) need one part's
data and the weights of all, so that parts may be in other processes.
"""

from collections.abc import Callable
from math import exp, log

import numpy as np

from topicloom._types import FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Range
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Schedule, ShardProgress
from topicloom.engine.shards import Loads, MakeDraw, start_shards, sweep_shards
from topicloom.engine.state import AnyState
from topicloom.engine.threads import private, run_parallel, run_steps, steps_in_order
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, stream
from topicloom.numerics.variates import log_gamma


def prior_of_part(prior: Prior, words: Range) -> Prior:
    """The prior with Σβ over these words alone."""
    part = slice(*words)
    seeded = prior.boost_row[part]
    boosts = prior.boost[seeded[seeded >= 0]].sum(axis=0)
    return prior._replace(beta_sum=prior.beta[part].sum() + boosts)


@kernel
def draw_weights(totals: Int64Array, beta_sum: FloatArray, stream: UInt64Array, out: FloatArray) -> None:
    """Logarithms of a part's gamma variates by topic, whose proportions between the parts are the shares."""
    for k in range(out.shape[0]):
        out[k] = log_gamma(stream, totals[k] + beta_sum[k])


@kernel
def fill_share(part: int, weights: FloatArray, out: FloatArray) -> None:
    """A part's share of each topic, from the logarithmic weights [P, K] of all."""
    for k in range(out.shape[0]):
        top = weights[part, k]
        for p in range(weights.shape[0]):
            top = max(top, weights[p, k])
        total = 0.0
        for p in range(weights.shape[0]):
            total += exp(weights[p, k] - top)
        out[k] = exp(weights[part, k] - top - log(total))


def sweep_exactly(
    progress: ShardProgress, make_draw: MakeDraw, corpus: Corpus, state: AnyState, prior: Prior, key: Key,
    schedule: Schedule, n_sweeps: int = 1, finish: Callable[[Range], object] | None = None,
) -> tuple[ShardProgress, Info]:  # fmt: skip
    """As ``shards.sweep_shards``, with shares of the topics in place of totals that lag behind.

    Parts meet after each round, or, where documents come in pieces, after each sweep.
    """
    words = [(start, stop) for start, stop in progress.words.tolist()]
    parts = _Parts(progress, make_draw, corpus, state, prior, key)
    n_steps = parts.n_steps
    between = n_steps if parts.n_pieces > 1 else 1
    work = np.zeros((len(words), 2), np.int64)

    def make_step(w: int, at: int) -> None:
        sweep, at = divmod(first + at, n_steps)
        if at == 0:
            work[w] = 0
        if at % between == 0:
            fill_share(w, weights, parts.share[w])
        work[w] += parts.draw(w, sweep, at)
        if finish and at == n_steps - 1:
            finish(words[w])

    for first in range(0, n_sweeps * n_steps, between):
        weights = np.array(run_parallel(parts.weights(first), range(len(words)), schedule.n_jobs))
        if min(schedule.n_jobs, len(words)) > 1:
            run_steps(make_step, len(words), between, parts.n_pieces, schedule.n_jobs)
        else:
            for w, at in steps_in_order(len(words), between, parts.n_pieces):
                make_step(w, at)
    state.topic[:] = sum(parts.totals)
    unseen = np.zeros_like(progress.unseen)  # of moves: parts need not see those of others
    return progress._replace(unseen=unseen), Info(*work.sum(axis=0).tolist())


def sweep_blocks_exactly(
    make_draw: MakeDraw, corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule
) -> tuple[AnyState, Info]:
    """One sweep by itself, in whole shards; as the schedule says, exactly or with totals that lag behind."""
    progress = start_shards(corpus, prior.n_topics, schedule.n_shards, Loads())
    sweep = sweep_exactly if schedule.exact and len(progress.words) > 1 else sweep_shards
    return state, sweep(progress, make_draw, corpus, state, prior, key, schedule)[1]


class _Parts:
    """What each part has of its own while sweeps last."""

    def __init__(
        self, progress: ShardProgress, make_draw: MakeDraw, corpus: Corpus, state: AnyState, prior: Prior, key: Key
    ) -> None:
        words = [(start, stop) for start, stop in progress.words.tolist()]
        self.key, self.state, self.docs = key, state, progress.docs.tolist()
        self.n_shards, self.n_pieces = progress.docs.shape[:2]
        self.n_steps = self.n_shards * self.n_pieces
        self.priors = [prior_of_part(prior, part) for part in words]
        self.share = [private(np.ones(prior.n_topics)) for _ in words]
        self.totals = [private(np.zeros(prior.n_topics, np.int64)) for _ in words]
        for part, own in zip(words, self.totals, strict=True):
            state.add_topics(part, own)
        given = zip(words, self.priors, self.share, strict=True)
        self.draws = [make_draw(corpus, part, of, share=share) for part, of, share in given]
        self.rngs = [np.zeros(0, np.uint64) for _ in words]

    def weights(self, first: int) -> Callable[[int], FloatArray]:
        """Draws a part's weights before step ``first``."""
        sweep, at = divmod(first, self.n_steps)
        key = self.key

        def draw(w: int) -> FloatArray:
            out = np.empty(len(self.share[w]))
            rng = stream(key.seed, Purpose.SHARES, key.chain, key.sweep + sweep, at, w)
            draw_weights(self.totals[w], self.priors[w].beta_sum, rng, out)
            return out

        return draw

    def draw(self, w: int, sweep: int, at: int) -> Int64Array:
        """Draw the block of a part's step in a sweep; how many tokens changed and weights were computed."""
        r, piece = divmod(at, self.n_pieces)
        s, key = (w - r) % self.n_shards, self.key
        if piece == 0:
            self.rngs[w] = private(stream(key.seed, Purpose.SWEEP, key.chain, key.sweep + sweep, r, s))
        start, stop = self.docs[s][piece]
        if start == stop:
            return np.zeros(2, np.int64)
        return self.draws[w]((start, stop), self.state._replace(topic=self.totals[w]), self.rngs[w])

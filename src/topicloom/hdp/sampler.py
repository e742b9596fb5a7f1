"""The sampler of a hierarchical Dirichlet process: topics of all tokens, then weights and concentrations."""

from typing import Any

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import PROCESS, check_prior, check_tokens
from topicloom.engine.prior import Prior
from topicloom.engine.run import Chain, Plan
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule, assignments_and_prior, record_topics
from topicloom.files.checks import Contents, Expected
from topicloom.hdp.split_merge import split_and_merge
from topicloom.hdp.state import DOC, MOST_TOPICS, REST, TOPIC, HDPState, counted, prior_of
from topicloom.hdp.topics import conditional, sweep_topics
from topicloom.hdp.weights import GammaPrior, draw_weights
from topicloom.lda.gibbs import joint
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.numerics.rng import Purpose, stream

_PAIRS = 6  # of tokens, for which a split or a merge is proposed in each sweep
_MAIN = 0.99  # of the tokens
_ROUNDING = 1e-6
_LEVEL = {"level": Expected("f8", (3,), low=0)}


def process_sampler(
    start: tuple[float, float], concentrations: tuple[GammaPrior, GammaPrior], most: int = MOST_TOPICS
) -> Sampler:
    """The sampler, with concentrations of documents and of topics as they ``start``, and at most so many topics."""

    def init(corpus: Corpus, prior: Prior, key: Key) -> HDPState:
        z, k = first_topics(corpus, prior, key), prior.n_topics
        z[:k] = np.arange(k)  # so that each has tokens
        return counted(corpus, z, prior.alpha[0].copy(), first_level(start, k))

    def sweep(corpus: Corpus, state: HDPState, prior: Prior, key: Key, schedule: Schedule) -> tuple[HDPState, Info]:
        rng = stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
        state, info = sweep_topics(corpus, state, prior, most, rng)
        state = split_and_merge(corpus, state, prior, most, _PAIRS, rng)
        rng = stream(key.seed, Purpose.TABLES, key.chain, key.sweep)
        return draw_weights(corpus, state, prior, concentrations, rng, schedule.n_jobs), info

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        check_prior(file)
        check_tokens(file)
        file.expect(_LEVEL)
        file.whole("kept", high=0)
        _check_process(file, start, concentrations, most)

    return Sampler(
        "process", init, restore, sweep, log_joint, conditional, exact=True, after_sweep=hand_over, every_sweep=True,
        record=record, recorded=PROCESS, to_arrays=to_arrays, from_arrays=from_arrays, check=check,
    )  # fmt: skip


def first_level(start: tuple[float, float], n_topics: int) -> FloatArray:
    """The level of a chain before its first sweep: all topics, and the rest, have equal weights."""
    return np.array([start[0] / (n_topics + 1), *start])


def restore(corpus: Corpus, z: AnyArray, n_topics: int) -> HDPState:
    """A state of topics with equal weights."""
    start = (1.0, 1.0)
    return counted(corpus, z, np.full(n_topics, start[0] / (n_topics + 1)), first_level(start, n_topics))


def log_joint(corpus: Corpus, state: HDPState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | β, α₀, η), θ and φ integrated out: of LDA with a topic more, which has no tokens."""
    own = prior_of(state, prior)
    with_rest = own._replace(alpha=np.append(state.alpha, state.level[REST])[None, :])
    return joint.log_joint(corpus, state, with_rest, n_jobs)


def hand_over(corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> None:
    """The topics' weights become the prior that estimates and new documents are made with."""
    chain.prior = prior_of(chain.state, chain.prior)


def record(sampler: Sampler, corpus: Corpus, chain: Chain, info: Info, plan: Plan) -> dict[str, Any]:
    found, state = record_topics(sampler, corpus, chain, info, plan), chain.state
    del found["topic_sizes"]  # which have another length in each record
    found["alpha_sum"] = float(state.level[DOC])  # that of the rest included
    found |= {"n_topics": len(state.topic), "n_main": n_main(state.topic)}
    return found | {"topic_concentration": float(state.level[TOPIC])}


def n_main(sizes: AnyArray) -> int:
    """How many of the largest topics have 99% of the tokens."""
    reached = np.cumsum(np.sort(sizes)[::-1])
    return int(np.searchsorted(reached, _MAIN * reached[-1]) + 1)


# -- what a checkpoint holds -----------------------------------------------------------------------------------------


def to_arrays(chain: Chain) -> dict[str, AnyArray]:
    return assignments_and_prior(chain) | {"level": chain.state.level}


def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    return Restored(counted(corpus, arrays["z"], prior.alpha[0].copy(), arrays["level"]), prior)


def _check_process(
    file: Contents, start: tuple[float, float], concentrations: tuple[GammaPrior, GammaPrior], most: int
) -> None:  # fmt: skip
    """Every topic has tokens; weights and the rest are those of the concentration; given ones are as given."""
    arrays, k = file.arrays, file.sizes["K"]
    if not 0 < k <= most:
        file.fail(f"it has {k} topics, expected 1 to {most}")
    if np.any(np.bincount(arrays["z"], minlength=k) == 0):
        file.fail("the array 'z' leaves a topic without tokens")
    level = arrays["level"]
    if np.any(level[DOC:] <= 0):
        file.fail("the array 'level' has a concentration that is not positive")
    file.sums_to("level", arrays["alpha"].sum() + level[REST], level[DOC])
    for given, found, by in zip(start, level[DOC:], concentrations, strict=True):
        if by.shape == 0 and given != found:
            file.fail("the array 'level' has another concentration than the one that was given")

"""One fit of a search: a number of topics, a chain, a fold. It depends on nothing but its own numbers.

A task's seed is a hash of the search's seed and these numbers, so that it does not matter where, when or beside what it
runs. What it found is kept in a file whose name is a digest of all that it depends on. The chain of a first look goes
on in later rounds, which gives the same result as one that starts anew and has all sweeps at once.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import topicloom
from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics import search_measures
from topicloom.diagnostics.search_measures import _log_words, harmonic_mean
from topicloom.engine.estimator import parameters
from topicloom.engine.run import Callback, Chain
from topicloom.errors import InputError, StorageError, warn
from topicloom.evaluation.coherence import coherence
from topicloom.evaluation.predictive import completion_scores
from topicloom.evaluation.sequential import left_to_right
from topicloom.evaluation.topics import exclusivity, topic_diversity, topic_sizes
from topicloom.files.arrays import read_arrays, write_arrays
from topicloom.lda.gibbs.merged_start import MOST_TOPICS
from topicloom.lda.model import LDA
from topicloom.numerics.rng import Purpose, path_key

_DIVERSITY_WORDS = 25
_DISPERSION_DOCS = 1000  # more take longer than the sweeps
START_SWEEPS = 100  # of a chain with more topics, which are merged; at most half of a chain's own sweeps
MOST_TOKENS = 20_000_000  # of a corpus whose chains are kept from round to round; others start anew
_SAMPLES = 25  # of log p(w | z), from the second half of the sweeps

# What is measured beside held-out scores, and whether more or less of it is better. Topics in use are the exponential
# of the entropy of their sizes: fewer than there are, if some are as good as empty.
MEASURES: Mapping[str, str] = {
    "c_npmi": "more",
    "u_mass": "more",
    "c_v": "more",
    "exclusivity": "more",
    "diversity": "more",
    "dispersion": "less",
    "harmonic_mean": "more",
    "mean_cosine": "less",
    "singular_divergence": "less",
    "mean_divergence": "more",
    "topics_in_use": "neither",
}


COHERENCE: tuple[Literal["c_npmi", "u_mass", "c_v"], ...] = ("c_npmi", "u_mass", "c_v")


class Task(NamedTuple):
    """One fit."""

    n_topics: int
    chain: int
    fold: int
    sweeps: int
    n_docs: int  # held-out documents to score
    measured: bool  # whether all measures are wanted, not the held-out scores after all sweeps and half of them alone


class Setting(NamedTuple):
    """What all tasks of a search have in common."""

    corpus: Corpus
    seed: int
    folds: tuple[Int64Array, ...]  # held-out documents of each, in random order
    parameters: Mapping[str, Any]  # of LDA
    n_words: int  # of a topic, for coherence and exclusivity
    n_particles: int
    left_to_right_docs: int


class Found(NamedTuple):
    """What a task found."""

    completion: FloatArray  # [documents] log-likelihood of the second halves
    halfway: FloatArray  # the same after half of the sweeps; none if measured
    left_to_right: FloatArray  # [documents, the first of them] log-likelihood of the whole
    measures: FloatArray  # [MEASURES]
    topics: AnyArray  # [K, V] float32, for stability; none unless measured
    log_joint: FloatArray  # [1] of the training documents
    z: AnyArray  # [tokens] where the chain stands, as are the three that follow; none if it need not or cannot go on
    alpha: FloatArray
    beta: FloatArray
    beta_sum: FloatArray


class Begun(NamedTuple):
    """A chain after some sweeps."""

    sweeps: int
    z: AnyArray
    alpha: FloatArray
    beta: FloatArray
    beta_sum: FloatArray


def begun_by(task: Task, found: Found) -> Begun | None:
    """The chain that a first look leaves, if it can go on."""
    if len(found.z) == 0:
        return None
    return Begun(task.sweeps, found.z, found.alpha, found.beta, found.beta_sum)


# -- seeds and splits ------------------------------------------------------------------------------------------


def task_seed(seed: int, *path: int) -> int:
    """A seed of its own for each path, from 0 to 2⁶³ − 1."""
    return int(path_key(seed, Purpose.SEARCH, *path)) >> 1


def make_folds(corpus: Corpus, folds: int, test_share: float, seed: int) -> tuple[Int64Array, ...]:
    """Held-out documents of each fold, in random order; only those that have a half to predict."""
    usable = np.flatnonzero(corpus.doc_lengths >= 2)
    order = usable[np.random.default_rng(task_seed(seed, 0)).permutation(len(usable))]
    parts = [order[: round(test_share * len(order))]] if folds == 1 else np.array_split(order, folds)
    if min(map(len, parts)) < 2 or corpus.n_docs - max(map(len, parts)) < 1:
        how = f"test_share={test_share}" if folds == 1 else f"folds={folds}"
        raise InputError(
            f"{how} holds out {min(map(len, parts))} of {len(usable)} documents with two tokens or more; at least 2 "
            "must be held out, and 1 left to learn from. Give more documents, or another share."
        )
    return tuple(np.asarray(part, np.int64) for part in parts)


# -- one task --------------------------------------------------------------------------------------------------


def run_task(setting: Setting, task: Task, folder: Path | None, begun: Begun | None = None) -> Found:
    """Fit and measure, or read what was found before. A chain that has ``begun`` goes on."""
    path = None if folder is None else folder / f"task-{digest_of(setting, task)}.safetensors"
    if path is not None and path.exists():
        try:
            return Found(**read_arrays(path)[0])
        except (StorageError, TypeError):
            warn(f"{path} is damaged; what it held is computed again.", UserWarning)
    found = _fit_and_measure(setting, task, begun)
    if path is not None:
        write_arrays(path, found._asdict(), task._asdict())
    return found


def digest_of(setting: Setting, task: Task) -> str:
    """All that a task's result depends on, in 24 digits."""
    about = {
        "version": topicloom.__version__,
        "corpus": setting.corpus.fingerprint,
        "ordered": bool(setting.corpus.ordered),
        "folds": [part.tolist() for part in setting.folds],
        "others": [setting.seed, setting.n_words, setting.n_particles, setting.left_to_right_docs],
        "parameters": dict(setting.parameters),
        "task": task,
        "found": Found._fields,
    }
    text = json.dumps(about, sort_keys=True, default=_as_json)
    return blake2b(text.encode(), digest_size=12).hexdigest()


def _as_json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return repr(value)


def _fit_and_measure(setting: Setting, task: Task, begun: Begun | None) -> Found:
    corpus = setting.corpus
    held = setting.folds[task.fold]
    training = np.ones(corpus.n_docs, bool)
    training[held] = False
    train, test = corpus.select(training), corpus.select(held[: task.n_docs])
    of_documents, nothing = task_seed(setting.seed, 2), np.empty(0)

    def completed(model: LDA) -> FloatArray:
        how = model._prediction()._asdict()
        if model.predict_options is None:  # differences between numbers of topics are smaller than what "cvb0" adds
            how["method"] = "gibbs"
        return completion_scores(model.topic_word_, model.alpha_, test, seed=of_documents, **how)[0]

    if not task.measured:
        half = _fitted(setting, task, train, task.sweeps // 2, begun)
        halfway = completed(half)
        model = _fitted(setting, task, train, task.sweeps, _left_by(half))
        left = _left_by(model)
        where = (np.empty(0, np.uint16), nothing, nothing, nothing) if left is None else left[1:]
        none = (nothing, nothing, np.empty((0, 0), np.float32))
        return Found(completed(model), halfway, *none, model.log_joint_, *where)
    samples: list[float] = []
    model = _fitted(setting, task, train, task.sweeps, begun, [_sampling(train, task, samples)])
    first = test.select(np.arange(min(setting.left_to_right_docs, test.n_docs)))
    whole = left_to_right(
        model.topic_word_, model.alpha_, first, n_particles=setting.n_particles, seed=of_documents >> 1
    )
    values = _measure(model, train, samples, min(setting.n_words, corpus.n_words))
    topics = np.ascontiguousarray(model.topic_word_, np.float32)
    where = (np.empty(0, np.uint16), nothing, nothing, nothing)
    return Found(completed(model), nothing, whole, values, topics, model.log_joint_, *where)


def _fitted(
    setting: Setting, task: Task, train: Corpus, sweeps: int, begun: Begun | None, callbacks: Sequence[Callback] = ()
) -> LDA:
    """A model after so many sweeps, from the start or from where its chain stands."""
    seed = task_seed(setting.seed, 1, task.n_topics, task.chain, task.fold)
    model = LDA(**setting.parameters).set_params(
        n_components=task.n_topics,
        max_iter=sweeps,
        n_chains=1,
        n_jobs=1,
        random_state=seed,
        verbose=0,
        keep_draws=None,
    )
    if model.burn_in is not None and model.burn_in > sweeps:  # of a first, short look
        model.set_params(burn_in=None)
    model._quiet = True  # of many models some are bound to have too many topics
    if begun is None:
        model.fit(train, callbacks=callbacks)
    else:
        problem = model._problem(train, seed)
        prior = problem.prior()._replace(alpha=begun.alpha, beta=begun.beta, beta_sum=begun.beta_sum)
        state = problem.sampler.restore(train, begun.z, task.n_topics)
        model._fit(problem, callbacks, begun=([Chain(0, begun.sweeps, state, prior)], None))
    if model.interrupted_:
        raise KeyboardInterrupt
    return model


def _left_by(model: LDA) -> Begun | None:
    """Where a model's chain stands. One that needs more than z and priors to continue starts anew instead."""
    (chain,) = model.chains_
    if model.burn_in is not None or chain.shard_progress is not None or len(chain.state.z) > MOST_TOKENS:
        return None
    return Begun(chain.sweep, chain.state.z, chain.prior.alpha, chain.prior.beta, chain.prior.beta_sum)


def _sampling(train: Corpus, task: Task, samples: list[float]) -> Callable[[Any], None]:
    """A callback that collects log p(w | z) from the second half of the sweeps."""
    every = max(1, task.sweeps // (2 * _SAMPLES))

    def collect(chain: Any) -> None:
        if 2 * chain.sweep > task.sweeps and (task.sweeps - chain.sweep) % every == 0:
            cells = np.asarray(chain.state.z, np.int64) * train.n_words + train.words
            counts = np.bincount(cells, minlength=task.n_topics * train.n_words)
            samples.append(_log_words(counts.reshape(task.n_topics, -1).astype(np.float64), chain.prior.beta))

    return collect


def _measure(model: LDA, train: Corpus, samples: list[float], n_words: int) -> FloatArray:
    phi, theta = model.topic_word_, model.doc_topic_
    sizes = topic_sizes(theta, train.doc_lengths)
    of_words = {name: coherence(phi, train, name, n_words=n_words) for name in COHERENCE} if n_words > 1 else {}
    values: dict[str, float] = {
        name: float(of_words[name].mean()) if name in of_words else math.nan for name in COHERENCE
    }
    values |= {
        "exclusivity": float(exclusivity(phi, n_words).mean()),
        "diversity": topic_diversity(phi, min(_DIVERSITY_WORDS, train.n_words)),
        "dispersion": search_measures.residual_dispersion(phi, theta, train, most_docs=_DISPERSION_DOCS),
        "harmonic_mean": harmonic_mean(samples),
        "mean_cosine": search_measures.mean_cosine(phi),
        "singular_divergence": search_measures.singular_divergence(phi, theta, train.doc_lengths),
        "mean_divergence": search_measures.mean_divergence(phi),
        "topics_in_use": float(np.exp(-(sizes * np.log(np.maximum(sizes, 1e-300))).sum())),
    }
    return np.array([values[name] for name in MEASURES])


# -- parameters ------------------------------------------------------------------------------------------------

_OWN = {
    "n_components": "numbers of topics are n_topics",
    "n_paths": "a search looks at chains with one path",
    "seed_words": "topics that seed words name are not the same for different numbers of topics",
    "checkpoint_every": "a search keeps whole fits",
    "trace_every": "a search keeps no traces",
}


def check_model_parameters(given: Mapping[str, Any], max_iter: int, n_topics: tuple[int, ...]) -> dict[str, Any]:
    """Parameters of LDA as a search hands them on, checked with every number of topics."""
    for name in given:
        if name in _OWN:
            raise InputError(f"{name} cannot be given to a search: {_OWN[name]}.")
    known = parameters.parameters_of(LDA)
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(name for name in known if name not in _OWN)
        raise InputError(f"{unknown[0]} is not a parameter of LDA; a search hands on {names}.")
    prior = given.get("doc_topic_prior")
    if prior is not None and np.ndim(prior) != 0:
        raise InputError("doc_topic_prior must be one number: numbers of topics differ.")
    chosen = {name: value for name, value in given.items() if value is not None}
    options = chosen.get("sampler_options", {})
    if isinstance(options, Mapping) and max(n_topics) <= MOST_TOPICS:
        chosen["sampler_options"] = {"start_sweeps": min(START_SWEEPS, max_iter // 2), **options}
    for k in n_topics:
        LDA(**{**chosen, "n_components": k, "max_iter": max_iter})._plan(0)
    return chosen

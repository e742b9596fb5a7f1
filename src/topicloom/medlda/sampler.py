"""Samplers of supervised topics (MedLDA): topics, the classifier's weights and the augmented variables in turn.

Such a sampler belongs to one training set, since it needs what the documents are to be, so it is made for one and not
registered by name. A sweep draws the augmented variables given topics and weights, then topics, then weights, so that a
run goes on from topics and weights alone. One chain serves one group of tasks, all that share its topics.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine import estimates
from topicloom.engine.blocks import Block, Range
from topicloom.engine.checks import check_topics
from topicloom.engine.estimates import ESTIMATORS, Counts, Estimator, soft_topic_counts
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule, assignments_and_prior
from topicloom.engine.shards import Draw, Loads, sweep_blocks
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.engine.threads import cut, private, run_parallel
from topicloom.files.checks import Contents, Expected
from topicloom.lda.gibbs import joint
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.lda.gibbs.mh import make_scratch
from topicloom.lda.gibbs.online_start import place_online
from topicloom.medlda import augment
from topicloom.medlda import dense as medlda_dense
from topicloom.medlda import proposals as medlda
from topicloom.medlda import soft_counts as medlda_soft
from topicloom.medlda import weights as medlda_weights
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key

LOSSES = {"hinge": augment.HINGE, "logistic": augment.LOGISTIC, "epsilon_insensitive": augment.EPSILON_INSENSITIVE}
SAMPLERS = ("auto", "mh", "dense")
COMPOSITIONS = ("mixture", "cycle", "doc", "word", "exp")
_KINDS = {"doc": medlda.DOC, "word": medlda.WORD, "exp": medlda.EXP}
_WITH_TABLE = ("mixture", "cycle", "exp")
_NOISE_SHARE = 0.5  # precision of what the exp-proposal knows of f, as a share of the pseudo-likelihood's curvature
_ON_LINE = 100  # from so many topics on proposals take long to leave topics that were drawn at random
_VECTORS = 8  # tasks that the sums over them take at a time
_PARTS = 16  # of documents, for threads; changes no draw


class MedState(NamedTuple):
    """Counts as a dense matrix, the classifier's weights, and the documents' targets: C tasks share topics."""

    z: AnyArray
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K]
    eta: FloatArray  # [K, C] the classifier's weights, latent as z is
    task: Int64Array  # [C] which of a model's tasks these are
    target: FloatArray  # [D, C] −1 and 1, or numbers
    weight: FloatArray  # [D, C] λ, the weight of the loss
    loss: int  # as in ``medlda.augment``
    epsilon: float
    nu: float  # prior precision of η

    def as_dense(self) -> State:
        """The counts alone."""
        return State(self.z, self.word_topic, self.topic)


class Tasks(NamedTuple):
    """What all tasks ask for: targets and weights [D, tasks] of the losses, and the groups that share topics."""

    target: FloatArray
    weight: FloatArray
    loss: str
    epsilon: float
    nu: float
    groups: Sequence[Sequence[int]]  # tasks of each group; chain i serves group i // chains


class Options(NamedTuple):
    """How the latent parts are drawn."""

    sampler: str = "auto"
    composition: str = "mixture"
    n_gibbs: int = 2
    n_chains: int = 1


class Pairs(NamedTuple):
    """The topics of each document, ``number[d]`` of them from ``ptr[d]`` on, and their shares."""

    ptr: Int64Array
    number: Int64Array
    topics: Int32Array
    share: FloatArray


class Losses(NamedTuple):
    """What the labels say of each document's f, pull · f − ½ curve · f², and what proposals know of f.

    All are [D, C up to whole vectors]: columns beyond the tasks' are 0 and add nothing, while a task left over would
    cost as much as a vector.
    """

    pull: FloatArray
    curve: FloatArray
    noisy_pull: FloatArray  # with ``seen`` as one more variable, which it says something of f too
    noisy_curve: FloatArray
    seen: FloatArray


def prefers_dense(n_topics: int, n_tasks: int, n_mh: int) -> bool:
    """Whether looking at all topics is quicker than proposing some: ``benchmarks/medlda.py`` measures the line."""
    return n_topics * (n_tasks + 6) <= 220 * n_mh


def medlda_sampler(tasks: Tasks, options: Options = Options()) -> Sampler:  # noqa: B008 (it cannot change)
    """The sampler for these targets. ``exact``: the regularised posterior is invariant under a sweep with one shard."""
    target, weight = as_input(tasks.target), as_input(tasks.weight)

    def restore(corpus: Corpus, z: AnyArray, n_topics: int, eta: FloatArray, task: Int64Array) -> AnyState:
        return MedState(
            *rebuild_counts(corpus, z, n_topics), np.ascontiguousarray(eta, np.float64).copy(), task,
            as_input(target[:, task]), as_input(weight[:, task]), LOSSES[tasks.loss], tasks.epsilon, tasks.nu,
        )  # fmt: skip

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        assert len(prior.boost) == 0, "seed words are not for supervised topics"
        task = np.array(tasks.groups[key.chain // options.n_chains], np.int64)
        one_by_one = options.sampler != "dense" and prior.n_topics >= _ON_LINE
        z = place_online(corpus, prior, key).z if one_by_one else first_topics(corpus, prior, key)
        return restore(corpus, z, prior.n_topics, np.zeros((prior.n_topics, len(task))), task)

    def sweep(corpus: Corpus, state: AnyState, prior: Prior, key: Key, schedule: Schedule) -> tuple[AnyState, Info]:
        return sweep_all(corpus, cast(MedState, state), prior, key, schedule, options)

    def to_arrays(chain: Any) -> dict[str, AnyArray]:
        return {**assignments_and_prior(chain), "eta": chain.state.eta, "task": chain.state.task}

    def from_arrays(sampler: Sampler, corpus: Corpus, arrays: dict[str, AnyArray]) -> Restored:
        prior = Prior(**{name: arrays[name] for name in Prior._fields})
        return Restored(restore(corpus, arrays["z"], prior.n_topics, arrays["eta"], arrays["task"]), prior)

    def check(file: Contents, corpus: Corpus, index: int) -> None:
        own = np.array(tasks.groups[index // options.n_chains])
        check_topics(file, corpus, index)
        file.sizes["C"] = len(own)
        file.expect({"task": Expected("i8", ("C",)), "eta": Expected("f8", ("K", "C"))})
        file.equals("task", own, "the model's tasks")
        if file.info["kept"]:
            file.expect({"kept_eta": Expected("f8", ("K", "C"))})

    return Sampler(
        "medlda", init, restore, sweep, log_joint, conditional, exact=True, topic_counts=topic_counts,
        to_arrays=to_arrays, from_arrays=from_arrays, check=check,
    )  # fmt: skip


def sweep_all(
    corpus: Corpus, state: MedState, prior: Prior, key: Key, schedule: Schedule, options: Options
) -> tuple[AnyState, Info]:
    """One sweep: augmented variables, topics, weights."""
    sampler = options.sampler
    if sampler == "auto":
        sampler = "dense" if prefers_dense(prior.n_topics, state.eta.shape[1], schedule.n_mh) else "mh"
    noisy = sampler != "dense" and options.composition in _WITH_TABLE
    losses, loads = draw_losses(corpus, state, key, schedule, noisy)
    if sampler == "dense":
        _, info = draw_topics_dense(corpus, state, prior, key, schedule, *losses[:2])
    else:
        _, info = draw_topics(corpus, state, prior, key, schedule, losses, options.composition, loads)
    n_gibbs = 0 if options.sampler == "dense" else options.n_gibbs
    draw_weights(corpus, state, key, schedule.n_jobs, *losses[:2], n_gibbs)
    return state, info


# -- the parts of a sweep ------------------------------------------------------------------------------------------


def new_pairs(corpus: Corpus, n_topics: int) -> tuple[list[Range], Pairs]:
    """Parts of the documents, and room for the pairs of each part: what is not needed is never touched."""
    parts = cut(corpus.doc_lengths, _PARTS)
    ends = np.concatenate(([0], np.cumsum(np.minimum(corpus.doc_lengths, n_topics), dtype=np.int64)))
    ptr, number = np.empty(corpus.n_docs, np.int64), np.empty(corpus.n_docs, np.int64)
    for i, (start, _) in enumerate(parts):
        ptr[start] = ends[start] + i
    room = int(ends[-1]) + len(parts)
    return parts, Pairs(ptr, number, np.empty(room, np.int32), np.empty(room))


def find_values(corpus: Corpus, state: MedState, part: Range, pairs: Pairs, eta: FloatArray, out: FloatArray) -> None:
    """The pairs of some documents and f, what the classifier says of them; 0 of one without words."""
    count = private(np.zeros(len(state.topic), np.int64))
    medlda_weights.list_pairs(*part, corpus.doc_ptr, state.z, count, *pairs)
    medlda_weights.values(*part, *pairs, eta, out)


def values(corpus: Corpus, state: MedState, n_jobs: int = 1) -> tuple[Pairs, FloatArray]:
    """The pairs of all documents and f [D, C up to whole vectors]."""
    eta = _widened(state.eta)
    parts, pairs = new_pairs(corpus, len(state.topic))
    value = np.empty((corpus.n_docs, eta.shape[1]))
    run_parallel(lambda part: find_values(corpus, state, part, pairs, eta, value), parts, n_jobs)
    return pairs, value


def draw_losses(
    corpus: Corpus, state: MedState, key: Key, schedule: Schedule, noisy: bool
) -> tuple[Losses, Int64Array]:
    """Freshly drawn augmented variables and, for proposals by a table, noisy copies of f; what documents will cost.

    All that is done with a document before its topics are drawn is done at once, as threads that meet wait.
    """
    eta = _widened(state.eta)
    parts, pairs = new_pairs(corpus, len(state.topic))
    shape = corpus.n_docs, eta.shape[1]
    value, pull, curve = np.empty(shape), np.zeros(shape), np.zeros(shape)
    losses = _room_for_noise(pull, curve) if noisy else Losses(pull, curve, pull, curve, value)
    loads = np.empty(corpus.n_docs, np.int64)
    path = path_key(key.seed, Purpose.AUGMENTATION, key.chain, key.sweep)

    def run(part: Range) -> None:
        find_values(corpus, state, part, pairs, eta, value)
        medlda_weights.loads(*part, corpus.doc_ptr, *pairs[:2], pairs.share, schedule.n_shards, loads)
        augment.augment(
            *part, corpus.doc_ptr, state.loss, state.epsilon, state.target, state.weight, value, path, pull, curve
        )
        if noisy:
            _add_noise(part, key, value, losses)

    run_parallel(run, parts, schedule.n_jobs)
    return losses, loads


def _room_for_noise(pull: FloatArray, curve: FloatArray) -> Losses:
    return Losses(pull, curve, np.empty_like(pull), np.empty_like(pull), np.empty_like(pull))


def _add_noise(part: Range, key: Key, value: FloatArray, losses: Losses) -> None:
    rows = slice(*part)
    losses.noisy_pull[rows] = losses.pull[rows]
    losses.noisy_curve[rows] = losses.curve[rows]
    path = path_key(key.seed, Purpose.NOISE, key.chain, key.sweep)
    augment.add_noise(*part, _NOISE_SHARE, value, path, *losses[2:])


def with_noise(value: FloatArray, pull: FloatArray, curve: FloatArray, key: Key) -> Losses:
    """The same from given f and augmented variables."""
    losses = _room_for_noise(_widened(pull), _widened(curve))
    _add_noise((0, len(value)), key, _widened(value), losses)
    return losses


def draw_topics(
    corpus: Corpus, state: MedState, prior: Prior, key: Key, schedule: Schedule, losses: Losses, composition: str,
    loads: Int64Array | None = None,
) -> tuple[AnyState, Info]:  # fmt: skip
    """Topics by proposals. Shards have documents of equal ``loads``, which follow from z, or of equal lengths."""
    whole = composition in ("mixture", "cycle")
    kinds = np.array(sorted(_KINDS.values()) if whole else [_KINDS[composition]], np.int64)
    scratch = make_scratch(corpus, state, prior, schedule.n_jobs)[:5]
    of_tasks = _widened(state.eta), np.ascontiguousarray(state.eta.T), *losses[2:]

    def make_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
        def draw(docs: Range, own: AnyState, rng: AnyArray) -> Int64Array:
            work = np.zeros(2, np.int64)
            medlda.sweep_block(
                *docs, *words, corpus.words, corpus.doc_ptr, *cast(MedState, own)[:3], *prior[:4], *scratch,
                *of_tasks, schedule.n_mh, kinds, composition == "mixture", rng, work,
            )  # fmt: skip
            return work

        return draw

    return sweep_blocks(make_draw, corpus, state, prior, key, schedule, Loads(docs=loads))


def _room_for(array: FloatArray) -> FloatArray:
    """Zeros with more columns, up to whole vectors, which add nothing: a task left over costs as much as a vector."""
    rows, n = array.shape
    return np.zeros((rows, n if n < _VECTORS else -(-n // _VECTORS) * _VECTORS))


def _widened(array: FloatArray) -> FloatArray:
    room = _room_for(array)
    room[:, : array.shape[1]] = array
    return room


def draw_topics_dense(
    corpus: Corpus, state: MedState, prior: Prior, key: Key, schedule: Schedule, pull: FloatArray, curve: FloatArray
) -> tuple[AnyState, Info]:
    """Topics by their full conditional."""
    by_task = np.ascontiguousarray(state.eta.T)

    def make_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
        def draw(docs: Range, own: AnyState, rng: AnyArray) -> Int64Array:
            work = np.zeros(2, np.int64)
            medlda_dense.sweep_block(
                *docs, *words, corpus.words, corpus.doc_ptr, *cast(MedState, own)[:3], *prior[:4], state.eta, by_task,
                pull, curve, rng, work,
            )  # fmt: skip
            return work

        return draw

    return sweep_blocks(make_draw, corpus, state, prior, key, schedule)


def draw_weights(
    corpus: Corpus, state: MedState, key: Key, n_jobs: int, pull: FloatArray, curve: FloatArray, n_gibbs: int
) -> None:
    """New weights in place of the state's: ``n_gibbs`` rounds, one after the other; with 0 all of a task at once."""
    pairs, value = values(corpus, state, n_jobs)
    path = path_key(key.seed, Purpose.WEIGHTS, key.chain, key.sweep)
    if n_gibbs == 0:
        run_parallel(
            lambda part: medlda_weights.draw_joint(*part, *pairs, pull, curve, state.nu, path, state.eta),
            cut(np.ones(state.eta.shape[1], np.int64), n_jobs), n_jobs,
        )  # fmt: skip
        return
    columns = by_topic(pairs, len(state.topic))

    def run(part: Range) -> None:
        eta = private(_widened(state.eta[:, slice(*part)]))
        rest, bend = (np.zeros((corpus.n_docs, eta.shape[1])) for _ in range(2))
        medlda_weights.residuals(*part, pull, curve, value, rest, bend)
        streams, numbers = np.zeros((eta.shape[1], 4), np.uint64), np.zeros(eta.shape[1])
        medlda_weights.draw_coordinates(
            part[0], *columns, rest, bend, state.nu, n_gibbs, path, eta, private(streams), private(eta),
            private(numbers), private(numbers),
        )  # fmt: skip
        state.eta[:, slice(*part)] = eta[:, : part[1] - part[0]]

    run_parallel(run, _cut_tasks(state.eta.shape[1], n_jobs), n_jobs)


def _cut_tasks(n: int, n_jobs: int) -> list[Range]:
    """Parts of the tasks for threads, whole vectors if they can be: tasks are independent, so this changes no draw."""
    vectors = cut(np.ones(-(-n // _VECTORS), np.int64), n_jobs)
    return [(start * _VECTORS, min(stop * _VECTORS, n)) for start, stop in vectors]


def by_topic(pairs: Pairs, n_topics: int) -> tuple[Int64Array, Int32Array, FloatArray]:
    """The same pairs with each topic's documents side by side: where they start, documents, shares."""
    n = int(pairs.number.sum())
    ptr, docs, share = np.zeros(n_topics + 1, np.int64), np.empty(n, np.int32), np.empty(n)
    medlda_weights.by_topic(*pairs, ptr, docs, share)
    return ptr, docs, share


# -- the joint -----------------------------------------------------------------------------------------------------


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log of the regularised posterior's density at (z, η), up to a constant, augmented variables integrated out."""
    own = cast(MedState, state)
    _, value = values(corpus, own, n_jobs)
    losses = augment.log_pseudo_likelihoods(corpus.doc_ptr, own.loss, own.epsilon, own.target, own.weight, value)
    normal = 0.5 * own.eta.size * np.log(own.nu / (2 * np.pi)) - 0.5 * own.nu * float(np.sum(own.eta**2))
    return joint.log_joint(corpus, own.as_dense(), prior, n_jobs) + losses + float(normal)


def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    """p(z_token = k | all other topics, η), augmented variables integrated out, as soft counts use it."""
    own = cast(MedState, state)
    d = int(corpus.token_docs[token])
    words = np.full(corpus.n_tokens, -1, np.int32)
    words[token] = corpus.words[token]
    out = np.zeros((corpus.n_docs, prior.n_topics))
    medlda_soft.add_soft_counts(
        d, d + 1, 0, corpus.n_words, words, corpus.doc_ptr, *own[:4], own.target, own.weight, own.loss, own.epsilon,
        *prior[:4], out, np.zeros((0, 0)),
    )  # fmt: skip
    return np.asarray(out[d])


def topic_counts(
    corpus: Corpus,
    state: MedState,
    prior: Prior,
    estimator: Estimator = "cgs_p",
    *,
    docs: bool = True,
    words: bool = True,
    n_jobs: int = 1,
) -> Counts:
    """As ``estimates.topic_counts``, with labels in the tokens' conditionals, and the weights η beside the counts."""
    check_choice("estimator", estimator, ESTIMATORS)
    if estimator == "standard":
        found = estimates.topic_counts(corpus, state, prior, estimator, docs=docs, words=words, n_jobs=n_jobs)
    else:
        of_task = (state.eta, state.target, state.weight, state.loss, state.epsilon)

        def add(part: Block, doc: FloatArray, word: FloatArray) -> None:
            medlda_soft.add_soft_counts(
                *part, corpus.words, corpus.doc_ptr, *state.as_dense(), *of_task, *prior[:4], doc, word
            )

        found = soft_topic_counts(corpus, prior, add, docs=docs, words=words, n_jobs=n_jobs)
    return replace(found, eta=state.eta.copy())

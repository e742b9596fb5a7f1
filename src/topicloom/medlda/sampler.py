"""Samplers of supervised topics (MedLDA): topics, the classifier's weights and the augmented variables in turn.

Such a sampler belongs to one training set, since it needs what the documents are to be, so it is made for one and not
registered by name. A sweep draws the augmented variables given topics and weights, then topics, then weights, so that a
run goes on from topics and weights alone. One chain serves one group of tasks, all that share its topics.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, cast

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws, estimates
from topicloom.engine.blocks import Block, Range, Tokens, tokens_of
from topicloom.engine.checks import SUPERVISED, check_topics
from topicloom.engine.estimates import ESTIMATORS, Counts, Estimator, soft_topic_counts
from topicloom.engine.prior import Prior
from topicloom.engine.probes import probes_of
from topicloom.engine.sampler import Info, Key, Restored, Sampler, Schedule, assignments_and_prior, record_topics
from topicloom.engine.shards import Draw, Loads, sweep_blocks
from topicloom.engine.state import AnyState, rebuild_counts
from topicloom.engine.threads import cut, private, run_parallel
from topicloom.files.checks import Contents, Expected
from topicloom.lda.gibbs import joint
from topicloom.lda.gibbs.first_topics import first_topics
from topicloom.lda.gibbs.mh import make_scratch
from topicloom.lda.gibbs.online_start import place_online
from topicloom.medlda import augment, dense, proposals, soft_counts, weights
from topicloom.medlda.state import LabelTerms, MedState, Supervision
from topicloom.medlda.weights import CoordinateScratch, DocTopics, TopicDocs
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key

LOSSES = {
    "hinge": augment.HINGE, "logistic": augment.LOGISTIC, "epsilon_insensitive": augment.EPSILON_INSENSITIVE,
    "squared": augment.SQUARED,
}  # fmt: skip
SAMPLERS = ("auto", "mh", "dense")
COMPOSITIONS = ("mixture", "cycle", "doc", "word", "exp")
_KINDS = {"doc": proposals.DOC, "word": proposals.WORD, "exp": proposals.EXP}
_WITH_TABLE = ("mixture", "cycle", "exp")
_NOISE_SHARE = 0.5  # precision of what the exp-proposal knows of f, as a share of the pseudo-likelihood's curvature
_MANY_TOPICS = 100  # from so many on, proposals take long to leave topics that were drawn at random
N_PROBED, N_PROBED_TASKS = 16, 4  # documents and tasks whose decision values are recorded
_VECTORS = 8  # tasks that the sums over them take at a time
_PARTS, _PART = 16, 4096  # of documents, for threads, and tokens of a part at least; changes no draw


class Tasks(NamedTuple):
    """What all tasks ask for: targets and weights [D, tasks] of the losses, and the groups that share topics."""

    target: FloatArray
    weight: FloatArray
    loss: str
    epsilon: float
    nu: float
    groups: Sequence[Sequence[int]]  # tasks of each group; chain i serves group i // chains
    scale: float = 1.0  # of numbers: weights that are kept as draws are in the unit of y


class Options(NamedTuple):
    """How the latent parts are drawn."""

    sampler: str = "auto"
    composition: str = "mixture"
    n_gibbs: int = 2
    n_chains: int = 1


class SupervisedSamplerOptions(TypedDict, total=False):
    """How topics and weights are drawn. What is left out is the model's default."""

    n_mh: int  # steps per token of "mh"
    n_gibbs: int  # rounds over the weights in a sweep
    composition: Literal["mixture", "cycle", "doc", "word", "exp"]  # proposals of a token's steps


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
        counts = rebuild_counts(corpus, z, n_topics)
        return MedState(
            counts.z, counts.word_topic, counts.topic, np.ascontiguousarray(eta, np.float64).copy(), task,
            Supervision(as_input(target[:, task]), as_input(weight[:, task]), LOSSES[tasks.loss], float(tasks.epsilon)),
            float(tasks.nu),
        )  # fmt: skip

    def init(corpus: Corpus, prior: Prior, key: Key) -> AnyState:
        assert len(prior.boost) == 0, "seed words are not for supervised topics"
        task = np.array(tasks.groups[key.chain // options.n_chains], np.int64)
        one_by_one = options.sampler != "dense" and prior.n_topics >= _MANY_TOPICS
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
        task = np.array(tasks.groups[index // options.n_chains])
        check_topics(file, corpus, index)
        file.sizes["C"] = len(task)
        file.expect({"task": Expected("i8", ("C",)), "eta": Expected("f8", ("K", "C"))})
        file.equals("task", task, "the model's tasks")
        if file.info["kept"]:
            file.expect({"kept_eta": Expected("f8", ("K", "C"))})

    def record(sampler: Sampler, corpus: Corpus, chain: Any, info: Info, plan: Any) -> dict[str, Any]:
        found = record_topics(sampler, corpus, chain, info, plan)
        found["probes"] = np.concatenate((found["probes"], value_probes(corpus, chain.state)))
        return found

    def draw(corpus: Corpus, counts: Counts, prior: Prior, n_paths: int) -> draws.Drawn:
        assert counts.eta is not None
        found = draws.draw_topics(corpus, counts, prior, n_paths)
        more = {"coef": tasks.scale * counts.eta.T / counts.n_samples}
        return draws.Drawn({**found.parameters, **more}, {**found.context, **more})

    def draw_shapes(corpus: Corpus, prior: Prior, n_paths: int) -> draws.Shapes:
        return {**draws.topic_shapes(corpus, prior, n_paths), "coef": (len(tasks.groups[0]), prior.n_topics)}

    return Sampler(
        "medlda", init, restore, sweep, log_joint, conditional, exact=True, topic_counts=topic_counts,
        to_arrays=to_arrays, from_arrays=from_arrays, check=check, record=record, recorded=SUPERVISED,
        draw=draw, draw_shapes=draw_shapes, more_probes=lambda corpus, state, extra: len(value_probes(corpus, state)),
    )  # fmt: skip


def _probed_docs(corpus: Corpus) -> list[int]:
    return [int(d) for d in np.unique(probes_of(corpus).docs)[:N_PROBED]]


def value_probes(corpus: Corpus, state: MedState) -> FloatArray:
    """What the classifier says of a few documents in the first tasks: f = Σ_k η_k n_dk/N_d."""
    eta, found = state.eta[:, :N_PROBED_TASKS], []
    for d in _probed_docs(corpus):
        z = state.z[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        counts = np.bincount(z, minlength=len(eta))
        found.append(np.sum(eta * (counts / max(len(z), 1))[:, None], axis=0))
    return np.concatenate(found) if found else np.zeros(0)


def value_probe_names(corpus: Corpus, n_tasks: int) -> list[str]:
    tasks = range(min(n_tasks, N_PROBED_TASKS))
    return [f"decision value, document {d}, task {task}" for d in _probed_docs(corpus) for task in tasks]


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
        _, info = draw_topics_dense(corpus, state, prior, key, schedule, losses.pull, losses.curve)
    else:
        _, info = draw_topics(corpus, state, prior, key, schedule, losses, options.composition, loads)
    n_gibbs = 0 if options.sampler == "dense" else options.n_gibbs
    draw_weights(corpus, state, key, schedule.n_jobs, losses.pull, losses.curve, n_gibbs)
    return state, info


# -- the parts of a sweep ------------------------------------------------------------------------------------------


def new_doc_topics(corpus: Corpus, n_topics: int) -> tuple[list[Range], DocTopics]:
    """Parts of the documents, and room for the topics of each part: what is not needed is never touched."""
    parts = cut(corpus.doc_lengths, min(_PARTS, max(1, corpus.n_tokens // _PART)))
    ends = np.concatenate(([0], np.cumsum(np.minimum(corpus.doc_lengths, n_topics), dtype=np.int64)))
    ptr, number = np.empty(corpus.n_docs, np.int64), np.empty(corpus.n_docs, np.int64)
    for i, (start, _) in enumerate(parts):
        ptr[start] = ends[start] + i
    room = int(ends[-1]) + len(parts)
    return parts, DocTopics(ptr, number, np.empty(room, np.int32), np.empty(room))


def find_values(
    corpus: Corpus, state: MedState, docs: Range, doc_topics: DocTopics, eta: FloatArray, out: FloatArray
) -> None:
    """The topics of some documents and f, what the classifier says of them; 0 of one without words."""
    count = private(np.zeros(len(state.topic), np.int64))
    weights.list_topics(docs, corpus.doc_ptr, state.z, count, doc_topics)
    weights.values(docs, doc_topics, eta, out)


def values(corpus: Corpus, state: MedState, n_jobs: int = 1) -> tuple[DocTopics, FloatArray]:
    """The topics of all documents and f [D, C up to whole vectors]."""
    eta = _widened(state.eta)
    parts, doc_topics = new_doc_topics(corpus, len(state.topic))
    value = np.empty((corpus.n_docs, eta.shape[1]))
    run_parallel(lambda docs: find_values(corpus, state, docs, doc_topics, eta, value), parts, n_jobs)
    return doc_topics, value


def draw_losses(
    corpus: Corpus, state: MedState, key: Key, schedule: Schedule, noisy: bool
) -> tuple[Losses, Int64Array]:
    """Freshly drawn augmented variables and, for proposals by a table, noisy copies of f; what documents will cost.

    All that is done with a document before its topics are drawn is done at once, as threads that meet wait.
    """
    eta = _widened(state.eta)
    parts, doc_topics = new_doc_topics(corpus, len(state.topic))
    shape = corpus.n_docs, eta.shape[1]
    value, pull, curve = np.empty(shape), np.zeros(shape), np.zeros(shape)
    losses = _room_for_noise(pull, curve) if noisy else Losses(pull, curve, pull, curve, value)
    loads = np.empty(corpus.n_docs, np.int64)
    stream_key = path_key(key.seed, Purpose.AUGMENTATION, key.chain, key.sweep)

    def run(docs: Range) -> None:
        find_values(corpus, state, docs, doc_topics, eta, value)
        weights.loads(docs, corpus.doc_ptr, doc_topics, schedule.n_shards, loads)
        augment.augment(docs, corpus.doc_ptr, state.supervision, value, stream_key, pull, curve)
        if noisy:
            _add_noise(docs, key, value, losses)

    run_parallel(run, parts, schedule.n_jobs)
    return losses, loads


def _room_for_noise(pull: FloatArray, curve: FloatArray) -> Losses:
    return Losses(pull, curve, np.empty_like(pull), np.empty_like(pull), np.empty_like(pull))


def _add_noise(docs: Range, key: Key, value: FloatArray, losses: Losses) -> None:
    rows = slice(*docs)
    losses.noisy_pull[rows] = losses.pull[rows]
    losses.noisy_curve[rows] = losses.curve[rows]
    stream_key = path_key(key.seed, Purpose.NOISE, key.chain, key.sweep)
    augment.add_noise(docs, _NOISE_SHARE, value, stream_key, losses.noisy_pull, losses.noisy_curve, losses.seen)


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
    all_kinds = composition in ("mixture", "cycle")
    kinds = np.array(sorted(_KINDS.values()) if all_kinds else [_KINDS[composition]], np.int64)
    steps = proposals.Steps(schedule.n_mh, kinds, composition == "mixture")
    sources = make_scratch(corpus, state, prior, schedule.n_jobs)
    by_task = np.ascontiguousarray(state.eta.T)
    labels = LabelTerms(_widened(state.eta), by_task, losses.noisy_pull, losses.noisy_curve)

    def make_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
        tokens = tokens_of(corpus)

        def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
            work = np.zeros(2, np.int64)
            block = Block(docs[0], docs[1], words[0], words[1])
            proposals.sweep_block(block, tokens, state, prior, sources, labels, losses.seen, steps, rng, work)
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
    labels = LabelTerms(state.eta, np.ascontiguousarray(state.eta.T), pull, curve)

    def make_draw(corpus: Corpus, words: Range, prior: Prior) -> Draw:
        tokens = tokens_of(corpus)

        def draw(docs: Range, state: AnyState, rng: AnyArray) -> Int64Array:
            work = np.zeros(2, np.int64)
            block = Block(docs[0], docs[1], words[0], words[1])
            dense.sweep_block(block, tokens, state, prior, labels, rng, work)
            return work

        return draw

    return sweep_blocks(make_draw, corpus, state, prior, key, schedule)


def draw_weights(
    corpus: Corpus, state: MedState, key: Key, n_jobs: int, pull: FloatArray, curve: FloatArray, n_gibbs: int
) -> None:
    """New weights in place of the state's: ``n_gibbs`` rounds, one after the other; with 0 all of a task at once."""
    doc_topics, value = values(corpus, state, n_jobs)
    stream_key = path_key(key.seed, Purpose.WEIGHTS, key.chain, key.sweep)
    if n_gibbs == 0:
        run_parallel(
            lambda tasks: weights.draw_joint(tasks, doc_topics, pull, curve, state.nu, stream_key, state.eta),
            cut(np.ones(state.eta.shape[1], np.int64), n_jobs), n_jobs,
        )  # fmt: skip
        return
    topic_docs = by_topic(doc_topics, len(state.topic))

    def run(tasks: Range) -> None:
        eta = private(_widened(state.eta[:, slice(*tasks)]))
        rest, bend = (np.zeros((corpus.n_docs, eta.shape[1])) for _ in range(2))
        weights.residuals(tasks, pull, curve, value, rest, bend)
        streams, numbers = np.zeros((eta.shape[1], 4), np.uint64), np.zeros(eta.shape[1])
        scratch = CoordinateScratch(private(streams), private(eta), private(numbers), private(numbers))
        weights.draw_coordinates(tasks[0], topic_docs, rest, bend, state.nu, n_gibbs, stream_key, eta, scratch)
        state.eta[:, slice(*tasks)] = eta[:, : tasks[1] - tasks[0]]

    run_parallel(run, _cut_tasks(state.eta.shape[1], n_jobs), n_jobs)


def _cut_tasks(n: int, n_jobs: int) -> list[Range]:
    """Parts of the tasks for threads, whole vectors if they can be: tasks are independent, so this changes no draw."""
    vectors = cut(np.ones(-(-n // _VECTORS), np.int64), n_jobs)
    return [(start * _VECTORS, min(stop * _VECTORS, n)) for start, stop in vectors]


def by_topic(doc_topics: DocTopics, n_topics: int) -> TopicDocs:
    """The same with each topic's documents side by side."""
    n = int(doc_topics.number.sum())
    out = TopicDocs(np.zeros(n_topics + 1, np.int64), np.empty(n, np.int32), np.empty(n))
    weights.by_topic(doc_topics, out)
    return out


# -- the joint -----------------------------------------------------------------------------------------------------


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log of the regularised posterior's density at (z, η), up to a constant, augmented variables integrated out."""
    own = cast(MedState, state)
    _, value = values(corpus, own, n_jobs)
    losses = augment.log_pseudo_likelihoods(corpus.doc_ptr, own.supervision, value)
    normal = 0.5 * own.eta.size * np.log(own.nu / (2 * np.pi)) - 0.5 * own.nu * float(np.sum(own.eta**2))
    return joint.log_joint(corpus, own.as_dense(), prior, n_jobs) + losses + float(normal)


def conditional(corpus: Corpus, state: AnyState, prior: Prior, token: int) -> FloatArray:
    """p(z_token = k | all other topics, η), augmented variables integrated out, as soft counts use it."""
    d = int(corpus.token_docs[token])
    words = np.full(corpus.n_tokens, -1, np.int32)
    words[token] = corpus.words[token]
    out = np.zeros((corpus.n_docs, prior.n_topics))
    block, tokens = Block(d, d + 1, 0, corpus.n_words), Tokens(words, corpus.doc_ptr)
    soft_counts.add_soft_counts(block, tokens, state, prior, out, np.zeros((0, 0)))
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
        tokens = tokens_of(corpus)

        def add(block: Block, doc: FloatArray, word: FloatArray) -> None:
            soft_counts.add_soft_counts(block, tokens, state, prior, doc, word)

        found = soft_topic_counts(corpus, prior, add, docs=docs, words=words, n_jobs=n_jobs)
    return replace(found, eta=state.eta.copy())

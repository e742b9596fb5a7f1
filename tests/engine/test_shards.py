"""Sweeps in blocks: how they are cut, who has what when, what parts see of each other; and calls change nothing."""

import inspect
import threading
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import topicloom
from tests.oracles import lda as oracle
from topicloom import LDA, CompoundLDA, LabeledLDA, datasets
from topicloom.corpus import Corpus
from topicloom.engine import blocks as tokens_in_blocks
from topicloom.engine import shards as blocks
from topicloom.engine.checkpoint import load_chain, save_chain, start_run
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Plan, advance, run_chains, start_chain
from topicloom.engine.sampler import Key, Schedule, ShardProgress
from topicloom.engine.state import State, rebuild_counts
from topicloom.engine.threads import cut
from topicloom.lda.gibbs import get_sampler, in_blocks


def test_runs_of_one_word_count_once_and_long_ones_not_in_full() -> None:
    corpus = oracle.tiny_corpus([[0, 0, 1, 0], [], [2] * 500 + [1]], 4)
    of = blocks._runs(corpus)
    assert of.doc_runs.tolist() == [3, 0, 2]
    assert of.word_runs.tolist() == [2, 2, 1, 0]
    assert of.doc_tokens.tolist() == [4, 0, blocks._LONG + 1]
    assert of.word_tokens.tolist() == [3, 2, blocks._LONG, 0]
    assert blocks._runs(corpus) is of


@pytest.mark.parametrize("n_parts", [2, 3, 8])
@pytest.mark.parametrize("by_word", [False, True])
def test_sweeps_are_cut_by_loads_as_anything_else_is(n_parts: int, by_word: bool) -> None:
    """The kernel that adds up loads as it goes has the rule of ``cut``, for few and for many documents and words."""
    rng = np.random.default_rng(n_parts)
    for n_docs, n_words in [(1, 1), (3, 40), (60, 5), (200, 90)]:
        lengths = rng.integers(0, 30, n_docs)
        lengths[0] += 1
        corpus = oracle.tiny_corpus([np.sort(rng.integers(0, n_words, n)).tolist() for n in lengths], n_words)
        run = 30.0 + 1.2 * rng.integers(0, 50, n_words) if by_word else 41.0
        of = blocks._runs(corpus)
        docs = (25.0 * of.doc_tokens + np.mean(run) * of.doc_runs).astype(np.int64)
        words = (25.0 * of.word_tokens + run * of.word_runs).astype(np.int64)
        found = blocks._cut_both(corpus, n_parts, blocks.Loads(25.0, run))
        assert found == (cut(docs, n_parts), cut(words, n_parts))


# -- what is drawn when ----------------------------------------------------------------------------------------------


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every corpus is large enough."""
    monkeypatch.setattr(blocks, "LEAST", 0)
    monkeypatch.setattr(blocks, "PER_TOPIC", 0)


N_TOPICS = 5


def some_corpus(n_docs: int = 90, n_words: int = 40) -> tuple[Corpus, Prior]:
    rng = np.random.default_rng(n_docs)
    corpus = oracle.tiny_corpus([rng.integers(0, n_words, rng.integers(1, 9)).tolist() for _ in range(n_docs)], n_words)
    return corpus, make_prior(np.full(N_TOPICS, 0.3), np.full(n_words, 0.1), n_docs)


class Recorder:
    """In place of a kernel: moves totals by what follows from the block, and notes what it was given."""

    def __init__(self, start: np.ndarray) -> None:
        self.start, self.lock = start, threading.Lock()
        self.active: list[tuple[tuple[int, int], tuple[int, int]]] = []
        self.drawn: dict[tuple[int, int], list[tuple[tuple[int, int], np.ndarray, np.ndarray]]] = {}
        self.finished: list[tuple[int, int]] = []

    def make_draw(self, corpus, words, prior):
        return lambda docs, state, rng: self.draw(docs, words, state, rng)

    def draw(self, docs, words, state, rng) -> np.ndarray:
        with self.lock:
            for other_docs, other_words in self.active:
                assert max(docs[0], other_docs[0]) >= min(docs[1], other_docs[1]), "two in the same documents"
                assert other_words != words
            self.active.append((docs, words))
            seen = state.topic.copy()
        moves = rng[:N_TOPICS].astype(np.int64) % 100 if len(rng) >= N_TOPICS else np.resize(rng % 100, N_TOPICS)
        moves = moves.astype(np.int64) + np.arange(N_TOPICS) * (docs[0] + words[0])
        state.topic[:] += moves
        with self.lock:
            self.active.remove((docs, words))
            self.drawn.setdefault(words, []).append((docs, seen, moves))
        return np.array([1, len(self.drawn)])

    def check(self, delay: int, state: State) -> None:
        """Each part has seen its own moves, and those of the others up to ``delay`` steps ago; the state has all."""
        moved = sum(moves for own in self.drawn.values() for _, _, moves in own)
        np.testing.assert_array_equal(state.topic, self.start + moved)
        for one, other in combinations(self.drawn.values(), 2):
            for i, (docs, _, _) in enumerate(one):
                for others, _, _ in other[max(i - delay + 1, 0) : i + delay]:  # which may be drawn at the same time
                    assert max(docs[0], others[0]) >= min(docs[1], others[1]), "two in the same documents"
        for words, own in self.drawn.items():
            for step, (_, seen, _) in enumerate(own):
                expected = self.start.copy()
                for others, theirs in self.drawn.items():
                    upto = step if others == words else max(step - delay + 1, 0)
                    expected += sum((moves for _, _, moves in theirs[:upto]), np.zeros(N_TOPICS, np.int64))
                np.testing.assert_array_equal(seen, expected)


def record(
    module: SimpleNamespace, n_shards: int, n_jobs: int, calls: list[int]
) -> tuple[Recorder, ShardProgress, State]:
    corpus, prior = some_corpus()
    state = rebuild_counts(corpus, np.arange(corpus.n_tokens) % N_TOPICS, N_TOPICS)
    progress = module.start_shards(corpus, N_TOPICS, n_shards, module.Loads(25.0, 40.0), in_pieces=True)
    recorder, sweep = Recorder(state.topic.copy()), 1
    for n in calls:
        progress, info = module.sweep_shards(
            progress, recorder.make_draw, corpus, state, prior, Key(0, 0, sweep), Schedule(n_shards, n_jobs), n,
            recorder.finished.append,
        )  # fmt: skip
        assert info.changed == n_shards * n_shards * 8  # blocks of the last sweep
        sweep += n
    return recorder, progress, state


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("n_shards", [2, 3])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("calls", [[3], [1, 2], [1, 1, 1]])
def test_parts_see_what_others_have_moved_some_steps_ago(n_shards: int, n_jobs: int, calls: list[int]) -> None:
    recorder, progress, state = record(blocks, n_shards, n_jobs, calls)
    assert progress.unseen.shape == (n_shards, 4, N_TOPICS)
    recorder.check(4, state)
    assert len(recorder.drawn) == n_shards
    for words, own in recorder.drawn.items():
        assert words in recorder.finished
        for sweep in range(3):  # all documents, each once
            ranges = sorted(docs for docs, _, _ in own[sweep * 8 * n_shards : (sweep + 1) * 8 * n_shards])
            assert [d for docs in ranges for d in range(*docs)] == list(range(90))
    assert Counter(recorder.finished) == Counter(dict.fromkeys(recorder.drawn, 3))
    for (_, own), unseen in zip(sorted(recorder.drawn.items()), progress.unseen, strict=True):
        np.testing.assert_array_equal(unseen, [moves for _, _, moves in own[-4:]])


def wrong(*change: str) -> SimpleNamespace:
    """The module's source with one text in place of another."""
    source, (old, new) = inspect.getsource(blocks), change
    assert old in source
    names = dict(vars(blocks))
    exec(compile(source.replace(old, new), "<mutant of blocks>", "exec"), names)
    names["LEAST"] = names["PER_TOPIC"] = 0
    return SimpleNamespace(**names)


@pytest.mark.parametrize(
    "change",
    [
        ("(step - delay) % n_room", "(step - delay + 1) % n_room"),  # sooner than it may
        ("(step - delay) % n_room", "(step - delay - 1) % n_room"),
        ("- now_seen[w]", ""),  # its own moves twice
        ("moved[:, delay:] = progress.unseen", "moved[:, :delay] = progress.unseen"),
        ("moved[:, delay:] = progress.unseen", "pass"),  # moves of the last call are lost
        ("n_room = n_shards * n_pieces, 2 * delay", "n_room = n_shards * n_pieces, delay"),
        ("(unseen.sum(axis=0) - own)", "0"),  # a new call has seen all
        ("np.arange(total - delay, total)", "np.arange(total - delay + 1, total + 1)"),
        ("totals[0] + last[1:].sum(axis=(0, 1))", "totals[0]"),
        ("s, own = (w - r) % n_shards", "s, own = r"),  # two parts in one shard
    ],
)
def test_wrong_lags_are_rejected(change: tuple[str, str]) -> None:
    def check_all() -> None:
        for n_jobs in (1, 2):
            recorder, _, state = record(wrong(*change), 2, n_jobs, [1, 2])
            recorder.check(4, state)

    with pytest.raises((AssertionError, IndexError, ValueError)):
        check_all()


def test_small_corpora_meet_after_each_round() -> None:
    corpus, _ = some_corpus()
    progress = blocks.start_shards(corpus, N_TOPICS, 2, blocks.Loads(), in_pieces=True)
    assert progress.docs.shape == (2, 1, 2)
    assert progress.unseen.shape == (2, 1, N_TOPICS)


def test_every_part_of_the_words_is_finished_once() -> None:
    """With fewer documents than parts, too; and not before all of its tokens have been drawn."""
    corpus = oracle.tiny_corpus([[0, 1, 2, 3, 0, 1], [4, 2]], 5)
    prior = make_prior(np.ones(2), np.ones(5), 2)
    state = rebuild_counts(corpus, np.zeros(8, np.int64), 2)
    events: list[tuple[str, tuple[int, int]]] = []

    def make_draw(corpus, words, prior):
        return lambda docs, state, rng: events.append(("drawn", words)) or np.zeros(2, np.int64)

    progress = blocks.start_shards(corpus, 2, 4, blocks.Loads())
    blocks.sweep_shards(
        progress, make_draw, corpus, state, prior, Key(0, 0, 1), Schedule(4),
        finish=lambda words: events.append(("finished", words)),
    )  # fmt: skip
    finished = [words for what, words in events if what == "finished"]
    assert sorted(v for words in finished for v in range(*words)) == [0, 1, 2, 3, 4]
    for words in finished:
        assert events.index(("finished", words)) > max(i for i, e in enumerate(events) if e == ("drawn", words))


# -- samplers --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return datasets.zipf(6_000, 200, 12, doc_length=30, seed=3).corpus


def prior_of(corpus: Corpus) -> Prior:
    return make_prior(np.full(12, 0.3), np.full(corpus.n_words, 0.1), corpus.n_docs)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("sampler", ["dense", "sparse", "words", "mh", "auto"])
@pytest.mark.parametrize("n_shards", [2, 3])
def test_neither_threads_nor_calls_change_a_draw(sampler: str, n_shards: int, corpus: Corpus) -> None:
    kernel, prior = get_sampler(sampler), prior_of(corpus)
    found = []
    for n_jobs, calls in [(1, [23]), (2, [23]), (3, [5, 8, 10]), (1, [1] * 23), (2, [12, 1, 10])]:
        state, progress, sweep = kernel.init(corpus, prior, Key(1, 0, 0)), None, 1
        for n in calls:
            state, info, progress = kernel.run(
                corpus, state, prior, Key(1, 0, sweep), Schedule(n_shards, n_jobs), n, progress
            )
            sweep += n
            rebuilt = rebuild_counts(corpus, state.z, 12)
            np.testing.assert_array_equal(state.as_dense().word_topic, rebuilt.word_topic)
            np.testing.assert_array_equal(state.topic, rebuilt.topic)
        assert (progress is not None) == (sampler in ("dense", "sparse", "auto"))
        found.append((state.z.tobytes(), info))
    assert len(set(found)) == 1


@pytest.mark.parametrize("sampler", ["dense", "sparse", "words", "mh"])
@pytest.mark.parametrize("n_shards", [2, 3])
def test_tokens_that_lie_side_by_side_are_drawn_as_if_they_were_listed(
    sampler: str, n_shards: int, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_order = replace(corpus, words=corpus.words[np.lexsort((corpus.words, corpus.token_docs))])
    kernel, prior = get_sampler(sampler), prior_of(in_order)
    found = []
    for listed in (False, True):
        if listed:
            monkeypatch.setattr(tokens_in_blocks, "_side_by_side", lambda _: False)
        assert (len(tokens_in_blocks.room_to_list(in_order, (0, 100))) > 0) == listed
        state = kernel.init(in_order, prior, Key(1, 0, 0))
        state, info, _ = kernel.run(in_order, state, prior, Key(1, 0, 1), Schedule(n_shards), 5)
        found.append((state.z.tobytes(), info))
    assert found[0] == found[1]


@pytest.mark.usefixtures("in_pieces")
def test_one_sweep_by_itself_needs_no_progress_before_it(corpus: Corpus) -> None:
    """And later sweeps of a chain are not the same, as parts then lag behind each other from one to the next."""
    kernel, prior, schedule = get_sampler("dense"), prior_of(corpus), Schedule(2, exact=False)
    z: dict[bool, np.ndarray] = {}
    for at_once in (False, True):
        state = kernel.init(corpus, prior, Key(1, 0, 0))
        state, _, progress = kernel.run(corpus, state, prior, Key(1, 0, 1), schedule, 10)
        assert progress is None
        if at_once:
            state, _, progress = kernel.run(corpus, state, prior, Key(1, 0, 11), schedule, 2)
        else:
            for sweep in (11, 12):
                state, _ = kernel.sweep(corpus, state, prior, Key(1, 0, sweep), schedule)
        z[at_once] = state.z
    assert not np.array_equal(z[False], z[True])


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("sampler", ["dense", "sparse", "auto"])
def test_a_chain_goes_on_from_a_checkpoint_between_cuts(sampler: str, corpus: Corpus, tmp_path: Path) -> None:
    kernel, prior = get_sampler(sampler), prior_of(corpus)
    plan = Plan(3, 34, 25, 4, "standard", learn_alpha=True, schedule=Schedule(2, 2))
    straight, broken = (start_chain(kernel, corpus, prior, plan.seed, 0) for _ in range(2))
    run_chains(kernel, corpus, [straight], plan)
    run = start_run(tmp_path, corpus, "LDA", {}, plan.seed)
    for stop in (13, 17, 29):
        while broken.sweep < stop:
            advance(kernel, corpus, broken, plan)
        assert broken.shard_progress is not None
        save_chain(run, kernel, broken)
        broken = load_chain(run, 0, corpus, kernel, K=prior.n_topics)
    run_chains(kernel, corpus, [broken], plan, callbacks=[lambda _: False])
    np.testing.assert_array_equal(straight.state.z, broken.state.z)
    np.testing.assert_array_equal(straight.prior.alpha, broken.prior.alpha)
    np.testing.assert_array_equal(straight.shard_progress.unseen, broken.shard_progress.unseen)
    assert straight.trace == broken.trace


@pytest.mark.usefixtures("in_pieces")
def test_a_fit_is_resumed_between_cuts(corpus: Corpus, tmp_path: Path) -> None:
    def fit(max_iter: int, folder: str, **more) -> LDA:
        return LDA(12, n_shards=2, max_iter=max_iter, random_state=0, checkpoint_dir=tmp_path / folder, **more).fit(
            corpus
        )

    whole = fit(41, "whole", n_jobs=2)
    fit(27, "part")
    assert topicloom.resume(tmp_path / "part", max_iter=41).fingerprint_ == whole.fingerprint_


@pytest.mark.usefixtures("in_pieces")
def test_blocks_are_cut_anew_where_the_chain_is_young_and_every_ten_sweeps(corpus: Corpus, monkeypatch) -> None:
    begun: list[int] = []
    original = in_blocks.start_shards
    kernel, prior = get_sampler("sparse"), prior_of(corpus)
    chain, plan = start_chain(kernel, corpus, prior, 0, 0), Plan(0, 35, None, 1, "standard", schedule=Schedule(2))

    def start_shards(*given):
        begun.append(chain.sweep)
        return original(*given)

    monkeypatch.setattr(in_blocks, "start_shards", start_shards)
    while chain.sweep < 35:
        advance(kernel, corpus, chain, plan)
    assert begun == [*range(11), 20, 30]


def test_a_chain_goes_to_the_next_sweep_that_asks_for_something(corpus: Corpus, monkeypatch) -> None:
    plan = Plan(0, 38, 25, 4, "standard", learn_alpha=True, learn_from=12, learn_every=10, checkpoint_every=17)
    stops = [0]
    while stops[-1] < 38:
        stops.append(plan.next_stop(stops[-1]))
    assert stops == [0, 10, 12, 17, 20, 22, 25, 29, 30, 32, 33, 34, 37, 38]
    monkeypatch.setattr("topicloom.engine.run._SECONDS", 1e6)  # the clock has no say
    kernel, prior, seen = get_sampler("dense"), prior_of(corpus), []
    chain = start_chain(kernel, corpus, prior, 0, 0)
    run_chains(kernel, corpus, [chain], plan, watch=[lambda chain: seen.append(chain.sweep)])
    assert seen == [1, *stops[1:]]  # the first sweep says how long they take
    every: list[int] = []
    again = start_chain(kernel, corpus, prior, 0, 0)
    run_chains(kernel, corpus, [again], plan, callbacks=[lambda chain: every.append(chain.sweep)])
    assert every == list(range(1, 39))
    np.testing.assert_array_equal(chain.state.z, again.state.z)


# -- how many --------------------------------------------------------------------------------------------------------


def test_large_corpora_have_several_shards_unless_told() -> None:
    edges = {0: 1, 1: 1, 2**19 - 1: 1, 2**19: 2, 2**23 - 1: 2, 2**23: 4, 2**27: 8, 10**11: 32}
    assert {n: blocks.shards_for(0, n) for n in edges} == edges
    assert blocks.shards_for(3, 10) == 3


@pytest.mark.parametrize("model", [LDA(3), CompoundLDA(3), LabeledLDA()], ids=lambda model: type(model).__name__)
def test_a_fit_takes_as_many_as_the_tokens_ask_for(model, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same chain as with that number, whatever the threads."""
    given = {
        LabeledLDA: {"y": [["a", "b"]] * corpus.n_docs},
        CompoundLDA: {"groups": ["a", "b"] * (corpus.n_docs // 2)},
    }.get(type(model), {})
    monkeypatch.setattr(blocks, "_NOT_CUT", (corpus.n_tokens.bit_length() - 1) - 4)
    model.set_params(max_iter=4, burn_in=None, random_state=2)
    found = [
        clone(model).set_params(n_jobs=n_jobs, n_shards=n_shards).fit(corpus, **given).fingerprint_
        for n_jobs, n_shards in ((1, "auto"), (2, "auto"), (1, 2), (1, 1))
    ]
    assert found[0] == found[1] == found[2] != found[3]

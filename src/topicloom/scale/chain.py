"""One chain on several workers: the same sweeps as on threads, bit for bit.

Shards of documents stay in their workers with their topics. Parts of the words go from worker to worker with their
counts, round by round, as ``engine.exact_shards`` has it on threads. Where parts meet, one number per topic and part
travels to all. All calls of a run of sweeps are made at once; each waits for the results that it takes, and no others.

What a call returns follows from the topics, the prior and the number of the sweep alone. So a chain that has lost a
worker begins again from a copy of its topics, or from its start, and makes the same sweeps.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from topicloom._types import AnyArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Range
from topicloom.engine.documents_by_count import DocumentsByCount
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Schedule, ShardProgress
from topicloom.engine.shards import document_shards
from topicloom.engine.state import new_assignments, topic_dtype
from topicloom.engine.threads import cut
from topicloom.errors import StorageError
from topicloom.files.arrays import file_of, read_digest
from topicloom.lda.gibbs.in_blocks import Blocks
from topicloom.numerics.rng import Purpose
from topicloom.scale.cluster import Ref, StoreFullError, WorkersLostError
from topicloom.scale.parts import DENSE, LISTS
from topicloom.scale.worker import Source, Visit

R = TypeVar("R")
_NO_ROWS = np.zeros(0, np.int32)
_KEEP_EVERY = 30.0  # seconds between copies of the topics that a chain can begin again from
_PIECE = 1 << 24  # topics that travel at a time, from or to this process
_COSTS = 20.0  # times what a copy takes, at least, between copies


def _pieces(n: int) -> list[Range]:
    return [(first, min(first + _PIECE, n)) for first in range(0, n, _PIECE)]


class Topics:
    """The topics of all tokens, which lie in workers: what is asked for is fetched."""

    def __init__(self, chain: "ShardedChain") -> None:
        self._chain = chain

    def __len__(self) -> int:
        return self._chain.corpus.n_tokens

    @property
    def size(self) -> int:
        return len(self)

    def __getitem__(self, tokens: AnyArray) -> AnyArray:
        return self._chain.topics_at(np.asarray(tokens, np.int64))

    @property
    def dtype(self) -> Any:
        return np.dtype(topic_dtype(self._chain.n_topics))

    def pieces(self) -> Iterator[AnyArray]:
        """All of them in order, a bounded number at a time, as a file takes them."""
        return self._chain.topics_in_pieces()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        found = self._chain.all_topics()
        return found if dtype is None else found.astype(dtype)

    def exact_counts(self) -> list[DocumentsByCount]:
        """Of each shard, how many documents have exactly so many tokens of each topic."""
        return self._chain.of_shards("exact_counts")


class _Call(NamedTuple):
    """A run of sweeps, to be made again if a worker is lost."""

    progress: ShardProgress
    make_draw: Callable[..., Any]
    finish: Callable[..., Any] | None
    prior: Prior
    key: Key
    n_sweeps: int


class ShardedChain:
    """The state of a chain whose documents and counts are in workers. It stands for a sampler's own state."""

    def __init__(self, place: Any, corpus: Corpus, index: int, prior: Prior, n_shards: int, blocks: Blocks) -> None:
        self.place, self.corpus, self.index, self.n_topics = place, corpus, index, prior.n_topics
        self.of, self.beside = blocks.of_documents, blocks.beside
        self.shards = document_shards(corpus, n_shards)
        self.alpha_row = prior.alpha_row
        self.topic = np.zeros(self.n_topics, np.int64)
        self.words: list[Range] = []  # parts that workers have now
        self.form = ""
        self.z = Topics(self)
        self.bytes_moved = 0  # by sweeps: parts that left their workers, and weights
        self._prior: Prior = prior
        self._sent: Prior | None = None
        self._start: Callable[[], None] = lambda: None
        self._calls: list[_Call] = []  # since the start, or since the copy
        self._kept: list[Ref] | None = None  # a copy of each shard's topics, near this process
        self._kept_at, self._took = time.monotonic(), 0.0

    # -- calls ---------------------------------------------------------------------------------------------------

    def worker_of(self, shard: int) -> int:
        return int(shard * self.place.n_started // len(self.shards))

    def home(self, part: int) -> int:
        return self.worker_of(part % len(self.shards))

    def call(self, worker: int, method: str, *args: Any, returns: int = 1) -> Any:
        return self.place.cluster.call(worker, method, self.index, *args, returns=returns)

    def get(self, refs: Iterable[Ref]) -> list[Any]:
        found: list[Any] = self.place.cluster.get(list(refs))
        return found

    def of_shards(self, method: str, *args: Any) -> list[Any]:
        """What a method says of each shard, in their order."""
        return self.safely(
            lambda: self.get(self.call(self.worker_of(s), method, s, *args) for s in range(len(self.shards)))
        )

    def of_parts(self, method: str, *args: Any) -> list[Any]:
        """What a method says of each part of the words, in their order."""

        def ask() -> list[Any]:
            self.count_parts()
            return self.get(self.call(self.home(w), method, w, *args) for w in range(len(self.words)))

        return self.safely(ask)

    def _all(self, method: str, *args: Any) -> list[Any]:
        return self.get(self.call(worker, method, *args) for worker in range(self.place.n_started))

    def safely(self, function: Callable[[], R]) -> R:
        """The result of calls, which are made again if a worker is lost meanwhile."""
        while True:
            try:
                found = function()
            except WorkersLostError as lost:
                self.place.recover(lost)
            else:
                self.place.made_progress()
                return found

    # -- start and start again -----------------------------------------------------------------------------------

    def start_from_prior(self, prior: Prior, key: Key) -> None:
        """First topics drawn from the prior, in the workers."""

        def draw() -> None:
            self.set_prior(prior)
            self._all("draw_first_topics", (key.seed, Purpose.START.value[1], key.chain))

        self._begin_with(draw)

    def start_from(self, z: AnyArray) -> None:
        """Given topics of all tokens."""
        self._begin_with(lambda: self._scatter(z))

    def _begin_with(self, start: Callable[[], None]) -> None:
        self._start, self._calls, self._kept = start, [], None
        self.safely(self._begin)
        self.topic[:] = np.sum(self.safely(lambda: self._all("totals")), axis=0)

    def _begin(self) -> None:
        """Topics as they were at the start."""
        self._hold()
        self._start()

    def _hold(self) -> None:
        ptr, path = self.corpus.doc_ptr, file_of(self.corpus.words)
        stored = path is not None and path.exists()
        digest = read_digest(path) if path is not None and stored else ""
        first_draws = np.concatenate(([0], np.cumsum(self.of.n_draws(self.corpus, self.beside))))

        def sources(worker: int, path: str | None) -> dict[int, Source]:
            found = {}
            for s, (start, stop) in enumerate(self.shards):
                if self.worker_of(s) == worker:
                    words = self.corpus.words[int(ptr[start]) : int(ptr[stop])]
                    found[s] = Source(
                        docs=(start, stop),
                        first_draw=int(first_draws[start]),
                        alpha_row=self.alpha_row[start:stop],
                        beside=self.of.cut(self.beside, (start, stop)),
                        path=path,
                        digest=digest,
                        arrays=None if path else (words, ptr[start : stop + 1]),
                    )
            return found

        for worker in range(self.place.n_started):
            begin = worker, "begin", self.n_topics, self.of
            try:
                self.get([self.call(*begin, sources(worker, str(path) if stored else None))])
            except StorageError:  # the worker's machine does not have the file, or not this one
                if not stored:
                    raise
                self.get([self.call(*begin, sources(worker, None))])
        self.words, self._sent = [], None

    def _scatter(self, z: AnyArray) -> None:
        ptr = self.corpus.doc_ptr
        for s, (start, stop) in enumerate(self.shards):  # one piece at a time: z may be larger than memory
            own = z[int(ptr[start]) : int(ptr[stop])]
            for first, last in _pieces(len(own)):
                self.get([self.call(self.worker_of(s), "set_topics", s, np.asarray(own[first:last]), first)])

    def start_again(self) -> None:
        """On other workers: from the last topics that were kept, or from the start, and the sweeps since then."""
        prior = self._prior
        if self._kept is not None:
            self._hold()
            for s, ref in enumerate(self._kept):
                self.get([self.call(self.worker_of(s), "set_topics", s, ref)])
        else:
            self._begin()
        self.topic[:] = np.sum(self._all("totals"), axis=0)
        for call in self._calls:
            self._sweep(call)
        self.set_prior(prior)

    def set_prior(self, prior: Prior) -> None:
        """Tell the workers the prior, if they have another."""
        self._prior = prior
        if prior is not self._sent:
            shared = self.place.cluster.put(prior._replace(alpha_row=_NO_ROWS))
            self._all("set_prior", shared)
            self._sent = prior

    def _keep(self) -> None:
        """Keep a copy of the topics, if the last one is old. Where there is no room for it the last one stays."""
        now = time.monotonic()
        if now - self._kept_at < max(_KEEP_EVERY, _COSTS * self._took):
            return
        refs = [self.call(self.worker_of(s), "topics", s) for s in range(len(self.shards))]
        try:
            self.place.cluster.wait(refs)
            self._kept, self._calls = refs, []
        except StoreFullError:
            pass
        self._kept_at = time.monotonic()
        self._took = self._kept_at - now

    # -- what samplers ask a state -------------------------------------------------------------------------------

    def as_dense(self) -> "ShardedChain":
        return self._in_form(DENSE)

    def as_lists(self, corpus: Corpus) -> "ShardedChain":
        return self._in_form(LISTS)

    def _in_form(self, form: str) -> "ShardedChain":
        if self.words:  # or they are counted in the form that a sweep takes, cut as it asks for
            self.safely(lambda: self._ensure(self.words, form))
        return self

    def list_sizes(self, words: Int32Array) -> Int32Array:
        """In how many topics each of these words occurs."""
        return np.concatenate(self.of_parts("list_sizes"))[words]

    def count_histogram(self) -> Int64Array:
        """How often each value n_kv > 0 occurs, indexed by the value."""
        found = self.of_parts("count_histogram")
        out = np.zeros(max(map(len, found)), np.int64)
        for part in found:
            out[: len(part)] += part
        return out

    def topics_at(self, tokens: Int64Array) -> AnyArray:
        edges = np.append(self.corpus.doc_ptr[[start for start, _ in self.shards]], self.corpus.n_tokens)
        shard = np.searchsorted(edges, tokens, "right") - 1
        shards = np.unique(shard).tolist()

        def ask() -> list[Any]:
            return self.get(self.call(self.worker_of(s), "topics_at", s, tokens[shard == s] - edges[s]) for s in shards)

        found = self.safely(ask)
        out = np.empty(len(tokens), found[0].dtype if found else np.uint16)
        for s, part in zip(shards, found, strict=True):
            out[shard == s] = part
        return out

    def topics_in_pieces(self) -> Iterator[AnyArray]:
        ptr = self.corpus.doc_ptr
        for s, (start, stop) in enumerate(self.shards):
            for piece in _pieces(int(ptr[stop] - ptr[start])):
                ask = lambda s=s, piece=piece: self.get([self.call(self.worker_of(s), "topics", s, piece)])[0]  # noqa: E731
                yield self.safely(ask)

    def all_topics(self) -> AnyArray:
        """Of all tokens: in memory, or in a file beside that of a mapped corpus."""
        z, start = new_assignments(self.corpus, self.n_topics), 0
        for piece in self.topics_in_pieces():
            z[start : start + len(piece)] = piece
            start += len(piece)
        return z

    # -- parts of the words --------------------------------------------------------------------------------------

    def count_parts(self) -> None:
        """Make sure that the workers have the counts of the topics."""
        self._ensure(self.words, self.form or LISTS)

    def _ensure(self, words: list[Range], form: str) -> None:
        """Parts of these words, in this form, at home."""
        words = words or cut(self.corpus.word_counts, len(self.shards))
        if not self.words:
            self._count(words, form)
        elif form != self.form:
            self.get(self.call(self.home(w), "set_form", w, form) for w in range(len(self.words)))
        self.form = form
        if words != self.words:
            self._cut_anew(words)

    def _count(self, words: list[Range], form: str) -> None:
        """Parts made from the topics: each goes through all shards and adds up their tokens."""
        n = len(self.shards)
        self._all("forget_parts")
        packed: list[Ref] = [None] * len(words)
        for r in range(n):
            for w in sorted(range(len(words)), key=lambda w: (w - r) % n):
                s = (w - r) % n
                leaves = self.worker_of((s - 1) % n) != self.worker_of(s)
                found = self.call(self.worker_of(s), "count_part", w, s, words[w], form, packed[w], r == n - 1, leaves)
                packed[w] = found if leaves else None
        self._come_home(words, packed)
        self.words = words

    def _come_home(self, words: list[Range], packed: list[Ref]) -> None:
        """Take in the parts that were on their way."""
        for w, ref in enumerate(packed):
            if ref is not None:
                self.call(self.home(w), "receive", w, words[w], ref)

    def _cut_anew(self, words: list[Range]) -> None:
        """Other parts of the same words: what changes hands travels."""
        pieces: list[list[Ref]] = []
        for start, stop in words:
            found = []
            for w, (low, high) in enumerate(self.words):
                if max(start, low) < min(stop, high):
                    found.append(self.call(self.home(w), "piece", w, (max(start, low), min(stop, high))))
            pieces.append(found)
        old = len(self.words)
        self.get(self.call(self.home(w), "receive", w, words[w], *pieces[w]) for w in range(len(words)))
        self.get(self.call(self.home(w), "forget_part", w) for w in range(len(words), old))
        self.words = words

    # -- sweeps --------------------------------------------------------------------------------------------------

    def sweep_shards(
        self, progress: ShardProgress, make_draw: Callable[..., Any], corpus: Corpus, state: Any, prior: Prior,
        key: Key, schedule: Schedule, n_sweeps: int = 1, finish: Callable[..., Any] | None = None,
    ) -> tuple[ShardProgress, Info]:  # fmt: skip
        """As ``engine.shards.sweep_shards``."""
        call = _Call(progress, make_draw, finish, prior, key, n_sweeps)
        found = self.safely(lambda: self._sweep(call))
        self._calls.append(call)
        self.safely(self._keep)
        return found

    def _sweep(self, call: _Call) -> tuple[ShardProgress, Info]:
        progress = call.progress
        words = [(start, stop) for start, stop in progress.words.tolist()]
        self._ensure(words, LISTS if call.finish is not None else DENSE)
        self.set_prior(call.prior)
        graph = _Sweeps(self, call, words)
        graph.lay_out()
        unseen = np.zeros_like(progress.unseen)  # of moves: parts need not see those of others
        return progress._replace(unseen=unseen), Info(*graph.results().tolist())


class _Sweeps:
    """The calls of a run of sweeps, as ``engine.exact_shards.sweep_exactly`` makes them on threads."""

    def __init__(self, chain: ShardedChain, call: _Call, words: list[Range]) -> None:
        self.chain, self.call, self.words, self.n = chain, call, words, len(words)
        self.docs = call.progress.docs.tolist()
        self.n_shards, self.n_pieces = call.progress.docs.shape[:2]
        self.reports: list[list[Ref]] = [[] for _ in words]  # of the last sweep
        self.packed: list[Ref] = [None] * self.n

    def lay_out(self) -> None:
        for sweep in range(self.call.n_sweeps):
            for r in range(self.n_shards):
                meets = r == 0 or self.n_pieces == 1
                # Parts that stayed in their worker come first: others arrive meanwhile.
                order = sorted(range(self.n), key=lambda w: (w - r) % self.n_shards)
                weights = self._weights(sweep, r, order) if meets else []
                for w in order:
                    self._visit(sweep, r, w, weights)

    def _weights(self, sweep: int, r: int, order: list[int]) -> list[Ref]:
        """What shares are drawn from, of all parts."""
        chain, key, found = self.chain, self.call.key, [None] * self.n
        for w in order:
            seed = (key.seed, Purpose.SHARES.value[1], key.chain, key.sweep + sweep, r * self.n_pieces, w)
            worker = chain.worker_of((w - r) % self.n_shards)
            found[w] = chain.call(worker, "draw_weights", w, seed, self.packed[w])
            self.packed[w] = None
        chain.bytes_moved += 8 * chain.n_topics * self.n * (self.n + 1)  # to the driver, and to all parts
        return found

    def _visit(self, sweep: int, r: int, w: int, weights: list[Ref]) -> None:
        chain, key, s = self.chain, self.call.key, (w - r) % self.n_shards
        about = Visit(
            part=w,
            shard=s,
            pieces=[(start, stop) for start, stop in self.docs[s]],
            seed=(key.seed, Purpose.SWEEP.value[1], key.chain, key.sweep + sweep, r, s),
            alone=self.n == 1,
            ends=r == self.n_shards - 1,
            leaves=chain.worker_of((s - 1) % self.n_shards) != chain.worker_of(s),
        )
        given = about, self.call.make_draw, self.call.finish, self.packed[w], *weights
        report, packed = chain.call(chain.worker_of(s), "visit", *given, returns=2)
        self.reports[w] = [*(self.reports[w] if r > 0 else []), report]
        self.packed[w] = packed if about.leaves else None

    def results(self) -> AnyArray:
        """The work of the last sweep; totals are brought up to date."""
        chain = self.chain
        chain._come_home(chain.words, self.packed)
        found = [chain.get(own) for own in self.reports]
        chain.topic[:] = np.sum([own[-1][1] for own in found], axis=0)
        chain.bytes_moved += self.call.n_sweeps * sum(moved for own in found for *_, moved in own)
        return np.asarray(np.sum([work for own in found for work, *_ in own], axis=0))

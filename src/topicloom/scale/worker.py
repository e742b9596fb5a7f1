"""What one worker does: documents of some shards live in it with their topics, and parts of the words visit them.

It is plain Python: the same object serves in a Ray actor and, in tests, in the same process. Every call is one of a
graph that ``scale.chain`` lays out. What a call returns depends on its arguments and the calls before it, so that a
worker that is lost can be replaced and its calls repeated.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._alone import documents_alone
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import stored_tokens
from topicloom.engine import count_lists as lists
from topicloom.engine import counts
from topicloom.engine.blocks import Block, Range
from topicloom.engine.documents_by_count import DocumentsByCount, exact_counts
from topicloom.engine.exact_shards import draw_weights, fill_share, prior_of_part
from topicloom.engine.prior import Prior
from topicloom.engine.state import State, topic_dtype
from topicloom.engine.threads import private
from topicloom.lda.gibbs.first_topics import skip
from topicloom.lda.gibbs.of_documents import OfDocuments
from topicloom.numerics.rng import Purpose, stream
from topicloom.scale.parts import Packed, Part, empty_part, in_form, numbered_from, unpacked

_NO_ROWS = np.zeros((0, 0))
_CHUNK = 1 << 20  # tokens that are counted together


class Source(NamedTuple):
    """Where a shard's documents are: in a corpus file that the worker can open, or here."""

    docs: Range
    first_draw: int
    alpha_row: Int32Array
    beside: Any
    path: str | None = None
    digest: str = ""
    arrays: tuple[Int32Array, Int64Array] | None = None  # word of each token, and where documents start


class Visit(NamedTuple):
    """The steps that a part of the words makes in the documents of a shard."""

    part: int
    shard: int
    pieces: list[Range]  # documents of each step, numbered as in the corpus
    seed: tuple[int, ...]  # path of the visit's stream
    alone: bool  # whether the part has all words
    ends: bool  # whether these are the last steps of a sweep
    leaves: bool  # whether the part goes to another worker then


@dataclass
class Held:
    """The documents of a shard, and their topics in one chain."""

    corpus: Corpus
    first: int  # number of the first document
    z: AnyArray
    alpha_row: Int32Array
    first_draw: int  # draws for first topics of the documents before
    beside: Any  # what the documents have beside their tokens
    estimate: FloatArray | None = None  # what ``soft_counts`` has added up so far


@dataclass
class Own:
    """One chain, as far as it is in this worker."""

    n_topics: int
    list_ptr: Int64Array
    of: OfDocuments
    shards: dict[int, Held] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    prior: Prior | None = None  # without the documents' rows


class Worker:
    """Holds shards of documents, of one chain or of several."""

    def __init__(self, word_counts: Int64Array) -> None:
        self.word_counts = np.array(word_counts)
        self.corpora: dict[Range, Corpus] = {}
        self.chains: dict[int, Own] = {}

    def process(self, chain: int = 0) -> int:
        """The number of the worker's process, which says that it is there."""
        return os.getpid()

    # -- documents and topics ------------------------------------------------------------------------------------

    def begin(self, chain: int, n_topics: int, of: OfDocuments, sources: dict[int, Source]) -> None:
        """Take the documents of some shards, and forget what the chain had here."""
        room = np.minimum(self.word_counts, n_topics)
        own = Own(n_topics, np.concatenate(([0], np.cumsum(room, dtype=np.int64))), of)
        for shard, source in sources.items():
            if source.docs not in self.corpora:
                self.corpora[source.docs] = _documents(source, self.word_counts)
            corpus = self.corpora[source.docs]
            z = np.zeros(corpus.n_tokens, topic_dtype(n_topics))
            rows = np.array(source.alpha_row)
            own.shards[shard] = Held(corpus, source.docs[0], z, rows, source.first_draw, source.beside)
        self.chains[chain] = own

    def set_topics(self, chain: int, shard: int, z: AnyArray, first: int = 0) -> None:
        """Topics of a shard's tokens, or of some from the ``first`` on."""
        self.chains[chain].shards[shard].z[first : first + len(z)] = z

    def topics(self, chain: int, shard: int, tokens: Range | None = None) -> AnyArray:
        """Topics of a shard's tokens, or of some, numbered from its first."""
        start, stop = tokens or (0, None)
        return self.chains[chain].shards[shard].z[start:stop].copy()

    def topics_at(self, chain: int, shard: int, tokens: Int64Array) -> AnyArray:
        """Topics of some tokens of a shard, numbered from its first."""
        return self.chains[chain].shards[shard].z[tokens]

    def set_prior(self, chain: int, prior: Prior) -> None:
        """The prior of all that follows; the documents' rows stay as they were."""
        self.chains[chain].prior = Prior(*(np.array(array) for array in prior))  # type: ignore[arg-type]

    def draw_first_topics(self, chain: int, seed: tuple[int, ...]) -> None:
        """Topics drawn from the prior, as one stream for all documents of the corpus gives them."""
        own = self.chains[chain]
        rng, at = stream(*_path(seed)), 0
        for shard in sorted(own.shards):
            held = own.shards[shard]
            skip(rng, held.first_draw - at)
            at = held.first_draw + int(own.of.n_draws(held.corpus, held.beside).sum())
            own.of.draw_first(held.corpus, held.beside, self._prior(own, shard), rng, held.z)

    def totals(self, chain: int) -> Int64Array:
        """Tokens of each topic in the shards that are here."""
        own = self.chains[chain]
        out = np.zeros(own.n_topics, np.int64)
        for held in own.shards.values():
            for start in range(0, len(held.z), _CHUNK):  # counting casts to 8 bytes per token: not all at once
                out += np.bincount(held.z[start : start + _CHUNK], minlength=own.n_topics)
        return out

    # -- parts of the words --------------------------------------------------------------------------------------

    def count_part(
        self, chain: int, part: int, shard: int, words: Range, form: str, packed: Packed | None, last: bool,
        leaves: bool,
    ) -> Packed | None:  # fmt: skip
        """Add a shard's tokens to a part that goes from shard to shard."""
        own = self.chains[chain]
        if packed is not None:
            own.parts[part] = unpacked([packed], words, own.n_topics, own.list_ptr)
        elif part not in own.parts or own.parts[part].words != words:
            own.parts[part] = empty_part(words, form, own.n_topics, own.list_ptr)
        held, found = own.shards[shard], own.parts[part]
        if found.rows is not None:
            counts.add_tokens(held.corpus.words, held.z, words[0], words[1], found.rows)
        else:
            assert found.listed is not None
            listed = found.listed._replace(z=held.z)
            lists.add_tokens(held.corpus.words, words[0], words[1], listed)
            if last:
                lists.sort_lists(0, words[1] - words[0], listed)
        return self._left(own, part) if leaves else None

    def forget_parts(self, chain: int) -> None:
        self.chains[chain].parts.clear()

    def forget_part(self, chain: int, part: int) -> None:
        self.chains[chain].parts.pop(part, None)

    def receive(self, chain: int, part: int, words: Range, *pieces: Packed) -> None:
        """A part comes home, whole or in pieces of what parts were before."""
        own = self.chains[chain]
        own.parts[part] = unpacked(list(pieces), words, own.n_topics, own.list_ptr)

    def piece(self, chain: int, part: int, words: Range) -> Packed:
        """Some words of a part, which stays."""
        return self.chains[chain].parts[part].packed(words)

    def set_form(self, chain: int, part: int, form: str) -> None:
        own = self.chains[chain]
        own.parts[part] = in_form(own.parts[part], form, own.n_topics, own.list_ptr)

    def list_sizes(self, chain: int, part: int) -> Int32Array:
        """In how many topics each word of a part occurs."""
        found = self.chains[chain].parts[part]
        if found.rows is not None:
            return np.asarray(np.count_nonzero(found.rows, axis=1), np.int32)
        assert found.listed is not None
        return found.listed.list_size.copy()

    def count_histogram(self, chain: int, part: int) -> Int64Array:
        """How often each count occurs among a part's."""
        own, found = self.chains[chain], self.chains[chain].parts[part]
        if found.rows is not None:
            return State(found.rows[:0], found.rows, found.totals).count_histogram()
        assert found.listed is not None
        largest = found.listed.entries[found.listed.list_ptr[:-1][found.listed.list_size > 0]] >> lists.SHIFT
        out = np.zeros(int(largest.max(initial=0)) + 1, np.int64)
        counts.list_histogram(found.listed, out)
        assert own.n_topics > 0
        return out

    # -- sweeps --------------------------------------------------------------------------------------------------

    def draw_weights(
        self, chain: int, part: int, seed: tuple[int, ...], packed: Packed | None
    ) -> FloatArray:  # fmt: skip
        """A part's weights by topic, from which the shares of all follow (``engine.exact_shards``)."""
        own, found = self.chains[chain], self._arrived(chain, part, packed)
        assert own.prior is not None
        state = found.state(np.zeros(0, topic_dtype(own.n_topics)), own.list_ptr, len(self.word_counts))
        found.totals[:] = 0
        state.add_topics(found.words, found.totals)
        out = np.empty(own.n_topics)
        draw_weights(found.totals, prior_of_part(own.prior, found.words).beta_sum, stream(*_path(seed)), out)
        return out

    def visit(
        self, chain: int, about: Visit, make_draw: Callable[..., Any], finish: Callable[..., Any] | None,
        packed: Packed | None, *weights: FloatArray,
    ) -> tuple[tuple[Int64Array, Int64Array | None, int], Packed | None]:  # fmt: skip
        """The steps of a part in a shard. ``weights`` are those of all parts, where new shares were drawn.

        Returns the part's work, its totals when a sweep ends and the bytes that leave, and its counts if it leaves.
        """
        own, part = self.chains[chain], self._arrived(chain, about.part, packed)
        held = own.shards[about.shard]
        if weights:
            fill_share(about.part, np.array(weights), part.share)
        state = own.of.state(part.state(held.z, own.list_ptr, len(self.word_counts)), held.beside)
        prior = self._prior(own, about.shard)
        if not about.alone:
            prior = prior_of_part(prior, part.words)
        draw = make_draw(held.corpus, part.words, prior, share=part.share)
        rng, work = private(stream(*_path(about.seed))), np.zeros(2, np.int64)
        for start, stop in about.pieces:
            if start < stop:
                work += draw((start - held.first, stop - held.first), state, rng)
        if about.ends and finish is not None:
            finish(state)(part.words)
        left = self._left(own, about.part) if about.leaves else None
        return (work, part.totals.copy() if about.ends else None, 0 if left is None else left.nbytes), left

    def _arrived(self, chain: int, part: int, packed: Packed | None) -> Part:
        """The part, if it has just arrived or was here."""
        own = self.chains[chain]
        if packed is not None:
            own.parts[part] = unpacked([packed], packed.words, own.n_topics, own.list_ptr)
        return own.parts[part]

    # -- what follows from the topics ----------------------------------------------------------------------------

    def exact_counts(self, chain: int, shard: int) -> DocumentsByCount:
        """Of a shard, how many documents have exactly so many tokens of each topic."""
        own = self.chains[chain]
        held = own.shards[shard]
        return exact_counts(held.corpus, held.z, self._prior(own, shard), (0, held.corpus.n_docs))

    def log_joint_documents(
        self, chain: int, shard: int, ranges: Sequence[Range], total: float = 0.0
    ) -> list[float]:  # fmt: skip
        """log p(z | α) of ranges of a shard's documents, the first added to ``total``."""
        own = self.chains[chain]
        held, prior = own.shards[shard], self._prior(own, shard)
        found = []
        for start, stop in ranges:
            docs = start - held.first, stop - held.first
            found.append(own.of.log_joint(held.corpus, held.beside, held.z, prior, docs, total))
            total = 0.0
        return found

    def log_joint_words(self, chain: int, part: int, ranges: Sequence[Range], total: float = 0.0) -> list[float]:
        """log p(w | z, β) of ranges of a part's words, but for the topics' totals, the first added to ``total``."""
        own, found = self.chains[chain], []
        assert own.prior is not None
        z = np.zeros(0, topic_dtype(own.n_topics))
        state = own.parts[part].state(z, own.list_ptr, len(self.word_counts))
        for words in ranges:
            found.append(state.log_joint_words(words, own.prior, total))
            total = 0.0
        return found

    def rows(self, chain: int, part: int, words: Range) -> Packed:
        """The counts of some words of a part as rows."""
        own, found = self.chains[chain], self.chains[chain].parts[part]
        if found.listed is None:
            return found.packed(words)
        rows = np.empty((words[1] - words[0], own.n_topics), np.int32)
        lists.spread(found.listed_of(words), rows)
        return Packed(words, rows, None)

    def start_estimate(self, chain: int, shard: int) -> None:
        own = self.chains[chain]
        held = own.shards[shard]
        held.estimate = own.of.no_counts(held.corpus, held.beside, own.n_topics)

    def add_estimate(
        self, chain: int, shard: int, totals: Int64Array, packed: Packed, word: FloatArray | None, words: bool
    ) -> FloatArray | None:  # fmt: skip
        """Add the soft counts of a part's tokens in a shard's documents to theirs, and to the part's (CGS_p)."""
        own = self.chains[chain]
        held, prior, (start, stop) = own.shards[shard], self._prior(own, shard), packed.words
        part = unpacked([packed], packed.words, own.n_topics, own.list_ptr)
        part.totals[:] = totals
        out = np.zeros((stop - start, own.n_topics)) if word is None else np.array(word)
        seen = numbered_from(start, out, len(self.word_counts)) if words else _NO_ROWS
        block = Block(0, held.corpus.n_docs, start, stop)
        state = part.state(held.z, own.list_ptr, len(self.word_counts))
        doc = _NO_ROWS if held.estimate is None else held.estimate
        own.of.add_soft(block, held.corpus, held.beside, state, prior, doc, seen)
        return out if words else None

    def estimate(self, chain: int, shard: int, soft: bool) -> FloatArray:
        """Topic counts of a shard's documents: those added up, or those of the topics as they are."""
        held = self.chains[chain].shards[shard]
        if soft:
            found, held.estimate = held.estimate, None
            assert found is not None
            return found
        own = self.chains[chain]
        return own.of.counts(held.corpus, held.beside, held.z, own.n_topics)

    # -- inside --------------------------------------------------------------------------------------------------

    def _prior(self, own: Own, shard: int) -> Prior:
        assert own.prior is not None
        return own.prior._replace(alpha_row=own.shards[shard].alpha_row)

    def _left(self, own: Own, part: int) -> Packed:
        return own.parts.pop(part).packed()


def _documents(source: Source, word_counts: Int64Array) -> Corpus:
    if source.arrays is not None:
        words, doc_ptr = source.arrays
    else:
        assert source.path is not None
        words, doc_ptr = stored_tokens(source.path, source.docs, len(word_counts), source.digest)
    return documents_alone(words, doc_ptr - doc_ptr[0], word_counts)


def _path(seed: tuple[int, ...]) -> list[Any]:
    """The path of a stream: the second entry is the number of a purpose."""
    return [seed[0], Purpose(("all", seed[1])), *seed[2:]]

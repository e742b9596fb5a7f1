"""CGS_p section 5.4, figure 3: do φ or φᵖ rank people's associations higher?"""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduce._common import note, table, train_to, word_topic_prob
from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.corpus import Corpus
from topicloom.errors import InputError
from topicloom.evaluation import word_association

N_ASSOCIATES = 5
N_GROUPS = 10
LEAST, MOST = 5, 10_000  # occurrences of a word type; section 5.4 drops rarer and more frequent ones
_CHUNK = 256  # cues ranked at a time: 256 × V numbers of scratch


@dataclass(frozen=True)
class Pairs:
    """Cue and associate of each pair, as word numbers, and how often the cue occurs in the corpus."""

    cue: Int64Array
    target: Int64Array
    frequency: Int64Array


def load_norms(path: Path) -> dict[str, list[str]]:
    """Associates of each cue, the most common first, from a table with the columns cue, target and people."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    columns = lines[0].split("\t")
    if not {"cue", "target", "people"} <= set(columns):
        raise InputError(f"{path} must have the columns cue, target and people; its first line is {lines[0]!r}.")
    cue, target, people = (columns.index(name) for name in ("cue", "target", "people"))
    answers: dict[str, list[tuple[int, str]]] = {}
    for line in lines[1:]:
        cells = line.split("\t")
        answers.setdefault(cells[cue], []).append((int(cells[people]), cells[target]))
    return {word: [t for _, t in sorted(given, key=lambda a: -a[0])] for word, given in answers.items()}


def usual_words(corpus: Corpus) -> Corpus:
    """The corpus without word types that are too rare or too frequent."""
    counts = np.bincount(corpus.words, minlength=corpus.n_words)
    return corpus.with_vocabulary([corpus.vocabulary[v] for v in np.flatnonzero((counts >= LEAST) & (counts <= MOST))])


def pair_up(norms: Mapping[str, Sequence[str]], corpus: Corpus) -> Pairs:
    """Cues of the vocabulary, each with the first five of its associates that are in the vocabulary."""
    number = {word: v for v, word in enumerate(corpus.vocabulary)}
    pairs = [
        (number[cue], number[target])
        for cue, targets in norms.items()
        if cue in number
        for target in [t for t in targets if t in number and t != cue][:N_ASSOCIATES]
    ]
    cue, target = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    return Pairs(cue, target, np.bincount(corpus.words, minlength=corpus.n_words)[cue])


def ranks(word_topic: FloatArray, cue: Int64Array, target: Int64Array) -> FloatArray:
    """Rank of each target among all words but the cue by p(target | cue), eq. 57; ``word_topic`` is φ by word [V, K].

    Words of equal probability share the middle of their ranks, so that the order of the vocabulary plays no part.
    """
    out = np.empty(len(cue))
    cues, topics = np.unique(cue), word_topic.T
    for start in range(0, len(cues), _CHUNK):
        part = cues[start : start + _CHUNK]
        probability = word_association(topics, part)  # a uniform p(z)
        probability[np.arange(len(part)), part] = -1.0  # the cue itself is not ranked
        for pair in np.flatnonzero((cue >= part[0]) & (cue <= part[-1])):
            row = probability[np.searchsorted(part, cue[pair])]
            above = np.count_nonzero(row > row[target[pair]])
            level = np.count_nonzero(row == row[target[pair]])  # the target is one of these
            out[pair] = above + (level + 1) / 2
    return out


def rank_gains(corpus: Corpus, pairs: Pairs, n_topics: int, sweeps: int, seed: int, name: str = "") -> FloatArray:
    """rank_φ − rank_φᵖ of each pair after one training chain: positive where φᵖ does better."""
    chain = train_to(corpus, n_topics, sweeps, seed)
    note(f"association: {name}, K = {n_topics}: trained")
    hard, soft = (
        ranks(word_topic_prob(corpus, chain, estimator), pairs.cue, pairs.target) for estimator in ("standard", "cgs_p")
    )
    note(f"association: {name}, K = {n_topics}: ranked")
    return hard - soft


def report(name: str, corpus: Corpus, pairs: Pairs, gains: Mapping[int, FloatArray]) -> str:
    """Median gains by the cue's frequency: in steps of 1,000 as in figure 3, and in ten groups of equal size."""
    n_cues = len(np.unique(pairs.cue))
    steps = np.linspace(0, MOST, N_GROUPS + 1)[1:]
    of_cue = np.sort(pairs.frequency[np.unique(pairs.cue, return_index=True)[1]])
    tenths = of_cue[np.linspace(0, n_cues - 1, N_GROUPS + 1).round().astype(int)[1:]]
    head = ["cue's frequency", "cues", "pairs", *(f"K = {k}" for k in gains)]
    everything = _row("all", np.ones(len(pairs.cue), bool), pairs, gains)
    shares = [
        f"K = {k}: {np.mean(gain > 0):.1%} of pairs better, {np.mean(gain < 0):.1%} worse, mean {gain.mean():+.1f}"
        for k, gain in gains.items()
    ]
    return "\n\n".join(
        [
            f"**{name}**: {corpus.n_words:,} words, {n_cues:,} cues, {len(pairs.cue):,} pairs. Median of rank_φ − "
            "rank_φᵖ, positive where φᵖ is better; steps of frequency as in figure 3:",
            table(head, [*_grouped(steps, pairs, gains), everything]),
            "Ten groups with about as many cues each:",
            table(head, _grouped(tenths, pairs, gains)),
            "Over all pairs, φᵖ against φ: " + "; ".join(shares) + ".",
        ]
    )


def _grouped(upper: FloatArray, pairs: Pairs, gains: Mapping[int, FloatArray]) -> list[list[str]]:
    """One row for each group of frequencies up to and with the given bounds."""
    rows = []
    below = 0.0
    for bound in upper:
        inside = (pairs.frequency > below) & (pairs.frequency <= bound)
        rows.append(_row(f"{below + 1:,.0f} to {bound:,.0f}", inside, pairs, gains))
        below = float(bound)
    return rows


def _row(label: str, inside: BoolArray, pairs: Pairs, gains: Mapping[int, FloatArray]) -> list[str]:
    medians = [f"{np.median(gain[inside]):+.1f}" if inside.any() else "–" for gain in gains.values()]
    return [label, f"{len(np.unique(pairs.cue[inside])):,}", f"{inside.sum():,}", *medians]

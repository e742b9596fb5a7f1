"""Checks of parameters and data that models share. Everything is checked before anything is changed."""

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import as_numbers, shown
from topicloom.corpus._checks import check_choice as check_choice
from topicloom.corpus._checks import check_number as check_number
from topicloom.corpus._checks import check_whole as check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator.parameters import LEAST, MOST, positive
from topicloom.engine.stopping import from_saved, most_sweeps
from topicloom.errors import InputError, InterruptedFitWarning, SeedWordWarning, StorageError, warn

SeedWords = Mapping[int, Iterable[str]] | Sequence[Iterable[str]]

_LARGEST_COUNT = 2.0**31  # as of the matrices that corpora are made of


def check_prior(name: str, value: Any, size: int, of: str, default: float) -> FloatArray:
    """A Dirichlet parameter as a vector: from a positive number, a vector of them, or None for the default."""
    vector = as_numbers(name, default if value is None else value)
    if vector.ndim == 0:
        vector = np.full(size, vector)
    if vector.shape != (size,):
        raise InputError(f"{name} has shape {vector.shape}; give one number, or one for each of {size} {of}.")
    usable = (vector >= LEAST) & (vector <= MOST)
    if not np.all(usable):
        raise InputError(f"{name} contains {vector[~usable][0]}; every value must be from {LEAST:g} to {MOST:g}.")
    return vector


def draw_seed(random_state: Any) -> int:
    """The seed of a fit: a whole number is taken as it is, anything else gives one by drawing."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    if random_state is None:
        source: Any = np.random  # the global generator, as scikit-learn has it
    elif isinstance(random_state, np.random.RandomState):
        source = random_state
    else:
        from sklearn.utils import check_random_state

        try:
            source = check_random_state(random_state)
        except Exception as error:
            raise InputError(
                f"random_state={shown(random_state)} must be None, a whole number or a numpy.random.RandomState."
            ) from error
    return int(source.randint(np.iinfo(np.int32).max))


def check_callbacks(callbacks: Any) -> None:
    """What every ``fit`` takes: functions that are called with a chain."""
    if not isinstance(callbacks, Sequence) or not all(callable(callback) for callback in callbacks):
        raise InputError(f"callbacks={shown(callbacks)} must be a list of functions, each of which takes a chain.")


def is_vector(name: str, value: Any) -> bool:
    """Whether more than one number was given."""
    return value is not None and as_numbers(name, value).ndim > 0


def check_some_tokens(corpus: Corpus) -> None:
    if corpus.n_tokens == 0:
        what = "the document is" if corpus.n_docs == 1 else f"all {corpus.n_docs} documents are"
        raise InputError(f"{what} empty: there is no word to learn topics from.")


def check_weights(corpus: Corpus, least: float = LEAST) -> None:
    """Weights of words that calculations can bear."""
    if corpus.weights is None or corpus.n_tokens == 0:
        return
    most, total = float(corpus.weights.max()), float(corpus.weights.sum())
    if most > _LARGEST_COUNT:
        entry = int(corpus.weights.argmax())
        doc = int(np.searchsorted(corpus.doc_ptr, entry, side="right")) - 1
        raise InputError(
            f"document {doc}: the weight {most:g} for {corpus.vocabulary[corpus.words[entry]]!r} is not usable; "
            "weights must be at most 2**31. Divide all of them by one number."
        )
    if total < least:
        raise InputError(
            f"all weights together are {total:g}; they must be at least {least:g}. Multiply all of them by one number, "
            "so that those of a document sum to about its number of words."
        )


def check_whole_tokens(corpus: Corpus) -> None:
    """Samplers move whole tokens from topic to topic."""
    if corpus.weights is None:
        return
    entry = int(np.flatnonzero(corpus.weights != np.floor(corpus.weights))[0])
    doc = int(np.searchsorted(corpus.doc_ptr, entry, side="right")) - 1
    raise InputError(
        f"document {doc}: count {corpus.weights[entry]:g} for {corpus.vocabulary[corpus.words[entry]]!r} is not an "
        'integer; sampling needs integer counts. Round them, or use VariationalLDA with method="cvb0".'
    )


def seed_boosts(seed_words: SeedWords | None, weight: float, corpus: Corpus, n_topics: int) -> dict[int, FloatArray]:
    """What is added to β for seed words: in its topic, ``weight`` times the word's count in the corpus."""
    if seed_words is None:
        return {}
    positive("seed_weight", weight)
    if isinstance(seed_words, str | Set) or not isinstance(seed_words, Iterable):
        raise InputError("seed_words must map topic numbers to lists of words, for instance {0: ['goal', 'match']}.")
    items = seed_words.items() if isinstance(seed_words, Mapping) else enumerate(seed_words)
    index = {word: v for v, word in enumerate(corpus.vocabulary)}
    boosts: dict[int, FloatArray] = {}
    missing: list[str] = []
    for topic, words in items:
        if isinstance(topic, bool) or not isinstance(topic, int | np.integer) or not 0 <= topic < n_topics:
            raise InputError(f"seed_words names topic {shown(topic)}; topics are numbered 0 to {n_topics - 1}.")
        for word in _seeds_of(topic, words):
            v = index.get(word)
            if v is None:
                missing.append(word)
            else:
                boosts.setdefault(v, np.zeros(n_topics))[topic] += weight * max(int(corpus.word_counts[v]), 1)
    if missing:
        names = ", ".join(map(repr, missing[:10])) + (", …" if len(missing) > 10 else "")
        warn(f"seed words not in the vocabulary, without effect: {names}.", SeedWordWarning)
    return boosts


def _seeds_of(topic: int, words: Any) -> tuple[str, ...]:
    if isinstance(words, str | bytes) or not isinstance(words, Iterable) or getattr(words, "ndim", 1) == 0:
        raise InputError(f"seed_words of topic {topic} is {shown(words)}; give a list of words.")
    found = tuple(words)
    for word in found:
        if not isinstance(word, str):
            raise InputError(f"seed_words of topic {topic} has {shown(word)}; every word must be a string.")
    return found


def check_goes_on(max_iter: int, done: int, folder: Path, manifest: Mapping[str, Any], unit: str = "sweeps") -> None:
    """Whether a run that has done so much can go on to ``max_iter``."""
    limit = most_sweeps(from_saved(manifest["params"]["max_iter"]))
    if manifest["status"] == "running" and done > limit:
        raise StorageError(f"{folder} is damaged: a chain has done {done} of {limit} {unit}. Restore it from a copy.")
    if max_iter < done:
        raise InputError(
            f"max_iter={max_iter} is less than the {done} {unit} that the run in {folder} has done; "
            "give more, or leave it out."
        )


def warn_interrupted(done: int, max_iter: int) -> None:
    """To the caller of the ``fit`` that was interrupted."""
    warn(
        f"interrupted after sweep {done} of {max_iter}; the estimates come from the sweeps done.", InterruptedFitWarning
    )

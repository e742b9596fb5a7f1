"""How a model reads what it is given: documents to learn from, and new ones as those were read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from topicloom.corpus._checks import shown
from topicloom.corpus._given import Given, told_apart
from topicloom.corpus._matrices import has_array
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import column_names, from_frame, listed
from topicloom.corpus.inputs import METADATA, check_keywords, corpus_of, new_cells, options_of
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.pruning import Pruning
from topicloom.corpus.text import from_texts
from topicloom.corpus.text_options import WORD_LISTS
from topicloom.errors import InputError

_HOLDS = {
    "text": "texts",
    "id": "names of documents",
    "label": "labels",
    "group": "groups",
    "response": "numbers",
    "time": "times",
}
_NO_TOKENIZER = (
    "this model does not know how to cut texts: it was fitted on counts, on lists of words, or with a tokenizer or "
    "normalizer that has no name. Give tokenizer= as in the fit, or lists of words, or a Corpus: "
    "topicloom.from_texts(texts, tokenizer=..., vocabulary=model.vocabulary_). Functions that are registered before "
    "the fit (topicloom.corpus.register_tokenizer, register_normalizer) are remembered by name."
)


# Of a matrix all columns are words, so that new ones have the same; ``from_matrix`` makes a corpus of some of them.
_OF_COUNTS = tuple(name for name in options_of("matrix") if name not in Pruning._fields)


def training_corpus(model: Any, X: Any, reading: Mapping[str, Any]) -> Corpus:
    """Documents to learn from."""
    given = told_apart(X)
    if not _holds_counts(given, reading):
        corpus = corpus_of(given, reading)
        if given.kind != "corpus":
            vars(model).pop("feature_names_in_", None)  # of an earlier fit, on a frame
        return corpus
    check_keywords("matrix", reading, _OF_COUNTS)
    matrix = model._checked_matrix(given.data, reset=True)  # as scikit-learn takes it
    names = getattr(model, "feature_names_in_", None)
    found = {"vocabulary": None if names is None else [str(name) for name in names], **reading}
    return from_matrix(matrix, **found)


def read_once(X: Any, reading: Mapping[str, Any]) -> Any:
    """What can be given to a model twice: a Corpus, or a matrix or frame of counts as it is."""
    given = told_apart(X)
    return given.data if not reading and _holds_counts(given, reading) else corpus_of(given, reading)


def _holds_counts(given: Given, reading: Mapping[str, Any]) -> bool:
    """Whether it is a matrix, or a frame that scikit-learn takes as one."""
    return given.kind == "matrix" or (given.kind == "frame" and not reading and has_array(given.data))


def check_one_target(y: Any, reading: Mapping[str, Any], role: str | None, name: str = "y") -> None:
    """Refuse targets that are given in two places."""
    for other in (role, f"{role}s") if role is not None and y is not None else ():
        if reading.get(other) is not None:
            are = "are" if name.endswith("s") else "is"
            raise InputError(f"{name} {are} given, and {other}={shown(reading[other])}, too; give one of them alone.")


# -- new documents -------------------------------------------------------------------------------------------------


def with_all_words(model: Any, X: Any, reading: Mapping[str, Any]) -> Corpus:
    """New documents, read as those of the fit, with words that the model does not know where words have names.

    A matrix, bags of numbers and cells have the words of the model alone, and so have texts without any word.
    """
    given = told_apart(X)
    if given.kind in ("texts", "words", "docs"):
        given = Given(given.kind, list(given.data))
    cut = given.kind in ("texts", "words", "docs") or (given.kind == "frame" and "text_column" in _kept(model))
    if not cut and not (given.kind in ("corpus", "bags") and _has_names(given, reading)):
        return _read_new(model, given, reading)
    if not cut:
        return corpus_of(given, reading)
    try:
        return _read_new(_AllWords(model), given, reading)
    except InputError:  # no word in them, or what is refused anyway
        return _read_new(model, given, reading)


class _AllWords:
    """A model as it reads, with no vocabulary to keep to."""

    vocabulary_ = None

    def __init__(self, model: Any) -> None:
        self._reading, self._text_options = model._reading, model._text_options


def _has_names(given: Given, reading: Mapping[str, Any]) -> bool:
    named = reading.get("vocabulary") is not None or getattr(given.data, "id2word", None) is not None
    return given.kind == "corpus" or named


def new_corpus(model: Any, X: Any, reading: Mapping[str, Any], roles: Sequence[str] = ()) -> Corpus:
    """New documents in a model's vocabulary, read as those of the fit unless ``reading`` says otherwise.

    ``roles`` are what is wanted of a frame beside its texts.
    """
    return _read_new(model, told_apart(X), reading, roles)


def _read_new(model: Any, given: Given, reading: Mapping[str, Any], roles: Sequence[str] = ()) -> Corpus:
    vocabulary = model.vocabulary_
    if given.kind in ("texts", "words", "docs"):
        usable = ("missing", *METADATA, *_usable_to_cut(model, given.kind, reading))
        check_keywords(given.kind, reading, usable)
        return from_texts(given.data, **_as_fitted(model, given.kind, reading))
    if given.kind == "frame":
        return _new_frame(model, given.data, reading, roles)
    if given.kind == "bags":
        return _new_bags(model, given, reading)
    if given.kind == "matrix" and reading.get("vocabulary") is None:
        check_keywords("matrix", reading, _OF_COUNTS)
        own = {name: value for name, value in reading.items() if name != "vocabulary"}
        return from_matrix(model._checked_matrix(given.data, reset=False), vocabulary, **own)
    if given.kind == "cells":
        return new_cells(given.data, vocabulary, model._reading, reading)
    return corpus_of(given, reading).with_vocabulary(vocabulary)


def _kept(model: Any) -> Mapping[str, Any]:
    """How the documents of the fit were read."""
    kept: Mapping[str, Any] = model._reading or {}
    return kept


def _usable_to_cut(model: Any, kind: str, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Options of cutting that a model does not know itself."""
    how = model._text_options
    if kind == "words" or (kind == "texts" and how is not None and how.tokenizer != WORD_LISTS):
        return ()
    return ("tokenizer", "lowercase", "stop_words") if reading.get("tokenizer") is not None else ("tokenizer",)


def _as_fitted(model: Any, kind: str, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options of ``from_texts`` by which new documents become words as those of the fit did."""
    how = model._text_options
    found: dict[str, Any] = {"missing": _kept(model).get("missing", "error")}
    if reading.get("tokenizer") is not None:
        pass
    elif how is not None and (kind != "texts" or how.tokenizer != WORD_LISTS):
        found |= how._asdict() if how.tokenizer != WORD_LISTS and kind == "texts" else how.of_words()
    elif kind != "words":
        raise InputError(_NO_TOKENIZER)
    return {**found, **reading, "vocabulary": model.vocabulary_, "keep_texts": False}


def _new_bags(model: Any, given: Given, reading: Mapping[str, Any]) -> Corpus:
    """Without a vocabulary, words have the numbers that they had in the fit, and higher ones are not known."""
    named = _has_names(given, reading)
    corpus = corpus_of(given, {"missing": _kept(model).get("missing", "error"), **reading})
    if not named:
        known = model.vocabulary_
        others = tuple(f"\0{number}" for number in range(len(known), corpus.n_words))
        corpus = replace(corpus, vocabulary=known[: corpus.n_words] + others)
    return corpus.with_vocabulary(model.vocabulary_)


# -- frames --------------------------------------------------------------------------------------------------------


def _new_frame(model: Any, X: Any, reading: Mapping[str, Any], roles: Sequence[str]) -> Corpus:
    """A frame by the columns of the fit; a keyword argument names another, None says that there is none."""
    kept = {role: _kept(model)[f"{role}_column"] for role in _HOLDS if f"{role}_column" in _kept(model)}
    if not kept and _holds_counts(Given("frame", X), reading):  # counts, as scikit-learn takes them
        return from_matrix(model._checked_matrix(X, reset=False), model.vocabulary_)
    columns = column_names(X)
    if (text := reading.get("text", kept.get("text"))) is None:
        roles = [role for role in kept if kept[role] in columns]  # which are no words
    named = _columns(kept, reading, ("text", *roles), columns)
    if text is None:
        check_keywords("frame", reading, tuple(_HOLDS))
        return from_frame(X, **named).with_vocabulary(model.vocabulary_)
    cut = {name: value for name, value in reading.items() if name not in _HOLDS}
    check_keywords("frame", cut, (*_HOLDS, "missing", *_usable_to_cut(model, "texts", reading)))
    return from_frame(X, **named, **_as_fitted(model, "texts", cut))


def _columns(
    kept: Mapping[str, Any], reading: Mapping[str, Any], wanted: Sequence[str], columns: Sequence[Any]
) -> dict[str, Any]:
    """The column of each role: those that are given, and of the fit's those that are wanted."""
    found = {role: reading[role] for role in _HOLDS if reading.get(role) is not None}
    for role, column in kept.items():
        if role in reading or role not in ("id", *wanted):
            continue
        if column in columns:
            found[role] = column
        elif role != "id":
            none = "" if role == "text" else f", or give {role}=None to read none"
            raise InputError(
                f"the frame has no column {column!r}, from which the fit read its {_HOLDS[role]}; it has "
                f"{listed(columns)}. Name the right one with {role}={none}."
            )
    return found

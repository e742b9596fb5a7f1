"""Topic shares of any number of documents: read, computed and written some at a time."""

import copy
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_choice, check_whole, shown
from topicloom.corpus._executors import current_executor
from topicloom.corpus._sources import found_paths
from topicloom.corpus.chunks import read_chunks
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.formats import asked
from topicloom.corpus.registry import Tokenizer
from topicloom.corpus.text_options import WORD_LISTS
from topicloom.engine.document_tasks import Some
from topicloom.engine.estimator.share_files import Dtype, Layout, Write, check_target, shares_of, writing
from topicloom.engine.progress import announce
from topicloom.errors import InputError, UnknownWordsWarning, counted, warn
from topicloom.files.arrays import as_path

CHUNK_SIZE = 10_000
_OF_THE_FIT = ("_corpus", "_chains", "_stored", "_doc_topic", "_sets")  # what a model has of its documents
MANY_UNKNOWN = 0.2  # share of unknown words from which a warning is due
_LINE_SECONDS = 5.0
Heard = Callable[["Transformed"], None]


class Transformed(NamedTuple):
    """What has been read and written."""

    documents: int = 0
    tokens: int = 0  # known to the model
    unknown: int = 0  # tokens that are not
    empty: int = 0  # documents without a known token
    seconds: float = 0.0

    @property
    def unknown_share(self) -> float:
        """Share of the tokens that the model does not know."""
        return self.unknown / max(self.unknown + self.tokens, 1)


def transform_file(
    model: Any, source: Any, target: Any, *, format: str | None, chunk_size: int, top_n: int | None, dtype: Dtype,
    tokenizer: Tokenizer | None, callback: Heard | None, **reading: Any,
) -> Transformed:  # fmt: skip
    """See ``TopicModel.transform_file``."""
    check_is_fitted(model, "seed_")
    layout = layout_for(model, top_n, dtype)
    if callback is not None and not callable(callback):
        raise InputError(f"callback={shown(callback)} must be a function that takes what has been written.")
    path = as_path(target)
    check_target(path, layout)
    check_other_files(found_paths(source), path)
    how = model._text_options
    given = {name: value for name, value in reading.items() if value is not None}
    in_words = how is not None and how.tokenizer == WORD_LISTS and _may_hold_lists(source, format, given)
    if tokenizer is None and (how is None or (how.tokenizer == WORD_LISTS and not in_words)):
        raise InputError(
            "this model was not fitted on texts with the default tokenizer; give transform_file the one that cut them: "
            "tokenizer=..., a callable from a text to its words."
        )
    cutting = how._asdict() if tokenizer is None else {"tokenizer": tokenizer}
    chunks = read_chunks(
        source, format, vocabulary=model.vocabulary_, chunk_size=chunk_size, keep_texts=False, **cutting, **given
    )
    if callback is None and model.verbose > 0:
        callback = Paced(announce)
    with writing(path, layout) as write:
        done = write_all(with_shares(model, chunks), layout, write, callback)
    if done.unknown_share >= MANY_UNKNOWN:
        warn(
            f"{done.unknown_share:.0%} of the words in {counted(done.documents, 'documents')} are not in the model's "
            f"vocabulary and are left out; {path} has the number for each document.",
            UnknownWordsWarning,
        )
    return done


def _may_hold_lists(source: Any, format: str | None, options: dict[str, Any]) -> bool:
    """Whether documents of these files may be lists of words. If they are texts, it is said when they are read."""
    return asked(source, format, options)[1] in ("jsonl", "parquet")


def check_other_files(sources: Iterable[Path], target: Path) -> None:
    """Refuse to write where documents are read."""
    if target.exists() and any(source.exists() and source.samefile(target) for source in sources):
        raise InputError(f"{target} is the file that is read; write to another one.")


class Paced:
    """Says every few seconds how much is done."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._last, self.documents = tell, 0.0, 0

    def __call__(self, done: Transformed) -> None:
        self.documents = done.documents
        if done.seconds - self._last >= _LINE_SECONDS:
            self._last = done.seconds
            self._tell(f"{done.documents:,} documents, {done.documents / done.seconds:,.0f} per second")


def layout_for(model: Any, top_n: int | None, dtype: Dtype) -> Layout:
    """What a file of the model's shares holds, if the options are right."""
    if top_n is not None:
        check_whole("top_n", top_n, 1)
    check_choice("dtype", dtype, ("float64", "float32"))
    n_topics = model._n_features_out
    return Layout(n_topics, model.topic_names_, None if top_n is None else min(top_n, n_topics), dtype)


def with_shares(model: Any, chunks: Iterable[Corpus]) -> Iterator[tuple[Corpus, FloatArray]]:
    """Each chunk with its documents' shares; of unknown words the caller tells, once for all."""
    shares, executor = _Shares(model), current_executor()
    if executor is None:
        for corpus in chunks:
            yield corpus, shares(corpus)
        return
    waiting: deque[Corpus] = deque()

    def tasks() -> Iterator[Some]:
        for corpus in chunks:
            waiting.append(corpus)
            yield Some.of(corpus.with_vocabulary(model.vocabulary_))

    with closing(executor.map(_Shares(_light(model)), tasks())) as found:
        for theta in found:
            yield waiting.popleft(), theta


class _Shares:
    """From documents to their topics' shares."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, given: Corpus | Some) -> FloatArray:
        corpus = given.corpus(self._model.vocabulary_, ordered=False) if isinstance(given, Some) else given
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownWordsWarning)
            return np.asarray(self._model.transform(corpus))


def _light(model: Any) -> Any:
    """The model without the documents that it was fitted to, as one that is saved without them."""
    light = copy.copy(model)
    for name in set(_OF_THE_FIT) & set(vars(model)):
        setattr(light, name, None)
    light.traces_, light.n_jobs = (), 1
    return light


def write_all(
    parts: Iterable[tuple[Corpus, FloatArray]], layout: Layout, write: Write, callback: Heard | None = None
) -> Transformed:
    """Write all parts, and say after each how much is done."""
    done, begun = Transformed(), time.monotonic()
    for corpus, theta in parts:
        write(shares_of(corpus, theta, done.documents, layout))
        done = Transformed(
            done.documents + corpus.n_docs,
            done.tokens + int(corpus.doc_lengths.sum()),
            done.unknown + (0 if corpus.unknown is None else int(corpus.unknown.sum())),
            done.empty + int(corpus.empty_docs.sum()),
            time.monotonic() - begun,
        )
        if callback is not None:
            callback(done)
    return done

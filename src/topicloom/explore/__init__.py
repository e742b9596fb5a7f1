"""The explorer: a fitted model as one HTML file, which needs no network and no server."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from topicloom.corpus._checks import check_number, check_whole, items, shown
from topicloom.errors import InputError
from topicloom.files.arrays import as_path

__all__ = ["DOCUMENTS", "TEXT_LENGTH", "explore", "explore_models", "explore_state"]

DOCUMENTS = 2000
"""Documents in a page unless said otherwise."""
TEXT_LENGTH = 10_000
"""Characters of a text in a page unless said otherwise."""

_Path = str | PathLike[str]


def explore(
    model: Any,
    path: _Path,
    *,
    texts: Any = None,
    documents: int | None = DOCUMENTS,
    text_length: int = TEXT_LENGTH,
    title: str | None = None,
    level: float = 0.9,
    held_out: Any = None,
) -> Path:
    """Write a page that shows a fitted model: topics, words, documents and what the kind of model adds.

    Parameters
    ----------
    model : fitted model of topicloom
        Of any kind. Of one that was saved without its corpus, the page has no documents.
    path : str or path
        The file to write. One that is there is replaced when the new one is complete.
    texts : sequence of str, or False, optional
        The text of each training document, in their order. Default: those that the corpus keeps, if it does. False
        leaves texts out; documents then have their words alone.
    documents : int, default=2000
        Documents in the page: all if there are no more, otherwise each topic's best and a sample of the others. 0
        leaves documents out, None takes all.
    text_length : int, default=10000
        Characters of a text, beyond which it is cut.
    title : str, optional
        Default: the kind of model and its number of topics.
    level : float, default=0.9
        Probability of all intervals.
    held_out : Corpus with labels, or pair (documents, labels), optional
        Documents that a model of labels or classes has not seen. The page then shows how well each label is predicted.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        If the model is not fitted, or the texts are not those of its documents.
    StorageError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from topicloom import LDA, from_texts
    >>> texts = ["the river bank", "the bank lends money", "money and loans"]
    >>> model = LDA(2, max_iter=20, doc_topic_prior=0.5, topic_word_prior=0.1, random_state=0).fit(from_texts(texts))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(model, os.path.join(folder, "topics.html"), texts=texts)
    ...     page.name, page.stat().st_size > 1000
    ('topics.html', True)
    """
    from topicloom.explore.source import read_model

    return _write(read_model(model), path, texts, documents, text_length, title, level, held_out=held_out)


def explore_models(
    models: Sequence[Any] | Mapping[str, Any],
    path: _Path,
    *,
    texts: Any = None,
    documents: int | None = DOCUMENTS,
    text_length: int = TEXT_LENGTH,
    title: str | None = None,
    level: float = 0.9,
) -> Path:
    """Write a page of several models of the same documents: the first in full, and flows from each to the next.

    Parameters
    ----------
    models : sequence of fitted topic models, or dict of them by name
        At least two, for instance with different numbers of topics.
    path : str or path
        The file to write.
    texts : sequence of str, or False, optional
    documents : int, default=2000
    text_length : int, default=10000
    title : str, optional
    level : float, default=0.9
        All as of :func:`explore`.

    Returns
    -------
    Path

    Examples
    --------
    >>> import os, tempfile
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> corpus = bars(n_docs=60).corpus
    >>> models = {f"{k} topics": LDA(k, max_iter=20, random_state=0).fit(corpus) for k in (3, 5)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explore_models(models, os.path.join(folder, "both.html")).name
    'both.html'
    """
    from topicloom.explore.several import compare
    from topicloom.explore.source import read_model

    named = dict(models) if isinstance(models, Mapping) else None
    given = items("models", models) if named is None else tuple(named.values())
    if len(given) < 2:
        raise InputError("explore_models compares two models or more; for one use explore.")
    sources = [read_model(model) for model in given]
    for source in sources:
        if source.posterior is not None:
            raise InputError(f"{source.kind} has no topics, by which models are compared; give topic models.")
    names = list(map(str, named)) if named is not None else _own_names(sources)
    return _write(
        sources[0], path, texts, documents, text_length, title, level, models=compare(names, sources),
    )  # fmt: skip


def explore_state(
    state: Any,
    path: _Path,
    *,
    texts: Any = None,
    documents: int | None = DOCUMENTS,
    text_length: int = TEXT_LENGTH,
    title: str | None = None,
    level: float = 0.9,
) -> Path:
    """Write a page of a sampler's state: MALLET's ``--output-state`` file, or (corpus, state, prior).

    Parameters
    ----------
    state : str or path, or tuple
        A state file of MALLET, gzipped or plain, or what ``topicloom.mallet.read_state`` returns.
    path : str or path
        The file to write.
    texts : sequence of str, or False, optional
    documents : int, default=2000
    text_length : int, default=10000
    title : str, optional
    level : float, default=0.9
        All as of :func:`explore`.

    Returns
    -------
    Path
        The file that was written.

    Notes
    -----
    Topics and shares are the dense estimates (CGS_p) of the one sample that the file holds.

    Examples
    --------
    >>> import os, tempfile
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> model = LDA(3, max_iter=20, random_state=0).fit(bars(n_docs=60).corpus)
    >>> chain = model.chains_[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = os.path.join(folder, "state.html")
    ...     explore_state((model.corpus_, chain.state, chain.prior), page).name
    'state.html'
    """
    from topicloom.explore.source import read_assignments
    from topicloom.mallet import read_state

    if not isinstance(state, tuple):
        state = read_state(as_path(state))
    if len(state) != 3:
        raise InputError(f"state is {shown(state)}; give a state file, or (corpus, state, prior).")
    return _write(read_assignments(*state), path, texts, documents, text_length, title, level)


def _write(
    source: Any, path: _Path, texts: Any, documents: int | None, text_length: int, title: str | None, level: float,
    models: dict[str, Any] | None = None, held_out: Any = None,
) -> Path:  # fmt: skip
    from topicloom.explore.page import write_page

    target = as_path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file, such as topics.html.")
    blocks = payload(
        source, texts=texts, documents=documents, text_length=text_length, title=title, level=level, models=models,
        held_out=held_out,
    )  # fmt: skip
    write_page(target, blocks["data-core"]["title"], blocks)
    return target


def payload(
    source: Any, *, texts: Any = None, documents: int | None = DOCUMENTS, text_length: int = TEXT_LENGTH,
    title: str | None = None, level: float = 0.9, models: dict[str, Any] | None = None, held_out: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """All data of a page, by the ids of their elements, for a ``source.Source``."""
    from topicloom.explore import content
    from topicloom.explore.documents import choose, table, text_blocks
    from topicloom.explore.several import compare_chains
    from topicloom.explore.words import WordTable

    most = None if documents is None else check_whole("documents", documents, 0)
    check_whole("text_length", text_length, 1)
    if not 0 < check_number("level", level, 0.0, 1.0) < 1:
        raise InputError(f"level={level} must lie between 0 and 1, for instance 0.9.")
    n_docs = 0 if source.corpus is None else source.corpus.n_docs
    docs = choose(source, n_docs if most is None else most, _texts(source, texts), text_length)
    words = WordTable()
    core = content.core(
        source, docs, words, title=_title(source, title), level=level,
        models=compare_chains(source) if models is None else models, held_out=held_out,
    )  # fmt: skip
    blocks: dict[str, Any] = {"data-core": core, "data-docs": table(source, docs, words)}
    for number, block in enumerate(text_blocks(source, docs)):
        blocks[f"data-texts-{number}"] = block
    return blocks


def _title(source: Any, title: Any) -> str:
    if title is None:
        return f"{source.kind}, {source.n_topics} {'states' if source.posterior is not None else 'topics'}"
    if not isinstance(title, str):
        raise InputError(f"title is {shown(title)}; give a string.")
    return title


def _texts(source: Any, texts: Any) -> Sequence[str] | None:
    """Texts of all documents, as given or as the corpus keeps them."""
    if source.corpus is None or texts is False:
        return None
    if texts is None:
        kept: Sequence[str] | None = getattr(source.corpus, "texts", None)
        return kept
    given = items("texts", texts)
    if len(given) != source.corpus.n_docs:
        raise InputError(
            f"texts has {len(given):,} entries but the model has {source.corpus.n_docs:,} documents; give the text of "
            "each, in their order."
        )
    for d, text in enumerate(given):
        if not isinstance(text, str):
            raise InputError(f"texts: entry {d} is {shown(text)}; every text must be a string.")
    return given


def _own_names(sources: list[Any]) -> list[str]:
    """A name for each model: its kind and number of topics, counted where these are the same."""
    names = [f"{source.kind}, {source.n_topics} topics" for source in sources]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})" for i, name in enumerate(names)
    ]

"""Real text that is on every machine: the docstrings of Python and of the packages topicloom is built on."""

import json
import os
import platform
import sysconfig
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import blake2b
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import topicloom
from topicloom.corpus._stop_words import ENGLISH_STOP_WORDS
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.corpus.text import from_texts
from topicloom.datasets.docstrings import Root, read_docstrings
from topicloom.errors import InputError, StorageError

# Raise this when the documents or the file change, so that older files in the cache are no longer used.
_FORMAT = 3

# Import names and the names they are distributed under. All are dependencies, direct or not: the corpus then
# differs between machines by the versions only.
_PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "numba": "numba",
    "llvmlite": "llvmlite",
    "joblib": "joblib",
    "safetensors": "safetensors",
    "narwhals": "narwhals",
    "rich": "rich",
    "typer": "typer",
}

# Words of three letters or more; names_with_underscores are code and are passed over whole.
_TOKEN_PATTERN = r"\b[^\W\d_]{3,}\b"

# What any docstring may say, whatever it is about.
_BOILERPLATE = """
accept accepted accepts according actual actually add added additional allow allowed allows applied applies
apply appropriate arg args argument arguments array arrays assume assumed assumes attribute attributes
automatically available based behavior behaviour bool boolean calculate calculated call callable called
caller calling calls case cases certain change changed changes check checks compute computed computes
computing consider considered contain contained containing contains convert converted correspond
corresponding corresponds create created creates creating current currently default defaults define defined
defines depending depends deprecated describe described describes description desired detail details
determine determined determines different directly doc docs docstring documentation effect ensure ensures
equal equivalent etc exactly example examples existing expected explicitly false find first float follow
following follows form found full func function functions general generally generate generated give given
gives glossary greater guide handle handled handles ignore ignored implement implementation implemented
implements implies include included includes including indicate indicated indicates indicating info
information initialize input inputs instance instances instead int integer integers intended internal
internally keyword known kwargs large larger last list mean meaning means method methods multiple ndarray
necessary need needed needs new non none note notes number numbers numpy object objects obtain obtained
occur occurs old option optional optionally options original output outputs param parameter parameters
params particular pass passed passes passing perform performed performs positional possible possibly present
produce produced produces provide provided provides providing purpose python raise raised raises receive
refer reference refers related replaced represent represented representing represents require required
requires respectively result resulting results return returned returning returns scalar scikit scipy second
section see self set sets setting shape similar simple simply single size sklearn specific specified
specifies specify specifying standard store stored str suitable support supported supports supposed true try
tuple two type types typical typically underlying unspecified usage useful user users usually valid value
valueerror values version versions want whether wish word work works
"""


def docstrings(
    *,
    min_words: int = 30,
    min_df: int | float = 5,
    max_df: int | float = 0.2,
    stop_words: str | Collection[str] | None = "docstrings",
    cache: bool = True,
) -> Corpus:
    """Docstrings of Python's library and of the packages that topicloom needs: real text that is on every machine.

    Each module, class or function whose docstring is long enough is a document. Its id is the dotted name, its group
    the package ("stdlib", "numpy", …) and its label the module ("scipy.stats", "asyncio"). Sources are parsed and never
    imported, and nothing is downloaded. The documents depend on the installed versions. For figures that must be the
    same everywhere, use :func:`addresses` or a synthetic corpus.

    Parameters
    ----------
    min_words : int, default=30
        Least number of words of prose in a docstring.
    min_df : int or float, default=5
        Least number or share of documents with a word, as in :func:`topicloom.from_texts`.
    max_df : int or float, default=0.2
        Largest number or share of documents with a word.
    stop_words : str or collection of str, default="docstrings"
        "docstrings" leaves out English function words and what any docstring says ("returns", "default"). Otherwise as
        in :func:`topicloom.from_texts`.
    cache : bool, default=True
        Whether to keep the corpus in the user's cache folder, or in the folder that ``TOPICLOOM_CACHE`` names. Without
        it every call takes some seconds.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from topicloom.datasets import docstrings
    >>> corpus = docstrings()  # doctest: +SKIP
    >>> corpus.ids[0], corpus.groups[0]  # doctest: +SKIP
    ('abc', 'stdlib')
    """
    if not isinstance(min_words, int) or min_words < 1:
        raise InputError(f"min_words={min_words!r} must be a whole number of at least 1.")
    stop = _stop_words(stop_words)
    key = {
        "dataset": "docstrings",
        "format": _FORMAT,
        "topicloom": topicloom.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()} {platform.system()}",
        "packages": {name: _installed_version(dist) for name, dist in _PACKAGES.items()},
        "options": [int(min_words), repr(min_df), repr(max_df)],
        "stop_words": stop if stop is None or isinstance(stop, str) else sorted(map(repr, stop)),
    }

    def build() -> Corpus:
        return docstring_corpus(installed_roots(), min_words=min_words, min_df=min_df, max_df=max_df, stop_words=stop)

    return cached_corpus(key, build, cache_folder()) if cache else build()


def docstring_corpus(
    roots: list[Root],
    *,
    min_words: int,
    min_df: int | float,
    max_df: int | float,
    stop_words: str | Collection[str] | None,
) -> Corpus:
    """The docstrings under these folders as a corpus."""
    found = read_docstrings(roots, min_words)
    if not found:
        raise InputError(
            f"no docstring of {min_words} words was found: lower min_words; if the sources of Python are not "
            "installed here, use a synthetic corpus."
        )
    return from_texts(
        (docstring.text for docstring in found),
        token_pattern=_TOKEN_PATTERN,
        stop_words=stop_words,
        min_df=min_df,
        max_df=max_df,
        ids=[docstring.name for docstring in found],
        labels=[(docstring.module,) for docstring in found],
        groups=[docstring.group for docstring in found],
    )


def installed_roots() -> list[Root]:
    """The standard library's folder, and those of the packages that are installed."""
    roots = [Root("stdlib", Path(sysconfig.get_path("stdlib")), "")]
    for package in _PACKAGES:
        try:
            spec = find_spec(package)  # of a top-level name: finds it without importing it
        except (ImportError, ValueError):
            continue
        if spec is not None and spec.submodule_search_locations:
            roots.append(Root(package, Path(next(iter(spec.submodule_search_locations))), package))
    return roots


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _stop_words(stop_words: str | Collection[str] | None) -> str | Collection[str] | None:
    if isinstance(stop_words, str):
        if stop_words == "docstrings":
            return ENGLISH_STOP_WORDS | frozenset(_BOILERPLATE.split())
        if stop_words != "english":
            raise InputError(
                f"stop_words={stop_words!r} is not a list known by name; "
                "give 'docstrings', 'english', a collection of words, or None."
            )
    return stop_words


# -- cache ------------------------------------------------------------


def cache_folder() -> Path | None:
    """Where corpora that take time to make are kept; ``TOPICLOOM_CACHE`` chooses another folder."""
    chosen = os.environ.get("TOPICLOOM_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "topicloom"
    except RuntimeError:  # no home
        return None


def cached_corpus(key: dict[str, Any], build: Callable[[], Corpus], folder: Path | None) -> Corpus:
    """The corpus kept under this key, or a new one, which is then kept. A damaged file is made again.

    A folder that cannot be written only means that nothing is kept.
    """
    if folder is None:
        return build()
    name = json.dumps(key, sort_keys=True)
    path = folder / f"{key['dataset']}-{blake2b(name.encode(), digest_size=16).hexdigest()}.safetensors"
    try:
        return load_corpus(path)
    except StorageError:  # not there, or damaged
        corpus = build()
    with suppress(OSError, StorageError):
        folder.mkdir(parents=True, exist_ok=True)
        save_corpus(corpus, path)
    return corpus

"""What topicloom raises and warns with. Every message says what, where, what was expected and what to do."""

import contextlib
import os
import re
import sys
import warnings

# How numpy writes a scalar, np.str_('a'), of which a message has the value alone.
_SCALAR = re.compile(r"""\bnp\.(?:str_|bytes_|bool_?|u?int\d+|float\d+)\(((?:'[^']*'|"[^"]*"|[^()'"])*)\)""")
_DATE = re.compile(r"\bnp\.(?:datetime|timedelta)64\('?([^'(),]*)'?(?:,\s*'\w+')?\)")
_NOUNS = "documents|words|tokens|topics|collections|labels|classes|entries|rows|columns|symbols|sequences|types|sweeps"
_ONE = re.compile(rf"(?<![\w.,=])1 ({_NOUNS})\b")

# Frames that a warning does not point at: this package, context managers between two of its functions, and
# scikit-learn, which wraps methods.
_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, contextlib.__file__)
_WRAPPERS = f"{os.sep}sklearn{os.sep}"


class InputError(ValueError):
    """The data or a parameter cannot be used as given. Nothing has been changed.

    The message says what is wrong, where, what was expected and what to do. It is a ValueError.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from topicloom.errors import InputError
    >>> try:
    ...     from_texts([])
    ... except InputError as error:
    ...     print(error)
    texts is empty; a corpus needs at least one document.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(_plain(arg) if isinstance(arg, str) else arg for arg in args))


class InputTypeError(InputError, TypeError):
    """An input has a wrong type, where scikit-learn's own estimators raise a TypeError.

    It is an :class:`InputError` and a TypeError.

    Examples
    --------
    >>> from topicloom.errors import InputError, InputTypeError
    >>> issubclass(InputTypeError, InputError) and issubclass(InputTypeError, TypeError)
    True
    """


class StorageError(ValueError):
    """A file is damaged, foreign, of an unknown version or cannot be written. Nothing has been loaded or lost.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import topicloom
    >>> from topicloom.errors import StorageError
    >>> try:
    ...     topicloom.load(mkdtemp())
    ... except StorageError as error:
    ...     print("manifest.json" in str(error))
    True
    """


class MissingExtraError(ImportError):
    """An optional package is needed. The message names the extra that installs it.

    It is an ImportError.

    Examples
    --------
    >>> from topicloom.errors import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class MemoryLimitError(MemoryError):
    """The process, or a worker, may not use enough memory for what a fit needs. Nothing has been changed.

    It is a MemoryError, and comes before the fit starts. ``topicloom.memory.estimate`` says what a fit needs.

    Examples
    --------
    >>> from topicloom.errors import MemoryLimitError
    >>> issubclass(MemoryLimitError, MemoryError)
    True
    """


class UnknownWordsWarning(UserWarning):
    """Many words of new documents are not in the model's vocabulary.

    Check that they are prepared as those of the fit, and of the same language.
    """


class InterruptedFitWarning(UserWarning):
    """Ctrl-C ended a fit early. The estimates come from the sweeps that were done.

    ``topicloom.resume`` continues a fit that has a ``checkpoint_dir``.
    """


class FewFeaturesWarning(UserWarning):
    """Some cells have fewer features than ``min_features`` of :func:`topicloom.from_anndata`."""


class MissingTextsWarning(UserWarning):
    """Missing texts were read as empty documents, as ``missing="empty"`` asks. The message has their number."""


class UnknownGroupsWarning(UserWarning):
    """The model knows no collection of the new documents.

    Examples are groups in another spelling or of another type, and a score of documents without groups.
    """


class LabelsWarning(UserWarning):
    """Cells with labels look as if another character separates them.

    ``label_separator`` says which character does. With "none" each cell is one label, and there is no warning.
    """


class SkippedFilesWarning(UserWarning):
    """Files of a folder or an archive were not read. The message counts them; ``suffix`` chooses others."""


class SeedWordWarning(UserWarning):
    """A seed word is not in the vocabulary, so it has no effect."""


class AlikeTopicsWarning(UserWarning):
    """The topics of a fitted model are all but the same, so the model is as good as one topic."""


class TopicNamesWarning(UserWarning):
    """The published chain is not the one whose topics were named, so the names are dropped."""


class FunctionWordsWarning(UserWarning):
    """The most frequent words of a corpus are function words, which say nothing about topics.

    The message names their language. Leave them out with ``stop_words``.
    """


class WorkersLostWarning(UserWarning):
    """A worker of a cluster went away during a fit, which repeats some sweeps on other workers.

    The result is the same. The message says what is known of the worker's end.
    """


class LostClassesWarning(UserWarning):
    """A fitted classifier never predicts some classes, not even for the documents that it has learned from.

    They have no topic of their own. More topics, sweeps or chains can help, or weights of the classes.
    """


class PriorsWarning(UserWarning):
    """The learned priors outweigh the data, which are too few to determine them.

    Give priors instead of learning them.
    """


def warn(message: str, category: type[Warning]) -> None:
    """Warn about the line that called topicloom, however many functions of ours or of scikit-learn lie in between."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(_plain(message), category, stacklevel=level)


def _is_between(file: str) -> bool:
    return file.startswith(_OURS) or _WRAPPERS in file


def _plain(message: str) -> str:
    """The message in one line, with numpy's scalars as values, and "1 document" for "1 documents"."""
    if "\n" in message:
        message = " ".join(message.split())
    if "np." in message:
        message = message.replace("np.True_", "True").replace("np.False_", "False")
        message = _DATE.sub(r"\1", _SCALAR.sub(r"\1", message))
    return _ONE.sub(lambda found: counted(1, found[1]), message) if "1 " in message else message


def counted(n: int, plural: str) -> str:
    """A number with its noun: "2 documents", "1 document"; ``plural`` may go on ("entries of the stream")."""
    noun, *rest = plural.split(" ", 1)
    if n == 1:
        noun = noun[:-3] + "y" if noun.endswith("ies") else noun[:-2] if noun.endswith("sses") else noun[:-1]
    return " ".join((f"{n:,}", noun, *rest))


def there_are(n: int, plural: str) -> str:
    return f"there {'is' if n == 1 else 'are'} {counted(n, plural)}"

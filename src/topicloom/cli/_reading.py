"""How a command reads a corpus: its options, and those of the fit, which later commands use unless told otherwise."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from topicloom.cli._run import say
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.corpus import Corpus
    from topicloom.engine.estimator.topics import TopicModel

_FORMATS = "uci, ldac, svmlight, mtx, npz, mallet, csv, tsv, jsonl, parquet, txt, folder, h5ad or 10x"
_OF_ONE_FORMAT = (
    "delimiter",
    "encoding",
    "transpose",
    "layer",
    "binarize",
    "feature_type",
)  # options that say nothing about a file of another format
_READ_AS_GIVEN = ("text_column", "id_column", "delimiter", "layer", "binarize", "feature_type")
_ROLES = {
    "text": "texts",
    "id": "names of documents",
    "label": "labels",
    "group": "groups",
    "response": "numbers to predict",
    "time": "times",
}


@dataclass(frozen=True)
class Reading:
    """Reading a corpus"""

    format: Annotated[
        str | None, Option("--format", "--from", "-f", help=f"{_FORMATS}; known by the file's name if left out.")
    ] = None
    vocab: Annotated[Path | None, Option("--vocab", help="Words, one per line, of a file that holds word numbers.")] = (
        None
    )
    text_column: Annotated[str | None, Option(help="Column of a table that holds the texts (default: text).")] = None
    id_column: Annotated[str | None, Option(help="Column that holds the documents' names.")] = None
    delimiter: Annotated[str | None, Option(help="Character between the columns of a csv file.")] = None
    encoding: Annotated[str | None, Option(help="Encoding of texts (default: utf-8).")] = None
    transpose: Annotated[
        bool | None,
        Option("--transpose/--no-transpose", help="Rows of an mtx or npz matrix are words.", show_default=False),
    ] = None
    layer: Annotated[str | None, Option(help="Layer of an h5ad file that holds the counts (default: X).")] = None
    binarize: Annotated[
        bool | None,
        Option("--binarize/--no-binarize", help="Counts of cells above 0 stand for 1.", show_default=False),
    ] = None
    feature_type: Annotated[str | None, Option(help="Type of features to read of a 10x matrix that has several.")] = (
        None
    )

    def read(self, path: Path, **options: Any) -> "Corpus":
        import topicloom

        own = {name: getattr(self, name) for name in _READ_AS_GIVEN}
        given = {name: value for name, value in {**own, **options}.items() if value is not None}
        if "n_jobs" in given and (not path.exists() or "n_jobs" not in _format(path, self.format).options):
            del given["n_jobs"]
        if self.transpose:
            given["transpose"] = True
        vocabulary = given.pop("vocabulary", self.vocab)
        return topicloom.read(path, self.format, vocabulary=vocabulary, encoding=self.encoding or "utf-8", **given)

    # -- what a fit leaves for later commands ----------------------------------------------------------------------

    def read_to_fit(self, path: Path, told: dict[str, Any], **options: Any) -> "Corpus":
        """A corpus that knows how it was read; ``told`` are options of the command that say how texts are cut."""
        corpus = self.read(path, **options)
        spec = _format(path, self.format)
        name = self.format or _told_by_name(path)
        defaults = {"text_column": "text", "encoding": "utf-8", "delimiter": {"csv": ",", "tsv": "\t"}.get(name or "")}
        values = {**vars(self), **{name: value for name, value in options.items() if name.endswith("_column")}}
        readable = (*spec.options, *(["encoding"] if spec.encoded else []))
        kept = {key: values.get(key) or defaults.get(key) for key in readable if key in values}
        known: dict[str, Any] = {"format": name, "told_by_name": _told_by_name(path), "vocab": self.vocab is not None}
        given = {key: value for key, value in {**vars(self), **told}.items() if value is not None}
        command = {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
        known["command"] = {"input": str(path), "options": command}
        return replace(corpus, reading={key: value for key, value in {**kept, **known}.items() if value})

    def read_new(
        self,
        path: Path,
        model: "TopicModel",
        wanted: Collection[str] = (),
        *,
        keep_texts: bool = False,
        **columns: str | None,
    ) -> "Corpus":
        """Documents for a model, in its vocabulary, read and cut as those that it was fitted on.

        ``columns`` are options of the command that name columns, and ``wanted`` those of them (and ``id_column``) that
        are read as in the fit if they are not given.
        """
        if not path.exists():
            raise InputError(f"there is no file {path}.")
        kept = dict(model._reading or {})
        format = self.format
        if format is None and "format" in kept and _told_by_name(path) == kept.get("told_by_name"):
            format = kept["format"]
        spec = _format(path, format)
        given = {"text_column": self.text_column, "id_column": self.id_column, **columns}
        given |= {name: getattr(self, name) for name in _OF_ONE_FORMAT}
        same = (format or _told_by_name(path)) == kept.get("format")
        usable = {"text_column", *wanted, *(_OF_ONE_FORMAT if same else ())} & {*spec.options, "encoding"}
        chosen, remembered = _chosen(given, {name: kept[name] for name in usable if name in kept})
        own = {name: chosen.pop(name, None) for name in ("text_column", "id_column", *_OF_ONE_FORMAT)}
        as_fitted = replace(self, format=format, **own)
        try:
            if "token_pattern" not in spec.options:  # counts, whose words have names, or numbers as in the fit
                nameless = kept.get("vocab") and self._has_no_words(path, spec)
                names = model.vocabulary_ if nameless or "binarize" in spec.options else None
                more = chosen if names is None else {**chosen, "vocabulary": names}
                return as_fitted.read(path, **more).with_vocabulary(model.vocabulary_)
            how = model._text_options
            more = chosen if how is None else {**chosen, **how._asdict()}
            return as_fitted.read(path, vocabulary=model.vocabulary_, keep_texts=keep_texts, **more)
        except InputError as error:
            raise _explained(error, remembered) from None

    def _has_no_words(self, path: Path, spec: Any) -> bool:
        from topicloom.corpus.formats import _words

        return self.vocab is None and spec.words_beside and _words(path, spec, None, "utf-8") is None

    def columns_of(self, path: Path) -> str:
        """A sentence with the columns of a table; nothing of other files."""
        from topicloom.corpus._columns import MissingColumnError

        if "text_column" not in _format(path, self.format).options:
            return ""
        try:
            replace(self, text_column="\0").read(path)  # no table has this column: reading ends with the first row
        except MissingColumnError as error:
            return f" The columns of {path} are {error.columns}."
        except InputError:
            pass
        return ""


def _chosen(given: dict[str, Any], kept: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options to read with, and those of them that are the fit's; where they differ from the fit's, that is said."""
    remembered = {name: value for name, value in kept.items() if given.get(name) is None}
    for name, value in kept.items():
        if given.get(name) not in (None, value):
            say(f"--{name.replace('_', '-')} {given[name]} is used, as asked; the fit had {value}.")
    chosen = {name: value for name, value in {**given, **remembered}.items() if value not in (None, "")}
    return chosen, remembered


def _explained(error: InputError, remembered: dict[str, Any]) -> InputError:
    """The error, with what the fit has to do with it."""
    from topicloom.corpus._columns import MissingColumnError

    if not isinstance(error, MissingColumnError) or f"{error.role}_column" not in remembered:
        return error
    option = f"--{error.role}-column"
    none = "" if error.role in ("text", "label", "response") else f", or give {option} '' to read none"
    return InputError(
        f"{error.place}: there is no column {error.column!r}, from which the fit read its {_ROLES[error.role]}; "
        f"there are {error.columns}. Name the right one with {option}{none}."
    )


def _told_by_name(path: Path) -> str | None:
    from topicloom.corpus.formats import _format_of

    try:
        return _format_of(path, None)
    except InputError:
        return None


def _format(path: Path, format: str | None) -> Any:
    from topicloom.corpus.formats import FORMATS, _format_of

    return FORMATS[_format_of(path, format)]

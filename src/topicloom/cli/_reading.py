"""How a command reads a corpus: its own options, and by default those of the fit."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from topicloom.cli._run import say
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.corpus import Corpus
    from topicloom.corpus._sources import Files
    from topicloom.engine.estimator.topics import TopicModel

_FORMATS = "uci, ldac, svmlight, mtx, npz, mallet, csv, tsv, jsonl, parquet, txt, files, folder, h5ad or 10x"
_INPUT = "Files, a folder, an archive, or a pattern such as 'speeches/*.txt'"
_OF_ANY_FORMAT = (
    "text_column",
    "label_separator",
    "encoding",
)  # options that other formats have, too
_ROLES = {
    "text": "texts",
    "id": "names of documents",
    "label": "labels",
    "group": "groups",
    "response": "numbers to predict",
    "time": "times",
}

Inputs = Annotated[list[Path], typer.Argument(metavar="INPUT", help=f"{_INPUT}.", show_default=False)]
NewInputs = Annotated[
    list[Path], typer.Argument(metavar="INPUT", help=f"New documents: {_INPUT.lower()}.", show_default=False)
]
Paths = Path | Sequence[Path]


@dataclass(frozen=True)
class Reading:
    """Reading a corpus"""

    format: Annotated[
        str | None, Option("--format", "--from", "-f", help=f"{_FORMATS}; by default the file's name decides.")
    ] = None
    vocab: Annotated[
        Path | None, Option("--vocab", help="File with one word per line, for a corpus file that holds word numbers.")
    ] = None
    text_column: Annotated[str | None, Option(help="Column of a table that holds the texts (default: text).")] = None
    id_column: Annotated[str | None, Option(help="Column of a table that holds the documents' names.")] = None
    delimiter: Annotated[
        str | None, Option(help="Character between columns, or its name: tab, comma, semicolon, pipe.", metavar="CHAR")
    ] = None
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="A csv or tsv file has a line with names of columns (the default), or columns are numbers, from 0.",
            show_default=False,
        ),
    ] = None
    label_separator: Annotated[
        str | None,
        Option(
            help="Character between the labels in a cell, or none: each cell is one label (the default).",
            metavar="CHAR",
        ),
    ] = None
    folder_labels: Annotated[
        str | None,
        Option(help="Labels of texts in sub-folders: the first folder, the whole path, or none.", metavar="WHICH"),
    ] = None
    suffix: Annotated[
        str | None,
        Option(help="Ending of the names of texts in a folder (default: .txt; '' for all files).", metavar="END"),
    ] = None
    encoding: Annotated[str | None, Option(help="Encoding of the texts (default: utf-8).")] = None
    max_size: Annotated[
        int | None,
        Option(help="Raise the limit on the documents, words and tokens of a file, or on the bytes of an archive."),
    ] = None
    transpose: Annotated[
        bool | None,
        Option(
            "--transpose/--no-transpose",
            help="Rows of an mtx or npz matrix are words, not documents.",
            show_default=False,
        ),
    ] = None
    layer: Annotated[str | None, Option(help="Layer of an h5ad file with the counts (default: X).")] = None
    binarize: Annotated[
        bool | None,
        Option(
            "--binarize/--no-binarize", help="Read every count above 0 in h5ad and 10x files as 1.", show_default=False
        ),
    ] = None
    feature_type: Annotated[
        str | None, Option(help="Type of features to read from a 10x matrix with several types.")
    ] = None

    def options(self) -> dict[str, Any]:
        """Options of ``topicloom.read``, as they were given."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in named.items() if value is not None and name not in ("format", "vocab")}
        return given if self.transpose else {name: value for name, value in given.items() if name != "transpose"}

    def read(self, paths: Paths, **options: Any) -> "Corpus":
        import topicloom

        given = {**self.options(), **{name: value for name, value in options.items() if value is not None}}
        if "n_jobs" in given and not self._cuts_texts(paths):
            del given["n_jobs"]
        vocabulary = given.pop("vocabulary", self.vocab)
        return topicloom.read(paths, self.format, vocabulary=vocabulary, **given)

    def _cuts_texts(self, paths: Paths) -> bool:
        """Whether the files hold texts."""
        try:
            return "token_pattern" in self._format_of(files_of(paths), {})[1].options
        except InputError:  # which reading will say
            return False

    # -- what a fit leaves for later commands ----------------------------------------------------------------------

    def read_to_fit(self, paths: Sequence[Path], told: dict[str, Any], **options: Any) -> "Corpus":
        """A corpus that knows how it was read; ``told`` are options of the command that say how texts are cut."""
        corpus = self.read(paths, **options)
        given = {key: value for key, value in {**vars(self), **told}.items() if value is not None}
        command = {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
        names = [str(path) for path in paths]
        how = {"input": names[0] if len(names) == 1 else names, "options": command}
        return replace(corpus, reading={**(corpus.reading or {}), "command": how})

    def read_new(
        self,
        paths: Paths,
        model: "TopicModel",
        wanted: Collection[str] = (),
        *,
        keep_texts: bool = False,
        **columns: Any,
    ) -> "Corpus":
        """Documents for a model, in its vocabulary, read and cut as those that it was fitted on.

        ``columns`` are options of the command that name columns, and ``wanted`` those of them (and ``id_column``) that
        are read as in the fit if they are not given.
        """
        import topicloom

        corpus: Corpus = self._read_new(paths, model, wanted, columns, partial(topicloom.read, keep_texts=keep_texts))
        return corpus

    def stream_new(
        self, paths: Paths, model: "TopicModel", wanted: Collection[str] = (), *, chunk_size: int, **columns: Any
    ) -> Iterable["Corpus"]:
        """The same, at most ``chunk_size`` documents at a time; counts and archives are read whole."""

        def read(paths: Sequence[Path], format: str | None, **options: Any) -> "Iterable[Corpus]":
            import topicloom
            from topicloom.corpus.chunks import in_chunks, read_chunks
            from topicloom.corpus.formats import format_of

            files = files_of(paths)
            if not in_chunks(files, format_of(files, format, options)):
                return [topicloom.read(paths, format, keep_texts=False, **options)]
            return read_chunks(paths, format, chunk_size=chunk_size, keep_texts=False, **options)

        found = self._read_new(paths, model, wanted, columns, read)
        return [found] if hasattr(found, "n_docs") else found

    def _read_new(
        self, paths: Paths, model: "TopicModel", wanted: Collection[str], columns: dict[str, Any],
        read: Callable[..., Any],
    ) -> Any:  # fmt: skip
        """A corpus of files of counts; of texts what ``read`` gives."""
        files = files_of(paths)
        kept = _as_kept(model._reading)
        format, spec = self._format_of(files, kept)
        same = (format or _told_by_name(files)) == kept.get("format")
        usable = [*wanted, *(kept if same else _OF_ANY_FORMAT)]
        columnar = [name for name in usable if not name.endswith("_column") or name in (*wanted, "text_column")]
        readable = {*spec.options, "encoding"} if spec.encoded else {*spec.options}
        fitted = {name: kept[name] for name in dict.fromkeys(columnar) if name in kept and name in readable}
        given = {**vars(self), **columns}
        chosen, remembered = _chosen({name: given.get(name) for name in {*given, *fitted}}, fitted)
        none = {"format", "vocab", *(() if chosen.get("transpose") or "transpose" in spec.options else ("transpose",))}
        chosen = {name: value for name, value in chosen.items() if name not in none}
        try:
            if "token_pattern" not in spec.options:  # counts, whose words have names, or numbers as in the fit
                if "binarize" in spec.options or (kept.get("vocab") and self._has_no_words(files, spec)):
                    chosen["vocabulary"] = model.vocabulary_
                counts = Reading(format=format, vocab=self.vocab).read(files.paths, **chosen)
                return counts.with_vocabulary(model.vocabulary_)
            how = model._text_options
            if how is not None:
                chosen = {**how._asdict(), **chosen}  # a command may bring a tokenizer
            elif kept.get("format") == (format or _told_by_name(files)) and "tokenizer" not in chosen:
                say("the texts of the fit were cut by a tokenizer that is not saved; these are cut by the default one.")
            return read(files.paths, format, vocabulary=model.vocabulary_, **chosen)
        except InputError as error:
            raise _explained(error, remembered) from None

    def _format_of(self, files: "Files", kept: Mapping[str, Any]) -> tuple[str | None, Any]:
        """The format of new files if their names do not show it, and the options of the fit for it."""
        from topicloom.corpus.formats import FORMATS, format_of

        format = self.format
        if format is None and "format" in kept and _told_by_name(files) == kept.get("told_by_name"):
            format = kept["format"]
        elif format is not None and kept.get("format") not in (None, format):
            say(f"--format {format} is used, as asked; the fit had {kept['format']}.")
        return format, FORMATS[format_of(files, format, self.options())]

    def _has_no_words(self, files: "Files", spec: Any) -> bool:
        from topicloom.corpus.formats import _words

        return self.vocab is None and spec.words_beside and _words(files.paths[0], spec, None, "utf-8") is None

    def holds_texts(self, paths: Paths) -> bool:
        """Whether the files are of a format of texts."""
        from topicloom.corpus.formats import FORMATS, format_of

        return "tokenizer" in FORMATS[format_of(files_of(paths), self.format, self.options())].options

    def columns_of(self, paths: Paths) -> str:
        """A sentence with the columns of a table; nothing for other files."""
        from topicloom.corpus._columns import MissingColumnError
        from topicloom.corpus.formats import FORMATS, format_of

        files = files_of(paths)
        if "text_column" not in FORMATS[format_of(files, self.format, self.options())].options:
            return ""
        absent = "\0" if self.header is not False else "99999999"
        try:
            replace(self, text_column=absent).read(files.paths)  # no table has this column: reading ends at once
        except MissingColumnError as error:
            return f" The columns of {files.described} are {error.columns}."
        except InputError:
            pass
        return ""


def files_of(paths: Paths) -> "Files":
    """The files that paths and patterns stand for."""
    from topicloom.corpus._sources import Files, found_paths

    return Files(found_paths(paths))


def _as_kept(reading: Mapping[str, Any] | None) -> dict[str, Any]:
    """How the files of the fit were read. In older models, blanks separate labels."""
    kept = {name: value for name, value in (reading or {}).items() if name != "command"}
    return {"label_separator": " ", **kept} if "label_column" in kept else kept


def _chosen(given: dict[str, Any], kept: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options to read with, and those of them that are the fit's. A difference from the fit is reported."""
    remembered = {name: value for name, value in kept.items() if given.get(name) is None}
    for name, value in kept.items():
        if given.get(name) is not None and _plain(name, given[name]) != _plain(name, value):
            say(f"{_option(name, given[name])} is used, as asked; the fit had {_shown(name, value)}.")
    chosen = {**given, **remembered}
    empty = {name for name, value in chosen.items() if value is None and name not in remembered}
    none = {name for name, value in chosen.items() if value == "" and name.endswith("_column")}
    return {name: value for name, value in chosen.items() if name not in empty | none}, remembered


def _plain(name: str, value: Any) -> Any:
    """A value in the form in which it is compared."""
    from topicloom.corpus._separators import delimiter_of, label_separator_of

    forms = {"delimiter": delimiter_of, "label_separator": label_separator_of}
    if name in forms:
        return forms[name](value)
    return str(value) if name.endswith("_column") else value


def _option(name: str, value: Any) -> str:
    option = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return option if value else option.replace("--", "--no-", 1)
    return f"{option} {value}"


def _shown(name: str, value: Any) -> str:
    from topicloom.corpus._separators import name_of

    if isinstance(value, bool):
        return _option(name, value)
    if name in ("delimiter", "label_separator"):
        return name_of(value) if value else "none"
    return str(value)


def _explained(error: InputError, remembered: dict[str, Any]) -> InputError:
    """The error, with a remark if the option comes from the fit."""
    from topicloom.corpus._columns import MissingColumnError

    if not isinstance(error, MissingColumnError) or f"{error.role}_column" not in remembered:
        return error
    option = f"--{error.role}-column"
    none = "" if error.role in ("text", "label", "response") else f", or give {option} '' to read none"
    return InputError(
        f"{error.place}: there is no column {error.column!r}, from which the fit read its {_ROLES[error.role]}; "
        f"there are {error.columns}. Name the right one with {option}{none}."
    )


def _told_by_name(files: "Files") -> str | None:
    from topicloom.corpus.formats import told_by_name

    return told_by_name(files)


def listed(paths: Sequence[Path]) -> str:
    """Paths for a message; only some of them if there are many."""
    more = f" and {len(paths) - 2:,} more" if len(paths) > 3 else ""
    return ", ".join(map(str, paths[:2] if more else paths)) + more

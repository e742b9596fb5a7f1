"""``transform``: topic proportions of any number of documents, read and written some at a time."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._reading import Reading, files_of
from topicloom.cli._run import Jobs, Json, ModelDir, load_topics, say, show_json
from topicloom.cli._tables import write_rows
from topicloom.cli.results import GroupColumn, collection_columns, say_unknown
from topicloom.errors import counted

if TYPE_CHECKING:
    from topicloom._types import FloatArray
    from topicloom.corpus import Corpus
    from topicloom.engine.estimator.bulk import Transformed
    from topicloom.engine.estimator.share_files import Layout

_CHUNK = 10_000


def transform(
    directory: ModelDir,
    reading: Reading,
    input: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[INPUT]", help="New documents; without them, those of the fit.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE",
            help="A .csv, .jsonl, .csv.gz, .jsonl.gz, .parquet or .npy file (default: csv on standard output).",
        ),
    ] = None,
    group_column: GroupColumn = None,
    top: Annotated[
        int | None, typer.Option(help="Only so many topics of each document, the largest first.", show_default=False)
    ] = None,
    single: Annotated[bool, typer.Option("--single", help="Write shares in single precision.")] = False,
    chunk: Annotated[int, typer.Option(help="Documents in memory at a time. It changes no result.")] = _CHUNK,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:  # fmt: skip
    """Give the topic proportions of documents.

    Texts are read, computed and written some documents at a time, so that memory does not grow with their number; the
    file is there when it is complete. A document's answer depends on its words and the model alone, not on the other
    documents of the file.
    """
    from topicloom.corpus._checks import check_whole
    from topicloom.engine.estimator.bulk import check_other_files, layout_for, with_shares
    from topicloom.engine.estimator.share_files import check_target

    model = load_topics(directory).set_params(n_jobs=jobs)
    layout = layout_for(model, top, "float32" if single else "float64")
    if out is not None:
        check_target(out, layout)
        check_other_files(files_of(input).paths if input else [], out)
    parts: Iterable[tuple[Corpus, FloatArray]]
    if not input:
        parts = [(model.corpus_, model.doc_topic_)]
    else:
        check_whole("chunk_size", chunk, 1)
        wanted = ["id_column", *collection_columns(model)]
        chunks = reading.stream_new(input, model, wanted, chunk_size=chunk, group_column=group_column)
        parts = with_shares(model, chunks)
    done, found = _write(parts, layout, out, json)
    if input:
        say_unknown(done.unknown_share, done.documents, done.empty)
    if out is not None:
        say(f"topic proportions of {counted(done.documents, 'documents')} are in {out}.")
    if json:
        show_json(
            {
                "documents": done.documents,
                "topics": layout.n_topics,
                "topic_names": list(layout.names),
                "unknown_share": done.unknown_share,
                "seconds": done.seconds,
                "out": None if out is None else str(out),
                "doc_topics": found,
            }
        )


def _write(
    parts: Iterable[tuple["Corpus", "FloatArray"]], layout: "Layout", out: Path | None, json: bool
) -> tuple["Transformed", list[dict[str, Any]] | None]:
    """Write all to the file or as csv, or collect it for JSON, which is returned."""
    from topicloom.engine.estimator.bulk import Paced, write_all
    from topicloom.engine.estimator.share_files import header, records, rows, writing

    if out is not None:
        told = Paced(say)
        try:
            with writing(out, layout) as write:
                return write_all(parts, layout, write, told), None
        except KeyboardInterrupt:
            say(f"{counted(told.documents, 'documents')} were done; {out} has not been written.")
            raise
    if json:
        found: list[dict[str, Any]] = []
        return write_all(parts, layout, lambda shares: found.extend(records(shares))), found
    write_rows(sys.stdout, header(layout), [])
    return write_all(parts, layout, lambda shares: write_lines(sys.stdout, rows(shares))), None


def write_lines(file: IO[str], lines: Iterator[list[Any]]) -> None:
    """Lines of a table under its header."""
    import csv

    csv.writer(file, lineterminator="\n").writerows(lines)


def write_doc_topics(file: IO[str], corpus: "Corpus", theta: "FloatArray", names: Any = None) -> None:
    """A line per document: id, tokens, unknown tokens, and its share of each topic, by its name if it has one."""
    from topicloom.engine.estimator.share_files import Layout, header, rows, shares_of

    layout = Layout(theta.shape[1], names or (None,) * theta.shape[1])
    write_rows(file, header(layout), rows(shares_of(corpus, theta, 0, layout)))

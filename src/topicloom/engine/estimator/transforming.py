"""The method of topic models that reads new documents from a file and writes their topics to another."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicloom.corpus.registry import Tokenizer
    from topicloom.engine.estimator.bulk import Heard, Transformed
    from topicloom.engine.estimator.share_files import Dtype


class TransformsFiles:
    """A topic model that writes files of topic shares."""

    def transform_file(
        self, source: Any, target: Any, *, format: str | None = None, text_column: str | None = None,
        id_column: str | None = None, group_column: str | None = None, delimiter: str | None = None,
        header: bool | None = None, suffix: str | None = None, encoding: str | None = None,
        tokenizer: "Tokenizer | None" = None, chunk_size: int = 10_000, top_n: int | None = None,
        dtype: "Dtype" = "float64", callback: "Heard | None" = None,
    ) -> "Transformed":  # fmt: skip
        """Write the topic proportions of a file's documents to another file, some documents at a time.

        Memory does not grow with the number of documents, and the numbers are those of ``transform``. The target takes
        its place when it is complete: whatever ends the work before that leaves what was there.

        Parameters
        ----------
        source : texts to read: a file (csv, tsv, jsonl, txt or mallet, plain or gzipped, or parquet), a folder, a
            pattern such as ``"new/*.csv"``, or a list of them. Archives are not read in parts.
        target : file to write, .csv, .jsonl (or these with .gz), .parquet or .npy. Each document has its id, the
            numbers of its known and unknown tokens, and its shares; .npy has the shares alone.
        format : the source's format; None goes by its name.
        text_column, id_column, group_column, delimiter, header, suffix, encoding : as of ``topicloom.read``.
        tokenizer : for a model that was not fitted on texts with the default tokenizer: the one that cut them.
        chunk_size : documents that are read and computed together. It changes no result.
        top_n : write only so many topics of each document, those with the largest shares, as numbers
            and shares: lists in .jsonl and .parquet, columns ``top_1``, ``share_1``, … in .csv.
        dtype : "float64", or "float32" to write single precision.
        callback : called with a ``Transformed`` after each chunk. Without it ``verbose=1`` says how far the work is.

        Returns
        -------
        ``Transformed(documents, tokens, unknown, empty, seconds)``: what was read, and how long it took.

        Examples
        --------
        >>> import tempfile, topicloom
        >>> from pathlib import Path
        >>> model = topicloom.LDA(2, max_iter=10, random_state=0).fit(["river bank", "money bank"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source = Path(folder) / "new.txt"
        ...     _ = source.write_text("river river\\nmoney\\n")
        ...     model.transform_file(source, Path(folder) / "shares.csv").documents
        2
        """
        from topicloom.engine.estimator.bulk import transform_file  # a fit needs none of it

        return transform_file(
            self, source, target, format=format, chunk_size=chunk_size, top_n=top_n, dtype=dtype, tokenizer=tokenizer,
            callback=callback, text_column=text_column, id_column=id_column, group_column=group_column,
            delimiter=delimiter, header=header, suffix=suffix, encoding=encoding,
        )  # fmt: skip

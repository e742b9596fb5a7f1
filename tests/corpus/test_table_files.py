"""Tables to a corpus: CSV, JSON lines and Parquet, their columns, and the line of every malformed one."""

import gzip
import json
import sys

import numpy as np
import pytest

from tests.corpus.format_cases import put, refused
from topicloom.corpus.formats import read
from topicloom.errors import MissingExtraError

COLUMNS = {
    "id_column": "name",
    "label_column": "tags",
    "group_column": "part",
    "response_column": "score",
    "time_column": "when",
}


@pytest.mark.parametrize(("suffix", "comma"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
def test_csv(tmp_path, suffix, comma):
    rows = [
        ["name", "text", "tags", "part", "score", "when"],
        ["a", '"two\r\nlines, ""quoted"""', "x y", "p", "1.5", "1999"],
        ["b", "", '"[""x"", ""new york""]"', "q", "-2", "2000"],
        ["c", "other lines", "", "p", "3", "2001"],
    ]
    content = "\r\n".join(comma.join(row) for row in rows).encode()
    path = put(tmp_path / f"a.{suffix}", gzip.compress(content) if suffix.endswith("gz") else content)
    corpus = read(path, **COLUMNS)
    assert corpus.vocabulary == ("lines", "other", "quoted", "two")
    assert corpus.doc_lengths.tolist() == [3, 0, 2]
    assert corpus.ids == ("a", "b", "c")
    assert corpus.labels == (("x y",), ("x", "new york"), ())
    assert corpus.groups == ("p", "q", "p")
    assert corpus.responses.tolist() == [1.5, -2, 3]
    assert corpus.times.tolist() == [1999, 2000, 2001]


def test_csv_texts_may_be_long(tmp_path):
    import csv

    before = csv.field_size_limit()
    put(tmp_path / "a.csv", "text\n" + "word " * 50_000 + "\n")
    assert read(tmp_path / "a.csv").n_tokens == 50_000
    assert csv.field_size_limit() == before


def test_csv_without_quoting_and_with_another_delimiter(tmp_path):
    path = put(tmp_path / "a.tsv", 'text\tn\n"hello" he said\t1\n')
    refused(path, "line 2", "quote=None")
    assert read(path, quote=None).vocabulary == ("he", "hello", "said")
    path = put(tmp_path / "b.csv", "text;n\nsome words;1\n")
    assert read(path, delimiter=";").n_tokens == 2
    refused(path, "delimiter='::' must be one character, or a name: tab", delimiter="::")


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        ("", {}, ["there are none"]),
        ("title,body\na,b\n", {}, ["no column 'text'", "'title', 'body'", "text_column="]),
        ("text\na b\n", {"label_column": "tag"}, ["no column 'tag'", "label_column="]),
        ("text,n\naa,1\nbb\n", {}, ["line 3", "2 fields"]),
        ("text,n\naa,1\nbb,2,3\n", {}, ["line 3", "2 fields"]),
        ('text,n\naa,1\n"bb,2\ncc,3\n', {}, ["line 3", "quotation marks"]),
        ("text,r\naa,1\nbb,x\n", {"response_column": "r"}, ["line 3", "'x'", "finite number"]),
        ("text,r\naa,1\nbb,\n", {"response_column": "r"}, ["line 3", "''", "finite number"]),
        ("text,r\naa,inf\n", {"response_column": "r"}, ["line 2", "finite number"]),
        ("text,t\naa,soon\n", {"time_column": "t"}, ["line 2", "'soon'", "ISO date"]),
        ("text,t\naa,2020\nbb,2020-01-01\n", {"time_column": "t"}, ["line 3", "a number"]),
        ("text,l\naa,\"['x', 'y']\"\n", {"label_column": "l"}, ["line 2", "JSON list"]),
        ('text,l\naa,"[[""x""]]"\n', {"label_column": "l"}, ["line 2", "flat list"]),
        ("text\naa\n1 2 3\n", {"min_df": 2}, ["min_df=2"]),
    ],
)
def test_malformed_csv(tmp_path, content, options, parts):
    put(tmp_path / "a.csv", content)
    refused(tmp_path / "a.csv", *parts, **options)


def test_bad_bytes_in_csv_are_named_by_line(tmp_path):
    put(tmp_path / "a.csv", b"text\nfine\nbad \xff\n")
    refused(tmp_path / "a.csv", "line 3", "0xff")


def test_jsonl(tmp_path):
    records = [
        {"name": 1, "text": "some words", "tags": ["x", 2], "part": 1, "score": 1, "when": "2020-05-01"},
        {"name": "b", "text": "", "tags": None, "part": "q", "score": 2.5, "when": "2020-05-02T10:00:00+02:00"},
        {"name": "c", "text": "words", "tags": "y z", "part": True, "score": 0, "when": "2021-01-01T00:00:00Z"},
    ]
    put(tmp_path / "a.jsonl", "\n\n".join(json.dumps(record) for record in records))
    corpus = read(tmp_path / "a.jsonl", **COLUMNS)
    assert corpus.ids == ("1", "b", "c")
    assert corpus.labels == (("x", "2"), (), ("y z",))
    assert corpus.groups == (1, "q", True)
    assert corpus.responses.tolist() == [1, 2.5, 0]
    expected = np.array(["2020-05-01T00:00", "2020-05-02T08:00", "2021-01-01T00:00"], "datetime64[us]")
    assert np.array_equal(corpus.times, expected)


@pytest.mark.parametrize(
    ("line", "options", "parts"),
    [
        ("{broken", {}, ["line 2", "JSON object"]),
        ("[1, 2]", {}, ["line 2", "JSON object"]),
        ('{"body": "x"}', {}, ["line 2", "no column 'text'", "'body'"]),
        ('{"text": null}', {}, ["line 2", "found None", "a text"]),
        ('{"text": 3}', {}, ["line 2", "found 3"]),
        ('{"text": "x", "i": null}', {"id_column": "i"}, ["line 2", "an id"]),
        ('{"text": "x", "i": {"a": 1}}', {"label_column": "i"}, ["line 2", "flat list"]),
        ('{"text": "x", "i": null}', {"group_column": "i"}, ["line 2", "a group"]),
        ('{"text": "x", "i": [1]}', {"group_column": "i"}, ["line 2", "a group"]),
        ('{"text": "x", "i": null}', {"response_column": "i"}, ["line 2", "finite number"]),
        ('{"text": "x", "i": true}', {"response_column": "i"}, ["line 2", "finite number"]),
        ('{"text": "x", "i": NaN}', {"response_column": "i"}, ["line 2", "finite number"]),
        ('{"text": "x", "i": NaN}', {"time_column": "i"}, ["line 2", "a time"]),
        ('{"text": "x", "i": "2020-01-01"}', {"time_column": "i"}, ["line 2", "a number"]),
    ],
)
def test_malformed_jsonl(tmp_path, line, options, parts):
    put(tmp_path / "a.jsonl", '{"text": "good words", "i": 1}\n' + line + "\n")
    refused(tmp_path / "a.jsonl", str(tmp_path / "a.jsonl"), *parts, **options)


def test_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    n = 5000  # more than one batch
    table = pa.table(
        {
            "body": ["some words"] * n,
            "tags": [["x"], None] * (n // 2),
            "when": pa.array(range(n), pa.timestamp("s")),
        }
    )
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    corpus = read(tmp_path / "a.parquet", text_column="body", label_column="tags", time_column="when")
    assert (corpus.n_docs, corpus.n_tokens) == (n, 2 * n)
    assert corpus.labels[:2] == (("x",), ())
    assert corpus.times[n - 1] == np.datetime64(n - 1, "s")
    refused(tmp_path / "a.parquet", "no column 'text'", "'body', 'tags', 'when'")
    pa.parquet.write_table(pa.table({"text": ["a", None]}), tmp_path / "b.parquet")
    refused(tmp_path / "b.parquet", "row 2", "found None")
    put(tmp_path / "c.parquet", b"PAR1 not really")
    refused(tmp_path / "c.parquet", "not a readable Parquet file")


def test_parquet_names_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    put(tmp_path / "a.parquet", b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pip install 'topicloom\[parquet\]'"):
        read(tmp_path / "a.parquet")

"""A cell is one label unless something says otherwise, and cells that look otherwise are told."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import topicloom
from topicloom.errors import InputError, LabelsWarning


def labels(cells: list[Any], separator: str | None, found: str | None) -> list[tuple[str, ...]]:
    frame = pd.DataFrame({"text": ["river"] * len(cells), "tag": cells})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        corpus = topicloom.from_frame(frame, text="text", label="tag", label_separator=separator)
    assert [found in str(w.message) for w in told] == [True] * (found is not None), [str(w.message) for w in told]
    assert all(w.category is LabelsWarning and w.filename == __file__ for w in told)
    return list(corpus.labels or ())


@pytest.mark.parametrize(
    ("cells", "separator", "expected", "told"),
    [
        (["health care", " economy ", ""], None, [("health care",), ("economy",), ()], None),
        (["health care", "health policy"], None, [("health care",), ("health policy",)], None),
        (["Washington, D.C.", "1,000"], None, [("Washington, D.C.",), ("1,000",)], None),
        (
            ["a,b", "a"],
            None,
            [("a,b",), ("a",)],
            "1 of 2 cells look like several labels separated by ',', such",
        ),
        (["a;c", "b"], None, [("a;c",), ("b",)], "Give label_separator=';' to split them"),
        (["x, y", "y"], None, [("x, y",), ("y",)], "label_separator=','"),
        (["x\ty"], None, [("x\ty",)], "label_separator='tab'"),
        (["earn grain", "grain wheat", "wheat", "earn"], None, None, "label_separator='space'"),
        (["a,b", "a;c"], "none", [("a,b",), ("a;c",)], None),
        (["a,b", "c"], "comma", [("a", "b"), ("c",)], None),
        (["a; b;;", "c"], ";", [("a", "b"), ("c",)], None),
        (["a,b", "c;d"], ",", [("a", "b"), ("c;d",)], "are read as labels separated by ','"),
        (["earn  grain", "grain"], " ", [("earn", "grain"), ("grain",)], None),
        (["health care"] * 3 + ["economy"], "space", None, "3 of 4 cells look like names that blanks split"),
        (['["a b", "c"]', "[sic] d"], None, [("a b", "c"), ("[sic] d",)], None),
        (['["a;b"]', "c"], ";", [("a;b",), ("c",)], None),
        ([["a", "b c"], None, []], None, [("a", "b c"), (), ()], None),
    ],
)
def test_cells(
    cells: list[Any], separator: str | None, expected: list[tuple[str, ...]] | None, told: str | None
) -> None:
    found = labels(cells, separator, told)
    assert expected is None or found == expected


def test_separators_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,tag\nriver,a\n")
    for given in (";;", 3, "commas"):
        with pytest.raises(InputError, match="must be one character, a name"):
            topicloom.read(tmp_path / "a.csv", label_column="tag", label_separator=given)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "d1\tx\tthe text\n",
            {},
            r"not said which column holds the texts; .* 0 \(d1\), 1 \(x\), 2 \(the text\)",
        ),
        (
            "d1\tx\tthe text\n",
            {"text_column": 3},
            r"no column '3'.*columns have numbers; give the right one",
        ),
        ("d1\tx\tthe text\n", {"text_column": "text"}, "text_column='text' must be a number.*count from 0"),
        (
            "d1\tx\tthe text\n",
            {"text_column": 1, "delimiter": ","},
            "separated by 'tab', not ','; give delimiter=",
        ),
        ("d1;x;the text\n", {"delimiter": ","}, "separated by ';', not ','; give delimiter=';'"),
        ("d1\tx\nd2\n", {"text_column": 1}, "line 2.*2 fields, as many as the first record has"),
        ("d1\tx\n", {"text_column": 1, "header": "no"}, "header='no' must be True or False"),
        ("\n\n", {}, "at least one document"),
    ],
)
def test_tables_without_a_header_that_cannot_be_read(
    content: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        topicloom.read(tmp_path / "a.tsv", **{"header": False, **options})


def test_tables_without_a_header(tmp_path: Path) -> None:
    """As MALLET's files are: name, label, text."""
    (tmp_path / "a.txt").write_text("d1\tnews\tThe river\n\nd2\t\tA bank\n")
    options: dict[str, Any] = {"delimiter": "tab", "header": False, "id_column": 0, "label_column": "1"}
    corpus = topicloom.read(tmp_path / "a.txt", text_column=2, **options)
    assert (corpus.ids, corpus.labels) == (("d1", "d2"), (("news",), ()))
    assert corpus.texts == ("The river", "A bank")
    assert topicloom.read(tmp_path / "a.txt", format="csv", header=False, text_column=0, delimiter="|").n_docs == 2

"""The docstrings of this machine as a corpus: what is read, how it is cleaned, how it is kept."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import topicloom
from topicloom import datasets
from topicloom.corpus import Corpus
from topicloom.datasets import examples
from topicloom.datasets.docstrings import Root, clean, read_docstrings
from topicloom.datasets.examples import cache_folder, cached_corpus, docstring_corpus, installed_roots
from topicloom.errors import InputError

RIVERS = "Rivers carry water from the mountains through valleys and plains down to the distant sea"
BREAD = "Bakers knead flour with water and yeast then wait until the warm dough has risen"
STARS = "Astronomers point telescopes at faint stars and measure how their brightness slowly changes"
BOATS = "Sailors trim the sails when winds shift and steer their boats into sheltered harbours"

SOURCES = {
    "__init__.py": f'"""{RIVERS}."""\nraise SystemExit("imported")\n',
    "kitchen.py": f'''
class Oven:
    """{BREAD}."""

    def bake(self):
        """Too short."""
        def inner():
            """{BOATS}, said inside a function."""

if True:
    def look():
        """{STARS}."""
else:
    def look():
        """{BOATS}."""

async def same():
    """{BREAD}."""
''',
    "sky/_impl.py": f'import nothing_of_this_name\n\ndef watch():\n    "{STARS}, all night."\n    """quotes"""\n',
    "sky/_added.py": (
        f'add_newdoc("nova", """{STARS} again.""")\nadd_newdoc("a.b", "c", ("d", """{BOATS} at dawn."""))\n'
    ),
    "sky/escape.py": f'"""\\d {BOATS} twice."""\n',
    "sky/latin.py": f'# coding: latin-1\n"""{BOATS} caf\u00e9."""\n',
    "sky/broken.py": f'"""{RIVERS} broken."""\ndef (:\n',
    "sky/plain.py": "x = 1\n",
    "sky/notes.txt": f'"""{RIVERS} notes."""\n',
    "tests/helpers.py": f'"""{RIVERS} tested."""\n',
    "_vendor/copy.py": f'"""{RIVERS} copied."""\n',
    "test_river.py": f'"""{RIVERS} tested."""\n',
}


@pytest.fixture
def roots(tmp_path: Path) -> list[Root]:
    for name, source in SOURCES.items():
        path = tmp_path / "sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.encode("latin-1"))
    # Long enough for the quick look at the quotes; its docstring itself is not in triple quotes.
    long = tmp_path / "sources" / "sky/_impl.py"
    long.write_text(long.read_text() + f'other = """{RIVERS}"""\n')
    return [Root("fake", tmp_path / "sources", "fake")]


def build(roots: list[Root]) -> Corpus:
    return docstring_corpus(roots, min_words=10, min_df=1, max_df=1.0, stop_words="english")


def assert_same(one: Corpus, other: Corpus) -> None:
    for field in fields(Corpus):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        else:
            assert a == b, field.name


def test_docstrings_are_read_and_never_imported(roots: list[Root]) -> None:
    before = set(sys.modules)
    found = read_docstrings(roots, 10)
    assert [docstring.name for docstring in found] == [
        "fake",
        "fake.kitchen.Oven",
        "fake.kitchen.look",
        "fake.kitchen.look#2",
        "fake.sky.nova",
        "a.b.c.d",
        "fake.sky._impl.watch",
        "fake.sky.escape",
        "fake.sky.latin",
    ]
    assert found[0].text == f"{RIVERS}."
    assert {docstring.group for docstring in found} == {"fake"}
    assert found[2].module == "fake.kitchen"
    assert found[6].module == "fake.sky"
    assert "café" in found[8].text
    assert not {name for name in set(sys.modules) - before if name.startswith("fake")}


def test_modules_that_stand_alone_are_labelled_by_their_first_name(roots: list[Root]) -> None:
    found = read_docstrings([roots[0]._replace(prefix="", group="stdlib")], 10)
    assert {"kitchen", "sky"} <= {docstring.module for docstring in found}


def test_each_text_comes_once(roots: list[Root]) -> None:
    texts = [docstring.text for docstring in read_docstrings(roots * 2, 10)]
    assert len(texts) == len(set(texts)) == 9


def test_corpus_has_ids_labels_and_groups(roots: list[Root]) -> None:
    corpus = build(roots)
    assert corpus.n_docs == 9
    assert corpus.ids[1] == "fake.kitchen.Oven"
    assert corpus.labels[1] == ("fake.kitchen",)
    assert set(corpus.groups) == {"fake"}
    assert corpus.ordered
    words = [corpus.vocabulary[w] for w in corpus.words[corpus.doc_ptr[1] : corpus.doc_ptr[2]]]
    assert words[:3] == ["bakers", "knead", "flour"]


def test_nothing_found_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no docstring of 10 words"):
        build([Root("none", tmp_path / "missing", "none")])


# -- cleaning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "prose"),
    [
        ("Add things.\n\n>>> add(1)\n2\n\nThen rest.", "Add things. Then rest."),
        ("Fit.\n\nParameters\n----------\nx, y : ndarray of shape (n,)\n    The data.\n", "Fit. The data."),
        ("Draw.\n\nArgs:\n    text (str, optional): What to draw.", "Draw. Args: What to draw."),
        ("Send.\n\n:param host: the machine\n:type host: str", "Send. the machine"),
        ("Solve.\n\n.. math::\n\n   a = b\n\nEnd.", "Solve. End."),
        ("Solve.\n\n.. versionadded:: 1.2\n\n.. note:: Slow.\n   Very slow.", "Solve. Slow. Very slow."),
        ("Sum.\n\nReferences\n----------\n.. [1] A. Author.\n\nNotes\n-----\nGood.", "Sum. Good."),
        ("Use it so::\n\n    run(now)\n\nDone.", "Use it so:: Done."),
        ("See :func:`~os.walk`, `axis` (the first) and `other`.", "See ~ , axis (the first) and other ."),
        ("A ``list`` of ``x=1`` and :math:`x^2`, http://a.b/c", "A list of and ,"),
        ("Read `the guide <target>`_ of %(name)s; it doesn't cost.", "Read the guide of ; it does cost."),
        ("Fit. Read more in the :ref:`User Guide\n<lda>`. Good.", "Fit. Good."),
    ],
)
def test_cleaning_leaves_prose(raw: str, prose: str) -> None:
    assert clean(raw) == prose


# -- cache -----------------------------------------------------------------------------------------------------


class Counted:
    """A builder that counts its calls."""

    def __init__(self, build: Callable[[], Corpus]) -> None:
        self.calls = 0
        self._build = build

    def __call__(self) -> Corpus:
        self.calls += 1
        return self._build()


KEY = {"dataset": "fake", "format": 1}


def test_a_kept_corpus_equals_a_fresh_one(roots: list[Root], tmp_path: Path) -> None:
    make = Counted(lambda: build(roots))
    fresh = cached_corpus(KEY, make, tmp_path / "deep" / "cache")
    kept = cached_corpus(KEY, make, tmp_path / "deep" / "cache")
    assert make.calls == 1
    assert_same(fresh, kept)
    assert [path.suffix for path in (tmp_path / "deep" / "cache").iterdir()] == [".safetensors"]
    cached_corpus({**KEY, "format": 2}, make, tmp_path / "deep" / "cache")
    assert make.calls == 2


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped words", "flipped ids", "text", "folder"])
def test_a_damaged_file_is_made_again(damage: str, roots: list[Root], tmp_path: Path) -> None:
    make = Counted(lambda: build(roots))
    fresh = cached_corpus(KEY, make, tmp_path / "cache")
    (path,) = (tmp_path / "cache").iterdir()
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        flipped = bytearray(content)
        flipped[-1] ^= 1
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[: len(content) // 2],
                "flipped words": bytes(flipped),
                "flipped ids": content.replace(b"fake.kitchen.Oven", b"fake.kitchen.Owen"),
                "text": b"not a corpus at all " * 50,
            }[damage]
        )
        assert path.read_bytes() != content
    assert_same(cached_corpus(KEY, make, tmp_path / "cache"), fresh)
    assert make.calls == 2
    cached_corpus(KEY, make, tmp_path / "cache")
    assert make.calls == (3 if damage == "folder" else 2)


def test_a_folder_that_cannot_be_written_keeps_nothing(roots: list[Root], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    make = Counted(lambda: build(roots))
    for _ in range(2):
        assert cached_corpus(KEY, make, tmp_path / "file" / "cache").n_docs == 9
    assert cached_corpus(KEY, make, None).n_docs == 9
    assert make.calls == 3
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_failed_write_leaves_no_part_behind(
    roots: list[Root], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", fail)
    assert cached_corpus(KEY, lambda: build(roots), tmp_path / "cache").n_docs == 9
    assert list((tmp_path / "cache").iterdir()) == []


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOPICLOOM_CACHE", raising=False)
    monkeypatch.setenv("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "topicloom"
    monkeypatch.setenv("TOPICLOOM_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


# -- the real thing --------------------------------------------------------------------------------------------


def test_options_choose_another_file(
    roots: list[Root], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOPICLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(examples, "installed_roots", lambda: roots)
    small = {"min_words": 10, "min_df": 1, "max_df": 1.0}
    corpus = datasets.docstrings(**small)
    assert "water" in corpus.vocabulary
    assert "the" not in corpus.vocabulary
    assert "the" in datasets.docstrings(**small, stop_words=None).vocabulary
    assert "water" not in datasets.docstrings(**small, stop_words=["water"]).vocabulary
    assert datasets.docstrings(min_words=15, min_df=1, max_df=1.0).n_docs < corpus.n_docs
    assert len(list((tmp_path / "cache").iterdir())) == 4
    monkeypatch.setattr(examples, "installed_roots", list)
    assert_same(datasets.docstrings(**small), corpus)
    with pytest.raises(InputError, match="no docstring"):
        datasets.docstrings(**small, cache=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"min_words": 0}, "min_words=0"),
        ({"min_words": 2.5}, "min_words=2.5"),
        ({"stop_words": "french"}, "stop_words='french'"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says.replace(".", r"\.")):
        datasets.docstrings(**options)  # type: ignore[arg-type]


def test_real_docstrings() -> None:
    corpus = topicloom.datasets.docstrings(cache=False)
    assert corpus.n_docs >= 4000
    assert corpus.n_words >= 2000
    assert corpus.n_tokens >= 100_000
    assert len(set(corpus.ids)) == corpus.n_docs
    groups = Counter(corpus.groups)
    assert set(groups) == {root.group for root in installed_roots()}
    assert min(groups["stdlib"], groups["numpy"], groups["scipy"]) > 300
    assert ("scipy.stats",) in corpus.labels
    assert ("argparse",) in corpus.labels
    assert not {"the", "returns", "parameters"} & set(corpus.vocabulary)
    assert {"matrix", "hypothesis", "spline", "cluster", "thread"} <= set(corpus.vocabulary)
    assert not any(".tests." in name or ".test_" in name for name in corpus.ids)

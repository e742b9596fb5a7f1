"""Preparation of texts: stop lists, markup, named functions, phrases, n-grams, and what files remember."""

import json
import random
import re
import sys
from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicloom import LDA, Corpus, from_frame, from_matrix, from_texts, load, read
from topicloom.corpus import register_normalizer, register_tokenizer, registry, stop_words
from topicloom.corpus._cutting import DEFAULT_PATTERN, Cutter
from topicloom.corpus._markup import without_html, without_urls
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.corpus.text import tokenize
from topicloom.corpus.text_options import WORD_LISTS, TextOptions, restored
from topicloom.engine.estimator.function_words import report_function_words
from topicloom.errors import FunctionWordsWarning, InputError, MissingExtraError, StorageError


def words_of(corpus: Corpus) -> list[list[str]]:
    ends = zip(corpus.doc_ptr, corpus.doc_ptr[1:], strict=False)
    return [[corpus.vocabulary[w] for w in corpus.words[a:b]] for a, b in ends]


def strip_s(words: list[str]) -> list[str]:
    return [word.removesuffix("s") for word in words]


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TOKENIZERS", {})
    monkeypatch.setattr(registry, "_NORMALIZERS", {})


# -- stop words ----------------------------------------------------------------------------------------------------


def test_a_string_names_languages_and_a_collection_holds_words() -> None:
    pytest.importorskip("stopwordsiso", reason="the lists of other languages")
    text = ["Der Fluss und die Bank the river et la banque english german"]
    german = from_texts(text, stop_words="german")
    assert {"fluss", "bank", "the"} <= set(german.vocabulary)
    assert not {"der", "und", "die"} & set(german.vocabulary)
    assert from_texts(text, stop_words="de").vocabulary == german.vocabulary
    both = from_texts(text, stop_words="English, fr")
    assert not {"the", "et", "la"} & set(both.vocabulary)
    assert "und" in both.vocabulary
    assert "english" not in from_texts(text, stop_words={"english"}).vocabulary
    assert stop_words("german,english") == stop_words("de") | stop_words("en")
    for language in ("dutch", "italian", "spanish", "russian", "polish", "turkish", "arabic", "hindi", "japanese"):
        assert len(stop_words(language)) > 50


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("klingon", r"no list for 'klingon'.*such as german.* de, "),
        ("english,", "no list for ''"),
        (["english", "german"], "one string"),
    ],
)
def test_what_names_no_list_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_texts(["a text"], stop_words=given)


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from topicloom.corpus import _stop_words

    _stop_words._words_of.cache_clear()
    registry._stemmer.cache_clear()
    for package in ("stopwordsiso", "snowballstemmer"):
        monkeypatch.setitem(sys.modules, package, None)
    for options in ({"stop_words": "german"}, {"normalizer": "snowball:german"}):
        with pytest.raises(MissingExtraError, match=r"topicloom\[languages\]"):
            from_texts(["ein Text"], **options)
    assert from_texts(["the text"], stop_words="english").vocabulary == ("text",)


def test_function_words_are_hinted_at_once() -> None:
    rest = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(120)]
    english = [f"the of and to in is it that was for on with as at by {rest[i]} {rest[i + 60]}" for i in range(60)]
    corpus = from_texts(english)
    with pytest.warns(FunctionWordsWarning, match=r"\d+ are function words .*stop_words='english'"):
        assert LDA(2, max_iter=1, random_state=0).fit(corpus)
    assert report_function_words(corpus)  # without another warning
    assert not report_function_words(from_texts(english, stop_words="english"))
    unknown = [re.sub(r"\b([a-z]{2,4})\b(?<!w..)", r"\1xq", text) for text in english]
    with pytest.warns(FunctionWordsWarning, match="in nearly every document"):
        assert report_function_words(from_texts(unknown))


# -- markup ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>One<br/>two</p><P>three", "One two three"),
        ("<b>H</b>ello <a href='x>y'>wor</A>ld", "Hello world"),
        (
            "caf&eacute; &amp; Stra&#223;e Zucker&shy;watte &#99999999999; &nosuch;",
            "café & Straße Zuckerwatte &nosuch;",
        ),
        ("a<script>if (x < 1) y();</script >b<style type='a'>p {}</style>c<script>never closed", "a b c"),
        ("x<!-- a <b> -- c -->y<!DOCTYPE html>z<?php 1 ?>w<!-- open <p>", "x y z w"),
        ("1 < 2 and 3 > 2, a <b and c<d", "1 < 2 and 3 > 2, a <b and c<d"),
        ("<p title='it\"s'>in</p><p title=\"open>still</p>", "in still"),
        ("<scripted>kept</scripted><img alt=x", "kept <img alt=x"),
    ],
)
def test_html_is_removed(text: str, expected: str) -> None:
    assert " ".join(without_html(text).split()) == expected


def test_addresses_are_removed_after_tags() -> None:
    assert without_urls("see https://a.b/c?d=e, www.x.org/y; (FTP://z) ahttp://no").split() == [
        "see",
        "(",
        "ahttp://no",
    ]
    corpus = from_texts(['<a href="http://link.example">Tea</a> at http://shop.example now'], strip=("urls", "html"))
    assert corpus.vocabulary == ("at", "now", "tea")
    assert corpus.text_options.strip == ("html", "urls")
    with pytest.raises(InputError, match="'emails' cannot be removed"):
        from_texts(["a text"], strip="emails")


@pytest.mark.parametrize(
    "piece", ["<!--", "<script>", "<script", "<a '", "<a \"<a '", "&#", "&#9", "www.", "<", "<a href='x' "]
)
def test_broken_markup_takes_linear_time(piece: str) -> None:
    assert isinstance(without_urls(without_html(piece * 200_000)), str)  # quadratic time would be hours


# -- functions with names ------------------------------------------------------------------------------------------


def test_a_model_knows_its_functions_by_name(tmp_path: Path) -> None:
    register_tokenizer("bars", lambda text: text.split("|"))
    register_normalizer("no s", strip_s)
    texts = ["New Yorks|rivers|the", "River|bank"] * 5
    corpus = from_texts(texts, tokenizer="bars", normalizer=strip_s, stop_words={"the"})
    assert corpus.vocabulary == ("bank", "new york", "river")
    assert corpus.text_options[4:6] == ("bars", "no s")
    model = LDA(2, max_iter=2, random_state=0).fit(corpus)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    expected = again.transform(["banks|River|The"])
    assert (
        expected.tolist()
        == model.transform(
            from_texts(["bank|river"], tokenizer=lambda t: t.split("|"), vocabulary=model.vocabulary_)
        ).tolist()
    )
    registry._NORMALIZERS.clear()
    with pytest.raises(InputError, match=r"no normalizer is registered .*register_normalizer\('no s', function\)"):
        again.transform(["banks|River"])
    register_normalizer("no s", strip_s)
    assert again.transform(["banks|River|The"]).tolist() == expected.tolist()


def test_what_has_no_name_is_not_left_out_silently() -> None:
    corpus = from_texts(["rivers bank", "bank"], normalizer=strip_s)
    assert corpus.text_options is None
    with pytest.raises(InputError, match=r"does not know how to cut texts.*register_tokenizer"):
        LDA(2, max_iter=1, random_state=0).fit(corpus).transform(["rivers"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register_tokenizer("", str.split), "cannot name a tokenizer"),
        (lambda: register_normalizer("snowball:x", strip_s), "cannot name a normalizer"),
        (lambda: register_tokenizer("x", "y"), "must be a callable"),
        (lambda: from_texts(["a text"], normalizer=5), "normalizer must be a callable from a list of words"),
        (lambda: from_texts(["a text"], normalizer=lambda words: "text"), "document 0: the normalizer returned 'text'"),
        (lambda: from_texts(["a text"], tokenizer=WORD_LISTS), "came as lists of words"),
        (lambda: from_texts(["a text"], n_jobs=0), "n_jobs=0"),
    ],
)
def test_bad_functions(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]


def test_stems() -> None:
    pytest.importorskip("snowballstemmer", reason="stems")
    corpus = from_texts(["Die Flüsse", "ein Fluss"], normalizer="snowball:german")
    assert corpus.vocabulary == ("die", "ein", "fluss")
    assert tokenize("Flüsse", corpus.text_options) == ["fluss"]
    with pytest.raises(InputError, match=r"no such stemmer; choose one of .*german"):
        from_texts(["a text"], normalizer="snowball:klingon")


# -- phrases and n-grams ---------------------------------------------------------------------------------------------


def some_documents() -> list[list[str]]:
    pick = random.Random(1)
    pieces = [
        ["new", "york", "city"],
        ["new"],
        ["york"],
        ["bank"],
        ["loan", "rate"],
        ["river", "bank"],
        ["a", "a", "a"],
        ["city"],
    ]
    return [[word for _ in range(pick.randint(0, 20)) for word in pick.choice(pieces)] for _ in range(200)]


def naive_pass(docs: list[list[str]], score: str, min_count: int, threshold: float) -> list[list[str]]:
    one, two = (
        Counter(w for doc in docs for w in doc),
        Counter(p for doc in docs for p in pairwise(doc)),
    )
    total, vocabulary = sum(one.values()), len(one) + len(two)

    def joins(a: str, b: str) -> bool:
        n = two[a, b]
        if score == "npmi":
            return n >= min_count and log(n * total / (one[a] * one[b])) / -log(n / total) > threshold
        return (n - min_count) / (one[a] * one[b]) * vocabulary > threshold

    made = []
    for doc in docs:
        out, i = [], 0
        while i < len(doc):
            pair = i + 1 < len(doc) and joins(doc[i], doc[i + 1])
            out.append(f"{doc[i]}_{doc[i + 1]}" if pair else doc[i])
            i += 1 + pair
        made.append(out)
    return made


@pytest.mark.parametrize(("score", "threshold"), [("npmi", 0.2), ("npmi", -0.2), ("gensim", 0.05), ("gensim", 0.01)])
def test_phrases_are_those_of_a_plain_version_and_of_gensim(
    score: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from topicloom.corpus import _streams

    monkeypatch.setattr(_streams.document_blocks, "__defaults__", (97,))
    docs, options = some_documents(), {"score": score, "min_count": 5, "threshold": threshold}
    once = naive_pass(docs, score, 5, threshold)
    twice = naive_pass(once, score, 5, threshold)
    assert docs != once
    corpus = from_texts(docs, phrases={**options, "passes": 2})
    assert words_of(from_texts(docs, phrases=options)) == once
    assert words_of(corpus) == twice
    assert set(corpus.vocabulary) == {word for doc in twice for word in doc}
    phrases = pytest.importorskip("gensim.models.phrases", reason="the tool whose phrases these are").Phrases
    scoring = "default" if score == "gensim" else "npmi"
    theirs = phrases(docs, min_count=5, threshold=threshold, scoring=scoring)
    assert [theirs[doc] for doc in docs] == once


def test_new_texts_are_joined_by_the_same_phrases(tmp_path: Path) -> None:
    texts = [" ".join(doc) for doc in some_documents()]
    corpus = from_texts(texts, phrases="npmi", ngrams=(1, 2), stop_words={"a"}, token_pattern=r"\w+")
    save_corpus(corpus, tmp_path / "corpus")
    options = load_corpus(tmp_path / "corpus").text_options
    assert options == corpus.text_options
    assert ("river", "bank") in options.phrases[0]
    new = from_texts(["the river bank a loan"], **options._asdict(), vocabulary=corpus.vocabulary)
    assert tokenize("the river bank a loan", options) == [
        "the",
        "the_river_bank",
        "river_bank",
        "river_bank_loan",
        "loan",
    ]
    assert words_of(new) == [["river_bank"]]  # "loan" is always joined with "rate"
    assert new.unknown.tolist() == [4]
    own = from_texts(["new york new york city"], phrases=[[("new", "york")], [("new_york", "city")]])
    assert words_of(own) == [["new_york", "new_york_city"]]
    assert own.vocabulary == ("new_york", "new_york_city")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["x", "y", "x_y", "z"]), max_size=5), min_size=1, max_size=5),
    st.sampled_from([(1, 2), (2, 2), (1, 3), (2, 4)]),
)
def test_ngrams_are_those_of_a_plain_version(docs: list[list[str]], ngrams: tuple[int, int]) -> None:
    low, high = ngrams
    expected = [
        ["_".join(doc[i : i + n]) for i in range(len(doc)) for n in range(low, high + 1) if i + n <= len(doc)]
        for doc in docs
    ]
    if not any(expected):
        return
    corpus = from_texts(docs, ngrams=ngrams)
    assert words_of(corpus) == expected
    assert corpus.ordered == (low == high)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"phrases": "pmi"}, r"phrases\['score'\]='pmi' is not known"),
        ({"phrases": {"count": 3}}, "keys among"),
        ({"phrases": {"threshold": 2}}, "from -1 to 1"),
        ({"phrases": [("new", "york")]}, "a list of pairs of words for each pass"),
        ({"ngrams": (2, 1)}, "ngrams="),
        ({"ngrams": 2}, "ngrams=2"),
        ({"ngrams": (1, 99)}, "from 1 to 10"),
    ],
)
def test_bad_phrases_and_ngrams(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_texts(["a text"], **options)


# -- files -----------------------------------------------------------------------------------------------------------


def test_options_are_plain_data_and_old_ones_are_read() -> None:
    full = TextOptions("x", True, ("a",), ("html",), "t", "n", ((("a", "b"),), (("a_b", "c"),)), (1, 2))
    assert restored(json.loads(json.dumps(full.saved()))) == full
    plain = TextOptions("x", False, ("a",))
    assert json.loads(json.dumps(plain.saved())) == ["x", False, ["a"]]
    assert restored(["x", False, ["a"]]) == plain
    assert set(full.of_words()) == {"lowercase", "stop_words", "normalizer", "phrases", "ngrams"}


@pytest.mark.parametrize(
    "wrong",
    ["x", ["x"], ["(", True, []], ["x", 1, []], ["x", True, [1]], ["x", True, [], 1], ["x", True, [], {}, {}]]
    + [
        ["x", True, [], {name: value}]
        for name, value in [
            ("code", "x"),
            ("strip", ["all"]),
            ("strip", "html"),
            ("ngrams", [2, 1]),
            ("ngrams", [1, True]),
            ("phrases", [["a", "b"]]),
            ("phrases", [[["a"]]]),
            ("phrases", [[["a", 1]]]),
            ("tokenizer", 1),
            ("normalizer", ""),
        ]
    ],
)
def test_wrong_options_of_a_file_are_refused(wrong: object, tmp_path: Path) -> None:
    from topicloom.corpus.stored import corpus_part
    from topicloom.files.arrays import write_arrays

    with pytest.raises(InputError, match="text options"):
        restored(wrong)
    arrays, info = corpus_part(from_texts(["a text"]))
    write_arrays(tmp_path / "corpus", arrays, {**info, "text_options": wrong})
    with pytest.raises(StorageError, match=r"corpus cannot be used: the text options.*Restore it"):
        load_corpus(tmp_path / "corpus")


# -- pruning -----------------------------------------------------------------------------------------------------------


def test_counts_are_pruned_as_texts_are(tmp_path: Path) -> None:
    texts = ["the cat sat on the mat", "the dog chased the cat", "", "mat dog cat cat"]
    whole = from_texts(texts)
    matrix, names = whole.to_matrix(), whole.vocabulary
    for options in ({"min_df": 2}, {"max_df": 0.5}, {"max_words": 2}, {"min_df": 2, "max_df": 0.7, "max_words": 1}):
        expected = from_texts(texts, **options)
        pruned = whole.prune(**options)
        assert words_of(pruned) == words_of(expected)
        assert pruned.vocabulary == expected.vocabulary
        counts = from_matrix(matrix, names, **options)
        assert (counts.to_matrix() != expected.to_matrix()).nnz == 0
        assert counts.n_docs == 4
    pandas = pytest.importorskip("pandas", reason="a frame of counts")
    frame = pandas.DataFrame(matrix.toarray(), columns=names)
    assert from_frame(frame, min_df=3).vocabulary == ("cat",)
    from topicloom.corpus.formats import write

    write(whole, tmp_path / "counts.uci")
    assert read(tmp_path / "counts.uci", min_df=2, max_words=2).vocabulary == ("cat", "the")
    with pytest.raises(InputError, match=r"min_df=1\.5"):
        whole.prune(min_df=1.5)
    weighted = from_matrix([[0.5, 0.0, 2.0], [0.5, 1.0, 0.0]], ["ant", "bee", "cow"])
    assert weighted.prune(min_df=2).vocabulary == ("ant",)
    assert weighted.prune(max_words=1).vocabulary == ("cow",)


def test_plain_text_is_cut_as_by_the_pattern() -> None:
    pick = random.Random(0)
    text = "".join(chr(pick.randrange(128)) for _ in range(20_000)) + " 12 a1 1a 1 _x_ ab_cd " + "9" * 50
    for lowercase in (True, False):
        cut = Cutter(DEFAULT_PATTERN, lowercase, frozenset()).function()
        assert cut(text) == re.findall(DEFAULT_PATTERN, text.lower() if lowercase else text)

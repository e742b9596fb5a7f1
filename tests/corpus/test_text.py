"""Texts to a corpus: cutting, pruning, vocabularies, and every bad input."""

import unicodedata
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicloom.corpus.corpus import TextOptions
from topicloom.corpus.text import DEFAULT_PATTERN, from_texts, tokenize
from topicloom.errors import InputError

PLAIN = TextOptions(DEFAULT_PATTERN, True)
TEXTS = ["The cat sat on the mat.", "The dog chased the cat!", "", "A mat; a dog; a cat."]


def words_of(corpus, d):
    return [corpus.vocabulary[w] for w in corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]]


# -- cutting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat's hat, e.g. this", ["the", "cat", "hat", "this"]),
        ("Привет, МИР! Ещё раз", ["привет", "мир", "ещё", "раз"]),
        ("Ο ΛΟΓΟΣ και η τέχνη", ["λογος", "και", "τέχνη"]),
        ("我 喜欢 主题模型,也喜欢 统计。", ["喜欢", "主题模型", "也喜欢", "统计"]),
        ("Müller naïve café Ærø", ["müller", "naïve", "café", "ærø"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("mp3 covid19 20th 3d 1990s", ["mp3", "covid19", "20th", "3d", "1990s"]),
        ("2020 3.14 1,000", []),
        ("snake_case _word_ x-ray", ["snake", "case", "word", "ray"]),
        ("a b c", []),
    ],
)
def test_words_of_any_script(text, expected):
    # NFC may reorder points (Hebrew), so both sides are compared in one form.
    assert tokenize(text, PLAIN) == [unicodedata.normalize("NFC", word) for word in expected]


def test_decomposed_and_composed_accents_are_one_word():
    composed, decomposed = "café", "cafe\u0301"
    corpus = from_texts([composed, decomposed])
    assert corpus.vocabulary == ("café",)
    assert corpus.n_tokens == 2


def test_case_is_kept_on_request():
    assert tokenize("The Cat", TextOptions(DEFAULT_PATTERN, False)) == ["The", "Cat"]


def test_the_search_is_linear_in_long_runs():
    # Quadratic search would take hours on these.
    assert tokenize("1" * 300_000, PLAIN) == []
    assert tokenize("_1" * 100_000, PLAIN) == []
    assert len(tokenize("a1" * 300_000, PLAIN)) == 1


@given(st.text())
def test_words_are_runs_of_letters_marks_and_digits(text):
    for word in tokenize(text, PLAIN):
        assert len(word) >= 2
        assert "_" not in word
        assert not any(c.isspace() for c in word)
        assert not word.isdecimal()
        assert tokenize(word, PLAIN) == [word]


def test_a_pattern_with_one_group_gives_the_group():
    assert tokenize("#one two #three", TextOptions(r"#(\w+)", True)) == ["one", "three"]


def test_tokenize_drops_the_stop_words_of_the_options():
    assert tokenize("the cat", TextOptions(DEFAULT_PATTERN, True, ("the",))) == ["cat"]


def test_tokenize_wants_a_string():
    with pytest.raises(InputError, match="must be a string"):
        tokenize(None, PLAIN)


# -- the corpus -----------------------------------------------------------------------------------------------


def test_words_keep_their_order_and_the_vocabulary_is_alphabetical():
    corpus = from_texts(TEXTS)
    assert corpus.vocabulary == ("cat", "chased", "dog", "mat", "on", "sat", "the")
    assert corpus.ordered
    assert words_of(corpus, 0) == ["the", "cat", "sat", "on", "the", "mat"]
    assert words_of(corpus, 3) == ["mat", "dog", "cat"]
    assert corpus.empty_docs.tolist() == [False, False, True, False]
    assert corpus.unknown is None


def test_the_vocabulary_does_not_depend_on_document_order():
    kwargs = {"min_df": 1, "max_words": 3}
    forward, backward = from_texts(TEXTS, **kwargs), from_texts(TEXTS[::-1], **kwargs)
    assert forward.vocabulary == backward.vocabulary
    assert forward.fingerprint == backward.select([3, 2, 1, 0]).fingerprint


def test_texts_are_read_once_and_not_held():
    class Text(str):  # unlike str, it takes weak references
        pass

    held, most = weakref.WeakSet(), 0

    def generate():
        nonlocal most
        for i in range(50):
            text = Text(f"word{i} common")
            held.add(text)
            most = max(most, len(held))
            yield text

    corpus = from_texts(generate(), keep_texts=False)
    assert corpus.n_docs == 50
    assert most <= 3  # the one being made, the one being cut, and a generator's last


def test_metadata_is_attached():
    corpus = from_texts(
        ["one word", "two words"],
        ids=["a", "b"],
        labels=[["x"], []],
        groups=[1, 2],
        responses=[0.5, 1],
        times=[1999, 2000],
    )
    assert corpus.ids == ("a", "b")
    assert corpus.labels == (("x",), ())
    assert corpus.groups == (1, 2)
    assert corpus.responses.tolist() == [0.5, 1.0]
    assert corpus.times.tolist() == [1999, 2000]


def test_options_are_remembered_for_the_regular_expression_only():
    corpus = from_texts(["The cat"], stop_words=["The"])
    assert corpus.text_options == TextOptions(DEFAULT_PATTERN, True, ("the",))
    assert tokenize("the CAT", corpus.text_options) == ["cat"]
    assert from_texts(["the cat"], tokenizer=str.split).text_options is None


def test_a_tokenizer_sees_the_text_as_it_is():
    seen = []

    def cut(text):
        seen.append(text)
        return iter(text.split("|"))

    corpus = from_texts(["New York|Rome", "Rome"], tokenizer=cut, stop_words={"ROME"})
    assert seen == ["New York|Rome", "Rome"]
    assert corpus.vocabulary == ("new york",)
    assert from_texts(["B a"], tokenizer=str.split, lowercase=False).vocabulary == ("B", "a")


# -- choosing words -------------------------------------------------------------------------------------------


def test_english_stop_words():
    corpus = from_texts(["The cat and the dog don't sit on it"], stop_words="english")
    assert corpus.vocabulary == ("cat", "dog", "sit")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"min_df": 2}, ("cat", "dog", "mat", "the")),
        ({"min_df": 0.5}, ("cat", "dog", "mat", "the")),
        ({"min_df": 0.75}, ("cat",)),
        ({"min_df": 3}, ("cat",)),
        ({"max_df": 1}, ("chased", "on", "sat")),
        ({"max_df": 0.25}, ("chased", "on", "sat")),
        ({"min_df": 2, "max_df": 2}, ("dog", "mat", "the")),
        ({"max_words": 2}, ("cat", "the")),
        ({"max_words": 3}, ("cat", "dog", "the")),  # dog and mat occur twice: the alphabet decides
        ({"max_words": 100}, ("cat", "chased", "dog", "mat", "on", "sat", "the")),
        ({"min_df": 2, "max_words": 1}, ("the",)),
        ({"min_df": np.int64(3)}, ("cat",)),
    ],
)
def test_pruning(options, expected):
    corpus = from_texts(TEXTS, **options)
    assert corpus.vocabulary == expected
    full = from_texts(TEXTS)
    for d in range(4):
        assert words_of(corpus, d) == [word for word in words_of(full, d) if word in expected]


def test_a_share_is_not_lost_to_rounding():
    # 0.07 * 100 is 7.000000000000001 in floating point.
    texts = ["rare common"] * 7 + ["common"] * 93
    assert from_texts(texts, min_df=0.07).vocabulary == ("common", "rare")


def test_pruning_many_documents_in_blocks_agrees_with_counting_sets(monkeypatch):
    from topicloom.corpus import _streams

    monkeypatch.setattr(_streams.document_blocks, "__defaults__", (7,))
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{v}" for v in rng.integers(0, 30, rng.integers(0, 12))) for _ in range(200)]
    frequency = {}
    for text in texts:
        for word in set(text.split()):
            frequency[word] = frequency.get(word, 0) + 1
    corpus = from_texts(texts, min_df=25, max_df=40)
    assert corpus.vocabulary == tuple(sorted(w for w, n in frequency.items() if 25 <= n <= 40))
    assert 0 < corpus.n_words < 30


def test_a_given_vocabulary_counts_what_is_unknown():
    corpus = from_texts(
        ["the cat met a unicorn", "unicorn unicorn", "cat dog"], vocabulary=["dog", "cat"], stop_words=["the"]
    )
    assert corpus.vocabulary == ("dog", "cat")
    assert corpus.words.tolist() == [1, 1, 0]
    assert corpus.doc_ptr.tolist() == [0, 1, 1, 3]
    assert corpus.unknown.tolist() == [2, 2, 0]


def test_nothing_known_keeps_every_row():
    corpus = from_texts(["aa", "bb"], vocabulary=["cc"])
    assert corpus.n_docs == 2
    assert corpus.n_tokens == 0
    assert corpus.unknown.tolist() == [1, 1]


# -- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, r"document 1 is missing \(None\)\. Give missing=\"empty\""),
        (float("nan"), r"document 1 is missing \(nan\)\. Give missing=\"empty\""),
        (b"bytes", r"document 1 is .*string"),
        (7, r"document 1 holds the number 7, not a text; every text must be a string"),
        (["a"], r"document 1 is .*string"),
    ],
)
def test_a_document_that_is_no_string_is_named(bad, message):
    with pytest.raises(InputError, match=message):
        from_texts(["fine text", bad])


@pytest.mark.parametrize("bad", ["one text", b"bytes", None, 3])
def test_texts_must_be_an_iterable_of_strings(bad):
    with pytest.raises(InputError, match="texts must be"):
        from_texts(bad)


def test_no_texts():
    with pytest.raises(InputError, match="at least one document"):
        from_texts([])
    with pytest.raises(InputError, match="at least one document"):
        from_texts([], vocabulary=["a"])


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["1 2 3", ""], {}, "2 documents token_pattern found no word. Check"),
        (["the of"], {"stop_words": "english"}, "stop words"),
        (["aa bb"], {"tokenizer": lambda text: []}, "the tokenizer found no word"),
        (["aa", "bb"], {"min_df": 2}, "min_df=2"),
        (["aa", "aa"], {"max_df": 1}, "max_df=1"),
    ],
)
def test_an_empty_vocabulary_says_why(texts, options, message):
    with pytest.raises(InputError, match=r"vocabulary is empty.*") as caught:
        from_texts(texts, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_pattern": "("}, "not a regular expression"),
        ({"token_pattern": None}, "not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"tokenizer": "spacy"}, "no tokenizer is registered under this name"),
        ({"tokenizer": 5}, "tokenizer must be a callable"),
        ({"tokenizer": lambda text: text}, "document 0: the tokenizer returned"),
        ({"tokenizer": lambda text: None}, "document 0: the tokenizer returned"),
        ({"tokenizer": lambda text: [1]}, "every word must be a string"),
        ({"stop_words": "klingon"}, "no list for 'klingon'"),
        ({"stop_words": [1]}, "stop_words holds 1"),
        ({"stop_words": 5}, "stop_words must be"),
        ({"min_df": -1}, "min_df"),
        ({"min_df": 1.5}, "min_df"),
        ({"min_df": True}, "min_df"),
        ({"min_df": "2"}, "min_df"),
        ({"min_df": float("nan")}, "min_df"),
        ({"max_df": 0}, "max_df"),
        ({"max_df": -0.1}, "max_df"),
        ({"max_words": 0}, "max_words"),
        ({"max_words": 2.5}, "max_words"),
        ({"vocabulary": ["a", "a"]}, "twice"),
        ({"vocabulary": []}, "vocabulary is empty"),
        ({"vocabulary": "word"}, "vocabulary must be a sequence"),
        ({"vocabulary": {"aa", "bb"}}, "vocabulary must be a sequence"),
        ({"vocabulary": {"bb": 1, "aa": 0}}, "vocabulary must be a sequence"),
        ({"vocabulary": ["aa"], "min_df": 2}, "leave them out"),
        ({"vocabulary": ["aa"], "max_words": 2}, "leave them out"),
        ({"ids": ["only one"]}, "ids has 1 entry but there are 2"),
        ({"labels": ["sport", "news"]}, "sequence of strings"),
        ({"responses": [1, float("inf")]}, "responses: entry 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError) as caught:
        from_texts(["aa bb", "bb cc"], **options)
    assert message in str(caught.value)

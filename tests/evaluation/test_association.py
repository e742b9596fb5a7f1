"""Word association against eq. 57 of CGS_p written out, and by drawing topics and words."""

import numpy as np
import pytest

from topicloom import LDA, PriorLDA
from topicloom.errors import InputError
from topicloom.evaluation import word_association

RNG = np.random.default_rng(3)
PHI = RNG.dirichlet(np.full(9, 0.4), 4)
ALPHA = np.array([0.1, 2.0, 0.7, 0.4])


@pytest.mark.parametrize("alpha", [None, ALPHA])
def test_it_is_the_formula(alpha: np.ndarray | None) -> None:
    prior = np.ones(4) if alpha is None else alpha
    cues = [4, 0, 4, 8]
    found = word_association(PHI, cues, alpha)
    for row, cue in zip(found, cues, strict=True):
        below = sum(PHI[z, cue] * prior[z] for z in range(4))
        for w in range(9):
            assert row[w] == pytest.approx(sum(PHI[z, w] * PHI[z, cue] * prior[z] / below for z in range(4)), rel=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_it_is_how_often_words_follow_a_cue_in_a_topic_drawn_by_alpha() -> None:
    """The footnote's model: the first word's topic is drawn by α, and the next word is of the same topic."""
    n, cue = 400_000, 2
    z = RNG.choice(4, n, p=ALPHA / ALPHA.sum())
    heard = z[RNG.random(n) < PHI[z, cue]]
    counts = np.zeros(9)
    for k in range(4):
        counts += RNG.multinomial(np.count_nonzero(heard == k), PHI[k])
    expected = word_association(PHI, [cue], ALPHA)[0]
    error = np.sqrt(expected * (1 - expected) / len(heard))
    assert np.all(np.abs(counts / len(heard) - expected) < 5 * error + 1e-9)


def test_similar_words_of_models() -> None:
    texts = ["river boat river water", "money bank money loan", "river bank water"] * 8
    model = LDA(3, max_iter=30, random_state=0).fit(texts)
    cue = model.vocabulary_.index("river")
    expected = word_association(model.topic_word_, [cue], model.alpha_)[0]
    found = dict(model.similar_words("river", 50))
    assert found == {word: expected[v] for v, word in enumerate(model.vocabulary_) if v != cue}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(model.similar_words("river", 2)) == 2
    labels = PriorLDA(max_iter=30, burn_in=20, holdout=0.0, random_state=0)
    seen = labels.fit(texts, np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]] * 8))  # the third label has no document
    assert seen.similar_words("river", 1)[0][0] in ("water", "boat")
    with pytest.raises(InputError, match="the vocabulary has no word 'sea'"):
        model.similar_words("sea")
    with pytest.raises(InputError, match="n_words"):
        model.similar_words("river", 0)


@pytest.mark.parametrize(
    ("cues", "alpha", "message"),
    [
        ([9], None, "cues holds 9; words have the numbers 0 to 8"),
        ([-1], None, "cues holds -1"),
        ([0.5], None, "a list of word numbers"),
        (["a"], None, "a list of word numbers"),
        (3, None, "a list of word numbers"),
        ([1], [1.0, 2.0], "alpha has shape"),
        ([1], [0.0] * 4, "more than 0 for one"),
        ([1], [1.0, -1.0, 1.0, 1.0], "0 or more"),
    ],
)
def test_wrong_input_is_refused(cues: object, alpha: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        word_association(PHI, cues, alpha)  # type: ignore[arg-type]


def test_a_cue_without_a_topic_is_named() -> None:
    with pytest.raises(InputError, match="word 2, a cue, has probability 0"):
        word_association([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], [0, 2])
    with pytest.raises(InputError, match="word 1, a cue"):
        word_association([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], [1], [0.0, 1.0])

"""Columns of tables in a terminal: nothing is lost, and nothing is wider than there is room."""

import numpy as np
import pytest

from topicloom._layout import Frame, Width, blocks, cell_width, width_of, wrapped


@pytest.mark.parametrize("room", [20, 40, 60, 80])
def test_every_column_is_in_one_block_that_fits(room: int) -> None:
    rng = np.random.default_rng(room)
    for n in range(1, 30):
        least = rng.integers(1, 30, n)
        widths = [Width(int(w), int(w + more)) for w, more in zip(least, rng.integers(0, 50, n), strict=True)]
        found = blocks(widths, room, Frame(1, 3))
        assert [i for block in found for i, _ in block if i > 0] == list(range(1, n))
        for block in found:
            assert block[0][0] == 0
            assert 1 + sum(width + 3 for _, width in block) <= room
            for i, width in block:
                assert 1 <= width <= widths[i].natural
                if len(block) > 2 and i > 0:
                    assert width >= widths[i].least  # a column is narrowed only where it stands with the first alone


def test_room_that_is_left_goes_to_text() -> None:
    assert blocks([Width(5, 5), Width(16, 60), Width(7, 7)], 60, Frame(1, 3)) == [[(0, 5), (1, 38), (2, 7)]]
    assert width_of("share", ["1.0%", "10.0%"], True) == Width(5, 5)
    assert width_of("words", ["a river bank with boats"], False) == Width(16, 23)
    assert width_of("behind the best", ["0.1234 ± 0.1234"], True) == Width(15, 15)


def test_text_is_broken_between_words_and_behind_separators() -> None:
    assert wrapped("river bank of boats", 10) == "river bank\nof boats"
    assert wrapped("runs/twenty-topics/second", 12) == "runs/twenty-\ntopics/\nsecond"
    assert wrapped("one\ntwo three", 5) == "one\ntwo\nthree"
    assert wrapped("Donaudampfschiff", 8) == "Donaudam\npfschiff"
    assert wrapped("", 3) == ""
    wide = wrapped("漢字漢字漢字", 5)
    assert (wide, max(map(cell_width, wide.split("\n")))) == ("漢字\n漢字\n漢字", 4)

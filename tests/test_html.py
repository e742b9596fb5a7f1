"""Pieces of HTML: whatever is put into them is shown as text."""

import math

import pytest

from tests.helpers.markup import seen
from topicloom import _html

HOSTILE = "<script>alert('1')</script> & \"x\" <img src=x onerror=alert(1)>"


def test_all_text_is_escaped_but_once() -> None:
    parts = [
        _html.verdict(HOSTILE), _html.note(HOSTILE), _html.heading(HOSTILE), _html.folded(HOSTILE, _html.note(HOSTILE)),
        _html.table([(HOSTILE, False), ("n", True)], [[HOSTILE, 3]]),
    ]  # fmt: skip
    for part in (*parts, _html.box(HOSTILE, [HOSTILE, ""], *parts)):
        assert "&amp;amp;" not in part
        assert HOSTILE in seen(part)
    page = _html.page(HOSTILE, *parts)
    assert HOSTILE in seen(page)
    assert "default-src 'none'" in page


def test_what_no_page_may_hold_is_replaced() -> None:
    assert seen(_html.note("a\x00b\ud800c")) == "a\ufffdb\ufffdc"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(1234.5678, 2, "1,234.57"),
     (math.nan, 2, "–"), (None, 0, "–"), (math.inf, 0, "∞"), (-math.inf, 1, "−∞"), (-2, 0, "-2")],
)  # fmt: skip
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert _html.number(value, digits) == text


def test_bars_are_parts_of_the_largest() -> None:
    assert "width:50.0%" in _html.bar(0.1, 0.2)
    assert seen(_html.bar(0.1, 0.2)) == "10.0%"
    assert "width:0.0%" in _html.bar(0.0, 0.0)
    assert seen(_html.bar(math.nan)) == "–"
    assert "left:20.0%;width:30.0%" in _html.interval(0.2, 0.3, 0.5)


def test_how_a_verdict_begins_is_bold() -> None:
    assert "<b>The chains agree.</b> R-hat is 1.01." in _html.verdict("The chains agree. R-hat is 1.01.", True)
    assert "<b>" not in _html.verdict("A beats B by 0.4 nats per token")


def test_long_text_is_cut() -> None:
    assert _html.cut("a" * 50, 10) == "a" * 9 + "…"
    assert _html.cut("short", 10) == "short"

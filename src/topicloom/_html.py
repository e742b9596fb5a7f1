"""Pieces of HTML for notebooks and pages: text is escaped, styles stand where they apply, and there are no scripts.

Colours are those of the page around, or shades of them, so that light and dark themes both work.
"""

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # what no page may hold
_GOOD, _BAD, _PLAIN, _BAR = "#2e9e5b", "#d9822b", "#8888", "#5b8def"
_BEGINNING = re.compile(r"[^:.;\n]{3,80}[:.;](?=\s|$)")  # of a verdict: what it comes to
_LONG = {"words", "text", "symbols"}  # columns that need room
_NUMBERS = "font-variant-numeric:tabular-nums"


class Html(str):
    """Text that is HTML already. All other text is escaped."""

    __slots__ = ()


def escape(text: Any) -> Html:
    """Any text as HTML that shows it."""
    return text if isinstance(text, Html) else Html(html.escape(_UNSEEN.sub("\ufffd", str(text))))


def join(parts: Iterable[Any], between: str = "") -> Html:
    return Html(between.join(escape(part) for part in parts))


def cut(text: str, most: int) -> str:
    """The text, or its beginning if it is longer than so many characters."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"


def number(value: Any, digits: int = 0) -> str:
    """A number for a table; a dash for what is not known."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.{digits}f}" if math.isfinite(value) else "∞" if value > 0 else "−∞"


def box(title: str, facts: Sequence[Any], *parts: Html) -> Html:
    """What a notebook shows of a thing: its kind, facts about it, and parts below each other."""
    line = join((escape(fact) for fact in facts if fact), " · ")
    head = f'<div><b>{escape(title)}</b> <span style="opacity:.75">{line}</span></div>'
    style = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:64em"
    return Html(f'<div style="{style}">{head}{join(parts)}</div>')


def verdict(text: str, good: bool | None = None) -> Html:
    """A sentence or two that must be seen, above all how they begin; ``good`` colours their edge."""
    colour = _PLAIN if good is None else _GOOD if good else _BAD
    style = f"margin:.5em 0;padding:.35em .75em;border-left:4px solid {colour};background:#8881"
    start = _BEGINNING.match(text)
    said = escape(text) if start is None else f"<b>{escape(start[0])}</b>{escape(text[start.end() :])}"
    return Html(f'<div style="{style}">{said}</div>')


def table(columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[Any]], *, height: str = "") -> Html:
    """A table; columns are (heading, whether they hold numbers). A long one can be scrolled, wide ones always can."""
    sides = ["right" if numeric else "left" for _, numeric in columns]
    style = "padding:.2em .7em;border-bottom:1px solid #8888;font-weight:600;white-space:nowrap"
    heads = "".join(
        f'<th scope="col" style="text-align:{side};{style}">{escape(name)}</th>'
        for (name, _), side in zip(columns, sides, strict=True)
    )
    widths = ["" if numeric else ";min-width:14em" if name in _LONG else ";min-width:3em" for name, numeric in columns]
    body = "".join("<tr>" + "".join(map(_cell, row, sides, widths)) + "</tr>\n" for row in rows)
    scroll = "overflow:auto;" + (f"max-height:{height};" if height else "")
    return Html(
        f'<div style="{scroll}margin:.4em 0"><table style="border-collapse:collapse;margin:0;{_NUMBERS}">'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
    )


def _cell(value: Any, side: str, width: str) -> str:
    wrap = width or ";white-space:nowrap"
    return f'<td style="text-align:{side};padding:.15em .7em;vertical-align:top{wrap}">{escape(value)}</td>'


def bar(share: float, largest: float = 1.0, width: float = 7.0) -> Html:
    """A bar for a part of the largest, with the share in percent behind it."""
    part = 0.0 if not largest > 0 or math.isnan(share) else min(max(share / largest, 0.0), 1.0)
    style = f"display:inline-block;height:.7em;background:{_BAR};border-radius:1px"
    return Html(
        f'<span style="display:inline-flex;align-items:center;gap:.5em;white-space:nowrap"><span aria-hidden="true" '
        f'style="display:inline-block;width:{width}em"><span style="{style};width:{100 * part:.1f}%"></span></span>'
        f"{'–' if math.isnan(share) else f'{share:.1%}'}</span>"
    )


def interval(low: float, value: float, high: float, width: float = 9.0) -> Html:
    """A point with its interval on a line from 0 to 1."""

    def at(share: float) -> float:
        return 100 * min(max(share, 0.0), 1.0)

    box = "display:inline-block;position:relative;vertical-align:-.1em"
    line = "position:absolute;top:.45em;height:2px;background:currentColor"
    dot = f"position:absolute;top:.1em;width:4px;height:.8em;border-radius:1px;background:{_BAR}"
    return Html(
        f'<span aria-hidden="true" style="{box};width:{width}em;height:1em">'
        f'<span style="{line};opacity:.2;left:0;width:100%"></span>'
        f'<span style="{line};opacity:.6;left:{at(low):.1f}%;width:{at(high) - at(low):.1f}%"></span>'
        f'<span style="{dot};left:calc({at(value):.1f}% - 2px)"></span></span>'
    )


def folded(title: str, *parts: Html) -> Html:
    """Parts that are shown on a click."""
    style = "cursor:pointer;opacity:.75"
    return Html(
        f'<details style="margin:.4em 0"><summary style="{style}">{escape(title)}</summary>{join(parts)}</details>'
    )


def note(text: str) -> Html:
    """A remark, less loud than what it is about."""
    return Html(f'<div style="opacity:.75;margin:.3em 0">{escape(text)}</div>')


def heading(text: str) -> Html:
    return Html(f'<h2 style="font-size:1.15em;font-weight:600;margin:1.4em 0 .3em">{escape(text)}</h2>')


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAGE_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:0 auto;padding:1.5rem 1rem 4rem}"
    "h1{font-size:1.6rem;margin:0 0 .5rem}tbody tr:nth-child(even){background:#8881}"
    "table{width:100%;font-size:.95em}@media(max-width:36rem){body{font-size:15px;padding:1rem .75rem}}"
    "@media print{body{max-width:none}}"
)


def page(title: str, *parts: Html) -> str:
    """A whole page that needs nothing else."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_PAGE_STYLE}</style></head>\n'
        f"<body><main><h1>{escape(title)}</h1>\n{join(parts)}</main></body></html>\n"
    )

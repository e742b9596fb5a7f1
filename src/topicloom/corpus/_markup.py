"""Texts without HTML and web addresses. Every pattern looks at each character a bounded number of times."""

import html
import re
from collections.abc import Callable
from typing import Any

from topicloom.corpus._checks import shown
from topicloom.corpus.text_options import STRIPPED
from topicloom.errors import InputError

# Attributes up to the ">" of a tag. Quotation marks may hold ">", but no "<": so a search ends at the next tag, and
# markup that is never closed costs no more than any other.
_REST = r"""(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|["'])*+"""
# The standard library's HTMLParser takes quadratic time for comments and tags that are never closed.
_MARKUP = re.compile(
    rf"""
      <!--.*?(?:-->|\Z)
    | <(script|style)(?=[\s/>]){_REST}>.*?(?:</\1(?=[\s/>]){_REST}>?|\Z)
    | <(/?[a-z][a-z0-9:-]*+){_REST}>
    | <[!?]{_REST}>
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WITHIN_WORDS = re.compile(
    "/?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u"
    "|var|wbr)",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"&#(?:x[0-9a-f]{9,}+|[0-9]{9,}+);?", re.IGNORECASE)  # no character has so many digits
_URL = re.compile(r"""\b(?:https?|ftp)://[^\s<>"]++|\bwww\.[^\s<>"]++""", re.IGNORECASE)


def without_html(text: str) -> str:
    """The text between the tags, with entities as characters; what scripts and styles hold is left out."""
    if "<" in text:
        text = _MARKUP.sub(_blank, text)
    if "&" in text:
        text = html.unescape(_LONG_NUMBER.sub(" ", text)).replace("\u00ad", "")  # soft hyphens stand within words
    return text


def _blank(tag: "re.Match[str]") -> str:
    """Tags of a part of a line may stand within a word; all others end one."""
    return "" if tag[2] and _WITHIN_WORDS.fullmatch(tag[2]) else " "


def without_urls(text: str) -> str:
    """The text without addresses that begin with http://, https://, ftp:// or www."""
    return _URL.sub(" ", text)


_REMOVE: dict[str, Callable[[str], str]] = {"html": without_html, "urls": without_urls}


def strippers(strip: tuple[str, ...]) -> list[Callable[[str], str]]:
    """What is done to a text, in order: addresses within tags go with their tags."""
    return [_REMOVE[name] for name in STRIPPED if name in strip]


def check_strip(strip: Any) -> tuple[str, ...]:
    """What is to be removed, as a tuple in the order in which it is."""
    names = (strip,) if isinstance(strip, str) else () if strip is None else strip
    if not isinstance(names, tuple | list):
        raise InputError(f"strip={shown(strip)} must be 'html', 'urls', or both: ('html', 'urls').")
    for name in names:
        if not isinstance(name, str) or name not in STRIPPED:
            raise InputError(f"strip={shown(strip)}: {shown(name)} cannot be removed; choose 'html', 'urls' or both.")
    return tuple(name for name in STRIPPED if name in names)

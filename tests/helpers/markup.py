"""HTML as a browser would read it: whether it is whole and harmless, and what a reader sees of it."""

from html.parser import HTMLParser

_ALONE = {"meta", "br", "hr"}
_ALLOWED = {
    "b", "body", "details", "div", "h1", "h2", "head", "html", "main", "progress", "span", "style", "summary", "table",
    "tbody", "td", "th", "thead", "title", "tr",
} | _ALONE  # fmt: skip


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in _ALLOWED, f"<{tag}>"
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name not in ("src", "href"), name
            assert "url(" not in (value or ""), value
        if tag not in _ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def seen(markup: str) -> str:
    """What a reader sees, words with one space between them; fails if tags do not match or could do anything."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    assert reader.open == []
    markup.encode("utf-8")
    return " ".join(" ".join(reader.text).split())

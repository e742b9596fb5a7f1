"""Pages and messages are in plain English, and guide pages are short."""

from tests.project import prose


def test_no_idiom_of_our_own_is_left() -> None:
    found = {path.relative_to(prose.ROOT).as_posix(): prose.idioms(prose.plain(path.read_text(encoding="utf-8")))
             for path in prose.user_pages()}  # fmt: skip
    assert {name: idioms for name, idioms in found.items() if idioms} == {}
    assert [(name, line, idioms) for name, line, text in prose.messages() if (idioms := prose.idioms(text))] == []


def test_guide_pages_come_to_the_point() -> None:
    for path in sorted((prose.DOCS / "guide").glob("*.md")):
        found = prose.measure(path.read_text(encoding="utf-8"))
        assert found.before_options <= prose.MOST_WORDS, path.name
        assert found.sentence <= 16, path.name


def test_the_measures_see_what_they_measure() -> None:
    page = "# Title\n\nOne two three. Four five.\n\n```python\nnot counted\n```\n\nSix.\n\n## Options\n\n| a | b |\n"
    found = prose.measure(page)
    assert (found.words, found.before_options, found.paragraph) == (6, 6, 5)
    assert found.sentence == 2.0
    assert prose.idioms("It takes 3 ns a token, and sweeps else.") == ["ns a token", "else."]
    assert prose.idioms("anything else. a topic of a document") == []

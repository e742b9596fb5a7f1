"""The written file: policy, digests, data that nothing in it can break out of, the same bytes twice."""

import base64
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import topicloom
from tests.explore.conftest import N_DOCS, as_browser, blocks_of, texts
from topicloom.errors import InputError, StorageError
from topicloom.explore import explore, explore_models, explore_state, page, payload
from topicloom.explore.source import Source, read_model
from topicloom.mallet import write_state

HOSTILE = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "]]>\"'&amp;@script@@data@", "<!-- --!>",
    "a\0b", "lone \ud800 half", "\u2028\u2029 \u202e rtl", "{{7*7}} ${7} `x`", "x" * 1_000_000,
)  # fmt: skip


class Elements(HTMLParser):
    """Scripts and styles of a page with their texts, as a browser cuts them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.meta: dict[str, str] = {}
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {name for name, _ in attrs}
        if tag in ("script", "style", "title"):
            self.found.append((tag, given, ""))
        if tag == "meta" and given.get("http-equiv"):
            self.meta[str(given["http-equiv"])] = str(given["content"])

    def handle_endtag(self, tag: str) -> None:
        self.lasttag = ""

    def handle_data(self, data: str) -> None:
        if self.found and self.lasttag in ("script", "style", "title"):
            tag, given, text = self.found[-1]
            self.found[-1] = (tag, given, text + data)


def parsed(path: Path) -> Elements:
    found = Elements()
    found.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def written(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explore(model, tmp_path_factory.mktemp("page") / "topics.html", texts=texts(), title='A <b> & "title"')


def test_the_file_holds_the_data(written: Path, source: Source) -> None:
    assert blocks_of(written) == as_browser(payload(source, texts=texts(), title='A <b> & "title"'))


def test_the_policy_allows_this_script_and_style_alone(written: Path) -> None:
    found = parsed(written)
    policy = dict(part.strip().split(" ", 1) for part in found.meta["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["img-src"] == "data: blob:"
    run = [text for tag, given, text in found.found if tag == "script" and given.get("type") != "application/json+gzip"]
    styles = [text for tag, _, text in found.found if tag == "style"]
    for name, elements in (("script-src", run), ("style-src", styles)):
        hashes = {f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" for text in elements}
        assert policy[name].split() == sorted(hashes)
    assert not {name for name in found.names if name.startswith("on")}
    assert "src" not in found.names
    assert "unsafe" not in found.meta["Content-Security-Policy"]


def test_scripts_are_all_in_the_page() -> None:
    folder = Path(page.__file__).parent / "page"
    assert {path.name for path in folder.glob("*.js")} <= set(page.SCRIPTS)
    assert (folder / "index.html").read_text(encoding="utf-8").count("@policy@") == 1
    for script in folder.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_the_same_model_gives_the_same_bytes(written: Path, model: Any, tmp_path: Path) -> None:
    again = explore(model, tmp_path / "again.html", texts=texts(), title='A <b> & "title"')
    assert again.read_bytes() == written.read_bytes()
    model.save(tmp_path / "model")
    loaded = topicloom.load(tmp_path / "model")
    assert loaded.explore(again, texts=texts(), title='A <b> & "title"') == again
    assert again.read_bytes() == written.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["again.html"]


def test_hostile_texts_are_data(tmp_path: Path) -> None:
    """Nothing in texts, ids, groups, labels, words or the title ends an element or is lost."""
    words = ["</script>", "<b>", "river", "&amp;"]
    plain = [text for text in HOSTILE if "\ud800" not in text]
    corpus = topicloom.from_texts(
        [f"{' '.join(words)} {text[:50]}" for text in plain], tokenizer=str.split,
        ids=[text.replace("\0", "")[:60] for text in plain], groups=[text[:60] for text in plain],
        labels=[[text[:20].replace(" ", "_")] for text in plain],
    )  # fmt: skip
    model = topicloom.LDA(2, max_iter=3, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(corpus)
    given = [*HOSTILE[:4], *HOSTILE[5:], HOSTILE[4]][: len(plain)]
    path = explore(model, tmp_path / "page.html", texts=given, title="</title><script>", text_length=2_000_000)
    found = parsed(path)
    assert [tag for tag, *_ in found.found].count("title") == 1
    assert next(text for tag, _, text in found.found if tag == "title") == "</title><script>"
    blocks = blocks_of(path)
    kinds = [given.get("type") for tag, given, _ in found.found if tag == "script"]
    assert kinds == ["application/json+gzip"] * len(blocks) + ["module"]
    shown = [doc["text"] for doc in blocks["data-texts-0"]["docs"]]
    assert shown == [text.replace("\0", "\ufffd").replace("\ud800", "\ufffd") for text in given]
    assert "</script>" in blocks["data-core"]["words"]["text"]
    assert blocks["data-docs"]["id"][0] == HOSTILE[0]
    assert set(blocks["data-core"]["groups"][0]["labels"]) == {text[:60].replace("\0", "\ufffd") for text in plain}
    assert blocks["data-core"]["title"] == "</title><script>"


def test_a_script_that_would_end_its_element_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Part:
        def read_text(self, encoding: str) -> str:
            return "a = '</script>'"

        def is_file(self) -> bool:
            return True

    monkeypatch.setattr(page, "_part", lambda name: Part())
    with pytest.raises(StorageError, match=r"style\.css of the page has text that ends its element"):
        page.render("", {})


def test_numbers_that_json_does_not_have_are_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        page.pack({"a": float("nan")})


# -- what a page is made of ------------------------------------------------------------------------------------------


def test_a_state_of_mallet(model: Any, corpus: topicloom.Corpus, tmp_path: Path) -> None:
    chain = model.chains_[model.best_chain_]
    write_state(tmp_path / "state.gz", corpus, chain.state, chain.prior)
    found = blocks_of(explore_state(tmp_path / "state.gz", tmp_path / "page.html"))
    core, own = found["data-core"], payload(read_model(model))["data-core"]
    assert core["kind"] == "MALLET state"
    assert [topic["share"] for topic in core["topics"]] == pytest.approx([t["share"] for t in own["topics"]], rel=1e-3)
    assert [topic["words"][0][1] for topic in core["topics"]] == pytest.approx(
        [topic["words"][0][1] for topic in own["topics"]], rel=1e-3
    )
    assert core["topics"][0]["measures"]["tokens"] == own["topics"][0]["measures"]["tokens"]
    assert core["verdict"] is None
    with pytest.raises(InputError, match="state"):
        explore_state((corpus, chain.state), tmp_path / "page.html")


def test_a_model_without_its_corpus_has_no_documents(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model", corpus=False)
    found = blocks_of(topicloom.load(tmp_path / "model").explore(tmp_path / "page.html"))
    assert set(found) == {"data-core", "data-docs"}
    core = found["data-core"]
    assert core["documents"]["of"] == core["n_docs"] == 0
    assert sum(topic["share"] for topic in core["topics"]) == pytest.approx(1, abs=1e-3)
    assert core["times"] is core["groups"] is core["intervals_about"] is None
    with pytest.raises(InputError, match="has no documents, by which models are compared"):
        explore_models([topicloom.load(tmp_path / "model"), model], tmp_path / "page.html")


def test_what_cannot_be_shown_is_refused_before_anything_is_written(model: Any, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("before")
    for wrong in (object(), [[0.5, 0.5]], None):
        with pytest.raises(InputError, match="give a fitted model of topicloom"):
            explore(wrong, target)
    with pytest.raises(InputError, match="is not fitted"):
        explore(topicloom.LDA(2), target)
    with pytest.raises(InputError, match="is a folder"):
        explore(model, tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        explore(model, tmp_path / "none" / "page.html")
    with pytest.raises(InputError, match="two models or more"):
        explore_models([model], target)
    assert target.read_text() == "before"
    assert model.corpus_.n_docs == N_DOCS


def test_the_page_for_developers_names_every_key(data: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "developer" / "explorer.md").read_text(encoding="utf-8")
    sections = {part.split("\n", 1)[0].strip("`"): part for part in text.split("### ")[1:]}
    core = data["data-core"]
    for keys, name in (
        (core, "core"), (core["topics"][0], "core"), (core["times"], "core"), (core["documents"], "core"),
        (core["map"], "core"), (data["data-docs"], "docs"), (data["data-texts-0"]["docs"][0], "texts-i"),
        (core["models"], "models"),
    ):  # fmt: skip
        assert set(keys) <= set(re.findall(r"\w+", sections[name])), name
    package = Path(page.__file__).parent
    for file in re.findall(r"`explore/([\w/]+\.(?:py|html))`", text):
        assert (package / file).is_file(), file

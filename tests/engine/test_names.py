"""Names of topics: given, found by, kept in files, and never a part of the numbers."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom import HMM, LDA, LabeledLDA, VariationalLDA, from_texts, load, resume
from topicloom.diagnostics.word_lists import topic_words
from topicloom.engine.estimator.names import SavedNames
from topicloom.errors import InputError, StorageError, TopicNamesWarning
from topicloom.files.directories import Stored, save_names
from topicloom.files.manifests import MANIFEST, signed

TEXTS = ("goal match team goal coach", "vote law party vote", "atom quark field atom", "team coach match", "law vote")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model without names."""
    path = tmp_path_factory.mktemp("names") / "model"
    LDA(3, max_iter=6, n_chains=2, random_state=9).fit(from_texts(TEXTS, ids=list("abcde"))).save(path)
    return path


@pytest.fixture
def model(saved: Path) -> Any:
    return load(saved)


def test_names_are_given_as_a_list_a_dict_or_a_file(model: Any, tmp_path: Path) -> None:
    assert model.topic_names_ == (None, None, None)
    assert model.set_topic_names(["sport", None, " law\n&  order\x00 "]) is model
    assert model.topic_names_ == ("sport", None, "law & order")
    assert model.set_topic_names({1: "nature", np.int64(0): None}).topic_names_ == (None, "nature", "law & order")
    exported = {"topicloom": "topic names", "version": 1, "fingerprint": model.fingerprint_, "names": {"0": "نص"},
                "notes": {"0": "x"}, "hidden": [1], "merged": [[1, 2]]}  # fmt: skip
    path = tmp_path / "names.json"
    path.write_text(json.dumps(exported), encoding="utf-8")
    assert model.set_topic_names(path).topic_names_ == ("نص", "nature", "law & order")
    path.write_text('["a", "b", "c"]')
    assert model.set_topic_names(str(path)).topic_names_ == ("a", "b", "c")
    assert model.set_topic_names(None).topic_names_ == (None, None, None)
    path.write_text(json.dumps({**exported, "fingerprint": "other"}))
    with pytest.raises(InputError, match=r"names for the topics of another model .*'other'.*give any_model=True"):
        model.set_topic_names(path)
    assert model.set_topic_names(path, any_model=True).topic_names_[0] == "نص"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "there are 2 names for 3 topics"),
        (["a", "b", "a"], "topics 0 and 2 would both be named 'a'"),
        ({0: "sport"}, "topics 0 and 1 would both be named 'sport'"),
        ({3: "a"}, "names has topic 3; topics are numbered 0 to 2"),
        ({True: "a"}, "names has topic True"),
        ({"x": "a"}, "names has topic 'x'"),
        ({0: 5}, "the name of topic 0 is 5; it must be a string"),
        ({0: "\ud800"}, "lone surrogate"),
        ({0: "x" * 501}, "501 characters; 500 are the most"),
        (3, "names is 3; give a list"),
        ({"a", "b", "c"}, "give a list"),
        ("missing.json", "cannot be read"),
    ],
)
def test_wrong_names_are_refused_and_change_nothing(model: Any, names: Any, message: str) -> None:
    model.set_topic_names({1: "sport"})
    with pytest.raises(InputError, match=message):
        model.set_topic_names(names)
    assert model.topic_names_ == (None, "sport", None)


@pytest.mark.parametrize(
    "content", ["", "[", "3", "[" * 100_000, '{"topicloom": "model"}', '{"topicloom": "topic names", "version": 2}',
                '{"topicloom": "topic names", "version": 1, "names": {}}', "\udcff", '{"topicloom": "topic names"}'],
)  # fmt: skip
def test_files_that_hold_no_names_are_refused(model: Any, tmp_path: Path, content: str) -> None:
    path = tmp_path / "names.json"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match="names"):
        model.set_topic_names(path)


def test_labels_are_names_or_the_most_relevant_words(model: Any, saved: Path, tmp_path: Path) -> None:
    best = topic_words(model, 3, "relevance")
    assert model.topic_labels() == [" ".join(words) for words in best]
    model.set_topic_names({1: "sport"})
    assert model.topic_labels(2) == [" ".join(best[0][:2]), "sport", " ".join(best[2][:2])]
    model.save(tmp_path / "small", corpus=False)
    small = load(tmp_path / "small")
    assert small.topic_labels()[1] == "sport"
    assert all(len(label.split()) == 3 for label in small.topic_labels()[::2])


def test_tables_show_names_and_topics_are_found_by_them(model: Any) -> None:
    assert "name" not in model.topics_frame(2).columns
    assert list(model.doc_topics_frame().columns) == ["id", "tokens", "topic_0", "topic_1", "topic_2"]
    assert model.doc_topics_frame().columns.tolist()[2:] == ["topic_0", "topic_1", "topic_2"]
    out = model.get_feature_names_out().tolist()
    model.set_topic_names({1: "sport", 2: "tokens"})
    assert model.topics_frame(2)["name"].tolist() == ["", "", "sport", "sport", "tokens", "tokens"]
    assert list(model.doc_topics_frame().columns) == ["id", "tokens", "topic_0", "sport", "topic_2"]
    assert model.get_feature_names_out().tolist() == [out[0], "sport", "tokens"]
    assert model.top_docs("sport").equals(model.top_docs(1))
    assert model.set_topic_names({"sport": "games", "2": None}).topic_names_ == (None, "games", None)
    model.set_topic_names({"games": "sport", 2: "tokens"})
    for wrong in ("law", 3, -1, True, 1.0):
        with pytest.raises(InputError, match=r"no topic is named 'law'; names are 'sport', 'tokens'|does not exist"):
            model.top_docs(wrong)


def test_top_docs_have_texts_if_they_are_kept(model: Any) -> None:
    found = model.top_docs(0, 2)
    assert found["text"].tolist() == [TEXTS[d] for d in found["document"]]
    assert found["id"].tolist() == ["abcde"[d] for d in found["document"]]
    assert model.top_docs(0, 2, text_length=6)["text"].tolist() == [
        TEXTS[d][:5].rstrip() + "…" for d in found["document"]
    ]
    assert "text" not in model.top_docs(0, text_length=0).columns
    with pytest.raises(InputError, match="text_length=-1"):
        model.top_docs(0, text_length=-1)
    plain = LDA(2, max_iter=1, random_state=0).fit(from_texts(TEXTS, keep_texts=False))
    assert list(plain.top_docs(0).columns) == ["document", "id", "share", "tokens"]


# -- files -----------------------------------------------------------------------------------------------------------


def test_names_are_saved_and_change_no_number(model: Any, saved: Path, tmp_path: Path) -> None:
    before = model.fingerprint_
    model.set_topic_names({0: "نص", 2: "</script>"})
    assert model.fingerprint_ == before
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.topic_names_ == ("نص", None, "</script>")
    assert again.fingerprint_ == before
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {path.name for path in saved.iterdir()}  # all but the manifest have the same digests
    again.set_topic_names(None).save(tmp_path / "model")
    assert load(tmp_path / "model").topic_names_ == (None, None, None)


def test_names_can_be_put_into_a_directory_alone(model: Any, saved: Path, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    stored = Stored.open(tmp_path / "model")
    kept = {path: path.stat().st_mtime_ns for path in stored.folder.iterdir() if path.name != MANIFEST}
    save_names(stored, SavedNames(model.best_chain_, ("a", None, "c")).to_json())
    assert load(tmp_path / "model").topic_names_ == ("a", None, "c")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    with pytest.raises(StorageError, match="saved over or resumed by another program"):
        save_names(stored, None)


def test_names_survive_resuming_also_when_it_is_interrupted(model: Any, tmp_path: Path) -> None:
    model.set_topic_names({1: "sport"}).save(tmp_path / "model")
    longer = resume(tmp_path / "model", max_iter=7)
    assert longer.best_chain_ == model.best_chain_
    assert longer.topic_names_ == load(tmp_path / "model").topic_names_ == (None, "sport", None)
    manifest = json.loads((tmp_path / "model" / MANIFEST).read_text())
    del manifest["files"]["model"]
    (tmp_path / "model" / MANIFEST).write_text(json.dumps(signed(manifest | {"status": "running"})))  # as after a kill
    assert resume(tmp_path / "model", max_iter=8).topic_names_ == (None, "sport", None)
    longer.set_params(checkpoint_dir=None)
    assert longer.fit(from_texts(TEXTS)).topic_names_ == (None, None, None)  # another fit has other topics


def test_names_of_a_chain_that_is_no_longer_published_are_dropped(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    other = SavedNames(1 - model.best_chain_, ("a", "b", "c")).to_json()
    manifest = json.loads((tmp_path / "model" / MANIFEST).read_text())
    del manifest["files"]["model"]
    (tmp_path / "model" / MANIFEST).write_text(json.dumps(signed(manifest | {"status": "running", "names": other})))
    with pytest.warns(TopicNamesWarning, match="topics of two chains have nothing in common"):
        assert resume(tmp_path / "model", max_iter=7).topic_names_ == (None, None, None)
    assert load(tmp_path / "model").topic_names_ == (None, None, None)


def test_publishing_another_chain_drops_names_from_the_copy_alone(model: Any) -> None:
    model.set_topic_names({1: "sport"})
    assert model._publishing("best", model.best_chain_).topic_names_ == (None, "sport", None)
    with pytest.warns(TopicNamesWarning, match="is published now"):
        other = model._publishing("medoid", 1 - model.best_chain_)
    assert other.topic_names_ == (None, None, None)
    assert model.topic_names_ == (None, "sport", None)


@pytest.mark.parametrize(
    "names",
    [None, [], {"chain": 0}, {"chain": 0, "topics": ["a", "b"]}, {"chain": 0, "topics": ["a", "a", None]},
     {"chain": 2, "topics": ["a", None, None]}, {"chain": -1, "topics": ["a", None, None]},
     {"chain": 0, "topics": ["a ", None, None]}, {"chain": True, "topics": ["a", None, None]},
     {"chain": 0, "topics": [3, None, None]}, {"chain": 0, "topics": ["\ud800", None, None]}],
)  # fmt: skip
def test_wrong_names_in_a_manifest_are_refused(model: Any, saved: Path, tmp_path: Path, names: Any) -> None:
    if isinstance(names, dict) and names.get("chain") == 0 and type(names["chain"]) is int:
        names = names | {"chain": model.best_chain_}
    manifest = json.loads((saved / MANIFEST).read_text())
    for path in saved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / MANIFEST).write_text(json.dumps(signed(manifest | {"names": names})))
    with pytest.raises(StorageError, match="damaged"):
        load(tmp_path)


# -- other models ----------------------------------------------------------------------------------------------------


def test_states_labels_and_streams_have_names(tmp_path: Path) -> None:
    hmm = HMM(2, max_iter=3, random_state=0).fit([list("abba"), list("aab")])
    assert [sorted(label.split()) for label in hmm.topic_labels(2)] == [["a", "b"]] * 2
    hmm.set_topic_names({0: "start"}).save(tmp_path / "hmm")
    assert load(tmp_path / "hmm").topic_names_ == ("start", None)

    labels = [["sport"], ["state"], ["nature"], ["sport"], ["state"]]
    labeled = LabeledLDA(max_iter=3, burn_in=1, random_state=0).fit(from_texts(TEXTS), labels)
    assert labeled.topic_names_ == ("nature", "sport", "state")
    assert labeled.topic_labels() == ["nature", "sport", "state"]
    assert labeled.set_topic_names({1: "games"}).topic_names_ == ("nature", "games", "state")
    with pytest.raises(InputError, match="would both be named 'state'"):
        labeled.set_topic_names({1: "state"})

    stream = VariationalLDA(2, method="scvb0", random_state=0, total_samples=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream.partial_fit(from_texts(TEXTS))
        stream.set_topic_names({1: "sport"}).partial_fit(from_texts(TEXTS))
        assert stream.topic_names_ == (None, "sport")
        assert len(stream.topic_labels(2)[0].split()) == 2


def test_a_model_that_is_not_fitted_has_no_names() -> None:
    from sklearn.exceptions import NotFittedError

    for ask in (lambda: LDA(2).topic_names_, lambda: LDA(2).set_topic_names(["a", "b"]), LDA(2).topic_labels):
        with pytest.raises(NotFittedError):
            ask()


def test_a_directory_of_version_1_can_be_named(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "fixtures" / "version1" / "lda"
    for path in source.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = load(tmp_path)
    save_names(Stored.open(tmp_path), before.set_topic_names({0: "first"})._names_part())
    assert load(tmp_path).topic_names_[0] == "first"
    assert load(tmp_path).fingerprint_ == before.fingerprint_
    assert topicloom.load(tmp_path).corpus_.texts is None

"""A corpus that stays in its file: the same bits as in memory, and no copy of what has an entry for each token."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topicloom import LDA, Corpus, load, read, resume
from topicloom.corpus import corpus as corpus_module
from topicloom.corpus._streams import GrowingArray, document_blocks
from topicloom.corpus.formats import write
from topicloom.corpus.stored import convert_corpus, is_mapped, load_corpus, save_corpus
from topicloom.datasets import synthetic_lda, zipf
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import array_in_file, file_of, read_digest
from topicloom.lda.gibbs import dense as gibbs_dense
from topicloom.lda.gibbs import get_sampler, sampler_names
from topicloom.lda.gibbs import sparse as gibbs_sparse
from topicloom.lda.memory import BYTES_OF_PART


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(60, 40, 4, doc_length=25.0, seed=3).corpus


@pytest.fixture
def path(corpus: Corpus, tmp_path: Path) -> Path:
    save_corpus(corpus, tmp_path / "corpus.safetensors")
    return tmp_path / "corpus.safetensors"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams are cut into blocks that a small corpus has many of."""
    monkeypatch.setattr(document_blocks, "__defaults__", (64,))
    monkeypatch.setattr("topicloom.corpus._streams.BLOCK_TOKENS", 64)
    monkeypatch.setattr(GrowingArray._move, "__defaults__", (64,))


def test_a_mapped_corpus_is_a_view_of_its_file(corpus: Corpus, path: Path) -> None:
    mapped = load_corpus(path, mapped=True)
    assert file_of(mapped.words) == path
    assert is_mapped(mapped)
    assert type(mapped.words) is np.ndarray
    assert mapped.words.flags.aligned
    assert not mapped.words.flags.writeable
    assert not is_mapped(corpus)
    assert not is_mapped(load_corpus(path))
    assert mapped.fingerprint == corpus.fingerprint
    np.testing.assert_array_equal(mapped.doc_ptr, corpus.doc_ptr)


def test_damage_is_noticed_unless_the_file_is_trusted(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(load_corpus(path).words[:20].tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match="is damaged"):
        load_corpus(path, mapped=True)
    assert load_corpus(path, mapped=True, verify=False).n_docs == 60
    path.write_bytes(data[:-100])
    with pytest.raises(StorageError, match="cannot be read"):
        load_corpus(path, mapped=True, verify=False)


def test_a_file_says_how_it_is_to_be_read(corpus: Corpus, path: Path, tmp_path: Path) -> None:
    save_corpus(load_corpus(path, mapped=True), tmp_path / "again.safetensors")
    assert is_mapped(load_corpus(tmp_path / "again.safetensors"))
    assert not is_mapped(load_corpus(tmp_path / "again.safetensors", mapped=False))
    assert save_corpus(corpus, tmp_path / "third.safetensors") == read_digest(path)


@pytest.mark.parametrize("name", sampler_names())
def test_every_sampler_makes_the_same_draws(name: str, corpus: Corpus, path: Path) -> None:
    kernel, prior = get_sampler(name), make_prior(np.full(7, 0.1), np.full(corpus.n_words, 0.05), corpus.n_docs)
    found = []
    for each in (corpus, load_corpus(path, mapped=True)):
        state = kernel.init(each, prior, Key(1, 0, 0))
        for sweep in range(1, 4):
            state, info = kernel.sweep(each, state, prior, Key(1, 0, sweep), Schedule(n_shards=2))
        found.append((state.z, info, kernel.log_joint(each, state, prior)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]
    assert isinstance(found[1][0].base, np.memmap)  # it is the file's array still that is moved on
    assert found[0][0].base is None


def test_kernels_are_not_compiled_again_for_files(corpus: Corpus, path: Path) -> None:
    LDA(3, max_iter=2, random_state=0, sampler="auto").fit(corpus)
    kernels = (gibbs_dense.sweep_block, gibbs_sparse.sweep_block)
    before = [len(kernel.signatures) for kernel in kernels]
    LDA(3, max_iter=2, random_state=0, sampler="auto").fit(load_corpus(path, mapped=True))
    assert [len(kernel.signatures) for kernel in kernels] == before


def test_models_and_resumed_runs_are_the_same(corpus: Corpus, path: Path, tmp_path: Path) -> None:
    options = {"n_chains": 2, "burn_in": 8, "thin": 2, "random_state": 4, "seed_words": {0: ["word3"]}}
    straight = LDA(4, max_iter=40, **options).fit(corpus)
    mapped = load_corpus(path, mapped=True)
    model = LDA(4, max_iter=25, checkpoint_dir=tmp_path / "run", **options).fit(mapped)
    assert is_mapped(model.corpus_)
    further = resume(tmp_path / "run", max_iter=40)
    assert is_mapped(further.corpus_)
    assert isinstance(further.chains_[1].state.z.base, np.memmap)
    assert further.fingerprint_ == straight.fingerprint_
    assert further.traces_ == straight.traces_
    np.testing.assert_array_equal(further.doc_topic_, straight.doc_topic_)
    loaded = load(tmp_path / "run")
    assert isinstance(loaded.chains_[0].state.z.base, np.memmap)
    np.testing.assert_array_equal(loaded.doc_topic_, straight.doc_topic_)
    for folder in (tmp_path, tmp_path / "run"):
        assert not [each for each in folder.iterdir() if "tmp" in each.name]  # the files of z have no name


def test_a_resumed_run_does_not_touch_its_checkpoint(path: Path, tmp_path: Path) -> None:
    LDA(4, max_iter=5, random_state=4, checkpoint_dir=tmp_path / "run").fit(load_corpus(path, mapped=True))
    chain = tmp_path / "run" / "chain-0.safetensors"
    before = chain.read_bytes()
    state = load(tmp_path / "run").chains_[0].state
    state.z[:] = 0
    assert chain.read_bytes() == before


FILES = {
    "uci": {},
    "ldac": {},
    "txt": {"min_df": 2, "max_words": 30},
    "jsonl": {},
    "mallet": {"vocabulary": [f"word{v}" for v in range(0, 40, 2)]},
}


@pytest.mark.parametrize("format", FILES)
@pytest.mark.usefixtures("small_blocks")
def test_converting_gives_what_reading_gives(format: str, corpus: Corpus, tmp_path: Path) -> None:
    source = tmp_path / f"source.{format}"
    write(corpus, source, format)
    read_whole = read(source, format, **FILES[format])
    converted = convert_corpus(source, tmp_path / "new.safetensors", format, **FILES[format])
    assert file_of(converted.words) == tmp_path / "new.safetensors"
    assert converted.fingerprint == read_whole.fingerprint
    assert converted.ids == read_whole.ids
    assert converted.text_options == read_whole.text_options
    if read_whole.unknown is not None:
        np.testing.assert_array_equal(converted.unknown, read_whole.unknown)
    assert load_corpus(tmp_path / "new.safetensors", mapped=False).fingerprint == read_whole.fingerprint


@pytest.mark.usefixtures("small_blocks")
def test_lines_in_any_order_are_converted(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus, tmp_path / "a.uci")
    head, lines = (text := (tmp_path / "a.uci").read_text().splitlines())[:3], text[3:]
    (tmp_path / "a.uci").write_text("\n".join([*head, *lines[1::2], *lines[::2]]) + "\n")
    converted = convert_corpus(tmp_path / "a.uci", tmp_path / "a.safetensors")
    assert is_mapped(converted)
    assert converted.fingerprint == read(tmp_path / "a.uci").fingerprint
    np.testing.assert_array_equal(np.sort(converted.words), np.sort(corpus.words))


def test_nothing_is_left_when_converting_fails(tmp_path: Path) -> None:
    (tmp_path / "a.uci").write_text("2\n3\n1\n1 4 1\n")
    with pytest.raises(InputError, match="line 4"):
        convert_corpus(tmp_path / "a.uci", tmp_path / "a.safetensors")
    assert [each.name for each in tmp_path.iterdir()] == ["a.uci"]
    with pytest.raises(InputError, match="there is no folder"):
        convert_corpus(tmp_path / "a.uci", tmp_path / "nowhere" / "a.safetensors")


def test_an_impossible_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot be made there .*another folder"):
        array_in_file(tmp_path / "nowhere", 10, np.int32)
    with pytest.raises(StorageError, match=r"of 4000000000.00 GB .*cannot be made there"):
        array_in_file(tmp_path, 10**18, np.int32)
    assert len(array_in_file(tmp_path, 0, np.int32)) == 0


def test_training_holds_no_copy_of_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = zipf(1_200_000, 1000, 5, doc_length=300.0, exponent=0.2, seed=1).corpus
    save_corpus(made, tmp_path / "large.safetensors")
    monkeypatch.setattr(corpus_module, "_CHUNK", 1 << 12)
    monkeypatch.setattr(document_blocks, "__defaults__", (1 << 12,))
    options = {"max_iter": 21, "random_state": 0, "n_shards": 2}  # long enough to learn α and β, and to trace
    plain = options | {"sampler_options": {"start_sweeps": 0}}
    save_corpus(synthetic_lda(20, 20, 3, seed=0).corpus, tmp_path / "small.safetensors")
    few = load_corpus(tmp_path / "small.safetensors", mapped=True)
    LDA(5, **options, checkpoint_dir=tmp_path / "small").fit(few)  # compiles, and imports what is needed

    def peak_of(given: dict[str, Any], name: str) -> int:
        tracemalloc.start()
        LDA(5, **given, checkpoint_dir=tmp_path / name).fit(load_corpus(tmp_path / "large.safetensors", mapped=True))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(plain, "plain") < made.n_tokens  # one byte per token would be enough to fail
    # A start on a part of the tokens copies that part, which has at most a bounded number of tokens.
    assert peak_of(options, "run") < made.n_tokens + BYTES_OF_PART * made.n_tokens // 3

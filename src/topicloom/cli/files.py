"""``convert`` and ``info``: what is in a file, and the same in another format."""

import json as json_text
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._options import Cutting, Reading
from topicloom.cli._run import Json, say, show_json, show_table
from topicloom.cli.results import as_text, write_doc_topics, write_rows
from topicloom.errors import InputError, StorageError

if TYPE_CHECKING:
    from topicloom.corpus import Corpus
    from topicloom.estimates import Estimator
    from topicloom.mallet import MalletState

_STATE = "mallet-state"
_TABLES = ("doc-topics", "topic-words")


def convert(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help="A corpus, a MALLET state, or a model's directory.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write; .gz names are gzipped.")],
    reading: Reading,
    cutting: Cutting,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"A corpus format, {_STATE}, {' or '.join(_TABLES)} (default: by the name).", metavar="FORMAT"
        ),
    ] = None,
    estimator: Annotated[str, typer.Option(help="For tables: cgs_p (dense) or standard.")] = "cgs_p",
) -> None:
    """Write a corpus, or a sampler's state, in another format.

    A corpus goes from any format to any other. A model's directory or a MALLET state gives its corpus, a MALLET state,
    or csv tables of estimates: `--to doc-topics` and `--to topic-words`.
    """
    from topicloom.corpus import formats

    kind = _kind(input, reading.format)
    if to not in (_STATE, *_TABLES):
        corpus = _corpus_of(kind, input, reading, cutting)
        files = formats.write(corpus, output, to)
        say(f"{corpus!r} is in {', '.join(map(str, files))}.")
        return
    if kind == "corpus":
        raise InputError(f"{input} is a corpus, which has no topics; --to {to} needs a model or a MALLET state.")
    state = _state_of(kind, input)
    if to == _STATE:
        from topicloom.mallet import write_state

        write_state(output, *state)
    else:
        from topicloom.corpus._lines import replacing

        with replacing(output) as file:
            _write_table(file, to, state, estimator)  # type: ignore[arg-type]  # checked in topic_counts
    say(f"{to} of {state.corpus!r} and {state.prior.n_topics} topics are in {output}.")


def _write_table(file: IO[bytes], to: str, state: "MalletState", estimator: "Estimator") -> None:
    from topicloom.estimates import phi, theta, topic_counts

    counts = topic_counts(*state, estimator, docs=to == "doc-topics", words=to == "topic-words")
    with as_text(file) as text:
        if counts.doc is not None:
            write_doc_topics(text, state.corpus, theta(counts.doc, 1, state.corpus, state.prior))
        if counts.word is not None:
            by_word = phi(counts.word, 1, state.prior)
            header = ["word", *(f"topic_{k}" for k in range(state.prior.n_topics))]
            names = state.corpus.vocabulary
            write_rows(text, header, ([names[v], *row.tolist()] for v, row in enumerate(by_word)))


def _kind(path: Path, format: str | None) -> str:
    """ "model", "mallet-state" or "corpus"."""
    from topicloom.corpus._lines import open_bytes
    from topicloom.storage import MANIFEST

    if not path.exists():
        raise InputError(f"there is no file {path}.")
    if path.is_dir():
        return "model" if format is None and (path / MANIFEST).exists() else "corpus"
    if format is not None:
        return _STATE if format == _STATE else "corpus"
    with open_bytes(path) as file:
        return _STATE if file.read(12) == b"#doc source " else "corpus"


def _corpus_of(kind: str, path: Path, reading: Reading, cutting: Cutting) -> "Corpus":
    if kind == "corpus":
        return reading.read(path, **cutting.options())
    if kind == "model":
        from topicloom.corpus.stored import load_corpus
        from topicloom.storage import CORPUS

        if not (path / CORPUS).exists():
            raise StorageError(f"the model in {path} was saved without its corpus.")
        return load_corpus(path / CORPUS)
    return _state_of(kind, path).corpus


def _state_of(kind: str, path: Path) -> "MalletState":
    """Corpus, assignments and priors; of a model, those of the published chain, of several paths the first."""
    from topicloom.mallet import MalletState, read_state

    if kind == _STATE:
        return read_state(path)
    import topicloom

    model = topicloom.load(path)
    chain = model.chains_[model.best_chain_]
    if model.n_paths > 1:  # the file has one topic a token
        from topicloom.inference.paths import first_path

        return MalletState(model.corpus_, *first_path(model.corpus_, chain.state.z, chain.prior))
    return MalletState(model.corpus_, chain.state, chain.prior)


# -- info ----------------------------------------------------------------------------------------------------------


def info(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A corpus, a MALLET state, or a model's directory.")],
    reading: Reading,
    json: Json = False,
) -> None:
    """Tell what a file or a model's directory holds: sizes, parameters, status, fingerprints, versions."""
    kind = _kind(path, reading.format)
    if kind == "model":
        found = _about_run(path)
    elif kind == _STATE:
        state = _state_of(kind, path)
        found = {"kind": "MALLET state", **_about_corpus(state.corpus), "topics": state.prior.n_topics}
        found |= {"alpha_sum": float(state.prior.alpha.sum()), "beta": float(state.prior.beta[0])}
    else:
        found = {"kind": "corpus", **_about_corpus(reading.read(path))}
    found = {"path": str(path), **found}
    if json:
        show_json(found)
    else:
        rows = [[name.replace("_", " "), _shown(value)] for name, value in found.items() if value is not None]
        show_table(None, [("", False), ("", False)], rows)


def _about_corpus(corpus: "Corpus") -> dict[str, Any]:
    from dataclasses import fields

    known = [f.name for f in fields(corpus)[5:11] if getattr(corpus, f.name) is not None]
    return {
        "documents": corpus.n_docs,
        "empty_documents": int(corpus.empty_docs.sum()),
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "weighted": corpus.weights is not None,
        "keeps_word_order": corpus.ordered,
        "metadata": known,
        "corpus_fingerprint": corpus.fingerprint,
    }


def _about_run(path: Path) -> dict[str, Any]:
    import topicloom
    from topicloom import storage
    from topicloom.arrays import read_arrays
    from topicloom.corpus.stored import load_corpus

    manifest = storage.read_manifest(path)
    found: dict[str, Any] = {
        "kind": manifest["kind"],
        "status": manifest["status"],
        "written_by": f"topicloom {manifest.get('topicloom')}",
        "format_version": manifest["version"],
        "seed": manifest["seed"],
    }
    if (path / storage.CORPUS).exists():
        found |= _about_corpus(load_corpus(path / storage.CORPUS))
    sweeps = {}
    for file in sorted(path.glob("chain-*.safetensors")):
        _, about, _ = read_arrays(file)
        sweeps[str(about["index"])] = about["sweep"]
    found["sweeps_by_chain"] = sweeps
    if manifest["status"] == "finished":
        model = topicloom.load(path)
        found |= {
            "topics": len(model.alpha_),
            "sweeps": model.n_iter_,
            "published_chain": model.best_chain_,
            "log_joint": model.log_joint_.tolist(),
            "alpha_sum": float(model.alpha_.sum()),
            "beta": float(model.beta_.mean()),
            "fingerprint": model.fingerprint_,
        }
    found["parameters"] = {name: value for name, value in manifest["params"].items() if value is not None}
    return found


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return "\n".join(f"{name} = {_shown(item)}" for name, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return value if isinstance(value, str) else json_text.dumps(value)

"""``convert`` and ``info``: what is in a file, and the same in another format."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._options import Cutting
from topicloom.cli._reading import Reading, files_of, listed
from topicloom.cli._run import load_topics, say
from topicloom.cli._tables import Output, show_table, write_rows
from topicloom.cli.results import as_text
from topicloom.cli.transform import write_doc_topics
from topicloom.errors import InputError, StorageError, counted

if TYPE_CHECKING:
    from topicloom._types import FloatArray
    from topicloom.corpus import Corpus
    from topicloom.engine.estimator.names import Names
    from topicloom.mallet import MalletState

_STATE = "mallet-state"
_TABLES = ("doc-topics", "topic-words")


def convert(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="INPUT", help="A corpus, a MALLET state, or a model's directory.")
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="File to write; it is compressed if its name ends in .gz.")
    ],
    reading: Reading,
    cutting: Cutting,
    to: Annotated[
        str | None,
        typer.Option(
            help=f"A corpus format, {_STATE}, {' or '.join(_TABLES)} (default: by the file's name).", metavar="FORMAT"
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            help="For tables: cgs_p (dense) or standard (default: the estimates of the fit; of a MALLET state cgs_p).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a corpus, a fitted model's tables, or a sampler's state, in another format.

    A corpus is converted from any format to any other. A model's directory gives its corpus, csv tables of its fitted
    estimates (`--to doc-topics` and `--to topic-words`, with names of topics and labels), or its last sample as a
    MALLET state. A MALLET state gives the same, with estimates from its one sample.
    """
    from topicloom.corpus import formats

    input = inputs[0]
    kind = "corpus" if len(inputs) > 1 else _kind(input, reading.format)
    if to not in (_STATE, *_TABLES):
        corpus = reading.read(inputs, **cutting.options()) if kind == "corpus" else _corpus_of(kind, input)
        files = formats.write(corpus, output, to)
        say(f"{corpus!r} is in {', '.join(map(str, files))}.")
        return
    if kind == "corpus":
        raise InputError(
            f"{listed(inputs)} is a corpus, which has no topics; --to {to} needs a model or a MALLET state."
        )
    if to == _STATE:
        from topicloom.mallet import write_state

        state = _state_of(kind, input)
        write_state(output, *state)
        say(f"{to} of {state.corpus!r} and {counted(state.prior.n_topics, 'topics')} is in {output}.")
    elif kind == "model":
        _write_fitted(output, to, input, estimator)
    else:
        _write_estimates(output, to, _state_of(kind, input), estimator or "cgs_p")


def _write_fitted(output: Path, to: str, directory: Path, estimator: str | None) -> None:
    """What the model publishes; or, if another estimator is asked for, its estimate of the last sample."""
    model = load_topics(directory)
    if estimator is None or estimator == getattr(model, "estimator", None):
        table = model.doc_topic_ if to == "doc-topics" else model.topic_word_.T
    else:
        table = _estimated(model, to, estimator)
        say(f"--estimator {estimator} is used, as asked, on the last sample; the fit had {model.estimator}.")
    known = model.vocabulary_ if to == "topic-words" else model.corpus_
    _write_table(output, to, known, table, model.topic_names_)


def _draws_topics(model: Any) -> bool:
    return getattr(model, "method", "gibbs") in ("gibbs", "ags", "mgs")


def _estimated(model: Any, to: str, estimator: str) -> "FloatArray":
    if not _draws_topics(model):
        raise InputError("--estimator is for models that draw topics, and this one does not; leave it out.")
    tables: tuple[FloatArray, FloatArray] = model.estimate(estimator)
    return tables[0] if to == "doc-topics" else tables[1].T


def _write_estimates(output: Path, to: str, state: "MalletState", estimator: str) -> None:
    from topicloom.engine.estimates import phi, theta, topic_counts

    counts = topic_counts(*state, estimator, docs=to == "doc-topics", words=to == "topic-words")  # type: ignore[arg-type]  # checked there
    if counts.doc is not None:
        _write_table(output, to, state.corpus, theta(counts.doc, 1, state.corpus, state.prior))
    if counts.word is not None:
        _write_table(output, to, state.corpus.vocabulary, phi(counts.word, 1, state.prior))


def _write_table(
    output: Path, to: str, of: "Corpus | tuple[str, ...]", table: "FloatArray", topics: "Names | None" = None
) -> None:
    """θ, a line for each document of a corpus, or φ, a line for each word. Columns have the names of topics."""
    from topicloom.corpus._lines import replacing
    from topicloom.engine.estimator.tables import topic_columns

    with replacing(output) as file, as_text(file) as text:
        if isinstance(of, tuple):
            header = ["word", *topic_columns(table.shape[1], topics, ("word",))]
            write_rows(text, header, ([of[v], *row.tolist()] for v, row in enumerate(table)))
        else:
            write_doc_topics(text, of, table, topics)
    what = counted(len(table), "words" if to == "topic-words" else "documents")
    say(f"{to} of {what} and {counted(table.shape[1], 'topics')} are in {output}.")


def _kind(path: Path, format: str | None) -> str:
    """ "model", "mallet-state" or "corpus"."""
    from topicloom.corpus._lines import open_bytes
    from topicloom.files.manifests import MANIFEST

    if not path.exists():
        files_of(path)  # refuses what is no pattern of files, either
        return "corpus"
    if path.is_dir():
        return "model" if format is None and (path / MANIFEST).exists() else "corpus"
    if format is not None:
        return _STATE if format == _STATE else "corpus"
    with open_bytes(path) as file:
        return _STATE if file.read(12) == b"#doc source " else "corpus"


def _corpus_of(kind: str, path: Path) -> "Corpus":
    """The corpus of a model or of a MALLET state."""
    if kind == "model":
        from topicloom.engine.checkpoint import read_corpus
        from topicloom.files.directories import Stored
        from topicloom.files.manifests import CORPUS

        stored = Stored.open(path)
        if not stored.has(CORPUS):
            raise StorageError(f"the model in {path} was saved without its corpus.")
        return read_corpus(stored)
    return _state_of(kind, path).corpus


def _state_of(kind: str, path: Path) -> "MalletState":
    """Corpus, assignments and priors; of a model, those of the published chain, of several paths the first."""
    from topicloom.mallet import MalletState, read_state

    if kind == _STATE:
        return read_state(path)
    model = load_topics(path)
    if not _draws_topics(model):
        raise InputError(
            f"the model in {path} draws no topics of tokens, which are what a MALLET state holds; write its tables "
            "with --to doc-topics or --to topic-words."
        )
    chain = model.chains_[model.best_chain_]
    if model.n_paths > 1:  # the file has one topic a token
        from topicloom.engine.multipath import first_path

        return MalletState(model.corpus_, *first_path(model.corpus_, chain.state.z, chain.prior))
    return MalletState(model.corpus_, chain.state, chain.prior)


# -- info ----------------------------------------------------------------------------------------------------------


def info(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A corpus, a MALLET state, or a model's directory.")],
    reading: Reading,
    output: Output,
) -> None:
    """Show what a file or a model's directory holds: sizes, parameters, status, fingerprint, versions."""
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
    known = {name: _shown(value) for name, value in found.items() if value is not None}
    output.show(
        {"property": list(known), "value": list(known.values())},
        lambda: show_table(
            None, [("", False), ("", False)], [[name.replace("_", " "), text] for name, text in known.items()]
        ),
        found,
    )


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
    from topicloom.engine.checkpoint import read_corpus
    from topicloom.files.directories import Stored
    from topicloom.files.manifests import CORPUS

    stored = Stored.open(path)
    manifest = stored.manifest
    found: dict[str, Any] = {
        "kind": manifest["kind"],
        "status": manifest["status"],
        "written_by": f"topicloom {manifest.get('topicloom')}",
        "format_version": manifest["version"],
        "seed": manifest["seed"],
    }
    if stored.has(CORPUS):
        found |= _about_corpus(read_corpus(stored))
    found["sweeps_by_chain"] = {str(index): stored.read_chain(index)[2]["sweep"] for index in stored.chains()}
    if manifest["status"] == "finished":
        model = topicloom.load(path)
        has_topics = hasattr(model, "alpha_")  # a hidden Markov model has states
        found |= {"topics": len(model.alpha_)} if has_topics else {"states": len(model.initial_)}
        found |= {
            "sweeps": model.n_iter_,
            "published_chain": model.best_chain_,
            **({} if model.published_by_ == "best" else {"published_by": model.published_by_}),
            "log_joint": model.log_joint_.tolist(),
        }
        if has_topics:
            found |= {"alpha_sum": float(model.alpha_.sum()), "beta": float(model.beta_.mean())}
        found["fingerprint"] = model.fingerprint_
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

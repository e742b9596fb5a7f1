"""A page that documents a model: the explorer, what its chains say of convergence, and how to make it again."""

import inspect
import shlex
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from topicloom.engine.estimator.parameters import plain as as_json
from topicloom.errors import InputError
from topicloom.files.arrays import as_path

Rows = list[tuple[str, str]]

# Commands that fit a model of each kind.
_COMMANDS = {
    "LDA": ("fit",),
    "VariationalLDA": ("fit",),
    "LabeledLDA": ("fit-labels", "--model", "labeled"),
    "PriorLDA": ("fit-labels", "--model", "prior"),
    "DependencyLDA": ("fit-labels", "--model", "dependency"),
    "MedLDAClassifier": ("fit-supervised",),
    "MedLDARegressor": ("fit-supervised", "--task", "numbers"),
    "CompoundLDA": ("fit-collections",),
    "HDP": ("fit-hdp",),
}
# Options of these commands by the parameters that they set; without an option a parameter must have its default.
_SHARED = {"max_iter": "--sweeps", "n_chains": "--chains", "burn_in": "--burn-in", "thin": "--thin"}
_TOPICS = {"n_components": "--topics", "sampler": "--sampler", "n_shards": "--shards"}
_OPTIONS: dict[str, dict[str, str]] = {
    "fit": {
        **_SHARED, **_TOPICS, "doc_topic_prior": "--alpha", "topic_word_prior": "--beta", "learn_priors": "--learn",
        "estimator": "--estimator", "sampler_options": "--mh-steps", "method": "--method", "tol": "--tol",
        "batch_size": "--batch-size", "n_paths": "--paths", "seed_words": "--seed-words",
        "seed_weight": "--seed-weight",
    },
    "fit-labels": {
        **_SHARED, "method": "--method", "topic_word_prior": "--beta", "n_shards": "--shards", "ranking": "--ranking",
        "label_rule": "--label-rule", "n_labels": "--n-labels", "holdout": "--holdout",
        "n_label_topics": "--label-topics",
    },
    "fit-supervised": {
        **_SHARED, **_TOPICS, "loss": "--loss", "loss_weight": "--loss-weight",
        "weight_precision": "--weight-precision", "multi_class": "--multi-class", "epsilon": "--epsilon",
    },
    "fit-collections": {
        **_SHARED, **_TOPICS, "method": "--method", "concentration": "--concentration",
        "collection_prior": "--collection-prior", "topic_word_prior": "--beta", "estimator": "--estimator",
        "n_paths": "--paths",
    },
    "fit-hdp": {
        **_SHARED, "initial_topics": "--initial-topics", "max_topics": "--max-topics", "topic_word_prior": "--beta",
        "doc_concentration": "--doc-concentration", "topic_concentration": "--topic-concentration",
        "estimator": "--estimator",
    },
}  # fmt: skip
_ALWAYS = ("n_components", "max_iter", "method")
_NO_MATTER = {"checkpoint_dir", "checkpoint_every", "keep_draws", "n_jobs", "verbose", "random_state"}  # of no result
_SEED_WORDS = "seed-words.json"
_FLAGS = {
    "header": {True: "--header", False: "--no-header"},
    "transpose": {True: "--transpose", False: "--no-transpose"},
    "keep_case": {True: "--keep-case"},
    "keep_texts": {True: "--keep-texts", False: "--no-texts"},
}
_READING = {
    "format", "vocab", "text_column", "id_column", "delimiter", "encoding", "stop_words", "min_df", "max_df",
    "max_words", "token_pattern", "strip", "normalizer", "phrases", "phrase_min_count", "phrase_threshold",
    "phrase_passes", "ngrams", "label_separator", "folder_labels", "suffix", "max_size",
    "label_column", "group_column", "response_column", "time_column",
}  # fmt: skip


def write_report(model: Any, path: str | PathLike[str], *, title: str | None = None) -> Path:
    """Write a page about a fitted model: the explorer with more about convergence and how the model was made.

    Parameters
    ----------
    model : fitted model of topicloom
    path : str or path
        The file to write. One that is there is replaced when the new one is complete.
    title : str, optional
        Default: as of ``topicloom.explore.explore``.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import os, tempfile
    >>> from topicloom import LDA, from_texts
    >>> model = LDA(2, max_iter=20, random_state=0).fit(from_texts(["river bank", "loan bank", "loan money"] * 5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, os.path.join(folder, "report.html")).name
    'report.html'
    """
    from topicloom.explore import payload
    from topicloom.explore.page import write_page
    from topicloom.explore.source import read_model

    target = as_path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file, such as report.html.")
    source = read_model(model)
    blocks = payload(source, title=title)
    core = blocks["data-core"]
    core["about"] = [list(row) for row in [*_made(source), *diagnosis_rows(model)]]
    core["command"] = command_of(model) or core["command"]
    write_page(target, core["title"], blocks)
    return target


def how_it_was_made(model: Any) -> Rows:
    """Names and values: the corpus, how it was read, parameters, seed and fingerprint.

    Examples
    --------
    >>> from topicloom import LDA, from_texts
    >>> model = LDA(2, max_iter=20, random_state=0).fit(from_texts(["river bank", "loan bank", "loan money"] * 5))
    >>> dict(how_it_was_made(model))["seed"]
    '0'
    """
    from topicloom.explore.source import read_model

    return _made(read_model(model))


def _made(source: Any) -> Rows:
    from topicloom.explore.content import about

    rows = [(str(name), str(value)) for name, value in about(source)]
    model = source.model
    if model is None:
        return rows
    reading = _command_read(model)
    if reading is not None:
        more = f" and {len(reading[0]) - 3:,} more" if len(reading[0]) > 3 else ""
        rows.append(("read from", ", ".join(reading[0][:3]) + more))
    options = getattr(model, "_text_options", None)
    if options is not None:
        rows += [("stop words", f"{len(options.stop_words):,}"), ("lower case", "yes" if options.lowercase else "no")]
    if source.corpus is not None:
        kept = getattr(source.corpus, "texts", None) is not None
        rows.append(("texts", "kept with the model" if kept else "not kept"))
    return rows


# -- convergence -------------------------------------------------------------------------------------------------------


def diagnosis_rows(model: Any) -> Rows:
    """What ``topicloom.diagnostics.fitted.diagnose`` says, as names and values; empty if it can say nothing.

    Examples
    --------
    >>> from topicloom import LDA, from_texts
    >>> corpus = from_texts(["river bank", "loan bank", "loan money"] * 5)
    >>> model = LDA(2, max_iter=80, n_chains=2, trace_every=1, topic_word_prior=0.1, random_state=0).fit(corpus)
    >>> diagnosis_rows(model)[0][0]
    'chains compared'
    """
    from topicloom.diagnostics.fitted import diagnose

    try:
        found = diagnose(model)
    except InputError:
        return []
    sweeps = f"{found.n_chains} of {found.sweeps:,} sweeps, the first {found.discarded:,} of each left out"
    rows = [("chains compared", sweeps)]
    if found.quantities is not None:
        for row in found.rows():
            of = "" if row.quantities == 1 else f" (the worst of {row.quantities:,})"
            value = f"R-hat {row.rhat:.3f}, effective sample size {row.ess_bulk:,.0f} (tails {row.ess_tail:,.0f}){of}"
            rows.append((f"convergence of {row.name}", value.replace("nan", "–")))
    if found.topics and found.n_chains > 1:
        everywhere = sum(row.chains == found.n_chains for row in found.topics)
        rows.append(("topics that all chains have", f"{everywhere} of {len(found.topics)}"))
    return [*rows, ("verdict", found.verdict.text)]


# -- the command -------------------------------------------------------------------------------------------------------


def command_of(model: Any) -> str | None:
    """The command that fits the model again; None if it was not fitted by one, or no option sets a parameter of it.

    Seed words are named as the file that they are to be put into.
    """
    kind, read = type(model).__name__, _command_read(model)
    if read is None or kind not in _COMMANDS:
        return None
    command = list(_COMMANDS[kind])
    chosen = _model_options(model, _OPTIONS[command[0]])
    if chosen is None:
        return None
    inputs, reading = read
    words = ["topicloom", command[0], *inputs, "--out", "model", *command[1:], *reading, *chosen]
    return shlex.join([*words, "--seed", str(model.seed_)])


def _command_read(model: Any) -> tuple[list[str], list[str]] | None:
    """The files and the options by which a command read the corpus, as a shell takes them; None if none did."""
    found = (getattr(model, "_reading", None) or {}).get("command")
    if not isinstance(found, Mapping):
        return None
    input = found.get("input")
    inputs = [input] if isinstance(input, str) else input
    if not isinstance(inputs, list) or not inputs or not all(isinstance(path, str) for path in inputs):
        return None
    given = found.get("options")
    if not isinstance(given, Mapping):
        return None
    words: list[str] = []
    for name, value in given.items():  # from a file: anything that is not known is left out
        if name in _FLAGS and isinstance(value, bool) and value in _FLAGS[name]:
            words.append(_FLAGS[name][value])
        elif name in _READING and isinstance(value, str | int) and not isinstance(value, bool):
            words += [_option(name), str(value)]
    return inputs, words


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _model_options(model: Any, options: Mapping[str, str]) -> list[str] | None:
    """Options for all parameters that are not left at their defaults; None if one has no option."""
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    words: list[str] = []
    for name, raw in model.get_params(deep=False).items():
        value = as_json(raw)
        if name in _NO_MATTER or (value == as_json(defaults.get(name)) and name not in _ALWAYS):
            continue
        written = None if name not in options else _written(name, options[name], value)
        if written is None:
            return None
        words += written
    return words


def _written(name: str, option: str, value: Any) -> list[str] | None:
    """One parameter as words of a command; None if a command cannot give this value."""
    if name == "learn_priors":
        return ["--learn" if value else "--fixed"]
    if name == "seed_words":
        return [option, _SEED_WORDS]
    if name == "sampler_options":
        only = set(value) <= {"n_mh"}
        return ([] if value.get("n_mh", 2) == 2 else [option, str(value["n_mh"])]) if only else None
    if name == "collection_prior" and value is None:
        return [option, "learn"]
    if name == "doc_topic_prior" and isinstance(value, list):
        return [option, ",".join(map(repr, value))] if len(value) > 1 else None
    if value is None or isinstance(value, bool | list | dict):
        return None
    return [option, value if isinstance(value, str) else repr(value)]

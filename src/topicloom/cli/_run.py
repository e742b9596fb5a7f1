"""How a command runs: options in groups, errors and warnings in one line each, results on standard output."""

import inspect
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, get_args

import typer

from topicloom.errors import InputError, InterruptedFitWarning, MissingExtraError, StorageError

INTERRUPTED = 130  # what shells report for a command that Ctrl-C ended

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Threads; -1 uses every core. The result does not depend on it.")
]
ModelDir = Annotated[Path, typer.Argument(metavar="DIR", help="A model's directory.", show_default=False)]


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a function for typer: dataclass parameters become options, errors become one line and exit code 2."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}
    flat: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name in groups:
            for field in fields(groups[parameter.name]):
                name, option = field.name, get_args(field.type)[1]
                option.rich_help_panel = groups[parameter.name].__doc__
                flat.append(
                    inspect.Parameter(name, parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
                )
        else:
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

    @wraps(function)
    def run(**given: Any) -> None:
        with _plain_warnings():
            try:
                for name, group in groups.items():
                    given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
                function(**given)
            except (InputError, StorageError, MissingExtraError) as error:
                fail(in_options(str(error)))
            except MemoryError as error:
                fail(str(error) or "out of memory.")
            except BrokenPipeError:
                raise  # the reader of our output has seen enough
            except OSError as error:
                fail(f"{error.filename}: {error.strerror}." if error.filename else str(error))
            except KeyboardInterrupt:
                say("interrupted.")
                raise typer.Exit(INTERRUPTED) from None

    run.__signature__ = signature.replace(parameters=flat)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in flat}
    return run


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print each warning of topicloom on one line. Commands report an interrupted fit themselves."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        say(f"warning: {in_options(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", category=InterruptedFitWarning)
        warnings.showwarning = show
        yield


# What the library's messages call a parameter, and what it is called here.
_OPTIONS = {
    "n_components": "--topics",
    "max_iter": "--sweeps",
    "doc_topic_prior": "--alpha",
    "topic_word_prior": "--beta",
    "n_chains": "--chains",
    "n_paths": "--paths",
    "n_shards": "--shards",
    "n_mh": "--mh-steps",
    "n_jobs": "--jobs",
    "n_words": "--words",
    "n_particles": "--particles",
    "n_runs": "--runs",
    "n_samples": "--samples",
    "n_topics": "--topics",
    **{name: "--" + name.replace("_", "-") for name in ("folds", "test_share", "tell_apart")},
    **{name: "--" + name.replace("_", "-") for name in ("burn_in", "checkpoint_every", "seed_words", "seed_weight")},
    **{name: "--" + name.replace("_", "-") for name in ("label_rule", "n_labels", "holdout", "ranking")},
    "n_label_topics": "--label-topics",
    **{name: "--" + name.replace("_", "-") for name in ("initial_topics", "max_topics")},
    **{name: "--" + name.replace("_", "-") for name in ("doc_concentration", "topic_concentration")},
    "text_length": "--text-length",
    **{name: "--" + name.replace("_", "-") for name in ("label_separator", "folder_labels", "max_size")},
    "chunk_size": "--chunk",
    "top_n": "--top",
    **{name: "--" + name.replace("_", "-") for name in ("batch_size", "loss_weight", "weight_precision")},
    **{name: "--" + name.replace("_", "-") for name in ("concentration", "collection_prior", "keep_texts")},
    **{name: "--" + name.replace("_", "-") for name in ("initial_prior", "transition_prior", "emission_prior")},
    **{
        name: "--" + name.replace("_", "-") for name in ("min_df", "max_df", "max_words", "token_pattern", "stop_words")
    },
    **{name: "--" + name.replace("_", "-") for name in ("min_cells", "max_cells", "feature_type")},
    "n_top": "--top",
    **{f"{role}_column": f"--{role}-column" for role in ("text", "id", "label", "group", "response", "time")},
}
_SAME = (
    "format",
    "layer",
    "encoding",
    "delimiter",
    "suffix",
    "estimator",
    "sampler",
    "method",
    "thin",
    "tol",
    "loss",
    "epsilon",
    "temperatures",
    "strip",
    "normalizer",
    "phrases",
    "ngrams",
    "documents",
    "fixed",
)
_SPELLINGS = (
    (r"\w+_options\['(\w+)'\]", r"\1"),
    (r"\bkeep_draws (keeps|has)\b", r"--keep-draws \1"),
    (r"leave learn_priors=None\b", "leave out --learn"),
    (r"learn_priors=True\b", "--learn"),
    (r"any_model=True\b", "--any-model"),
    (r"binarize=True\b", "--binarize"),
    (r"header=False\b", "--no-header"),
    (r"topicloom\.resume\('(.+?)'\)", r"topicloom resume \1"),
    (r"\bvocabulary=", "--vocab "),
    (r"\bmeasure=", "--coherence "),
    *((rf"\b{name}= ?", f"--{name} ") for name in _SAME),
    *((rf"\b{name}\b", option) for name, option in _OPTIONS.items()),
    (r"(--[a-z-]+)= ?", r"\1 "),
    (r"(--[a-z-]+) \.", r"\1."),
)


def in_options(message: str) -> str:
    """The library's message, with parameters named as on the command line."""
    for pattern, spelling in _SPELLINGS:
        message = re.sub(pattern, spelling, message)
    return message


def fail(message: str) -> NoReturn:
    say(message)
    raise typer.Exit(2)


def say(message: str) -> None:
    """Print a line on standard error; standard output is for results."""
    typer.echo(f"topicloom: {message}", err=True)


def load_topics(directory: Path) -> Any:
    """A model of topics from its directory."""
    import topicloom

    model: Any = topicloom.load(directory)
    if not hasattr(model, "topic_word_"):
        raise InputError(
            f"{directory} holds a model of the kind {type(model).__name__}, which has no topics; use it in Python: "
            f"topicloom.load({str(directory)!r})."
        )
    return model


def show_json(document: Any) -> None:
    """A document on standard output; numbers that JSON does not have, such as NaN, are null."""
    typer.echo(json.dumps(_finite(document), ensure_ascii=False, indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def quoted(path: Path) -> str:
    """The path as a shell takes it."""
    import shlex

    return shlex.quote(str(path))

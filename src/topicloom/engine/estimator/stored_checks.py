"""What the files of models must hold: topics, priors, labels and targets that fit each other and the corpus."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.text_options import restored
from topicloom.engine.checks import Recorded, check_trace
from topicloom.engine.estimator.inputs import check_some_tokens
from topicloom.engine.estimator.names import SavedNames
from topicloom.engine.estimator.parameters import parameters_of as signature_of
from topicloom.errors import StorageError
from topicloom.files.checks import Contents, Expected, refusing
from topicloom.files.directories import Stored
from topicloom.files.manifests import MANIFEST

_NAMES = (str, int, float)

_TOPICS = {
    "by_word": Expected("f8", ("V", "K"), positive=True),
    "alpha": Expected("f8", ("K",), low=0),
    "beta": Expected("f8", ("V",), positive=True),
    "empty_docs": Expected("b1", ("D",)),
}


# -- parameters ------------------------------------------------------------------------------------------------------

_SAVED_AS: dict[str, Any] = {  # where the signature takes anything
    "class_weight": Mapping[str, float] | Sequence[Sequence[Any]] | Literal["balanced"] | None,
    "keep_draws": str | Sequence[str] | Mapping[str, str | None] | None,
    "alphabet": int | Sequence[str | float] | None,
}


def parameters_of(stored: Stored) -> AbstractContextManager[None]:
    """What cannot be made of a manifest's parameters is wrong with the manifest."""
    return refusing(stored.folder / MANIFEST)


def check_parameter_types(path: Path, params: Mapping[str, Any], cls: type) -> None:
    """Refuse a manifest that gives a model's parameter as something that its signature does not name."""
    known = signature_of(cls)
    for name, value in params.items():
        if name in known and not _fits(value, _SAVED_AS.get(name, known[name].annotation)):
            raise StorageError(f"{path} has wrong parameters: {name} is {value!r:.60}. Restore it from a copy.")


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a value of JSON can be what a parameter was saved as."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is np.ndarray or getattr(origin, "__name__", "") == "NDArray":  # an alias of its own from Python 3.12 on
        return isinstance(value, list) and all(_fits(one, float) or _fits(one, annotation) for one in value)
    if is_typeddict(annotation) or is_dataclass(annotation):
        known = get_type_hints(annotation)
        return isinstance(value, dict) and all(name in known and _fits(value[name], known[name]) for name in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(one, parts[1]) for one in value.values())
    if origin in (Sequence, Iterable, tuple):
        return isinstance(value, list) and all(_fits(one, parts[0]) for one in value)
    types: dict[Any, Any] = {bool: int, float: (int, float), Path: str}
    return annotation is Any or isinstance(value, types.get(annotation, annotation))


def names_of(stored: Stored, n_chains: int) -> SavedNames | None:
    """Names of topics in a manifest, which says of which chain."""
    names = SavedNames.from_manifest(stored.manifest)
    if names is not None and not 0 <= names.chain < n_chains:
        path = stored.folder / MANIFEST
        raise StorageError(f"{path} is damaged: it names topics of chain {names.chain}. Restore it from a copy.")
    return names


# -- what all models have --------------------------------------------------------------------------------------------


def check_chains(file: Contents, recorded: Recorded, publishes: Sequence[str] = ("best", "medoid")) -> None:
    """Traces and joint probabilities of all chains, and which of them is published."""
    n_chains = file.sizes["chains"] = file.whole("n_chains", 1)
    best, n_iter = file.whole("best_chain", 0, n_chains - 1), file.whole("n_iter")
    file.flags("interrupted")
    file.expect({"log_joint": Expected("f8", ("chains",), finite=recorded.finite)})
    values = np.nan_to_num(file.arrays["log_joint"], nan=-np.inf)
    by = file.choice("published", publishes) if "published" in file.info else "best"
    if by == "merged":
        _check_matches(file, best)
    if by == "best" and best != int(np.argmax(values)):
        file.fail(f"best_chain is {best}, which is not the chain with the highest log_joint")
    for index in range(n_chains):
        check_trace(file, recorded, f"trace_{index}_")
    if np.any(file.arrays[f"trace_{best}_sweep"] > n_iter):
        file.fail(f"its trace goes beyond n_iter={n_iter}")


def _check_matches(file: Contents, best: int) -> None:
    """Which topics of each chain are merged into those of the published one: none twice."""
    n_topics = file.sizes["K"]
    file.expect({"matches": Expected("i8", ("chains", "K"), low=-1, high=n_topics - 1)})
    for chain, row in enumerate(file.arrays["matches"]):
        found = row[row >= 0]
        if len(np.unique(found)) != len(found) or (chain == best and not np.array_equal(row, np.arange(n_topics))):
            file.fail("the array 'matches' does not give each topic of the published chain one of each other chain")


def topic_model(path: Path, arrays: Mapping[str, AnyArray], info: Any, model: Any) -> Contents:
    """The finished estimates of a topic model; what a kind of model has beside them is still to be checked."""
    file = Contents(path, arrays, info, K=getattr(model, "n_components", None))
    check_chains(file, model._recorded, model._PUBLISHES)
    file.expect(_TOPICS)
    if min(file.sizes["K"], file.sizes["V"], file.sizes["D"]) == 0 or not np.any(arrays["alpha"] > 0):
        file.fail("it has no topics, words or documents")
    file.values("vocabulary", "V")
    with refusing(path):
        restored(file.entry("text_options"))
    file.reading()
    return file


def check_positive_alpha(file: Contents) -> None:
    """Of models in which every topic may occur."""
    if np.any(file.arrays["alpha"] <= 0):
        file.fail("the array 'alpha' has a value that is not positive")


def check_training_corpus(path: Path, model: Any, corpus: Corpus) -> None:
    """Whether a model can have been fitted on a corpus."""
    with refusing(path):
        check_some_tokens(corpus)
        model._check_tokens(corpus)


def check_same_corpus(path: Path, model: Any, corpus: Corpus) -> None:
    """Whether a fitted model's corpus is the one that it was fitted on."""
    check_training_corpus(path, model, corpus)
    if corpus.vocabulary != model.vocabulary_ or not np.array_equal(corpus.empty_docs, model.empty_docs_):
        raise StorageError(f"{path} belongs to another model: its words or documents differ. Restore it from a copy.")


def check_published(path: Path, model: Any, chains: list[Any]) -> None:
    """Whether the chains of a finished model are those that it was published from."""
    best = chains[model.best_chain_]
    if best.sweep != model.n_iter_:
        raise StorageError(
            f"{path}: chain {best.index} is at sweep {best.sweep}, the model at {model.n_iter_}; restore both."
        )
    for chain, trace in zip(chains, model.traces_, strict=True):
        if not all(
            np.array_equal(values, vars(trace)[name], equal_nan=True) for name, values in vars(chain.trace).items()
        ):
            raise StorageError(
                f"{path}: chain {chain.index} has another trace than the model. Restore both from a copy."
            )

"""What the files of models must hold: topics, priors, labels and targets that fit each other and the corpus."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._columns import restored_groups
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Stored
from topicloom.errors import StorageError
from topicloom.inference.checkpoints import check_trace
from topicloom.inference.labeled import LabelSets
from topicloom.kernels.product import product
from topicloom.manifests import MANIFEST
from topicloom.models._inputs import check_some_tokens
from topicloom.stored_checks import SCALARS, Contents, Expected, refusing

_NAMES = (str, int, float)

_TOPICS = {
    "by_word": Expected("f8", ("V", "K"), positive=True),
    "alpha": Expected("f8", ("K",), low=0),
    "beta": Expected("f8", ("V",), positive=True),
    "empty_docs": Expected("b1", ("D",)),
}
_LABELED = {
    "label_counts": Expected("i", ("K",), low=0),
    "unlabeled_docs": Expected("b1", ("D",)),
    "n_labelled": Expected("i", (1,), low=1),
    "meta": Expected("f8", ("V + 1",)),
    "calibration": Expected("f8", ("calibration",)),
    "threshold": Expected("f8", (1,), low=0, high=1),
}
_DEPENDENCY = {
    "label_by_word": Expected("f8", ("K", "T'"), positive=True),
    "label_alpha": Expected("f8", ("T'",), positive=True),
}
_SUPERVISED = {
    "by_words": Expected("f8", ("chains", "V", "K"), positive=True),
    "group_of": Expected("i", ("tasks",), low=0),
    "etas": Expected("f8", ("K", "tasks of chains")),
}
_COLLECTIONS = {
    "collection_docs": Expected("i", ("J",), low=1),
    "pi": Expected("f8", ("J", "K"), low=0, high=1 + 1e-6),
    "pi_sweeps": Expected("i", ("S",), low=0),
    "pi_draws": Expected("f8", ("S", "J", "K"), low=0, high=1 + 1e-6),
    "gamma": Expected("f8", (1,), positive=True),
    "collection_prior": Expected("f8", ("K",), positive=True),
}


# -- parameters ------------------------------------------------------------------------------------------------------

_SAVED_AS: dict[str, Any] = {  # where the signature takes anything
    "class_weight": Mapping[str, float] | Sequence[Sequence[Any]] | Literal["balanced"] | None,
    "alphabet": int | Sequence[str | float] | None,
}


def parameters_of(stored: Stored) -> AbstractContextManager[None]:
    """What cannot be made of a manifest's parameters is wrong with the manifest."""
    return refusing(stored.folder / MANIFEST)


def check_parameter_types(path: Path, params: Mapping[str, Any], cls: type) -> None:
    """Refuse a manifest that gives a model's parameter as something that its signature does not name."""
    known = inspect.signature(cls).parameters
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
    if origin is np.ndarray:
        return isinstance(value, list) and all(_fits(one, float) or _fits(one, annotation) for one in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(one, parts[1]) for one in value.values())
    if origin in (Sequence, Iterable, tuple):
        return isinstance(value, list) and all(_fits(one, parts[0]) for one in value)
    types: dict[Any, Any] = {bool: int, float: (int, float), Path: str}
    return annotation is Any or isinstance(value, types.get(annotation, annotation))


# -- what all models have --------------------------------------------------------------------------------------------


def _check_chains(file: Contents, trace: str) -> None:
    """Traces and joint probabilities of all chains, and which of them is published."""
    n_chains = file.sizes["chains"] = file.whole("n_chains", 1)
    best, n_iter = file.whole("best_chain", 0, n_chains - 1), file.whole("n_iter")
    file.flags("interrupted")
    file.expect({"log_joint": Expected("f8", ("chains",), finite=trace == "chain")})
    values = np.nan_to_num(file.arrays["log_joint"], nan=-np.inf)
    if best != int(np.argmax(values)):
        file.fail(f"best_chain is {best}, which is not the chain with the highest log_joint")
    for index in range(n_chains):
        check_trace(file, trace, f"trace_{index}_")
    if np.any(file.arrays[f"trace_{best}_sweep"] > n_iter):
        file.fail(f"its trace goes beyond n_iter={n_iter}")


def topic_model(path: Path, arrays: Mapping[str, AnyArray], info: Any, model: Any) -> Contents:
    """The finished estimates of a topic model; what a kind of model has beside them is still to be checked."""
    file = Contents(path, arrays, info, K=getattr(model, "n_components", None))
    _check_chains(file, "variational" if "change" in model._trace_names() else "chain")
    file.expect(_TOPICS)
    if min(file.sizes["K"], file.sizes["V"], file.sizes["D"]) == 0 or not np.any(arrays["alpha"] > 0):
        file.fail("it has no topics, words or documents")
    file.values("vocabulary", "V")
    file.text_options()
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


# -- kinds of models -------------------------------------------------------------------------------------------------


def check_labeled(file: Contents) -> None:
    arrays = file.arrays
    file.values("classes", "K", _NAMES)
    file.sizes["V + 1"] = file.sizes["V"] + 1
    file.expect(_LABELED)
    if file.sizes["calibration"] not in (0, 4):
        file.fail(f"the array 'calibration' has {file.sizes['calibration']} entries, expected none or 4")
    n_labelled = int(np.count_nonzero(~arrays["unlabeled_docs"]))
    if arrays["n_labelled"][0] != n_labelled or np.any(arrays["label_counts"] > n_labelled):
        file.fail("the arrays 'n_labelled', 'unlabeled_docs' and 'label_counts' do not fit each other")
    file.equals("alpha", np.where(arrays["label_counts"] > 0, arrays["alpha"], 0.0), "labels that occur")
    if np.any(arrays["alpha"][arrays["label_counts"] > 0] <= 0):
        file.fail("the array 'alpha' has a value that is not positive for a label that occurs")


def check_dependency(file: Contents, n_label_topics: Any) -> None:
    if n_label_topics is not None:
        file.sizes["T'"] = n_label_topics
    file.expect(_DEPENDENCY)
    if file.sizes["T'"] == 0:
        file.fail("the array 'label_by_word' has no label topics")


def _check_supervised(file: Contents, n_chains: Any) -> None:
    """Tasks in groups: all in one, or each in its own."""
    arrays = file.arrays
    file.expect(_SUPERVISED)
    groups = arrays["group_of"]
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    if len(groups) == 0 or not np.array_equal(
        groups, np.zeros_like(groups) if n_groups == 1 else np.arange(len(groups))
    ):
        file.fail("the array 'group_of' does not put all tasks into one group or each into its own")
    if file.sizes["chains"] != n_chains * n_groups or file.sizes["tasks of chains"] != n_chains * len(groups):
        file.fail(f"the array 'etas' does not have the tasks of n_chains={n_chains} chains")
    file.equals("by_word", arrays["by_words"][file.info["best_chain"]], "the published chain")


def check_classifier(file: Contents, n_chains: Any) -> None:
    _check_supervised(file, n_chains)
    classes = file.values("classes", "classes", SCALARS)
    file.expect({"kind": Expected("i", (1,), low=0, high=2)})
    kind = ("binary", "multiclass", "multilabel")[int(file.arrays["kind"][0])]
    _check_tasks(file, kind, len(classes), file.sizes["tasks"])


def _check_tasks(file: Contents, kind: str, n_classes: int, n_tasks: int) -> None:
    least = {"binary": 2, "multiclass": 3, "multilabel": 1}[kind]
    expected = 1 if kind == "binary" else n_classes
    if n_classes < least or (kind == "binary" and n_classes != 2) or n_tasks != expected:
        file.fail(f"it has {n_classes} classes and {n_tasks} tasks, which do not fit its kind, {kind}")


def check_regressor(file: Contents, n_chains: Any) -> None:
    _check_supervised(file, n_chains)
    file.expect({"unit": Expected("f8", (2,))})
    if file.sizes["tasks"] != 1 or file.arrays["unit"][1] <= 0:
        file.fail("a regression has one task and a positive scale")


def check_collections(file: Contents) -> None:
    arrays = file.arrays
    with refusing(file.path):
        restored_groups(file.values("collections", "J", (*SCALARS, dict)))
    file.expect(_COLLECTIONS)
    if file.sizes["S"] == 0 or arrays["collection_docs"].sum() != file.sizes["D"]:
        file.fail("the array 'collection_docs' does not count the documents, or there is no draw in 'pi_draws'")
    for name in ("pi", "pi_draws"):
        file.sums_to(name, arrays[name].sum(axis=-1), 1.0)
    weights = arrays["collection_docs"] / arrays["collection_docs"].sum()
    file.sums_to("alpha", arrays["alpha"], arrays["gamma"][0] * product(weights[None], arrays["pi"])[0])
    if np.any(np.diff(arrays["pi_sweeps"]) < 0) or arrays["pi_sweeps"][-1] > file.info["n_iter"]:
        file.fail("the array 'pi_sweeps' does not rise to the last sweep")


def check_hmm_model(path: Path, arrays: Mapping[str, AnyArray], info: Any, n_states: Any) -> None:
    file = Contents(path, arrays, info, K=n_states)
    _check_chains(file, "hmm")
    file.flags("converged")
    file.values("alphabet", "V", SCALARS)
    rows = {"initial": ("K",), "transition": ("K", "K"), "emission": ("K", "V")}
    file.expect({name: Expected("f8", shape, low=0, high=1 + 1e-6) for name, shape in rows.items()})
    for name in rows:
        file.sums_to(name, arrays[name].sum(axis=-1), 1.0)
    file.expect_no_others()


def check_sequences(path: Path, corpus: Corpus, n_symbols: int) -> None:
    """Whether a hidden Markov model can have been fitted on a corpus."""
    if corpus.n_words != n_symbols or not corpus.ordered or corpus.weights is not None or corpus.n_tokens == 0:
        raise StorageError(
            f"{path} belongs to another model: it does not hold sequences over {n_symbols} symbols. Restore it from a "
            "copy."
        )


# -- labels and targets ----------------------------------------------------------------------------------------------


def check_labels(path: Path, arrays: Mapping[str, AnyArray], info: Any, corpus: Corpus) -> None:
    """Label sets of all documents; those with words need at least one."""
    file = Contents(path, arrays, info)
    size = file.whole("n_labels", 1)
    file.values("classes", size, _NAMES)
    file.expect({"ptr": Expected("i8", ("D + 1",), low=0), "label": Expected("i4", ("labels",), low=0, high=size - 1)})
    file.expect_no_others()
    ptr, label = arrays["ptr"], arrays["label"]
    if len(ptr) - 1 != corpus.n_docs:
        raise StorageError(f"{path} has labels of {len(ptr) - 1} documents; the corpus has {corpus.n_docs}.")
    if ptr[0] != 0 or ptr[-1] != len(label) or np.any(np.diff(ptr) < 0):
        file.fail(f"the array 'ptr' does not rise from 0 to the number of labels, {len(label)}")
    falls = np.diff(label) <= 0
    falls[ptr[(ptr > 0) & (ptr < len(label))] - 1] = False  # between documents
    if np.any(falls):
        file.fail("the array 'label' does not rise within a document")
    if len(label) == 0 or np.any((np.diff(ptr) == 0) & (corpus.doc_lengths > 0)):
        file.fail("a document with words has no label")


def check_same_labels(path: Path, model: Any, classes: AnyArray, sets: LabelSets) -> None:
    """Whether the label sets are those that a model was fitted on."""
    pairs = (
        (model.classes_, classes),
        (model.label_counts_, sets.frequencies),
        (model.unlabeled_docs_, sets.sizes == 0),
    )
    if not all(np.array_equal(one, other) for one, other in pairs):
        raise StorageError(f"{path} belongs to another model: it has other labels. Restore it from a copy.")


def check_same_targets(path: Path, model: Any, targets: Any) -> None:
    """Whether the targets are of the kind that a model was fitted on."""
    classes = getattr(model, "classes_", targets.classes)
    n_tasks = sum(map(len, model._groups))
    if (
        targets.kind != model._kind
        or targets.target.shape[1] != n_tasks
        or not np.array_equal(classes, targets.classes)
    ):
        raise StorageError(f"{path} belongs to another model: it has other classes. Restore it from a copy.")


def check_targets(path: Path, arrays: Mapping[str, AnyArray], info: Any, n_docs: int, kinds: tuple[str, ...]) -> None:
    """What a supervised model learns from: −1 and 1 for each task, or numbers."""
    file = Contents(path, arrays, info)
    kind = file.choice("kind", kinds)
    file.number("centre")
    file.number("scale", positive=True)
    file.expect({"target": Expected("f8", ("D", "tasks"))})
    target = arrays["target"]
    if len(target) != n_docs:
        raise StorageError(f"{path} has targets of {len(target)} documents; the corpus has {n_docs}.")
    classes = file.values("classes", "classes", SCALARS)
    file.expect_no_others()
    if kind == "regression":
        if classes or file.sizes["tasks"] != 1:
            file.fail("a regression has one task and no classes")
        return
    _check_tasks(file, kind, len(classes), file.sizes["tasks"])
    if np.any(np.abs(target) != 1) or (kind == "multiclass" and np.any((target > 0).sum(axis=1) != 1)):
        file.fail("the array 'target' does not hold 1 for a document's class and -1 for the others")

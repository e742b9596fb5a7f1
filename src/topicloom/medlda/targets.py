"""What supervised models are asked to predict, as it comes in: classes, label sets or numbers, and in files."""

from collections.abc import Iterable, Sized
from typing import Any, Literal, NamedTuple

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus._checks import shown
from topicloom.corpus._columns import is_missing
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator import label_sets as _labels
from topicloom.engine.estimator import refused as _refused
from topicloom.engine.estimator.parameters import MOST
from topicloom.errors import InputError, counted, there_are
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import TARGETS
from topicloom.medlda import stored_checks as _stored_checks

LARGEST = 1e100  # of numbers to predict: the squares of all of them can be added up

Kind = Literal["binary", "multiclass", "multilabel", "regression"]


class Targets(NamedTuple):
    """Targets [D, tasks]: −1 and 1 for each task of a classifier (one for two classes), or one column of numbers.

    ``weight`` [D] is a factor of each document's losses, 0 where the target is missing; what stands there is unused.
    """

    kind: Kind
    target: FloatArray
    classes: AnyArray  # names; none of a regression
    centre: float = 0.0  # of a regression: y = centre + scale · target
    scale: float = 1.0
    weight: FloatArray = np.zeros(0)  # of every document, or none: all are 1


def weights_of(targets: Targets) -> FloatArray:
    """The factor of each document's losses [D]."""
    return targets.weight if len(targets.weight) > 0 else np.ones(len(targets.target))


def known(targets: Targets, corpus: Corpus) -> BoolArray:
    """Documents [D] that have words and a target that counts."""
    return (corpus.doc_lengths > 0) & (weights_of(targets) > 0)


def hinge_precision(targets: Targets, loss_weight: float, n_topics: int) -> float:
    """ν of the hinge loss if none is given: that of weights of precision 1 at a margin of λ/1.6, or less.

    It is less where it would outweigh the losses, whose part for a topic is of the order of λ/K times the number of
    documents: weights would stay near 0, and topics would not learn the classes. It is a quarter at the least.
    """
    most = (loss_weight / 1.6) ** 2
    positive = targets.target[weights_of(targets) > 0] > 0
    n = min(0.7 * len(positive), 14.0 * float(positive.sum(axis=0).mean()))
    return min(most, max(0.25 * most, loss_weight * n / n_topics))


def without_missing(y: Any) -> tuple[Any, BoolArray]:
    """The same with another document's target where one is missing (None, NaN, a row of NaN), and where [D] that is.

    Nothing is replaced if all are missing, or none.
    """
    missing: BoolArray
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind == "f":
        missing = np.asarray(np.isnan(y).all(axis=1))
        return (y if missing.all() else np.where(missing[:, None], 0.0, y)), missing
    plain = isinstance(y, list | tuple) or (getattr(y, "ndim", 0) == 1 and not np.ma.isMaskedArray(y))
    whole = isinstance(y, np.ndarray) and y.dtype.kind in "biuU"
    entries = list(y) if plain and not whole else []
    missing = np.array([is_missing(own) for own in entries], bool)
    if not missing.any() or missing.all():
        return y, missing
    known = entries[int(np.argmin(missing))]
    return [known if gone else own for own, gone in zip(entries, missing, strict=True)], missing


def with_weights(targets: Targets, missing: BoolArray, sample_weight: Any) -> Targets:
    """The same with losses weighted by document, 0 where the target is missing."""
    if len(missing) == len(targets.target) and missing.any() and not missing.all():
        targets = targets._replace(weight=np.where(missing, 0.0, 1.0))
    return _with_sample_weight(targets, sample_weight)


def _with_sample_weight(targets: Targets, sample_weight: Any) -> Targets:
    """The same with losses weighted by document."""
    if sample_weight is None:
        return targets
    n_docs = len(targets.target)
    with _refused.in_own_words(sample_weight, _refused.NUMBERS):
        given = np.asarray(_refused.plain_values(sample_weight), np.float64)
    if given.shape not in ((), (n_docs,)):
        raise InputError(f"sample_weight has shape {given.shape}; expected ({n_docs},), one weight per document.")
    if not np.all((given >= 0) & (given <= MOST)):
        raise InputError(
            f"sample_weight has a weight that is not from 0 to {MOST:g}; give one such number per document."
        )
    weight = weights_of(targets) * given
    if not weight.any():
        raise InputError("sample_weight is zero for all documents with a target; at least one must count.")
    return targets._replace(weight=weight)


def read_classes(y: Any, corpus: Corpus) -> Targets:
    """One class a document from a vector, several from a matrix of 0 and 1 or lists of names, or a corpus's labels."""
    if y is None:
        if corpus.labels is None:
            raise InputError(
                "requires y to be passed, but the target y is None: give classes, or a Corpus with labels."
            )
        single = all(len(own) == 1 for own in corpus.labels)
        y = [own[0] for own in corpus.labels] if single else corpus.labels
    y = _labels.plain_labels(y)
    if not _has_several(y):
        with _refused.in_own_words(y, _refused.CLASSES):
            names = _class_names(y)
            _check_classes(names)
        if len(names) != corpus.n_docs:
            raise InputError(
                f"y has {counted(len(names), 'entries')} but {there_are(corpus.n_docs, 'documents')}; "
                "give one for each."
            )
        classes, number = np.unique(names, return_inverse=True)
        _labels.check_names(classes)
        if len(classes) < 2:
            raise InputError(f"y has one class, {shown(classes[0])}; at least two classes are needed to tell apart.")
        if len(classes) == 2:
            return Targets("binary", np.where(number.reshape(-1, 1) == 1, 1.0, -1.0), classes)
        own = number.reshape(-1, 1) == np.arange(len(classes))
        return Targets("multiclass", np.where(own, 1.0, -1.0), classes)
    classes, sets = _labels.read_labels(y, corpus)
    return Targets("multilabel", np.where(_labels.indicator(sets), 1.0, -1.0), classes)


# Vectors of strings or whole numbers are taken here as scikit-learn would take them, which saves importing it; it sees
# to all else.


def _class_names(y: Any) -> AnyArray:
    if isinstance(y, list) and (all(type(own) is str for own in y) or all(type(own) is int for own in y)):
        y = np.array(y)
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iuU":
        return y
    from sklearn.utils.validation import column_or_1d

    names: AnyArray = column_or_1d(_refused.plain_values(y))
    return names


def _check_classes(names: AnyArray) -> None:
    if names.dtype.kind in "iuU" and 2 * len(np.unique(names)) <= len(names):
        return
    from sklearn.utils import check_array
    from sklearn.utils.multiclass import check_classification_targets

    if names.dtype.kind == "f":
        check_array(names.reshape(-1, 1), input_name="y")  # no NaN, no infinity
    check_classification_targets(names)


def _numbers(y: Any) -> FloatArray:
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iuf" and len(y) > 0 and np.all(np.isfinite(y)):
        return y.astype(np.float64)
    from sklearn.utils import check_array
    from sklearn.utils.validation import column_or_1d

    checked: FloatArray = check_array(
        column_or_1d(_refused.plain_values(y)).reshape(-1, 1), dtype=np.float64, input_name="y"
    )
    return checked[:, 0]


def _has_several(y: Any) -> bool:
    """Whether each document's entry is a set of labels and not one class."""
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) != 1:
        return len(shape) == 2 and shape[1] > 1
    if not isinstance(y, Sized) or not isinstance(y, Iterable):
        return False
    return any(isinstance(own, list | tuple | set | frozenset | np.ndarray) for own in y)


def read_numbers(y: Any, corpus: Corpus, missing: BoolArray = np.zeros(0, bool)) -> Targets:  # noqa: B008
    """One number per document, centred and scaled to variance 1 where it is not ``missing``."""
    if y is None:
        if corpus.responses is None:
            raise InputError(
                "requires y to be passed, but the target y is None: give numbers, or a Corpus with responses."
            )
        y = corpus.responses
    with _refused.in_own_words(y, _refused.NUMBERS):
        numbers = _numbers(y)
    if len(numbers) != corpus.n_docs:
        raise InputError(
            f"y has {counted(len(numbers), 'entries')} but {there_are(corpus.n_docs, 'documents')}; give one for each."
        )
    _check_range(numbers)
    known = numbers[~missing] if len(missing) == len(numbers) else numbers
    centre, scale = float(known.mean()), float(known.std())
    scale = scale if scale > 0 else 1.0
    return Targets("regression", ((numbers - centre) / scale).reshape(-1, 1), np.zeros(0), centre, scale)


def _check_range(numbers: FloatArray) -> None:
    large = np.abs(numbers) > LARGEST
    if large.any():
        i = int(np.argmax(large))
        raise InputError(
            f"entry {i} of y is {numbers[i]:g}; numbers must be from {-LARGEST:g} to {LARGEST:g}. Divide all of them "
            "by one number."
        )
    if 0 < np.ptp(numbers) < 1 / LARGEST:
        raise InputError(
            f"the numbers in y differ by {np.ptp(numbers):g} at most, and {1 / LARGEST:g} is the least that can be "
            "told apart. Multiply all of them by one number."
        )


def class_weights(given: Any, targets: Targets) -> FloatArray:
    """Factors of the loss [D, tasks]: of a task's positive documents by its class, and of both sides if there are two.

    As in LIBLINEAR: a class's weight is that of its own documents in its own task. "balanced" gives both sides of each
    label of a set the same weight in total.
    """
    positive, known = targets.target > 0, weights_of(targets) > 0
    out = np.ones(targets.target.shape)
    if given is None:
        return out
    classes = targets.classes.tolist()
    both = targets.kind == "binary"
    n, own = int(known.sum()), positive[known].sum(axis=0)
    if isinstance(given, str):
        if given != "balanced":
            raise InputError(f"class_weight={given!r} is not known; give 'balanced', or weights by class name.")
        if targets.kind == "multilabel":
            return np.asarray(np.where(positive, n / (2.0 * np.maximum(own, 1)), n / (2.0 * np.maximum(n - own, 1))))
        by_class = n / (len(classes) * np.maximum(np.array([n - own[0], own[0]]) if both else own, 1))
    else:
        by_class = _weights_by_name(given, classes)
    if both:
        return np.asarray(np.where(positive, by_class[1], by_class[0]))
    return np.asarray(np.where(positive, by_class, 1.0))


def _weights_by_name(given: Any, classes: list[Any]) -> FloatArray:
    try:
        unknown = [name for name in given if name not in classes]
        by_class = np.array([float(given.get(name, 1.0)) for name in classes])
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError("class_weight must be 'balanced' or map class names to weights.") from error
    if unknown or not np.all((by_class >= 0) & (by_class <= MOST)):
        what = f"names {unknown[0]!r}, which is no class" if unknown else f"has a weight that is not from 0 to {MOST:g}"
        raise InputError(f"class_weight {what}; the classes are {', '.join(map(repr, classes[:20]))}.")
    return by_class


def targets_part(targets: Targets) -> dict[str, Part]:
    info = {"kind": targets.kind, "centre": targets.centre, "scale": targets.scale}
    arrays = {"target": targets.target, "classes": _labels.classes_to_bytes(targets.classes)}
    if len(targets.weight) > 0:
        arrays["weight"] = targets.weight
    return {TARGETS: (arrays, info)}


def load_targets(stored: Stored, n_docs: int, kinds: tuple[Kind, ...]) -> Targets:
    arrays, info = stored.read(TARGETS)
    _stored_checks.check_targets(stored.path(TARGETS), arrays, info, n_docs, kinds)
    classes = _labels.classes_from_bytes(arrays["classes"])
    weight = arrays.get("weight", np.zeros(0))
    return Targets(info["kind"], arrays["target"], classes, info["centre"], info["scale"], weight)

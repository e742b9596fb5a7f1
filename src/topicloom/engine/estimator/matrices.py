"""A matrix of counts as it is given to a model: plain ones are looked at here, all others by scikit-learn."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from topicloom.corpus._matrices import as_csr, check_matrix_like
from topicloom.corpus._refused import why_no_counts
from topicloom.corpus.frames import text_columns
from topicloom.errors import InputError, InputTypeError


def checked_matrix(model: Any, X: Any, *, reset: bool) -> Any:
    """A matrix of counts as an array or in CSR form; ``reset`` says that it is one to learn from.

    Plain matrices are looked at here, to the same effect as by scikit-learn, which sees to all others: frames, lists,
    other kinds of numbers, and whatever is to be refused.
    """
    check_matrix_like(X)
    matrix = as_csr(X) if sp.issparse(X) else X
    if _is_plain(matrix) and not (hasattr(model, "feature_names_in_") and not reset):
        if reset:
            model.n_features_in_ = matrix.shape[1]
            vars(model).pop("feature_names_in_", None)  # of an earlier fit
        if matrix.shape[1] == model.n_features_in_:
            return matrix
    try:
        return validate_data(model, matrix, accept_sparse="csr", dtype="numeric", ensure_non_negative=True, reset=reset)
    except MemoryError:
        raise
    except Exception as error:  # of scikit-learn, or of whatever made X
        raise _refusal(X, error, reset) from error


def _refusal(X: Any, error: Exception, reset: bool) -> InputError:
    """The error in our own words, as far as they are known."""
    if hasattr(X, "columns") and (columns := text_columns(X)):
        named = " or ".join(f"text={column!r}" for column in columns[:3])
        return InputError(
            f"column {columns[0]!r} of the frame X holds texts, not counts. Name the column of texts with {named}, or "
            "give this one a role (id=, label=, group=, response=, time=) or drop it."
        )
    if (known := why_no_counts(X)) is not None:
        return known
    kind = InputTypeError if isinstance(error, TypeError) else InputError
    remedy = "" if reset else "Give the words of the fit, in its order, or a Corpus, whose words are matched by name."
    return kind(f"X cannot be used as a documents × words matrix of counts. {error} {remedy}".rstrip())


def _is_plain(matrix: Any) -> bool:
    """Whether it is an array, or a sparse matrix, of non-negative finite numbers."""
    sparse: bool = sp.issparse(matrix)
    if not (sparse or type(matrix) is np.ndarray) or matrix.ndim != 2 or 0 in matrix.shape:
        return False
    values = matrix.data if sparse else matrix
    if values.dtype.kind not in "iuf":
        return False
    return values.size == 0 or bool(values.min() >= 0 and values.max() < np.inf)

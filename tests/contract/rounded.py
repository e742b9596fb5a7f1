"""Estimators of counts under scikit-learn's checks, whose data are not counts."""

import numpy as np
import scipy.sparse as sp


class Rounded:
    """For data that are not counts: scaled and rounded at the door."""

    def _checked_matrix(self, X, reset: bool):
        matrix = super()._checked_matrix(X, reset)
        if sp.issparse(matrix):
            matrix = matrix.copy()
            matrix.data = np.rint(10 * matrix.data)
            return matrix
        return np.rint(10 * matrix)

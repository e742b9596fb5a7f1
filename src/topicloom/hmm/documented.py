"""What the docstring of hidden Markov models says of emissions and starts."""

EMISSIONS = """
emission_prior : float, array of shape (n_symbols,) or (n_components, n_symbols), or dict, optional
    Of "categorical" and "multinomial", Dirichlet parameters of the symbols; a matrix has a row per state, None is 1. Of
    the others a dict: ``mean``, ``mean_weight``, ``shape`` and ``scale`` of "gaussian", ``freedom`` in the place of
    ``shape`` of "gaussian_full", ``shape`` and ``rate`` of "poisson". What is left out is weak and follows from the
    data, or flat for "em".
emission : {"categorical", "gaussian", "gaussian_full", "poisson", "multinomial"}, default="categorical"
    What states emit: symbols, numbers with variances or with a full covariance, counts, or vectors of counts.
start : dict, optional
    Where chains begin. ``n_runs`` (64 / K, from 8 to 32) short runs of Baum-Welch on a part of the data, of which the
    best goes on; half of them end after ``n_iter`` (15) iterations, half of the others after twice as many more, and so
    on. One run begins at random. Values for ``initial``, ``transition`` and the emission's parameters: ``emission``,
    ``rates``, or ``means`` and ``covars``.
fixed : list of {"initial", "transition", "emission"}, optional
    Parameters that stay at their values in ``start``. Not for ``sampler="collapsed"``.
"""

FITTED = """
emission_ : ndarray of shape (n_components, n_symbols)
    Probabilities of the symbols, a row per state. Of "categorical" and "multinomial".
rates_ : ndarray of shape (n_components, n_features)
    Means of the counts. Of "poisson".
means_ : ndarray of shape (n_components, n_features)
    Of "gaussian" and "gaussian_full".
covars_ : ndarray of shape (n_components, n_features)
    Variances of "gaussian". "gaussian_full" has covariances of shape (n_components, n_features, n_features).
stationary_ : ndarray of shape (n_components,)
    Share of each state in the long run.
alphabet_ : tuple
    The symbols, in the order of columns. Empty where there are none.
"""

"""Supervised topics: MedLDA for numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus._checks import check_number
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator import parameters
from topicloom.engine.estimator.documented import CHAINS, RUN, TOPICS, documented
from topicloom.engine.estimator.explained import Parts, Target
from topicloom.errors import InputError, counted
from topicloom.files.checks import Contents
from topicloom.medlda import stored_checks as _stored_checks
from topicloom.medlda import targets as _targets
from topicloom.medlda.documented import SHARED
from topicloom.medlda.refit import SQUARED
from topicloom.medlda.supervised import SupervisedTopics
from topicloom.medlda.targets import Kind, Targets
from topicloom.numerics.rng import Purpose, path_key

_PLACES = np.linspace(0.0, 1.0, _stored_checks.N_MISSES)  # of the quantiles of misses

_MOST_HELD = 2000  # documents that a second fit leaves out: enough for any interval


@documented(shared=SHARED, run=RUN, topics=TOPICS, chains=CHAINS)
class MedLDARegressor(SupervisedTopics):
    """MedLDA for numbers: topics that explain the words and, weighted, predict a number per document.

    Numbers are centred and scaled to variance 1 for the fit, so λ and ν mean the same for any unit.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    loss : {"epsilon_insensitive", "squared"}, default="epsilon_insensitive"
        With "epsilon_insensitive" errors up to ``epsilon`` are free, larger ones count by their size. "squared" is that
        of supervised LDA: numbers are normal around the prediction, with precision λ.
    epsilon : float, default=0.001
        Error without loss of "epsilon_insensitive", in the unit of ``y``.
    loss_weight : float, default=30
        λ, the weight of a document's loss beside its words.
    topic_word_prior : float or array of shape (n_words,), default=0.3
        β, from 1e-12 to 1e12.
    {shared}
    n_chains : int, default=4
        Independent chains, whose predictions are averaged.
    {run}

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_components)
        Weights of the topics' shares, in the unit of ``y``.
    intercept_ : float
        What is added to the weighted shares, in the unit of ``y``.
    {topics}
    {chains}

    See Also
    --------
    MedLDAClassifier : For classes and label sets.

    References
    ----------
    Zheng, Yu and Xing, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals", KDD 2015.

    Examples
    --------
    >>> from topicloom import MedLDARegressor
    >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0] * 20)
    >>> model.predict(["good fine", "poor"]).round(1)
    array([5., 1.])
    """

    _KINDS: ClassVar[tuple[Kind, ...]] = ("regression",)
    _LABELS = "response"
    _TARGET: ClassVar[str] = "response"

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "loss": parameters.choice(("epsilon_insensitive", "squared")),
        "epsilon": parameters.number(0.0, _targets.LARGEST),
    }

    @parameters.with_parameters_of(SupervisedTopics)
    def __init__(
        self,
        n_components: int = 10,
        *,
        loss: Literal["epsilon_insensitive", "squared"] = "epsilon_insensitive",
        epsilon: float = 1e-3,
        loss_weight: float = 30.0,
        topic_word_prior: float | Sequence[float] | AnyArray | None = 0.3,
        n_chains: int = 4,
        **others: Any,
    ) -> None:
        super().__init__(
            n_components, loss_weight=loss_weight, topic_word_prior=topic_word_prior, n_chains=n_chains, **others
        )
        self.loss = loss
        self.epsilon = epsilon

    def _read_targets(self, y: Any, corpus: Corpus, missing: BoolArray) -> Targets:
        return _targets.read_numbers(y, corpus, missing)

    def _task_epsilon(self, targets: Targets) -> float:
        return self.epsilon / targets.scale

    def _refit_loss(self, n_tasks: int) -> int:
        return SQUARED

    def _learn_more(self, targets: Targets, said: FloatArray) -> None:
        self.intercept_, self._scale = targets.centre, targets.scale
        self._misses = np.zeros(0)

    @property
    def coef_(self) -> FloatArray:
        """Weights of the topics' shares, in the unit of ``y``.

        Returns
        -------
        ndarray of shape (1, n_components)
        """
        return super().coef_ * self._scale

    def predict(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """A number for each document, in the unit of ``y``.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,)

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0] * 20)
        >>> model.predict(["good fine", "poor"]).round(1)
        array([5., 1.])
        """
        check_is_fitted(self, "seed_")
        return self.intercept_ + self._scale * self._values(self._new_corpus(X, reading))[:, 0]

    def fit_intervals(self, holdout: float = 0.2) -> Self:
        """Learn how far predictions are off, from documents that a second fit has not seen.

        The second fit is as this one, with some of the documents held out. It takes about as long. Predictions stay as
        they are. Save the model again afterwards to keep what was learned; ``fit`` and ``resume`` forget it.

        Parameters
        ----------
        holdout : float, default=0.2
            Share of the documents that are held out, from 0.01 to 0.9: of those with words and a number, 2,000 at most.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If no document would be held out.
        KeyboardInterrupt
            If the second fit is stopped. The model is then as it was.

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0, 4.0, 2.0] * 10)
        >>> low, high = model.fit_intervals().predict_interval(["good fine"])[0]
        >>> bool(low < 4.5 < high)
        True
        """
        check_is_fitted(self, "seed_")
        share, targets = check_number("holdout", holdout, 0.01, 0.9), self._training_targets()
        known = np.flatnonzero(_targets.known(targets, self.corpus_))
        n_held = min(round(share * len(known)), _MOST_HELD)
        if n_held == 0:
            raise InputError(f"holdout={holdout} of {counted(len(known), 'documents')} is none; give a larger share.")
        held = np.zeros(self.corpus_.n_docs, bool)
        rng = np.random.default_rng(int(path_key(self.seed_, Purpose.HELD_OUT)))
        held[rng.permutation(known)[:n_held]] = True
        second = self._without(held)
        misses = targets.target[held] - second._values(self.corpus_.select(held))
        self._misses = np.asarray(np.quantile(misses[:, 0], _PLACES, method="weibull"))
        return self

    def _without(self, held: BoolArray) -> "MedLDARegressor":
        """A model as this one, of all other documents; units are the same."""
        kept = any(chain.kept is not None for chain in self.chains_)
        second = type(self)(**self.get_params()).set_params(
            checkpoint_dir=None, verbose=0, random_state=self.seed_, max_iter=max(self.n_iter_, 1),
            burn_in=self.burn_in if kept else None, keep_draws=None,
        )  # fmt: skip
        second._quiet = True
        corpus = self.corpus_.keep_tokens(~np.repeat(held, self.corpus_.doc_lengths))
        second._fit(second._problem(corpus, self._training_targets(), self.seed_), ())
        if second.interrupted_:
            raise KeyboardInterrupt
        return second

    def predict_interval(self, X: Any, level: float = 0.9, **reading: Unpack[Reading]) -> FloatArray:
        """Limits between which the number of each document is expected, in the unit of ``y``.

        They are as far from the prediction as numbers of documents are that :meth:`fit_intervals` has held out. The
        distance is the same for all documents, long or short.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        level : float, default=0.9
            Probability that a number lies between its limits. As many numbers are to lie below as above.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents, 2)
            Lower and upper limits.

        Raises
        ------
        InputError
            If ``fit_intervals`` was not called.

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0, 4.0, 2.0] * 10)
        >>> model.fit_intervals(0.5).predict_interval(["good fine", "poor"], level=0.5).shape
        (2, 2)
        """
        from topicloom.evaluation.collections import check_level

        check_is_fitted(self, "seed_")
        check_level(level)
        if len(self._misses) == 0:
            raise InputError("the model does not know how far it is off; call fit_intervals() first.")
        limits = np.interp([(1 - level) / 2, (1 + level) / 2], _PLACES, self._misses)
        return np.asarray(self.predict(X, **reading)[:, None] + self._scale * limits)

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Predictive R²: 1 − mean squared error / variance.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        y : array of shape (n_documents,), optional
            Their numbers. None takes the responses of the documents.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        float
            1 is perfect. 0 is as good as predicting the mean.

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0] * 20)
        >>> bool(model.score(["good fine", "poor"], [5.0, 1.0]) > 0.9)
        True
        """
        from sklearn.metrics import r2_score

        return float(r2_score(*self._true_and_predicted(X, y, reading)))

    def regression_report(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> dict[str, float]:
        """How far predictions of documents that the model has not seen are off.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        y : array of shape (n_documents,), optional
            Their numbers. None takes the responses of the documents.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        dict
            ``r2``, ``mean_absolute_error``, ``root_mean_squared_error`` and ``mean_error``, as by
            ``evaluation.regression_scores``.

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, random_state=0).fit(["good fine", "bad poor"] * 20, [5.0, 1.0] * 20)
        >>> sorted(model.regression_report(["good", "poor poor"], [4.0, 2.0]))
        ['mean_absolute_error', 'mean_error', 'r2', 'root_mean_squared_error']
        """
        from topicloom.evaluation.reports import regression_scores

        return regression_scores(*self._true_and_predicted(X, y, reading))

    def _true_and_predicted(self, X: Any, y: Any, reading: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X, reading, roles=(self._TARGET,) if y is None else ())
        truth = _targets.read_numbers(y, corpus)
        answer = self.intercept_ + self._scale * self._values(corpus)[:, 0]
        return truth.centre + truth.scale * truth.target[:, 0], answer

    def _directions(self) -> list[tuple[Any, int, float]]:
        return [("low", 0, -1.0), ("high", 0, 1.0)]

    def _label_targets(self) -> list[Target]:
        return [Target(self._LABELS, 0)]

    def _label_parts(self, corpus: Corpus) -> Parts:
        """Of ``predict``, in the unit of y."""
        plain = super()._label_parts(corpus)
        return Parts(self._scale * plain.word, self.intercept_ + self._scale * plain.rest)

    def _fitted_numbers(self) -> list[Any]:
        return [
            *super()._fitted_numbers(),
            self.intercept_,
            self._scale,
            *([self._misses] if len(self._misses) else []),
        ]

    def _own_arrays(self) -> dict[str, AnyArray]:
        return super()._own_arrays() | {"unit": np.array([self.intercept_, self._scale]), "misses": self._misses}

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_regressor(file, self.n_chains)
        super()._check_own(file)

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        super()._set_own_arrays(arrays)
        self._kind = "regression"
        self.intercept_, self._scale = map(float, arrays["unit"])
        self._misses = arrays.get("misses", np.zeros(0))  # which earlier versions did not keep

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags

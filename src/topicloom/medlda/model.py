"""Supervised topics: MedLDA for classes, label sets and numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator import label_sets as _labels
from topicloom.engine.estimator import parameters
from topicloom.engine.estimator import refused as _refused
from topicloom.engine.estimator.explained import Parts, Target
from topicloom.engine.estimator.parameters import plain
from topicloom.engine.estimator.reported import ReportedLabels
from topicloom.files.checks import Contents
from topicloom.medlda import stored_checks as _stored_checks
from topicloom.medlda import targets as _targets
from topicloom.medlda.supervised import SupervisedTopics
from topicloom.medlda.targets import Kind, Targets

_SHARED = """
    loss_weight : λ, the weight of a document's loss against its words.
    weight_precision : ν, the prior precision of the weights η. None: (λ/1.6)² of the hinge loss, 1 of the others.
    doc_topic_prior, topic_word_prior : Dirichlet parameters α (None: 6.4/K) and β (None: 0.01).
    sampler : "mh" proposes topics and accepts or refuses them, at a cost that does not grow with K; "dense" looks at
        all topics for every token and draws all weights at once; "auto" draws topics by whichever is quicker.
    sampler_options : dict of options of the sampler. ``n_mh`` (6): steps per token of "mh"; ``composition``
        ("mixture"): its proposals, a random "mixture" or a "cycle" of all three, or "doc", "word", "exp" alone;
        ``n_gibbs`` (2): rounds over the weights in a sweep.
    estimator : "standard" or "cgs_p", for φ (words of topics); θ of new documents has one in ``predict_options``.
    max_iter, burn_in, thin : sweeps, and which are kept: topics and weights are averaged over sweeps ``burn_in``,
        ``burn_in + thin``, …; ``burn_in=None`` keeps the last one.
    keep_draws : draws to keep at those sweeps of every chain, as of ``LDA``.
    n_chains : independent chains; what they predict is averaged.
    n_shards : parts into which a sweep is cut so that threads can share it. One part is exact; more are an
        approximation in the topic totals alone.
    predict_options : dict that says how topics of new documents are found, as of ``LDA``. The defaults are ``method``
        "cvb0" with ``tol`` 0.03 and ``max_iter`` 50; for "gibbs" ``burn_in`` 20, ``thin`` 2, ``n_samples`` 10,
        ``n_chains`` 1 and ``estimator`` "cgs_p".
    trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose : as of ``LDA``.
"""


def _documented(cls: Any) -> Any:
    cls.__doc__ = cls.__doc__.replace("\n    {shared}\n", _SHARED)
    return cls


def _gives_probabilities(model: Any) -> bool:
    if model.loss == "logistic":
        return True
    raise AttributeError('predict_proba needs loss="logistic"; the hinge loss has no probabilities.')


@_documented
class MedLDAClassifier(ReportedLabels, SupervisedTopics):
    """MedLDA: topics that explain the words and, weighted by a classifier, tell the classes apart.

    ``X`` is as of ``LDA``. ``y`` is one class a document; or label
    sets, as a documents × labels matrix of 0 and 1 or a list of names for each document; or nothing, if the corpus has
    labels. The loss of a document is that of Σ_k η_k n_dk/N_d; empty documents have none.

    Warning: a class with few documents, or with few beside the others, may get no topic of its own and then never be
    predicted. Look at what is predicted for documents that were held out, class by class.

    Parameters
    ----------
    n_components : number of topics K.
    loss : "hinge" (max-margin), or "logistic", which has probabilities.
    multi_class : with more than two classes, and for label sets, "multitask" has one classifier a class over topics
        that all share; "ovr" fits topics of its own for each class against the rest.
    class_weight : None, "balanced", or a weight by class name: of the class's documents in its own task. Warning: with
        label sets "balanced" weighs labels against each other, not a label's documents against those without it, so
        that predictions may get worse. Compare on held-out documents, or give weights by name.
    {shared}
    Attributes
    ----------
    classes_ : names of the classes.
    coef_ : [tasks, K] weights η; one task for two classes (toward the second), one a class otherwise.
    components_, topic_word_, doc_topic_, alpha_, beta_, chains_, best_chain_, log_joint_, traces_ : as of ``LDA``.
    draws_, vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    _KINDS: ClassVar[tuple[Kind, ...]] = ("binary", "multiclass", "multilabel")
    _LABELS = "class"
    _TARGET: ClassVar[str] = "label"

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "loss": parameters.choice(("hinge", "logistic")),
        "multi_class": parameters.choice(("multitask", "ovr")),
    }

    @parameters.with_parameters_of(SupervisedTopics)
    def __init__(
        self,
        n_components: int = 40,
        *,
        loss: Literal["hinge", "logistic"] = "hinge",
        multi_class: Literal["multitask", "ovr"] = "multitask",
        class_weight: Any = None,
        loss_weight: float = 102.4,
        **others: Any,
    ) -> None:
        super().__init__(n_components, loss_weight=loss_weight, **others)
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight

    # -- what is asked for ---------------------------------------------------------------------------------------

    def _read_targets(self, y: Any, corpus: Corpus) -> Targets:
        return _targets.read_classes(y, corpus)

    def _task_weights(self, targets: Targets) -> FloatArray:
        return _targets.class_weights(self.class_weight, targets)

    def _task_groups(self, targets: Targets) -> list[list[int]]:
        n = targets.target.shape[1]
        return [[c] for c in range(n)] if self.multi_class == "ovr" else [list(range(n))]

    def _learn_more(self, targets: Targets) -> None:
        self.classes_ = targets.classes

    # -- predictions ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """What the classifier says [D, classes]; of two classes one number [D], positive for the second."""
        check_is_fitted(self, "seed_")
        values = self._values(self._new_corpus(X, reading))
        return values[:, 0] if self._kind == "binary" else values

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Probabilities [D, classes] of the logistic loss: of classes they sum to 1, of labels each is its own."""
        check_is_fitted(self, "seed_")
        return self._probability(self._values(self._new_corpus(X, reading)))

    def _probability(self, values: FloatArray) -> FloatArray:
        p: FloatArray = expit(values)
        if self._kind == "binary":
            return np.hstack([1.0 - p, p])
        return p if self._kind == "multilabel" else p / p.sum(axis=1, keepdims=True)

    def predict(self, X: Any, **reading: Unpack[Reading]) -> AnyArray:
        """Classes; of label sets a documents × labels matrix of 0 and 1."""
        check_is_fitted(self, "seed_")
        return self._choose(self._values(self._new_corpus(X, reading)))

    def _choose(self, values: FloatArray) -> AnyArray:
        if self._kind == "multilabel":
            return (values > 0).astype(np.int64)
        number = (values[:, 0] > 0).astype(np.int64) if self._kind == "binary" else np.argmax(values, axis=1)
        return np.asarray(self.classes_[number])

    def _predictions(self, corpus: Corpus) -> tuple[BoolArray, FloatArray | None]:
        values = self._values(corpus)
        answer = self._choose(values)
        if self._kind != "multilabel":
            answer = answer[:, None] == self.classes_
        return answer.astype(bool), self._probability(values) if self.loss == "logistic" else None

    def predict_labels(self, X: Any, **reading: Unpack[Reading]) -> list[tuple[Any, ...]]:
        """Class names for each document, best first: one, or those of a label set."""
        check_is_fitted(self, "seed_")
        values = self._values(self._new_corpus(X, reading))
        if self._kind != "multilabel":
            return [(name,) for name in self._choose(values).tolist()]
        names, order = self.classes_.tolist(), np.argsort(-values, axis=1, kind="stable")
        return [tuple(names[c] for c in row if values[d, c] > 0) for d, row in enumerate(order.tolist())]

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Accuracy; micro-F1 of label sets."""
        from sklearn.metrics import accuracy_score

        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X, reading, roles=(self._TARGET,) if y is None else ())
        if y is None:
            if corpus.labels is None:
                _targets.read_classes(None, corpus)  # says what is missing
            y = corpus.labels if self._kind == "multilabel" else [own[0] for own in corpus.labels or ()]
        answer = self._choose(self._values(corpus))
        if self._kind != "multilabel":
            _refused.check_entries(y, corpus.n_docs)
            with _refused.in_own_words(y, _refused.CLASSES):
                return float(accuracy_score(y, answer))
        return _labels.micro_f1(_labels.true_labels(y, corpus.n_docs, self.classes_), answer)

    def _directions(self) -> list[tuple[Any, int, float]]:
        names = self.classes_.tolist()
        if self._kind == "binary":
            return [(names[0], 0, -1.0), (names[1], 0, 1.0)]
        return [(name, c, 1.0) for c, name in enumerate(names)]

    # -- files and tags ------------------------------------------------------------------------------------------

    def _params_to_save(self, data: Any) -> dict[str, Any]:
        params = super()._params_to_save(data)
        if isinstance(self.class_weight, Mapping):  # by classes, which need not be strings, as JSON's names are
            params["class_weight"] = [[plain(name), plain(weight)] for name, weight in self.class_weight.items()]
        return params

    @classmethod
    def _params_from(cls, params: dict[str, Any]) -> dict[str, Any]:
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = dict(params["class_weight"])
        return params

    def _own_arrays(self) -> dict[str, AnyArray]:
        kinds = ["binary", "multiclass", "multilabel"]
        own = {"classes": _labels.classes_to_bytes(self.classes_), "kind": np.array([kinds.index(self._kind)])}
        return super()._own_arrays() | own

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_classifier(file, self.n_chains)
        super()._check_own(file)

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        super()._set_own_arrays(arrays)
        self.classes_ = _labels.classes_from_bytes(arrays["classes"])
        self._kind = ["binary", "multiclass", "multilabel"][int(arrays["kind"][0])]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=True, multi_label=True)
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


@_documented
class MedLDARegressor(SupervisedTopics):
    """MedLDA for numbers: topics that explain the words and, weighted, come within ε of each document's number.

    ``X`` is as of ``LDA``; ``y`` one number per document, or
    nothing if the corpus has responses. Numbers are centred and scaled to variance 1 for the fit, so that λ and ν mean
    the same whatever their unit; ``epsilon`` is in the unit of ``y``.

    Parameters
    ----------
    n_components : number of topics K.
    loss : "epsilon_insensitive".
    epsilon : how far a prediction may be off at no loss.
    calibrate : whether to put predictions on the scale of ``y``: a line through what the model says of the training
        documents when their numbers are not told. Topics of the fit have seen them, so that plain predictions of new
        documents stay too close to the mean.
    {shared}
    Attributes
    ----------
    coef_, intercept_ : [1, K] weights of the topics' shares, and what is added, in the unit of ``y``.
    components_, topic_word_, doc_topic_, alpha_, beta_, chains_, best_chain_, log_joint_, traces_ : as of ``LDA``.
    draws_, vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    _KINDS: ClassVar[tuple[Kind, ...]] = ("regression",)
    _LABELS = "response"
    _TARGET: ClassVar[str] = "response"

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "loss": parameters.choice(("epsilon_insensitive",)),
        "epsilon": parameters.number(0.0, _targets.LARGEST),
        "calibrate": parameters.flag,
    }

    @parameters.with_parameters_of(SupervisedTopics)
    def __init__(
        self,
        n_components: int = 10,
        *,
        loss: Literal["epsilon_insensitive"] = "epsilon_insensitive",
        epsilon: float = 1e-3,
        calibrate: bool = True,
        loss_weight: float = 30.0,
        topic_word_prior: float | Sequence[float] | AnyArray | None = 0.3,
        **others: Any,
    ) -> None:
        super().__init__(n_components, loss_weight=loss_weight, topic_word_prior=topic_word_prior, **others)
        self.loss = loss
        self.epsilon = epsilon
        self.calibrate = calibrate

    def _read_targets(self, y: Any, corpus: Corpus) -> Targets:
        return _targets.read_numbers(y, corpus)

    def _task_epsilon(self, targets: Targets) -> float:
        return self.epsilon / targets.scale

    def _learn_more(self, targets: Targets) -> None:
        self.intercept_, self._scale = targets.centre, targets.scale
        if not self.calibrate:
            return
        words = self.corpus_.doc_lengths > 0
        said, true = self._values(self.corpus_)[words, 0], targets.target[words, 0]
        spread = said - said.mean()
        slope = float(np.sum(spread * true)) / max(float(np.sum(spread * spread)), 1e-300)  # no BLAS: same bits
        if slope > 0:  # a line that falls would only say that nothing was learned
            self.intercept_ += self._scale * (float(true.mean()) - slope * float(said.mean()))
            self._scale *= slope

    @property
    def coef_(self) -> FloatArray:
        return super().coef_ * self._scale

    def predict(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """A number for each document."""
        check_is_fitted(self, "seed_")
        return self.intercept_ + self._scale * self._values(self._new_corpus(X, reading))[:, 0]

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Predictive R²: 1 − mean squared error / variance."""
        from sklearn.metrics import r2_score

        return float(r2_score(*self._true_and_predicted(X, y, reading)))

    def regression_report(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> dict[str, float]:
        """How far predictions of documents that the model has not seen are off; ``evaluation.regression_scores``.

        Parameters
        ----------
        X : Corpus, documents × words counts or texts
        y : array of shape (n_documents,), optional
            Their numbers; by default the responses of the corpus.

        Returns
        -------
        dict
            ``r2``, ``mean_absolute_error``, ``root_mean_squared_error`` and ``mean_error``.

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
        return [*super()._fitted_numbers(), self.intercept_, self._scale]

    def _own_arrays(self) -> dict[str, AnyArray]:
        return super()._own_arrays() | {"unit": np.array([self.intercept_, self._scale])}

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_regressor(file, self.n_chains)
        super()._check_own(file)

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        super()._set_own_arrays(arrays)
        self._kind = "regression"
        self.intercept_, self._scale = map(float, arrays["unit"])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags

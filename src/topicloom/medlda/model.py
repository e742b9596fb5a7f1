"""Supervised topics: MedLDA for classes and label sets."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus._checks import shown
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator import label_sets as _labels
from topicloom.engine.estimator import parameters
from topicloom.engine.estimator import refused as _refused
from topicloom.engine.estimator.documented import CHAINS, RUN, TOPICS, documented
from topicloom.engine.estimator.parameters import plain
from topicloom.engine.estimator.reported import ReportedLabels
from topicloom.errors import LostClassesWarning, counted, warn
from topicloom.files.checks import Contents
from topicloom.medlda import stored_checks as _stored_checks
from topicloom.medlda import targets as _targets
from topicloom.medlda.documented import SHARED
from topicloom.medlda.refit import LOGISTIC, SOFTMAX
from topicloom.medlda.supervised import SupervisedTopics
from topicloom.medlda.targets import Kind, Targets
from topicloom.medlda.thresholds import FEWEST, best_thresholds


def _gives_probabilities(model: Any) -> bool:
    if model.loss == "logistic":
        return True
    raise AttributeError('predict_proba needs loss="logistic"; the hinge loss has no probabilities.')


@documented(shared=SHARED, run=RUN, topics=TOPICS, chains=CHAINS)
class MedLDAClassifier(ReportedLabels, SupervisedTopics):
    """MedLDA for classes and label sets: topics that explain the words and, weighted, tell the classes apart.

    The score of a document is Σ_k η_k n_dk/N_d, with n_dk of its N_d words in topic k. Topics and weights are learned
    together. Empty documents have no loss.

    Warning: a class with few documents, or with few beside the others, may get no topic of its own and is then never
    predicted. A ``LostClassesWarning`` says so if it happens on the training documents. Look at ``label_report`` of
    held-out documents, class by class.

    Parameters
    ----------
    n_components : int, default=40
        Number of topics K.
    loss : {"hinge", "logistic"}, default="hinge"
        "hinge" has maximum margin. "logistic" has probabilities.
    multi_class : {"multitask", "ovr"}, default="multitask"
        For more than two classes, and for label sets. "multitask" has one classifier per class over topics that all
        share. "ovr" fits separate topics for each class against the rest.
    class_weight : "balanced" or dict, optional
        Weights of the loss by class name, for the class's own documents in its own task. With label sets "balanced"
        gives the documents with a label and those without it the same weight in total.
    loss_weight : float, default=102.4
        λ, the weight of a document's loss beside its words.
    topic_word_prior : float or array of shape (n_words,), optional
        β, from 1e-12 to 1e12. None is 0.1, and with few words for many topics N/(5KV) for N tokens and V words, 0.03 at
        the least.
    {shared}
    n_chains : int, default=1
        Independent chains, whose predictions are averaged.
    {run}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    coef_ : ndarray of shape (n_tasks, n_components)
        Weights η of the topics. There is one task for two classes (toward the second), otherwise one per class.
    {topics}
    {chains}

    See Also
    --------
    MedLDARegressor : For numbers.
    PriorLDA : Topics that stand for labels.

    References
    ----------
    Zheng, Yu and Xing, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals", KDD 2015.

    Examples
    --------
    >>> from topicloom import MedLDAClassifier
    >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
    >>> model.predict(["team team goal", "law"]).tolist()
    ['sport', 'state']
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

    def _read_targets(self, y: Any, corpus: Corpus, missing: BoolArray) -> Targets:
        return _targets.read_classes(y, corpus)

    def _class_weights(self, targets: Targets) -> FloatArray:
        return _targets.class_weights(self.class_weight, targets)

    def _task_groups(self, targets: Targets) -> list[list[int]]:
        n = targets.target.shape[1]
        return [[c] for c in range(n)] if self.multi_class == "ovr" else [list(range(n))]

    def _refit_loss(self, n_tasks: int) -> int:
        return SOFTMAX if self._kind == "multiclass" and n_tasks > 1 else LOGISTIC

    def _has_thresholds(self) -> bool:
        return bool(self.calibrate and self._kind == "multilabel" and self.loss == "hinge")

    def _learn_more(self, targets: Targets, said: FloatArray) -> None:
        self.classes_, known = targets.classes, _targets.known(targets, self.corpus_)
        positive = targets.target[known] > 0
        if self._has_thresholds():
            thresholds = best_thresholds(said[known], positive)
            said = said - thresholds
            for index, eta in enumerate(self._etas):  # shares sum to 1, so this moves each score
                eta -= thresholds[self._groups[index // self.n_chains]]
        self._check_classes(self._chosen(said[known]), positive)

    def _check_classes(self, chosen: BoolArray, positive: BoolArray) -> None:
        """Warn of classes that are never predicted for the documents of the fit, rare labels of sets aside."""
        if self._kind == "binary":
            positive = np.hstack([~positive, positive])
        least = FEWEST if self._kind == "multilabel" else 1
        lost = np.flatnonzero((positive.sum(axis=0) >= least) & ~chosen.any(axis=0))
        if len(lost) > 0:
            names = ", ".join(shown(name) for name in self.classes_[lost[:5]].tolist())
            what = f"{names}{', …' if len(lost) > 5 else ''} ({counted(int(positive[:, lost].sum()), 'documents')})"
            warn(
                f"never predicted, not even for the documents of the fit: {self._LABELS} {what}. Fit more topics, more "
                'sweeps or several chains (n_chains=4), or try class_weight="balanced".',
                LostClassesWarning,
            )

    def _chosen(self, values: FloatArray) -> BoolArray:
        """What is predicted, as one column per class or label."""
        answer = self._choose(values)
        return answer.astype(bool) if self._kind == "multilabel" else answer[:, None] == self.classes_

    # -- predictions ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Scores of the classes, the mean over chains.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents, n_classes), or (n_documents,) for two classes
            Columns are as in ``classes_``. For two classes it is positive if the second one is predicted.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> (model.decision_function(["team goal", "law party"]) > 0).tolist()
        [False, True]
        """
        check_is_fitted(self, "seed_")
        values = self._values(self._new_corpus(X, reading))
        return values[:, 0] if self._kind == "binary" else values

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Probabilities of classes or labels.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns are as in ``classes_``. Rows sum to 1 for classes. Each label of a set has a probability of its own.

        Raises
        ------
        AttributeError
            If ``loss`` is not "logistic".

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, loss="logistic", random_state=0)
        >>> model = model.fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> bool(model.predict_proba(["team goal"])[0, 0] > 0.9)
        True
        """
        check_is_fitted(self, "seed_")
        return self._probability(self._values(self._new_corpus(X, reading)))

    def _probability(self, values: FloatArray) -> FloatArray:
        p: FloatArray = expit(values)
        if self._kind == "binary":
            return np.hstack([1.0 - p, p])
        if self._kind == "multilabel":
            return p
        if self.calibrate and len(self._groups) == 1:  # weights were refit for this
            p = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any, **reading: Unpack[Reading]) -> AnyArray:
        """The class of each document, or its labels.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents,) or (n_documents, n_labels)
            Names of classes. For label sets, 1 for each predicted label and 0 otherwise.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.predict(["team team goal", "law"]).tolist()
        ['sport', 'state']
        """
        check_is_fitted(self, "seed_")
        return self._choose(self._values(self._new_corpus(X, reading)))

    def _choose(self, values: FloatArray) -> AnyArray:
        if self._kind == "multilabel":
            return (values > 0).astype(np.int64)
        number = (values[:, 0] > 0).astype(np.int64) if self._kind == "binary" else np.argmax(values, axis=1)
        return np.asarray(self.classes_[number])

    def _predictions(self, corpus: Corpus) -> tuple[BoolArray, FloatArray | None]:
        values = self._values(corpus)
        return self._chosen(values), self._probability(values) if self.loss == "logistic" else None

    def predict_labels(self, X: Any, **reading: Unpack[Reading]) -> list[tuple[Any, ...]]:
        """Names of the predicted class or labels, best first.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        list of tuple
            One name per document, or those of a label set.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.predict_labels(["team team goal", "law"])
        [('sport',), ('state',)]
        """
        check_is_fitted(self, "seed_")
        values = self._values(self._new_corpus(X, reading))
        if self._kind != "multilabel":
            return [(name,) for name in self._choose(values).tolist()]
        names, order = self.classes_.tolist(), np.argsort(-values, axis=1, kind="stable")
        return [tuple(names[c] for c in row if values[d, c] > 0) for d, row in enumerate(order.tolist())]

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Accuracy, or micro-F1 for label sets.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        y : classes or label sets, optional
            The true ones, as in ``fit``. None takes the labels of the documents.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        float
            From 0 to 1.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.score(["team team goal", "law"], ["sport", "state"])
        1.0
        """
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
        if "calibrate" in params:
            return params
        params = params | {"calibrate": False}  # and priors are as they were in earlier versions
        if params.get("topic_word_prior") is None:
            params["topic_word_prior"] = 0.01
        if params.get("weight_precision") is None and params.get("loss", "hinge") == "hinge":
            params["weight_precision"] = (params.get("loss_weight", 102.4) / 1.6) ** 2
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

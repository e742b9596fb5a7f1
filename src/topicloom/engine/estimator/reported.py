"""Reports on what a model predicts, label by label."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator import label_sets as _labels
from topicloom.errors import InputError


class ReportedLabels:
    """The part of a model of labels or classes that reports how well it predicts each of them."""

    classes_: AnyArray

    def _predictions(self, corpus: Corpus) -> tuple[BoolArray, FloatArray | None]:
        """Predicted labels [D, K], and their probabilities if there are some."""
        raise NotImplementedError

    def label_report(self, X: Any, y: Any = None, *, level: float = 0.95, n_bins: int = 10) -> Any:
        """How well each label or class is predicted: precision, recall, F1, support and calibration.

        Parameters
        ----------
        X : Corpus, documents × words counts or texts
            Documents that the model has not seen. Those of the fit would flatter it.
        y : label sets or classes, optional
            As of ``score``; by default the labels of the corpus. Labels that training never saw count as missed.
        level : float, default=0.95
            Probability of the limits between which the number of documents with a label should be.
        n_bins : int, default=10
            Groups of (document, label) pairs by probability.

        Returns
        -------
        topicloom.evaluation.LabelReport

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(max_iter=40, burn_in=20, random_state=0)
        >>> model = model.fit(["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20)
        >>> report = model.label_report(["team match", "law"], [["sport"], ["state"]])
        >>> report.names, report.support.tolist(), report.averages["micro"]["f1"]
        (('sport', 'state'), [1, 1], 1.0)
        """
        from topicloom.evaluation.reports import label_report  # a fit needs none of it

        check_is_fitted(self, "seed_")
        corpus: Corpus = self._new_corpus(X)  # type: ignore[attr-defined]  # a topic model has one
        names, truth = self._true_labels(corpus, y)
        answer, p = self._predictions(corpus)
        probability = None if p is None else _labels.beside(truth, p)
        return label_report(truth, _labels.beside(truth, answer), probability, names, level=level, n_bins=n_bins)

    def _true_labels(self, corpus: Corpus, y: Any) -> tuple[list[Any], BoolArray]:
        """Names of labels and each document's, with those that the model has never seen at the end."""
        given = corpus.labels if y is None else y
        if given is None:
            raise InputError("the documents have no labels to compare with; give y, or a Corpus with labels.")
        return _labels.named_labels(given, corpus.n_docs, self.classes_)

"""What a model of collections says of documents, each of which may belong to one."""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray, Int32Array
from topicloom.compound import groups as _groups
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import ReadingBesideGroups
from topicloom.engine.estimator.reading import check_one_target
from topicloom.errors import InputError, UnknownGroupsWarning, warn
from topicloom.lda.model import LDA


class GroupedDocuments(LDA):
    """The part of a model of collections that takes documents."""

    _TARGET: ClassVar[str | None] = "group"

    collections_: tuple[Hashable, ...]
    collection_prior_: FloatArray
    gamma_: float
    pi_: FloatArray

    def transform(self, X: Any, groups: Any = None, **reading: Unpack[ReadingBesideGroups]) -> FloatArray:
        """Topic proportions of documents, with topics and mixtures held fixed.

        A document of a known collection has the prior γπ_j, one of a new collection γα/Σα, and one without a collection
        (None) the mean over all. The answer for a document depends on its words, its collection and the model alone.

        Parameters
        ----------
        X : texts, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            The documents.
        groups : sequence, default=None
            The collection of each document. None takes their own groups: those of a corpus, or of the column of the
            fit.
        **reading
            As of ``LDA.transform``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
        """
        return self._transform(self._grouped(X, groups, reading))

    def explain(self, X: Any, groups: Any = None, **options: Any) -> Any:
        """Words of documents that speak for and against topics, as of ``LDA.explain``.

        Parameters
        ----------
        X : Corpus, documents × words counts or texts
            The documents.
        groups : sequence, default=None
            Their collections, as of ``transform``.
        **options
            As of ``LDA.explain``.

        Returns
        -------
        data frame or Rows
        """
        check_is_fitted(self, "seed_")
        return super().explain(self._grouped(self._corpus_to_explain(X), groups, {}), **options)

    def explain_tokens(self, X: Any, groups: Any = None, **options: Any) -> Any:
        """Known words in the order of the text with what each contributes, as of ``LDA.explain_tokens``.

        Parameters
        ----------
        X : Corpus or texts
            The documents.
        groups : sequence, default=None
            Their collections, as of ``transform``.
        **options
            As of ``LDA.explain_tokens``.

        Returns
        -------
        data frame or Rows
        """
        check_is_fitted(self, "seed_")
        return super().explain_tokens(self._grouped(self._corpus_to_explain(X), groups, {}), **options)

    def perplexity(self, X: Any, groups: Any = None, **reading: Unpack[ReadingBesideGroups]) -> float:
        """Held-out perplexity by completion, as of ``LDA.perplexity``.

        Parameters
        ----------
        X : documents
            As of ``transform``; the model has not seen them.
        groups : sequence, default=None
            Their collections.
        **reading
            As of ``LDA.transform``.

        Returns
        -------
        float
            Lower is better.
        """
        return self._perplexity(self._grouped(X, groups, reading))

    def score(self, X: Any, y: Any = None, groups: Any = None, **reading: Unpack[ReadingBesideGroups]) -> float:
        """Mean log probability of a held-out word, −log ``perplexity``.

        Parameters
        ----------
        X : documents
            As of ``transform``; the model has not seen them.
        y : sequence, default=None
            Another place for ``groups``, which scikit-learn's tools know.
        groups : sequence, default=None
            Their collections.
        **reading
            As of ``LDA.transform``.

        Returns
        -------
        float
            Higher is better.
        """
        if y is not None and groups is not None:
            raise InputError("y is the collection of each document, and so is groups; give one of them alone.")
        corpus = self._grouped(X, y if groups is None else groups, reading)
        if corpus.groups is None and len(self.collections_) > 1:
            warn(
                "no collection of any document is given, so each is scored with the mean over collections. Give y or "
                "groups, which searches of scikit-learn pass if they are given y; groups=[None, …] says that none is "
                "known.",
                UnknownGroupsWarning,
            )
        return -float(np.log(self._perplexity(corpus)))

    def _grouped(self, X: Any, groups: Any, reading: Mapping[str, Any]) -> Corpus:
        check_is_fitted(self, "seed_")
        check_one_target(groups, reading, self._TARGET, "groups")
        new = self._new_corpus(X, reading, roles=("group",) if groups is None else ())
        corpus = _groups.with_groups(new, groups, every=False)
        self._report_unknown_groups(corpus)
        return corpus

    def _report_unknown_groups(self, corpus: Corpus) -> None:
        if corpus.groups is None:
            return
        n = len(self.collections_)
        rows = _groups.numbers_of(corpus.groups, self.collections_, n, n + 1)
        if np.all(rows >= n) and np.any(rows == n):
            label = corpus.groups[int(np.argmax(rows == n))]
            warn(
                f"no document is of a collection that the model knows ({label!r} is none); each is taken to be of a "
                "new one. Give groups=[None, …] for documents of which no collection is known.",
                UnknownGroupsWarning,
            )

    def _document_prior(self, corpus: Corpus) -> tuple[FloatArray, Int32Array | None]:
        if corpus.groups is None:
            return self.alpha_, None
        n = len(self.collections_)
        rows = _groups.numbers_of(corpus.groups, self.collections_, n, n + 1)
        new = self.collection_prior_ / self.collection_prior_.sum()
        return np.vstack((self.gamma_ * self.pi_, self.gamma_ * new, self.alpha_)), rows

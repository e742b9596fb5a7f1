"""What a fitted model of collections says: mixtures with intervals, differences, trends, new documents, files."""

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from scipy.special import ndtri

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.arrays import from_bytes, to_bytes
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.corpus.stored import check_plain
from topicloom.errors import InputError, StorageError, UnknownGroupsWarning
from topicloom.estimates import Counts, theta
from topicloom.evaluation.collections import (
    Change,
    draw_interval,
    merged_draws,
    mixture_difference,
    mixture_trend,
)
from topicloom.inference.chain import Chain
from topicloom.inference.paths import join_documents
from topicloom.models import _groups
from topicloom.models._estimator import check_is_fitted, in_output_container
from topicloom.models.lda import LDA

By = Callable[[Hashable], Hashable] | Mapping[Hashable, Hashable] | Sequence[Hashable]


class CollectionModel(LDA):
    """A fitted model of collections. The subclass brings the parameters and ``fit``."""

    burn_in: int | None

    collections_: tuple[Hashable, ...]
    collection_docs_: Int64Array
    pi_: FloatArray
    pi_draws_: FloatArray
    gamma_: float
    collection_prior_: FloatArray
    _sweeps: Int64Array  # of all recorded draws, those of the burn-in included
    _draws: FloatArray

    # -- what was learned ----------------------------------------------------------------------------------------

    def _publish_collections(
        self, corpus: Corpus, recorded: tuple[AnyArray, AnyArray], pi: FloatArray | None = None
    ) -> None:
        """Set the collections' attributes; ``recorded`` has sweeps and draws of π, and ``pi`` their mean."""
        self.collections_, row = _groups.collections_of(corpus)
        self.collection_docs_ = np.bincount(row, minlength=len(self.collections_)).astype(np.int64)
        self._set_draws(*recorded)
        mean = self.pi_draws_.mean(axis=0) if pi is None else pi
        self.pi_ = mean / mean.sum(axis=1, keepdims=True)
        self.alpha_ = self.gamma_ * (self.collection_docs_ @ self.pi_ / self.collection_docs_.sum())

    def _set_draws(self, sweeps: AnyArray, draws: AnyArray) -> None:
        self._sweeps, self._draws = sweeps, draws
        late = sweeps >= (self.n_iter_ // 2 if self.burn_in is None else self.burn_in)
        self.pi_draws_ = draws[late] if late.any() else draws[-1:]

    @property
    def pi_trace_(self) -> tuple[Int64Array, FloatArray]:
        """Sweeps [S] and draws [S, J, K] of all recorded mixtures, those of the burn-in included."""
        check_is_fitted(self, "seed_")
        return self._sweeps, self._draws

    def _theta(self, counts: Counts, chain: Chain) -> FloatArray:
        """θ under the mean of the priors that the samples were drawn with."""
        mixtures = chain.mixtures
        if counts is not chain.kept or mixtures is None or mixtures.kept is None:
            return super()._theta(counts, chain)
        assert counts.doc is not None
        joined = join_documents(counts.doc, self.n_paths, self.doc_topic_paths)
        rows = mixtures.kept / counts.n_samples
        prior = chain.prior._replace(alpha=rows, alpha_row=chain.prior.alpha_row[: len(joined)])
        return theta(joined, counts.n_samples, self.corpus_, prior)

    def prevalence(self, by: By | None = None, *, level: float = 0.9, frame: str | None = None) -> Any:
        """How much of each collection each topic makes up: collection, topic, mean, lower, upper.

        ``by`` puts collections together: a function of the label, or a mapping from labels to new ones, whose shares
        are then means by documents. Or it is a sequence of one label a training document, of any kind: then shares are
        means of the documents' θ, and intervals those of θ given the last sample's topics.
        """
        check_is_fitted(self, "seed_")
        if by is None:
            labels, found = self.collections_, draw_interval(self.pi_draws_, level)
        elif callable(by) or isinstance(by, Mapping):
            merge = by if callable(by) else _looked_up(by)
            new = [merge(label) for label in self.collections_]
            labels = _groups.ordered(new)
            numbers = _groups.numbers_of(new, labels, -1, -1)
            found = draw_interval(merged_draws(self.pi_draws_, numbers, self.collection_docs_), level)
        else:
            return self._document_prevalence(by, level, frame)
        return _frame("collection", labels, found._asdict(), frame)

    def _document_prevalence(self, by: Sequence[Hashable], level: float, frame: str | None) -> Any:
        corpus = _groups.with_groups(self.corpus_, by, every=True)
        draw_interval(self.pi_draws_, level)  # checks the level
        labels, row = _groups.collections_of(corpus)
        share = self.doc_topic_
        # Var θ_dk of a Dirichlet with the sum N_d + γ.
        spread = share * (1 - share) / (corpus.doc_lengths + self.gamma_ + 1)[:, None]
        mean, variance = np.zeros((2, len(labels), share.shape[1]))
        np.add.at(mean, row, share)
        np.add.at(variance, row, spread)
        n = np.bincount(row, minlength=len(labels))[:, None]
        mean /= n
        reach = ndtri((1 + level) / 2) * np.sqrt(variance) / n
        limits = {"mean": mean, "lower": np.maximum(mean - reach, 0.0), "upper": np.minimum(mean + reach, 1.0)}
        return _frame("label", labels, limits, frame)

    def differences(self, first: Hashable, second: Hashable, *, level: float = 0.9, frame: str | None = None) -> Any:
        """π of the first collection less that of the second: topic, mean, lower, upper, probability of > 0."""
        check_is_fitted(self, "seed_")
        found = mixture_difference(self.pi_draws_, self._number(first), self._number(second), level)
        return _change_frame(found, frame)

    def trends(
        self, order: Sequence[Hashable] | None = None, *, times: Sequence[float] | AnyArray | None = None,
        level: float = 0.9, frame: str | None = None,
    ) -> Any:  # fmt: skip
        """Slope of each topic's share over collections: topic, mean, lower, upper, probability of rising.

        ``order`` names the collections, first to last, and ``times`` where each stands. Without both all are taken,
        sorted; labels that are numbers stand where they are, such as years, and all others at equal distances.
        """
        check_is_fitted(self, "seed_")
        labels = self.collections_ if order is None else tuple(order)
        numbers = [self._number(label) for label in labels]
        numeric = all(isinstance(label, int | float) for label in labels)
        when: Any = times if times is not None else (labels if numeric and order is None else range(len(labels)))
        return _change_frame(mixture_trend(self.pi_draws_[:, numbers], np.asarray(when), level), frame)

    def _number(self, label: Hashable) -> int:
        if label not in self.collections_:
            known = ", ".join(map(repr, self.collections_[:10])) + (", …" if len(self.collections_) > 10 else "")
            raise InputError(f"{label!r} is no collection of this model; choose among {known}.")
        return self.collections_.index(label)

    # -- new documents -------------------------------------------------------------------------------------------

    @in_output_container
    def transform(self, X: Any, groups: Any = None) -> FloatArray:
        """Topic proportions [D, K] of documents, with topics and mixtures held fixed.

        ``groups`` has each document's collection; without it a corpus's own are taken. A document of a known
        collection has γπ_j as its prior, one of a collection that training did not have γα/Σα, and one without (None)
        the mean over all. An answer depends on the document's words, its collection and the model's seed alone.
        """
        return self._transform(self._grouped(X, groups))

    def perplexity(self, X: Any, groups: Any = None) -> float:
        """Held-out perplexity by completion: topics from one half of each document, words of the other scored."""
        return self._perplexity(self._grouped(X, groups))

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Mean log probability of a held-out word, −log ``perplexity``: higher is better."""
        return -float(np.log(self.perplexity(X, groups)))

    def _grouped(self, X: Any, groups: Any) -> Corpus:
        check_is_fitted(self, "seed_")
        return _groups.with_groups(self._new_corpus(X), groups, every=False)

    def _document_prior(self, corpus: Corpus) -> tuple[FloatArray, Int32Array | None]:
        if corpus.groups is None:
            return self.alpha_, None
        n = len(self.collections_)
        rows = _groups.numbers_of(corpus.groups, self.collections_, n, n + 1)
        if np.all(rows >= n) and np.any(rows == n):
            label = corpus.groups[int(np.argmax(rows == n))]
            warnings.warn(
                f"no document is of a collection that the model knows ({label!r} is none); each is taken to be of a "
                "new one. Give groups=[None, …] for documents of which no collection is known.",
                UnknownGroupsWarning,
                stacklevel=4,
            )
        new = self.collection_prior_ / self.collection_prior_.sum()
        return np.vstack((self.gamma_ * self.pi_, self.gamma_ * new, self.alpha_)), rows

    # -- files ---------------------------------------------------------------------------------------------------

    def _own_arrays(self) -> dict[str, AnyArray]:
        return {
            "collections": to_bytes(check_plain("collections", self.collections_)),
            "collection_docs": self.collection_docs_,
            "pi": self.pi_,
            "pi_sweeps": self._sweeps,
            "pi_draws": self._draws,
            "gamma": np.array([self.gamma_]),
            "collection_prior": self.collection_prior_,
        }

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        try:
            self.collections_ = tuple(from_bytes(arrays["collections"]))
            self.collection_docs_, self.gamma_ = arrays["collection_docs"], float(arrays["gamma"][0])
            self.collection_prior_, self.pi_ = arrays["collection_prior"], arrays["pi"]
            self._set_draws(arrays["pi_sweeps"], arrays["pi_draws"])
        except KeyError as error:
            raise StorageError(f"the model's file has no {error}; it is not complete.") from error


def _looked_up(by: Mapping[Hashable, Hashable]) -> Callable[[Hashable], Hashable]:
    def merge(label: Hashable) -> Hashable:
        if label not in by:
            raise InputError(f"by has no entry for the collection {label!r}; give one for each.")
        return by[label]

    return merge


def _frame(name: str, labels: Sequence[Hashable], found: Mapping[str, FloatArray], frame: str | None) -> Any:
    """A row for each label and topic."""
    n_topics = next(iter(found.values())).shape[1]
    columns: dict[str, Any] = {
        name: [label for label in labels for _ in range(n_topics)],
        "topic": np.tile(np.arange(n_topics), len(labels)),
    }
    return to_frame(columns | {key: values.ravel() for key, values in found.items()}, frame)


def _change_frame(found: Change, frame: str | None) -> Any:
    columns = cast(dict[str, Any], {"topic": np.arange(len(found.mean))})
    return to_frame(columns | found._asdict(), frame)

"""What a fitted model of collections says: mixtures with intervals, differences, trends, new documents, files."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.compound import groups as _groups
from topicloom.compound import label_draws
from topicloom.compound import stored_checks as _stored_checks
from topicloom.compound.grouped import GroupedDocuments
from topicloom.compound.mixtures import SMALLEST_SHARE
from topicloom.corpus._checks import as_numbers, check_choice, check_whole, shown
from topicloom.corpus._columns import restored_groups, saved_groups
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.corpus.stored import check_plain
from topicloom.engine.estimates import Counts, Estimator, theta
from topicloom.engine.estimator import tables
from topicloom.engine.multipath import DocTopicPaths, join_documents
from topicloom.engine.run import Chain
from topicloom.errors import InputError
from topicloom.evaluation.collections import Change, draw_interval, merged_draws, mixture_difference, mixture_trend
from topicloom.files.arrays import from_bytes, to_bytes
from topicloom.files.checks import Contents
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.variational.sampler import word_counts
from topicloom.lda.variational_model import expected_theta, variational_fold, variational_perplexity
from topicloom.numerics.product import product

By = Callable[[Hashable], Hashable] | Mapping[Hashable, Hashable] | Sequence[Hashable]
Columns = dict[str, Any]  # of a table: a list or an array each
_Merged = tuple[tuple[Hashable, ...], Int32Array]


class CollectionModel(GroupedDocuments):
    """A fitted model of collections. The subclass brings the parameters and ``fit``."""

    _PUBLISHES: ClassVar[tuple[str, ...]] = ("best", "medoid")  # mixtures are of one chain's topics

    method: str
    converged_: bool
    burn_in: int | None

    collection_docs_: Int64Array
    pi_draws_: FloatArray
    _sweeps: Int64Array  # of all recorded draws, those of the burn-in included
    _draws: FloatArray

    def _method_options(self) -> dict[str, Any]:
        """Options of "mgs" and "vem"."""
        raise NotImplementedError

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
        docs = self.collection_docs_.astype(np.float64)
        self.alpha_ = self.gamma_ * (product(docs[None], self.pi_)[0] / docs.sum())

    def _set_draws(self, sweeps: AnyArray, draws: AnyArray) -> None:
        self._sweeps, self._draws = sweeps, draws
        late = sweeps >= (self.n_iter_ // 2 if self.burn_in is None else self.burn_in)
        self.pi_draws_ = draws[late] if late.any() else draws[-1:]

    @property
    def pi_trace_(self) -> tuple[Int64Array, FloatArray]:
        """Sweeps [S] and draws [S, J, K] of all recorded mixtures, also of the burn-in (tuple of ndarray)."""
        check_is_fitted(self, "seed_")
        return self._sweeps, self._draws

    def _theta(self, counts: Counts, chain: Chain, paths: DocTopicPaths = "mean") -> FloatArray:
        """θ under the mean of the priors that the samples were drawn with."""
        mixtures = chain.extra if self.method != "vem" else None
        if counts is not chain.kept or mixtures is None or mixtures.kept is None:
            return super()._theta(counts, chain, paths)
        assert counts.doc is not None
        joined = join_documents(counts.doc, self.n_paths, paths)
        rows = mixtures.kept / counts.n_samples
        prior = chain.prior._replace(alpha=rows, alpha_row=chain.prior.alpha_row[: len(joined)])
        return theta(joined, counts.n_samples, self.corpus_, prior)

    def prevalence(
        self, by: By | None = None, *, level: float = 0.9, frame: str | None = None, of: label_draws.Of = "population",
        n_draws: int = label_draws.N_DRAWS,
    ) -> Any:  # fmt: skip
        """How much of each collection each topic makes up, with intervals.

        Parameters
        ----------
        by : callable, mapping or sequence, default=None
            None: the collections. A function of their labels, or a mapping from labels to new ones, puts collections
            together, weighted by their documents. A sequence has one label for each training document, of any kind.
        level : float, default=0.9
            Probability of the intervals.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table. None takes the first of them that is installed.
        of : {"population", "documents"}, default="population"
            What a share is. Of the *population*: the mean share in documents like these, of which these are a sample.
            For collections this is π. Of the *documents*: the mean of θ over these documents, which is known better.
            Ask for the population unless you describe the documents at hand and no others.
        n_draws : int, default=50
            For labels of documents and ``of="documents"``: states of the chain that draws are made in.

        Returns
        -------
        DataFrame
            Columns collection (or label), topic, its name if any topic has one, mean, lower, upper. Numbers and dates
            come by their value, other labels sorted.

        Notes
        -----
        Collections and merged collections take their intervals from ``pi_draws_``, without further sampling.

        For labels of documents the chain goes on from its last state, in a copy, with the labels as its collections: 50
        sweeps to settle, then ``n_draws`` times ``thin`` sweeps. That takes as long as so many sweeps of a fit. The
        model stays as it is. The population's intervals are those of the Bayesian bootstrap over documents, with one
        document of the prior added to each label.

        On synthetic corpora intervals of 90% hold the truth in 85% to 95% of the cases, with few and many documents per
        label (docs/papers/calibration.md). Too narrow are those of ``of="documents"`` for labels that cut across
        collections, a little (84% to 87%); of ``method="vem"``, whose distributions are variational; of several paths,
        which sharpen the posterior; of fewer than 19 draws; and of chains that have not converged. A little too wide
        (95% to 96%) are the population's of labels with two documents that cut across collections. All are given the
        number of topics, and topics that keep their meaning along the chain.
        """
        return to_frame(self._prevalence_columns(by, level, of, n_draws), frame)

    def _prevalence_columns(
        self, by: By | None, level: float, of: label_draws.Of = "population", n_draws: int = label_draws.N_DRAWS
    ) -> Columns:
        check_is_fitted(self, "seed_")
        check_choice("of", of, label_draws.OF)
        check_whole("n_draws", n_draws, 1)
        if by is None or callable(by) or isinstance(by, Mapping):
            labels, numbers = self._merged(by)
            if of == "population":
                draws = self.pi_draws_ if by is None else merged_draws(self.pi_draws_, numbers, self.collection_docs_)
                return self._named(_columns("collection", labels, draw_interval(draws, level)._asdict()))
            name, rows = "collection", numbers[_groups.collections_of(self.corpus_)[1]]
        else:
            name = "label"
            labels, rows = _groups.collections_of(_groups.with_groups(self.corpus_, by, every=True))
        draw_interval(self.pi_draws_, level)  # checks the level
        found = draw_interval(self._label_draws(rows, len(labels), n_draws, of), level)
        return self._named(_columns(name, labels, found._asdict()))

    def _merged(self, by: Callable[[Hashable], Hashable] | Mapping[Hashable, Hashable] | None) -> _Merged:
        """Labels of collections that are put together, and which of them each collection belongs to."""
        if by is None:
            return self.collections_, np.arange(len(self.collections_), dtype=np.int32)
        merge = by if callable(by) else _looked_up(by)
        new = [merge(label) for label in self.collections_]
        labels = _groups.ordered(new)
        return labels, _groups.numbers_of(new, labels, -1, -1)

    def _label_draws(self, rows: Int32Array, n_labels: int, n_draws: int, of: label_draws.Of) -> FloatArray:
        """Draws [S, G, K] of the mean of θ over documents by their labels' numbers."""
        chain = self.chains_[self.best_chain_]
        if self.method == "vem":
            parameter = np.maximum(chain.state.doc, SMALLEST_SHARE)
            return label_draws.variational_draws(self.seed_, parameter, rows, n_labels, self.alpha_, n_draws, of)
        problem = self._problem(self.corpus_, self.seed_)
        mean = np.zeros((n_labels, self.n_components))
        np.add.at(mean, rows, self.doc_topic_)
        mean /= mean.sum(axis=1, keepdims=True)
        return label_draws.sampled_draws(
            get_sampler(self.sampler), problem.sampled, chain, problem.plan,
            (mean, self.gamma_, self.collection_prior_), rows, n_draws, of, self.thin,
        )  # fmt: skip

    def differences(self, first: Hashable, second: Hashable, *, level: float = 0.9, frame: str | None = None) -> Any:
        """How two collections differ: π of the first less that of the second, for each topic.

        Measured coverage of the intervals, and what is too narrow, is as of :meth:`prevalence`.

        Parameters
        ----------
        first, second : hashable
            Labels of two collections.
        level : float, default=0.9
            Probability of the intervals.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table. None takes the first of them that is installed.

        Returns
        -------
        data frame or Rows
            Columns ``topic``, its ``name`` if any topic has one, ``mean``, ``lower``, ``upper`` and ``probability``,
            the posterior probability that the first collection has more of the topic.

        Examples
        --------
        >>> from topicloom import CompoundLDA
        >>> texts, groups = ["river boat river", "money bank money"] * 10, ["water", "trade"] * 10
        >>> model = CompoundLDA(2, max_iter=60, random_state=0).fit(texts, groups=groups)
        >>> list(model.differences("water", "trade", frame="rows")[0])
        ['topic', 'mean', 'lower', 'upper', 'probability']
        """
        return to_frame(self._difference_columns(first, second, level), frame)

    def _difference_columns(self, first: Hashable, second: Hashable, level: float) -> Columns:
        check_is_fitted(self, "seed_")
        found = mixture_difference(self.pi_draws_, self._number(first), self._number(second), level)
        return self._named(_change_columns(found))

    def trends(
        self, order: Sequence[Hashable] | None = None, *, times: Sequence[float] | AnyArray | None = None,
        level: float = 0.9, frame: str | None = None,
    ) -> Any:  # fmt: skip
        """How each topic's share rises or falls over ordered collections.

        Parameters
        ----------
        order : sequence of labels, default=None
            Collections, first to last. None: all, by their value.
        times : sequence of numbers, default=None
            Where each stands, in the order of ``order`` or of ``collections_``. None: labels that are numbers, such as
            years, stand where they are, dates by years, both also if they are text; all others, and those of an
            ``order``, at distances of 1.
        level : float, default=0.9
            Probability of the intervals.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table. None takes the first of them that is installed.

        Returns
        -------
        data frame or Rows
            Columns ``topic``, its ``name`` if any topic has one, ``mean``, ``lower`` and ``upper`` of the slope, and
            ``probability``, the posterior probability that the topic rises.

        Notes
        -----
        The slope is that of the line through the mixtures π_j of *these* collections, by least squares with each
        weighted by its number of documents: one document far away does not decide. It is a summary of these
        collections. How far others, of further years, would lie from the line is not in the interval. A slope is
        computed for every draw of π, so that what is not known of a small collection makes the interval wider.
        Measured coverage, and what is too narrow, is as of :meth:`prevalence`.
        """
        return to_frame(self._trend_columns(order, times, level), frame)

    def _trend_columns(
        self, order: Sequence[Hashable] | None = None, times: Sequence[float] | AnyArray | None = None,
        level: float = 0.9,
    ) -> Columns:  # fmt: skip
        check_is_fitted(self, "seed_")
        if order is None and times is None:
            by_value = self._order()
            numbers, when = by_value.numbers, by_value.times
        else:
            if order is not None and (isinstance(order, str) or not isinstance(order, Iterable)):
                raise InputError(f"order={shown(order)} must be a list of collections, first to last.")
            numbers = [self._number(label) for label in (self.collections_ if order is None else order)]
            when = None if times is None else as_numbers("times", times).tolist()
        at = np.arange(len(numbers)) if when is None else as_numbers("times", when)
        found = mixture_trend(self.pi_draws_[:, numbers], at, level, weights=self.collection_docs_[numbers])
        return self._named(_change_columns(found))

    def _named(self, columns: Columns) -> Columns:
        """The columns with topics' names, if they have any."""
        return tables.with_names(dict(columns), self.topic_names_)

    def _order(self) -> _groups.Order:
        """The order in which collections are shown, and in which trends go through them."""
        return _groups.in_order(self.collections_)

    def _known(self, labels: Sequence[Hashable]) -> list[int]:
        """Numbers of collections; −1 for labels of none."""
        return [int(j) for j in _groups.numbers_of(labels, self.collections_, -1, -1)]

    def _number(self, label: Hashable) -> int:
        number = self._known([label])[0] if isinstance(label, Hashable) else -1
        if number < 0:
            known = ", ".join(map(repr, self.collections_[:10])) + (", …" if len(self.collections_) > 10 else "")
            raise InputError(f"{shown(label)} is no collection of this model; choose among {known}.")
        return number

    # -- the variational method ----------------------------------------------------------------------------------

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        return word_counts(chain) if self.method == "vem" else super()._word_counts_of(chain)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return expected_theta(chain) if self.method == "vem" else super()._doc_topic_of(chain)

    def estimate(self, estimator: Estimator, *, paths: DocTopicPaths = "mean") -> tuple[FloatArray, FloatArray]:
        """Estimates of θ and φ from the last state of the published chain, as of ``LDA.estimate``.

        Parameters
        ----------
        estimator : {"cgs_p", "standard"}
            How counts are read off the sampled topics.
        paths : {"mean", "first"}, default="mean"
            With several paths, which of them θ comes from.

        Returns
        -------
        theta, phi : ndarray
            Of shapes (n_docs, n_components) and (n_components, n_words).

        Raises
        ------
        InputError
            With ``method="vem"``, which draws no topics.
        """
        if self.method == "vem":
            raise InputError(
                'estimators are ways to read drawn topics, and method="vem" draws none; see doc_topic_ and topic_word_.'
            )
        return super().estimate(estimator, paths=paths)

    def _check_tokens(self, corpus: Corpus) -> None:
        if self.method != "vem":
            super()._check_tokens(corpus)

    def _fold(self, corpus: Corpus) -> FloatArray:
        return self._fold_by_method(corpus) if self.method == "vem" else super()._fold(corpus)

    def _word_topics(self, corpus: Corpus) -> FloatArray:
        return self._fold_by_method(corpus, by_word=True) if self.method == "vem" else super()._word_topics(corpus)

    def _fold_by_method(self, corpus: Corpus, by_word: bool = False) -> FloatArray:
        own = self._method_options()
        return variational_fold(self, corpus, "vb", own["mean_change_tol"], own["max_doc_update_iter"], by_word)

    def _perplexity(self, corpus: Corpus) -> float:
        return variational_perplexity(self, corpus) if self.method == "vem" else super()._perplexity(corpus)

    # -- files ---------------------------------------------------------------------------------------------------

    def _fitted_numbers(self) -> list[Any]:
        own = [self.gamma_, self.pi_, self.collection_prior_, self.pi_draws_, self.collection_docs_]
        return [*super()._fitted_numbers(), *own]

    def _own_arrays(self) -> dict[str, AnyArray]:
        return {
            "collections": to_bytes(saved_groups(check_plain("collections", self.collections_))),
            "collection_docs": self.collection_docs_,
            "pi": self.pi_,
            "pi_sweeps": self._sweeps,
            "pi_draws": self._draws,
            "gamma": np.array([self.gamma_]),
            "collection_prior": self.collection_prior_,
        }

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_collections(file)
        super()._check_own(file)

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        self.collections_ = restored_groups(from_bytes(arrays["collections"]))
        self.collection_docs_, self.gamma_ = arrays["collection_docs"], float(arrays["gamma"][0])
        self.collection_prior_, self.pi_ = arrays["collection_prior"], arrays["pi"]
        self._set_draws(arrays["pi_sweeps"], arrays["pi_draws"])


def _looked_up(by: Mapping[Hashable, Hashable]) -> Callable[[Hashable], Hashable]:
    def merge(label: Hashable) -> Hashable:
        if label not in by:
            raise InputError(f"by has no entry for the collection {label!r}; give one for each.")
        return by[label]

    return merge


def _columns(name: str, labels: Sequence[Hashable], found: Mapping[str, FloatArray]) -> Columns:
    """A row for each label, in order, and topic."""
    numbers, n_topics = _groups.in_order(labels).numbers, next(iter(found.values())).shape[1]
    columns: Columns = {
        name: [labels[j] for j in numbers for _ in range(n_topics)],
        "topic": np.tile(np.arange(n_topics), len(labels)),
    }
    return columns | {key: values[numbers].ravel() for key, values in found.items()}


def _change_columns(found: Change) -> Columns:
    return {"topic": np.arange(len(found.mean)), **found._asdict()}

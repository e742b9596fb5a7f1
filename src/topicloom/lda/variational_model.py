"""Latent Dirichlet allocation by variational inference, as a scikit-learn estimator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.checks import VARIATIONAL, Recorded
from topicloom.engine.estimates import Estimator, with_prior
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.threads import threads_for
from topicloom.errors import InputError, warn
from topicloom.files.directories import Part
from topicloom.files.manifests import CORPUS, chain_role
from topicloom.lda.bounded import BoundedTopics
from topicloom.lda.statement import LearnPriors
from topicloom.lda.variational import stream
from topicloom.lda.variational.batch import check_whole, fold_in, word_topics
from topicloom.lda.variational.sampler import ALL_MODES, Settings, memory_note, variational_sampler, word_counts
from topicloom.lda.variational.stochastic import STOCHASTIC_MODES, Steps


class VariationalLDA(BoundedTopics):
    """Latent Dirichlet allocation by variational inference: deterministic, and with fractional counts too.

    An approximation of the posterior that ``LDA`` samples from. It says when it has converged, takes weights such as
    tf-idf, and can learn from a stream (``partial_fit``).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    method : {"cvb0", "cvb", "cvb_exact", "vb", "scvb0", "svb"}, default="cvb0"
        Collapsed inference with means alone ("cvb0") or with variances ("cvb"), a reference for small corpora
        ("cvb_exact"), or variational Bayes ("vb"). "scvb0" and "svb" are the stochastic forms, which learn from
        minibatches and need memory for words × topics alone.
    doc_topic_prior, topic_word_prior, learn_priors, seed_words, seed_weight
        As in ``LDA``.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-3
        The fit has converged after an iteration that moves less than this share of the tokens between topics.
    max_doc_update_iter : int, default=10
        Most rounds per document in an iteration of "vb" and "svb". New documents may have ten times as many.
    mean_change_tol : float, default=1e-3
        Change per topic below which a document is done.
    batch_size : int, default=128
        Documents per minibatch of "scvb0" and "svb".
    learning_offset : float, default=10.0
        Step t of a stream has the size (``learning_offset`` + t) to the power −``learning_decay``.
    learning_decay : float, default=0.7
        See ``learning_offset``.
    total_samples : float, default=1e6
        Number of documents in all, for ``partial_fit``.
    new_words : {"ignore", "add"}, default="ignore"
        What ``partial_fit`` does with words that a stream has not seen before: leave them out, or add them to the
        vocabulary in the order of their arrival.
    n_chains, n_shards, trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose
        As in ``LDA``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_words)
        Expected counts of words in topics, plus β.
    topic_word_ : ndarray of shape (n_components, n_words)
        Probability of each word in each topic.
    doc_topic_ : ndarray of shape (n_docs, n_components)
        Share of each topic in each training document.
    alpha_ : ndarray of shape (n_components,)
        Prior of documents, as given or learned.
    beta_ : ndarray of shape (n_words,)
        Prior of topics, as given or learned.
    converged_ : bool
        Whether the published chain has converged.
    log_joint_ : ndarray of shape (n_chains,)
        Bound of each chain. Of a stream, its last minibatch's part.
    trace_ : Trace
        What was recorded along the published chain: ``log_joint`` has the bound, ``change`` the share of tokens moved.
    traces_ : tuple of Trace
        The same, of each chain.
    vocabulary_ : tuple of str
        The words.
    chains_ : list of Chain
        All chains, with their states.
    best_chain_ : int
        Number of the published chain, which has the best bound.
    empty_docs_ : ndarray of bool, of shape (n_docs,)
        Training documents without any token.
    n_features_in_ : int
        Number of words.
    n_iter_ : int
        Iterations of the published chain.
    interrupted_ : bool
        Whether the fit was ended by Ctrl-C.
    seed_ : int
        The seed that was used.
    fingerprint_ : str
        A hash of all published numbers.

    See Also
    --------
    LDA : The same model by exact sampling.

    Examples
    --------
    >>> from topicloom import VariationalLDA
    >>> from topicloom.datasets import bars
    >>> corpus = bars(n_docs=100).corpus
    >>> model = VariationalLDA(10, random_state=0).fit(corpus)
    >>> model.converged_, model.doc_topic_.shape
    (True, (100, 10))
    >>> VariationalLDA(10, random_state=0).fit(corpus.to_matrix() * 0.5).topic_word_.shape  # fractional counts
    (10, 25)
    """

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "method": parameters.choice(ALL_MODES),
        "batch_size": parameters.whole(1),
        "learning_offset": parameters.number(0.0, parameters.MOST),
        "learning_decay": parameters.number(0.0, 1.0),
        "total_samples": parameters.number(1.0, parameters.MOST),
        "new_words": parameters.choice(("ignore", "add")),
    }
    _GONE: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "sampler", "estimator", "burn_in", "lag", "thin", "n_paths", "doc_topic_paths", "n_mh", "predict_burn_in",
            "predict_lag", "predict_thin", "predict_samples", "predict_chains",
        ),
        "it is for sampling, and VariationalLDA draws nothing; leave it out, or use LDA",
    )  # fmt: skip
    converged_: bool

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: Literal["cvb0", "cvb", "cvb_exact", "vb", "scvb0", "svb"] = "cvb0",
        doc_topic_prior: float | Sequence[float] | AnyArray | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        learn_priors: LearnPriors = None,
        seed_words: inputs.SeedWords | None = None,
        seed_weight: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-3,
        max_doc_update_iter: int = 10,
        mean_change_tol: float = 1e-3,
        batch_size: int = 128,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        total_samples: float = 1e6,
        new_words: Literal["ignore", "add"] = "ignore",
        n_chains: int = 1,
        n_shards: int = 1,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_priors = learn_priors
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.max_iter = max_iter
        self.tol = tol
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.batch_size = batch_size
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.total_samples = total_samples
        self.new_words = new_words
        self.n_chains = n_chains
        self.n_shards = n_shards
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = (), **reading: Unpack[Reading]) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : texts, lists of words, spaCy Docs, bags of words, a data frame, AnnData, a matrix or a Corpus
            The documents, as ``topicloom.as_corpus`` takes them. A matrix may have fractional counts.
        y : None
            Not used.
        callbacks : sequence of callables, default=()
            Each is called with the chain after every iteration. If it returns something true, that chain stops.
        **reading
            How ``X`` is read, as of ``LDA.fit``.

        Returns
        -------
        self : VariationalLDA
            The fitted model.

        Examples
        --------
        >>> from topicloom import VariationalLDA
        >>> texts = ["river bank river", "money bank loan", "river boat", "money market loan"]
        >>> VariationalLDA(2, random_state=0).fit(texts).transform(["river boat"]).shape
        (1, 2)
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        return self._fit(self._problem(self._training_corpus(X, reading), seed), callbacks)

    @property
    def _samples(self) -> bool:
        return False

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        learn_alpha, learn_beta = self._learned_priors()
        plan = variational_plan(self, seed, learn_alpha, learn_beta)
        return replace(plan, symmetric_alpha=self._learns_symmetric())

    def _settings(self, total_docs: float) -> Settings:
        learned = self._learned_priors()
        steps = Steps(
            self.batch_size, self.learning_offset, self.learning_decay, total_docs, *learned, self._learns_symmetric()
        )
        return Settings(self.method, self.tol, self.mean_change_tol, self.max_doc_update_iter, steps)

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        # With one shard a pass of the collapsed methods is sequential, and threads can only go to whole chains.
        by_chain = self.method in ("cvb0", "cvb", "cvb_exact") and self.n_shards == 1
        return Problem(
            corpus, corpus, variational_sampler(self._settings(corpus.n_docs), corpus),
            lambda: self._prior(corpus), self._plan(seed), self.n_chains, {"K": self.n_components}, by_chain,
            note=lambda: f"{memory_note(corpus, self.method, self.n_components, self.n_chains)}.",
        )  # fmt: skip

    def _chain_sampler(self) -> Sampler:
        return variational_sampler(self._settings(self.total_samples), None)

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        super()._publish(problem, chains)
        self.converged_ = chains[self.best_chain_].converged

    @property
    def _recorded(self) -> Recorded:
        return VARIATIONAL

    def _warn_unfinished(self, problem: Problem, best: Chain) -> None:
        warn_not_converged(self.tol, problem.plan, best)

    # -- what was learned ----------------------------------------------------------------------------------------

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        return word_counts(chain)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        if self.method in STOCHASTIC_MODES:  # a stream keeps no documents: they are read again
            return with_prior(self._fold(self.corpus_), self.alpha_)
        return expected_theta(chain)

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """Not available: a variational method draws no topics that could be read in several ways.

        Parameters
        ----------
        estimator : {"cgs_p", "standard"}
            Not used.

        Raises
        ------
        InputError
            Always. ``doc_topic_`` and ``topic_word_`` have the estimates.
        """
        raise InputError(
            f'estimators are ways to read drawn topics, and method="{self.method}" draws none; see doc_topic_ and '
            "topic_word_."
        )

    # -- new documents -------------------------------------------------------------------------------------------

    def _check_tokens(self, corpus: Corpus) -> None:
        if self.method == "cvb_exact":
            check_whole(corpus)

    def _fold(self, corpus: Corpus) -> FloatArray:
        return variational_fold(self, corpus, self.method, self.mean_change_tol, self.max_doc_update_iter)

    def _word_topics(self, corpus: Corpus) -> FloatArray:
        how = self.method, self.mean_change_tol, self.max_doc_update_iter
        return variational_fold(self, corpus, *how, by_word=True)

    def _perplexity(self, corpus: Corpus) -> float:
        return variational_perplexity(self, corpus)

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, corpus: bool = True) -> None:
        """Write the model to a directory, from which ``topicloom.load`` reads it.

        A stream that was fed by ``partial_fit`` has kept no text. Its state is saved, so that it can continue.

        Parameters
        ----------
        path : str or path
            The directory. A model that is there is replaced.
        corpus : bool, default=True
            Whether to save the training corpus and the chains. Without them the model cannot be resumed.

        Examples
        --------
        >>> import os, tempfile, topicloom
        >>> stream = topicloom.VariationalLDA(2, method="scvb0", total_samples=4, random_state=0)
        >>> stream = stream.partial_fit(["river bank river", "money bank loan"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stream.save(os.path.join(folder, "stream"))
        ...     again = topicloom.load(os.path.join(folder, "stream"))
        ...     again.partial_fit(["river bank", "money loan"]).n_iter_
        2
        """
        super().save(path, corpus=corpus)

    def _parts(self, corpus: bool) -> dict[str, Part]:
        return self._chain_parts() | super()._parts(False) if self._is_streamed() else super()._parts(corpus)

    def _is_streamed(self) -> bool:
        """Whether it was fed by ``partial_fit``."""
        if self._corpus is not None or self.method not in STOCHASTIC_MODES:
            return False
        stored = self._stored
        return stored is None or (stored.has(chain_role(0)) and not stored.has(CORPUS))

    def _stored_problem(self, stored: Any, seed: int) -> Problem:
        if hasattr(self, "seed_") and self._is_streamed():  # there is nothing but the state
            plan, sizes = self._plan(seed), {"K": self.n_components, "V": len(self.vocabulary_)}
            return Problem(cast(Any, None), cast(Any, None), self._chain_sampler(), lambda: None, plan, 1, sizes)
        return super()._stored_problem(stored, seed)


# -- what other models with a variational method share -----------------------------------------------------------------


def variational_plan(model: Any, seed: int, learn_alpha: bool, learn_beta: bool, learn_more: bool = False) -> Plan:
    return Plan(
        seed=seed,
        max_iter=model.max_iter,
        burn_in=None,
        thin=1,
        estimator="standard",
        learn_alpha=learn_alpha,
        learn_beta=learn_beta,
        learn_more=learn_more,
        learn_from=5,
        learn_every=5,
        trace_every=model.trace_every,
        checkpoint_every=model.checkpoint_every,
        schedule=Schedule(model.n_shards, threads_for(model.n_jobs)),
    )


def warn_not_converged(tol: float, plan: Plan, best: Chain) -> None:
    """A warning if a run has ended before it converged, with what was still moving."""
    if best.converged or tol <= 0 or best.sweep < plan.max_iter:
        return
    begun, settled = f"not converged after max_iter={plan.max_iter} iterations: ", Settings("", tol).settled
    if best.extra.change < tol:
        text = (
            f"{begun}topics have settled, but learned priors still moved by {best.extra.prior_change:.2g} of their "
            f"size, and {settled:g} counts as settled. Raise max_iter, or give the priors."
        )
    else:
        moved = f"the last one moved {best.extra.change:.2g} of the tokens"
        text = f"{begun}{moved}, tol={tol:g}. Raise max_iter or tol."
    warn(text, ConvergenceWarning)


def expected_theta(chain: Chain) -> FloatArray:
    """θ [D, K] from expected counts."""
    counts = np.maximum(chain.state.doc, 0.0)  # rounding may take more than a tiny prior
    return with_prior(counts, np.zeros(counts.shape[1]))


def variational_fold(
    model: Any, corpus: Corpus, mode: str, tol: float, max_rounds: int, by_word: bool = False
) -> FloatArray:
    """Expected topic counts [D, K] of new documents by the method's own update, in ten times the rounds of a fit.

    With ``by_word`` [M, K] of their distinct words.
    """
    alpha, rows = model._document_prior(corpus)
    fold: Callable[..., FloatArray] = word_topics if by_word else fold_in
    return fold(
        corpus, mode, model._by_word, alpha, tol=tol, max_rounds=10 * max_rounds, n_jobs=threads_for(model.n_jobs),
        alpha_row=rows,
    )  # fmt: skip


def variational_perplexity(model: Any, corpus: Corpus) -> float:
    from topicloom.evaluation.predictive import log_likelihood

    alpha, rows = model._document_prior(corpus)
    observed, held_out = stream.halves(corpus)
    total = float(held_out.n_tokens if held_out.weights is None else held_out.weights.sum())
    if total <= 0:
        raise InputError(
            "there is nothing to score: no document has a held-out token. To be split into halves a document needs at "
            "least two tokens."
        )
    theta = with_prior(model._fold(observed), alpha if rows is None else alpha[rows])
    return float(np.exp(-log_likelihood(model.topic_word_, theta, held_out) / total))

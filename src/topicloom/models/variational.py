"""What a model does otherwise when its inference is variational: every difference from sampling is in this file."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.splits import split_halves
from topicloom.directories import Part, Stored, restart_run
from topicloom.errors import InputError, InterruptedFitWarning, warn
from topicloom.estimates import Estimator, with_prior
from topicloom.inference import stochastic, variational_run
from topicloom.inference.chain import Plan, Trace
from topicloom.inference.checkpoints import Belonging
from topicloom.inference.kernel import Prior
from topicloom.inference.parallel import resolve_jobs
from topicloom.inference.stochastic import STREAM_MODES, Steps, StreamMode, StreamState
from topicloom.inference.variational import PairIndex, VariationalState, Work, check_whole, fold_in, pair_index
from topicloom.inference.variational_run import ALL_MODES, VariationalChain, VariationalPlan, VariationalTrace
from topicloom.manifests import CORPUS, chain_role
from topicloom.models import _inputs, _published
from topicloom.models._estimator import available_if
from topicloom.models._stored_checks import check_training_corpus, parameters_of
from topicloom.models.stored import StoredModel, plain
from topicloom.progress import announce, progress

_ENOUGH = 10  # batches after which a stream's topics are to tell something
_EXTRA_WHOLE = ("batch_size", "max_doc_update_iter")
_MADE_WITH = ("n_components", "inference", "doc_topic_prior", "topic_word_prior", "seed_words", "seed_weight")


def is_variational(model: Any) -> bool:
    return isinstance(model.inference, str) and model.inference in (*ALL_MODES, variational_run.VEM)


def _learns_from_a_stream(model: Any) -> bool:
    if model.inference in STREAM_MODES:
        return True
    raise AttributeError(
        f"this {type(model).__name__} has no method 'partial_fit', since inference={model.inference!r} needs all "
        'documents at once; use LDA with inference="scvb0" or inference="svb".'
    )


class VariationalMethods(StoredModel):
    """A stored model with variational inference beside sampling; each method falls back on the sampler's."""

    inference: str
    max_iter: int
    n_components: int
    n_chains: int
    n_shards: int
    tol: float
    batch_size: int
    learning_offset: float
    learning_decay: float
    total_samples: float
    max_doc_update_iter: int
    mean_change_tol: float
    checkpoint_dir: str | Path | None
    random_state: Any
    verbose: int

    _DOC_PRIOR: ClassVar[str] = "doc_topic_prior"
    _TOPICS: ClassVar[str] = "topics"

    converged_: bool
    _made_with: dict[str, Any]  # what partial_fit cannot change
    _told: bool = False  # of a stream's topics or priors, once

    def _plan(self, seed: int) -> Plan:
        raise NotImplementedError

    def _prior(self, corpus: Corpus) -> Prior:
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------------------------

    def _variational_plan(self, seed: int, total_docs: float) -> VariationalPlan:
        """Check every parameter; what is left to check depends on the data."""
        plan = self._plan(seed)
        if self.n_paths != 1:
            raise InputError(
                f'n_paths={self.n_paths} is for sampling; inference="{self.inference}" has no paths. Use '
                'inference="gibbs", or leave n_paths=1.'
            )
        for name in _EXTRA_WHOLE:
            _inputs.check_whole(name, getattr(self, name), 1)
        for name, least, most in (
            ("tol", 0.0, np.inf), ("mean_change_tol", 0.0, np.inf), ("learning_offset", 0.0, _inputs.MOST),
            ("learning_decay", 0.0, 1.0), ("total_samples", 1.0, _inputs.MOST),
        ):  # fmt: skip
            _inputs.check_number(name, getattr(self, name), least, most)
        jobs = resolve_jobs(self.n_jobs)
        return VariationalPlan(
            mode=self.inference,
            seed=seed,
            max_iter=self.max_iter,
            tol=self.tol,
            work=Work(self.mean_change_tol, self.max_doc_update_iter, self.n_shards, jobs),
            steps=Steps(
                self.batch_size,
                self.learning_offset,
                self.learning_decay,
                total_docs,
                plan.learn_alpha,
                plan.learn_beta,
            ),
            learn_alpha=plan.learn_alpha,
            learn_beta=plan.learn_beta,
            trace_every=plan.trace_every,
            checkpoint_every=plan.checkpoint_every,
        )

    def _fit_variational(self, X: Any, callbacks: Sequence[Callable[..., object]]) -> Self:
        seed = _inputs.draw_seed(self.random_state)
        self._variational_plan(seed, 1.0)  # parameters first: they are quicker to check than data
        corpus = self._training_corpus(X)
        plan = self._variational_plan(seed, corpus.n_docs)
        prior = self._prior(corpus)
        note = variational_run.memory_note(corpus, self.inference, self.n_components, self.n_chains)
        if self.verbose > 0:
            announce(note + ".")
        run = None
        if self.checkpoint_dir is not None:
            run = storage.start_run(self.checkpoint_dir, corpus, type(self).__name__, self._plain_params(), seed)
        index = None if self.inference in STREAM_MODES else pair_index(corpus)
        chains = [variational_run.start_chain(index, plan, prior, number) for number in range(self.n_chains)]
        self._run_variational(corpus, index, chains, plan, callbacks, run)
        return self

    def _run_variational(
        self,
        corpus: Corpus,
        index: PairIndex | None,
        chains: list[VariationalChain],
        plan: VariationalPlan,
        callbacks: Sequence[Callable[..., object]],
        run: Stored | None,
    ) -> None:
        # With one shard a pass of the collapsed modes is sequential, and threads can only go to whole chains.
        collapsed = plan.mode in ("cvb0", "cvb", "cvb_exact")
        n_jobs = plan.work.n_jobs if collapsed and self.n_shards == 1 else 1
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, cast(Any, chains), cast(Any, plan)) as watch:
            interrupted = variational_run.run_chains(
                corpus,
                chains,
                plan,
                n_jobs=n_jobs,
                callbacks=[*watch, *callbacks],
                checkpoint=None if run is None else lambda chain: run.save_chain(chain.index, self._chain_part(chain)),
                index=index,
            )
        self.fit_seconds_ = time.perf_counter() - started
        values = np.array([variational_run.final_value(corpus, index, chain, plan) for chain in chains])
        with _published.publishing(self):
            self._publish(corpus, cast(Any, chains), np.nan_to_num(values, nan=-np.inf), plan.seed, interrupted)
            self.log_joint_ = values
            best = chains[self.best_chain_]
            self.converged_ = best.converged
        if run is not None and not interrupted:
            self._write(run)
        if interrupted:
            warn(
                f"interrupted after iteration {self.n_iter_} of {plan.max_iter}; the estimates come from those done.",
                InterruptedFitWarning,
            )
        elif not best.converged and plan.tol > 0 and self.n_iter_ >= plan.max_iter:
            from sklearn.exceptions import ConvergenceWarning

            warn(_not_converged(best, plan), ConvergenceWarning)
        self._report_topics(corpus, best.prior, plan.learns_alpha, plan.learn_beta)

    @classmethod
    def _resume_variational(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        model = cls._from_params(stored)
        model.set_params(**changes, checkpoint_dir=stored.folder)
        corpus = storage.read_corpus(stored)
        check_training_corpus(stored.path(CORPUS), model, corpus)
        plan = model._variational_plan(stored.manifest["seed"], corpus.n_docs)
        variational_run.memory_note(corpus, model.inference, model.n_components, model.n_chains)
        index = None if model.inference in STREAM_MODES else pair_index(corpus)
        of = model._belonging(corpus)
        with parameters_of(stored):
            chains = [
                variational_run.load_chain(stored, number, model.inference, corpus, of, corpus.n_words)
                if stored.chain_path(number) is not None
                else variational_run.start_chain(index, plan, model._prior(corpus), number)
                for number in range(model.n_chains)
            ]
        done = max(chain.sweep for chain in chains)
        _inputs.check_goes_on(model.max_iter, done, stored.folder, stored.manifest, "iterations")
        model._run_variational(corpus, index, chains, plan, (), restart_run(stored, model._plain_params()))
        return model

    @available_if(_learns_from_a_stream)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents (``inference="scvb0"`` or ``"svb"``), in minibatches of ``batch_size``.

        The first call sets the vocabulary, the number of topics and the priors to start from, which later calls cannot
        change. ``total_samples`` says how many documents there will be in all. The documents are not kept.
        """
        first = not hasattr(self, "seed_")
        if not first:
            self._check_same_stream()
        seed = _inputs.draw_seed(self.random_state) if first else self.seed_
        plan = self._variational_plan(seed, self.total_samples)
        corpus = self._training_corpus(X) if first else self._new_corpus(X)
        if first:
            prior = self._prior(corpus)
            variational_run.memory_note(corpus, self.inference, self.n_components)
            chain = variational_run.start_chain(None, plan, prior, 0)
        else:
            chain = variational_run.copied(cast(VariationalChain, self.chains_[self.best_chain_]))
        state, mode = cast(StreamState, chain.state), cast(StreamMode, self.inference)
        for docs in stochastic.batches(corpus.n_docs, self.batch_size):
            batch = stochastic.take_batch(corpus, docs)
            chain.prior, value = stochastic.learn_batch(batch, state, mode, chain.prior, plan.steps, plan.work)
            chain.sweep += 1
        if plan.learn_beta:
            chain.prior = stochastic.learn_stream_beta(state, mode, chain.prior)
        how = (corpus.text_options, corpus.reading) if first else (self._text_options, self._reading)
        with _published.publishing(self):
            self._publish(corpus, cast(Any, [chain]), np.array([value]), seed, False)
            self._corpus, self.converged_ = None, False
            self._text_options, self._reading = how
        if not self._told and int(state.batches[0]) >= _ENOUGH:
            self._told = self._report_topics(corpus, chain.prior, plan.learn_alpha, plan.learn_beta)
        return self

    def _set_arrays(self, by_word: FloatArray, alpha: FloatArray, beta: FloatArray) -> None:
        super()._set_arrays(by_word, alpha, beta)
        self._made_with = {name: plain(getattr(self, name)) for name in _MADE_WITH if hasattr(self, name)}

    def _report_topics(self, corpus: Corpus, prior: Prior, learned_doc: bool, learned_word: bool) -> bool:
        learned = [self._DOC_PRIOR] * learned_doc + ["topic_word_prior"] * learned_word
        return _published.report_topics(self, corpus, prior, learned, what=self._TOPICS)

    def _check_same_stream(self) -> None:
        """Whether what the topics were made with is as it was: more documents cannot change it."""
        for name, before in self._made_with.items():
            if (now := plain(getattr(self, name))) != before:
                raise InputError(
                    f"{name} was {before!r} when this model was fitted and is {now!r} now; partial_fit cannot change "
                    "it. Set it back, or make a new model."
                )

    # -- what was learned ----------------------------------------------------------------------------------------

    def _word_counts_of(self, chain: Any) -> FloatArray:
        if not is_variational(self):
            return super()._word_counts_of(chain)
        return variational_run.word_counts(chain)

    def _doc_topic_of(self, chain: Any) -> FloatArray:
        if not is_variational(self):
            return super()._doc_topic_of(chain)
        if self.inference in STREAM_MODES:  # a stream keeps no documents: they are read again
            return with_prior(self._fold(self.corpus_), self.alpha_)
        counts = np.maximum(cast(VariationalState, chain.state).doc, 0.0)  # rounding may take more than a tiny prior
        return with_prior(counts, np.zeros(self.n_components))

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        if is_variational(self):
            raise InputError(
                f'estimators are ways to read drawn topics, and inference="{self.inference}" draws none; see '
                "doc_topic_ and topic_word_."
            )
        return super().estimate(estimator)

    # -- new documents -------------------------------------------------------------------------------------------

    def _check_tokens(self, corpus: Corpus) -> None:
        if not is_variational(self):
            super()._check_tokens(corpus)
        elif self.inference == "cvb_exact":
            check_whole(corpus)

    def _fold(self, corpus: Corpus) -> FloatArray:
        if not is_variational(self):
            return super()._fold(corpus)
        alpha, rows = self._document_prior(corpus)
        return fold_in(
            corpus, variational_run.base_mode(self.inference), self._by_word, alpha, tol=self.mean_change_tol,
            max_rounds=10 * self.max_doc_update_iter, n_jobs=resolve_jobs(self.n_jobs), alpha_row=rows,
        )  # fmt: skip

    def _perplexity(self, corpus: Corpus) -> float:
        if not is_variational(self):
            return super()._perplexity(corpus)
        from topicloom.evaluation.predictive import log_likelihood

        alpha, rows = self._document_prior(corpus)
        observed, held_out = _halves(corpus)
        total = float(held_out.n_tokens if held_out.weights is None else held_out.weights.sum())
        if total <= 0:
            raise InputError(
                "there is nothing to score: no document has a held-out token. To be split into halves a document "
                "needs at least two tokens."
            )
        theta = with_prior(self._fold(observed), alpha if rows is None else alpha[rows])
        return float(np.exp(-log_likelihood(self.topic_word_, theta, held_out) / total))

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no training text and cannot be resumed.

        A stream that was fed by ``partial_fit`` has kept no text; its state is saved, so that it can go on.
        """
        super().save(path, corpus=corpus)

    def _parts(self, corpus: bool) -> dict[str, Part]:
        stored = self._stored
        streamed = self._corpus is None and (stored is None or (stored.has(chain_role(0)) and not stored.has(CORPUS)))
        return self._chain_parts() | super()._parts(False) if streamed else super()._parts(corpus)

    def _chain_part(self, chain: Any) -> Part:
        return variational_run.chain_part(chain) if is_variational(self) else super()._chain_part(chain)

    def _load_chain(self, index: int) -> Any:
        if not is_variational(self):
            return super()._load_chain(index)
        corpus = None if self.inference in STREAM_MODES else self.corpus_
        of = Belonging(self.n_components) if corpus is None else self._belonging(corpus)
        return variational_run.load_chain(self._stored_in(), index, self.inference, corpus, of, len(self.vocabulary_))

    def _trace_from(self, arrays: dict[str, AnyArray]) -> Trace:
        return variational_run.load_trace(arrays) if is_variational(self) else super()._trace_from(arrays)

    def _trace_names(self) -> list[str]:
        return list(vars(VariationalTrace())) if is_variational(self) else super()._trace_names()


def _not_converged(chain: VariationalChain, plan: VariationalPlan) -> str:
    begun = f"not converged after max_iter={plan.max_iter} iterations: "
    if chain.change < plan.tol:
        return (
            f"{begun}topics have settled, but learned priors still moved by {chain.prior_change:.2g} of their size, "
            f"and {plan.settled:g} counts as settled. Raise max_iter, or give the priors."
        )
    return f"{begun}the last one moved {chain.change:.2g} of the tokens, tol={plan.tol:g}. Raise max_iter or tol."


def _halves(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """As ``split_halves``; of a weighted document every other entry, in a random order, is held out whole."""
    if corpus.weights is None:
        return split_halves(corpus)
    keys = np.random.default_rng(0).random(corpus.n_tokens)
    order = np.lexsort((keys, corpus.token_docs))
    held = np.empty(corpus.n_tokens, bool)
    held[order] = (np.arange(corpus.n_tokens) - np.repeat(corpus.doc_ptr[:-1], corpus.doc_lengths)) % 2 == 1
    return corpus.keep_tokens(~held), corpus.keep_tokens(held)

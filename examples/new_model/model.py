"""Documents in clusters, as a scikit-learn estimator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from examples.new_model.sampler import RECORDED, SAMPLER
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading, as_corpus
from topicloom.engine.estimator import inputs, parameters, stored_checks
from topicloom.engine.estimator.fitted import FittedModel, Problem
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler
from topicloom.files.arrays import from_bytes, to_bytes
from topicloom.files.checks import Contents, Expected
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import MODEL


class DocumentClusters(FittedModel):
    """Clusters of documents, each with a topic of its own. ``X`` is as in ``LDA``.

    Parameters
    ----------
    n_components : number of clusters K.
    doc_topic_prior, topic_word_prior : α and β, positive numbers.
    max_iter, n_chains, trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose : as in ``LDA``.

    Attributes
    ----------
    labels_ : [D] the cluster of each document. topic_word_ : [K, V] words of each cluster. vocabulary_ : words.
    """

    labels_: AnyArray
    topic_word_: FloatArray
    vocabulary_: tuple[str, ...]

    def __init__(
        self, n_components: int = 8, *, doc_topic_prior: float = 1.0, topic_word_prior: float = 0.1,
        max_iter: int = 50, n_chains: int = 1, trace_every: int = 10, checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50, n_jobs: int | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.n_chains = n_chains
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- how the problem is stated -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = (), **reading: Unpack[Reading]) -> Self:
        """Find clusters. Keyword arguments say how ``X`` is read."""
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)
        corpus = as_corpus(X, **reading)
        inputs.check_some_tokens(corpus)
        inputs.check_whole_tokens(corpus)
        return self._fit(self._problem(corpus, seed), callbacks)

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        return Plan(
            seed, self.max_iter, None, 1, "standard",
            trace_every=self.trace_every, checkpoint_every=self.checkpoint_every,
        )  # fmt: skip

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "clusters", 1.0)
        beta = inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 0.1)
        return make_prior(alpha, beta, corpus.n_docs)

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        prior = self._prior(corpus)
        return Problem(
            corpus, corpus, SAMPLER, lambda: prior, self._plan(seed), self.n_chains, {"K": self.n_components}
        )  # fmt: skip

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        return self._problem(self._corpus_in(stored), seed)

    def _chain_sampler(self) -> Sampler:
        return SAMPLER

    # -- what is published ---------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        best = chains[self.best_chain_]
        self.vocabulary_ = problem.corpus.vocabulary
        self.labels_ = best.state.z.copy()
        by_word = best.state.words + best.prior.beta[:, None]
        self.topic_word_ = (by_word / by_word.sum(axis=0)).T

    def _fitted_numbers(self) -> list[Any]:
        return [self.labels_, self.topic_word_, self.log_joint_]

    def predict(self, X: Any, **reading: Unpack[Reading]) -> AnyArray:
        """The likeliest cluster of each document, with the words of clusters held fixed."""
        check_is_fitted(self, "seed_")
        corpus = as_corpus(X, **reading).with_vocabulary(self.vocabulary_)
        score = np.log(np.bincount(self.labels_, minlength=self.n_components) + self.doc_topic_prior)
        found = np.tile(score, (corpus.n_docs, 1))
        np.add.at(found, corpus.token_docs, np.log(self.topic_word_.T[corpus.words]))
        return found.argmax(axis=1)

    # -- files ---------------------------------------------------------------------------------------------------

    def _check_corpus(self, path: Path, corpus: Corpus) -> None:
        with stored_checks.refusing(path):
            inputs.check_some_tokens(corpus)

    def _model_part(self) -> Part:
        arrays: dict[str, AnyArray] = {"labels": self.labels_, "topic_word": self.topic_word_}
        arrays |= {"log_joint": self.log_joint_, "vocabulary": to_bytes(self.vocabulary_)}
        info = {name: getattr(self, f"{name}_") for name in ("best_chain", "n_iter", "interrupted")}
        return arrays | self._trace_arrays(), info | {"n_chains": len(self.traces_)}

    def _set_model(self, stored: Stored, arrays: dict[str, AnyArray], info: Any) -> None:
        file = Contents(stored.path(MODEL), arrays, info, K=self.n_components)
        stored_checks.check_chains(file, RECORDED)
        file.values("vocabulary", "V")
        file.expect({"topic_word": Expected("f8", ("K", "V"), positive=True)})
        file.expect({"labels": Expected("i4", ("D",), low=0, high=self.n_components - 1)})
        file.expect_no_others()
        self.labels_, self.topic_word_ = arrays["labels"], arrays["topic_word"]
        self.vocabulary_ = tuple(from_bytes(arrays["vocabulary"]))

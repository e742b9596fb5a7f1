"""What LDA, by sampling or variational, states its problem with: priors, seed words, plans."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from topicloom.corpus._checks import shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.topics import TopicModel
from topicloom.engine.prior import Prior, make_prior
from topicloom.errors import InputError
from topicloom.files.directories import Stored

LearnPriors: TypeAlias = bool | Literal["symmetric"] | None
SYMMETRIC = "symmetric"  # of learn_priors: what was left as None is learned, α as one number for all topics


def _check_learn(name: str, value: Any) -> None:
    if isinstance(value, str) and value == SYMMETRIC:
        return
    if not (value is None or isinstance(value, bool | np.bool_ | int | np.integer)):
        raise InputError(f'{name}={shown(value)} must be None, True, False or "{SYMMETRIC}".')


class PlainTopics(TopicModel):
    """Topics with a Dirichlet prior for documents and one for words, which may have seed words."""

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {"learn_priors": _check_learn}
    _PUBLISHES: ClassVar[tuple[str, ...]] = ("best", "medoid", "merged")

    n_components: int
    doc_topic_prior: Any
    topic_word_prior: Any
    learn_priors: LearnPriors
    seed_words: Any
    seed_weight: float

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        """The problem for a corpus."""
        raise NotImplementedError

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        return self._problem(self._corpus_in(stored), seed)

    def _learned_priors(self) -> tuple[bool, bool]:
        """Whether α and β are to be learned."""
        fixed_beta = inputs.is_vector("topic_word_prior", self.topic_word_prior) or self.seed_words is not None
        if self.learn_priors and fixed_beta and not self._learns_symmetric():
            raise InputError(
                "learn_priors=True learns one β for all words, but topic_word_prior is a vector or seed_words are "
                "given; leave learn_priors=None to learn α alone."
            )
        return self._learns_alpha(), not fixed_beta and self._learns(self.topic_word_prior)

    def _learns_alpha(self) -> bool:
        return self._learns(self.doc_topic_prior)

    def _learns(self, given: Any) -> bool:
        """Whether a prior is learned that was given as this."""
        return given is None if self.learn_priors is None or self._learns_symmetric() else bool(self.learn_priors)

    def _learns_symmetric(self) -> bool:
        """Whether a learned α is one number for all topics."""
        return isinstance(self.learn_priors, str)

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "topics", 1 / k)
        beta = inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 1 / k)
        boosts = inputs.seed_boosts(self.seed_words, self.seed_weight, corpus, k)
        return make_prior(alpha, beta, corpus.n_docs, boosts)

    @classmethod
    def _params_from(cls, params: dict[str, Any]) -> dict[str, Any]:
        if isinstance(params.get("seed_words"), dict):
            params["seed_words"] = {int(topic): words for topic, words in params["seed_words"].items()}
        return params

"""The held-out likelihood along a chain: what chains agree on if they are equally good, whatever their topics."""

from collections.abc import Sequence
from typing import Any

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_choice, check_seed, check_whole, shown
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.splits import split_halves
from topicloom.engine.estimates import ESTIMATORS, Estimator
from topicloom.errors import InputError
from topicloom.evaluation.predictive import completion_scores


class HeldOut:
    """Held-out log-likelihood per token of each draw, for ``keep_draws``.

    Each document is split into two halves. Topics are found in one, with the draw's φ and α held fixed, and the words
    of the other are scored, as ``perplexity`` does: the value is −log of the perplexity.

    Parameters
    ----------
    corpus : Corpus
        Documents that the model is not fitted to. Words that the model does not know are left out.
    burn_in, thin, n_samples, n_chains : int, default=50, 5, 1, 1
        How topics of the first halves are sampled.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        How θ of the first halves is read off the samples.
    seed : int, default=0
        The same for each draw, so that draws differ by their topics alone.

    Notes
    -----
    A value does not depend on topics' numbers, so that ``diagnose`` can compare it across chains. Each draw costs as
    much as ``burn_in + thin * (n_samples - 1)`` sweeps over half of the held-out documents, per chain of ``n_chains``.

    α is that of the draw. Of ``CompoundLDA`` it is the mean over the training documents, since no collection of the
    held-out ones is looked at; of label models it is that of training.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> corpus = bars(n_docs=120).corpus
    >>> train, test = corpus.select(range(100)), corpus.select(range(100, 120))
    >>> held_out = HeldOut(test, burn_in=5)
    >>> model = LDA(5, n_chains=2, max_iter=40, burn_in=20, thin=2, random_state=0, keep_draws={"held-out": held_out})
    >>> model.fit(train).draws_["held-out"].shape
    (2, 11)
    """

    def __init__(
        self, corpus: Corpus, *, burn_in: int = 50, thin: int = 5, n_samples: int = 1, n_chains: int = 1,
        estimator: Estimator = "cgs_p", seed: int = 0,
    ) -> None:  # fmt: skip
        if not isinstance(corpus, Corpus):
            raise InputError(f"corpus is {shown(corpus)}; give a Corpus, for instance by topicloom.from_texts(texts).")
        if corpus.weights is not None:
            raise InputError("a weighted corpus has no whole tokens to score; give counts.")
        if not (corpus.doc_lengths > 1).any():
            raise InputError("there is nothing to score: no document has the two tokens that halves need.")
        check_whole("burn_in", burn_in, 0)
        for name, value in (("thin", thin), ("n_samples", n_samples), ("n_chains", n_chains)):
            check_whole(name, value, 1)
        check_choice("estimator", estimator, ESTIMATORS)
        check_seed(seed)
        self.corpus = corpus
        self._how: dict[str, Any] = {
            "burn_in": burn_in, "thin": thin, "n_samples": n_samples, "n_chains": n_chains, "estimator": estimator,
            "seed": seed,
        }  # fmt: skip
        self._split: tuple[Any, Any] | None = None  # the corpus over a model's words, and its halves

    def __call__(self, theta: FloatArray, phi: FloatArray, *, alpha: FloatArray, vocabulary: Sequence[str]) -> float:
        corpus, halves = self._over(tuple(vocabulary))
        scores = completion_scores(phi, alpha, corpus, split=halves, **self._how)
        return float(scores.log_likelihood.sum() / scores.tokens.sum())

    def _over(self, vocabulary: tuple[str, ...]) -> tuple[Corpus, tuple[Corpus, Corpus]]:
        """The corpus over a model's words, and its halves; they are made once, by whichever chain comes first."""
        known = self._split
        if known is None or known[0].vocabulary != vocabulary:
            corpus = self.corpus if self.corpus.vocabulary == vocabulary else self.corpus.with_vocabulary(vocabulary)
            self._split = known = (corpus, split_halves(corpus))
        return known

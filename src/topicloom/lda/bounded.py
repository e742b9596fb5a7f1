"""Bounds of a fitted variational model: of its training corpus, and of other documents."""

from typing import Any, Unpack

from sklearn.utils.validation import check_is_fitted

from topicloom.corpus.inputs import Reading
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError
from topicloom.lda.streamed import StreamedTopics
from topicloom.lda.variational import bounds
from topicloom.lda.variational.batch import dirichlet_divergence
from topicloom.lda.variational.state import word_prior
from topicloom.lda.variational.stochastic import STOCHASTIC_MODES


class BoundedTopics(StreamedTopics):
    """Topics whose methods bound log p(words)."""

    def bound(
        self, X: Any = None, *, form: bounds.Form | None = None, with_topics: bool = False, **reading: Unpack[Reading]
    ) -> float:
        """Lower bound of the log probability of words: of the training corpus, or of other documents.

        Parameters
        ----------
        X : documents, default=None
            As of ``fit``. None is the training corpus, with its topics; of "svb" its documents are read again. Of other
            documents it is a bound of log p(words | topics).
        form : {"zero", "second_order", "exact"}, default=None
            Of the collapsed methods: how E[log Γ(prior + n)] of a count n is computed. "exact" takes its distribution,
            "second_order" the expansion that is commonly used, which may be far too high, and "zero" takes n = 0
            exactly and expands the rest. None is "exact" for "cvb_exact", otherwise "zero".
        with_topics : bool, default=False
            Of "vb" and "svb" and other documents: whether to add the topics' part, −KL(q(φ) ‖ p(φ)). The sum is what
            ``score`` of scikit-learn's ``LatentDirichletAllocation`` and ``bound`` of gensim's ``LdaModel`` give.
        **reading
            How ``X`` is read, as of ``transform``.

        Returns
        -------
        float
            In nats. Divide it by the number of tokens to compare corpora.

        Raises
        ------
        InputError
            If a method has no such bound.

        Notes
        -----
        "exact" takes time in proportion to the tokens of a topic times the spread of its count: about a minute for a
        training corpus of half a million tokens.

        Examples
        --------
        >>> from topicloom import VariationalLDA
        >>> from topicloom.datasets import bars
        >>> corpus = bars(side=2, n_docs=30).corpus
        >>> model = VariationalLDA(4, method="cvb", random_state=0).fit(corpus)
        >>> bool(abs(model.bound(form="zero") - model.bound(form="exact")) < 0.01 * corpus.n_tokens)
        True
        >>> model.bound(corpus) > model.bound()  # given the topics
        True
        """
        check_is_fitted(self, "seed_")
        bayes = self.method in bounds.BAYES
        if with_topics and (X is None or not bayes):
            why = "the training corpus always has them" if X is None else "collapsed methods integrate topics out"
            raise InputError(f"with_topics=True is for documents of vb and svb, and {why}; leave it out.")
        if X is None and self.method not in STOCHASTIC_MODES:
            bounds.check_form(form, self.method, self.corpus_)
            chain = self.chains_[self.best_chain_]
            jobs = resolve_jobs(self.n_jobs)
            return bounds.training_bound(self.corpus_, chain.state, self.method, chain.prior, form, jobs)
        if X is None and not bayes:
            raise InputError('method="scvb0" keeps no topics of its documents, so there is no bound; give documents.')
        corpus = self.corpus_ if X is None else self._new_corpus(X, reading)
        bounds.check_form(form, self.method, corpus)
        if not bayes:
            how: bounds.Form = ("exact" if self.method == "cvb_exact" else "zero") if form is None else form
            return bounds.collapsed_bound(corpus, self._word_topics(corpus), self._phi_by_word, self.alpha_, how)
        value = bounds.bayes_bound(corpus, self._fold(corpus), self._by_word, self.alpha_)
        if X is None or with_topics:
            value -= dirichlet_divergence(self._by_word.T, word_prior(self.chains_[self.best_chain_].prior).T)
        return value

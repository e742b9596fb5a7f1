"""What docstrings of labeled models share."""

SHARED = """
doc_topic_prior : float, optional
    α of training, the same for all labels, from 1e-12 to 1e12. None is 50/K for K labels (CGS_p eq. 58).
topic_word_prior : float or array of shape (n_words,), default=0.1
    β, from 1e-12 to 1e12.
method : {"gibbs", "cvb0"}, default="gibbs"
    "gibbs" draws labels. "cvb0" computes expected counts, in training and for new documents. It draws nothing.
estimator : {"standard", "cgs_p"}, default="standard"
    How φ, the words of labels, is estimated.
ranking : {"probability", "counts", "theta"}, default="probability"
    By what a document's labels are ranked. "probability" is ``predict_proba``. "counts" are expected counts, with α for
    ties alone. "theta" is θ, which includes α.
label_rule : {"auto", "threshold", "meta", "count", "proportional"}, default="auto"
    How many labels to predict. "threshold": labels whose probability is at least ``threshold_``, and the likeliest one
    in any case. "meta": as many as a linear model of the words expects. "auto": of these two the one with the higher
    micro-F1 on the held-out documents, "meta" without any. "count": ``n_labels`` for each document. "proportional":
    each label for the same share of documents as in training, so an answer depends on its batch. May be changed after
    fitting.
n_labels : int, optional
    Labels per document of ``label_rule="count"``. None is the mean of training, rounded.
holdout : float, default=0.2
    Share of the labelled documents on which probabilities are calibrated, the threshold is tuned and the rule is
    chosen, by a second model of one chain that has not seen them. With 0 probabilities are not calibrated.
max_iter : int, "auto" or Converged, default=195
    Number of sweeps. "auto" makes sweeps until several chains agree.
burn_in : int, optional, default=50
    First sweep that is kept. Counts are averaged over the kept sweeps of all chains. None keeps the last one.
thin : int, default=5
    Sweeps from one kept sweep to the next.
keep_draws : str, list of str or dict, optional
    Draws to keep at these sweeps, as in ``LDA``, if ``method="gibbs"``. θ of a training document is over its own
    labels. A document without labels has equal shares.
n_chains : int, default=1
    Independent chains. Labels keep their meaning, so φ is averaged over chains too.
n_shards : int or "auto", default="auto"
    Parts of a sweep, which threads can share, if ``method="gibbs"``. Sweeps are exact with any number of them. "auto"
    goes by the tokens of the corpus, as for :class:`~topicloom.LDA`.
predict_options : dict, optional
    How labels of new documents are found. ``method`` ("cvb0") is "cvb0", with ``tol`` (0.03) and ``max_iter`` (50), or
    "gibbs", with ``burn_in`` (50), ``thin`` (5), ``n_samples`` (10), ``n_chains`` (1) and ``estimator`` ("cgs_p").
"""

ATTRIBUTES = """
classes_ : ndarray of shape (n_labels,)
    Names of the labels. Topic k is label k.
label_counts_ : ndarray of shape (n_labels,)
    Number of training documents with each label.
unlabeled_docs_ : ndarray of bool, shape (n_documents,)
    Training documents that have no label.
threshold_ : float
    Probability from which ``label_rule="threshold"`` predicts a label.
label_rule_ : {"meta", "threshold"}
    What ``label_rule="auto"`` stands for.
"""

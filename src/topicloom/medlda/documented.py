"""What docstrings of supervised models share."""

SHARED = """
weight_precision : float, optional
    ν, the prior precision of the weights η. None is 1, and for the hinge loss (λ/1.6)² or, with few documents for many
    topics, λn/K: n is the lesser of 0.7 times the documents and 14 times the mean number per class. It is a quarter of
    (λ/1.6)² at the least.
calibrate : bool, default=True
    Whether to refit the weights on topics of the training documents that are found as if these were new: without their
    labels, and with their own words taken out of the topics. False keeps the means of the weights drawn.
doc_topic_prior : float or array of shape (n_components,), optional
    α, from 1e-12 to 1e12. None is 6.4/K.
sampler : {"auto", "mh", "dense"}, default="auto"
    "mh" proposes topics and accepts or rejects them, at a cost that does not grow with K. "dense" looks at all topics
    for every token and draws all weights at once. "auto" draws topics by the faster of the two.
sampler_options : dict, optional
    ``n_mh`` (6): steps per token of "mh". ``composition`` ("mixture"): its proposals, a random "mixture" or a "cycle"
    of all three, or "doc", "word" or "exp" alone. ``n_gibbs`` (2): rounds over the weights per sweep.
estimator : {"standard", "cgs_p"}, default="standard"
    How φ, the words of topics, is estimated.
max_iter : int, "auto" or Converged, default=40
    Number of sweeps. "auto" makes sweeps until several chains agree.
burn_in : int, optional, default=20
    First sweep that is kept. Topics and weights are averaged over the kept sweeps of a chain. None keeps the last one.
thin : int, default=5
    Sweeps from one kept sweep to the next.
keep_draws : str, list of str or dict, optional
    Draws to keep at these sweeps, as in ``LDA``, and "coef", the weights before calibration.
n_shards : int, default=1
    Parts of a sweep, which threads can share. One part is exact. More are an approximation in the topic totals alone.
predict_options : dict, optional
    How topics of new documents are found. ``method`` ("cvb0") is "cvb0", with ``tol`` (0.03) and ``max_iter`` (50), or
    "gibbs", with ``burn_in`` (20), ``thin`` (2), ``n_samples`` (10), ``n_chains`` (1) and ``estimator`` ("cgs_p").
"""

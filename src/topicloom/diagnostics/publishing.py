"""Which of a model's chains it publishes: the best, the medoid, or all of them merged."""

from typing import Any, Literal, get_args

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_choice, shown
from topicloom.diagnostics.alignment import METRICS, Metric, align_topics, chain_topics, resolve_threshold
from topicloom.diagnostics.topic_stability import medoid
from topicloom.errors import InputError

By = Literal["best", "medoid", "merged"]
BY: tuple[str, ...] = get_args(By)


def publish(
    model: Any, by: By = "medoid", *, metric: Metric = "hellinger", threshold: float | None = None
) -> Any:  # fmt: skip
    """A copy of a fitted model that publishes its chains otherwise.

    A fit publishes the chain with the highest joint probability: its topics are ``topic_word_``, its documents' shares
    ``doc_topic_``. The copy publishes the medoid, or means over all chains. It transforms, scores, saves and loads as
    any model does; the given model stays as it is.

    Parameters
    ----------
    model : fitted model of topicloom
        With ``n_chains`` of 2 or more.
    by : {"best", "medoid", "merged"}, default="medoid"
        "best" is the chain with the highest joint probability. "medoid" is the chain whose topics are most similar to
        those of all others, which another fit is likeliest to find again (:func:`medoid`). "merged" has the topics of
        the medoid, each averaged with those that match it in the other chains (see Notes); of ``LDA`` and
        ``VariationalLDA``.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
        By which topics are compared.
    threshold : float, optional
        Of "merged": topics further apart than this do not match; by default as in :func:`align`.

    Returns
    -------
    model
        With ``published_by_`` as asked for. ``best_chain_`` is the number of the published chain; of "merged", of the
        medoid.

    See Also
    --------
    topicloom.diagnostics.stability : how many chains have each topic.

    Notes
    -----
    A merged topic's expected counts (``components_``) and its α are the means over the chains that have it, and so is
    its share of each document; the shares of a document are then scaled to sum to 1. A topic that only the medoid has
    is as it was there. Topics that the medoid lacks are left out. What depends on tokens' own topics, such as
    ``estimate``, ``topic_diagnostics`` or a MALLET state, is that of the medoid.

    ``topicloom.resume`` publishes by the highest joint probability again, since which chain is the medoid depends on
    sweeps that are still to come; call ``publish`` on what it returns.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> model = LDA(5, n_chains=3, max_iter=60, random_state=0).fit(bars(n_docs=100).corpus)
    >>> merged = publish(model, by="merged")
    >>> merged.published_by_, model.published_by_
    ('merged', 'best')
    >>> merged.topic_word_.shape == model.topic_word_.shape
    True
    """
    if not hasattr(model, "seed_") or not hasattr(model, "_publishing"):
        raise InputError(f"model is {shown(model)}; give a fitted model of topicloom.")
    check_choice("by", by, BY)
    check_choice("metric", metric, METRICS)
    limit = resolve_threshold(metric, threshold)
    _check_publishes(model, by)
    if by == "best":
        return model._publishing(by, int(np.argmax(np.nan_to_num(model.log_joint_, nan=-np.inf))))
    topics = _topics_of_chains(model)
    middle = medoid(topics, metric)
    matches = align_topics(topics, middle, metric, limit).matches if by == "merged" else None
    return model._publishing(by, middle, matches)


def _check_publishes(model: Any, by: str) -> None:
    kind = type(model).__name__
    if by not in model._PUBLISHES:
        if model._PUBLISHES == ("best",):
            raise InputError(f"{kind} publishes the mean of its chains, in which topics are the same; leave it so.")
        raise InputError(
            f'{kind} cannot be published by="merged": what it learns beside topics belongs to the topics of one chain. '
            'Use by="medoid".'
        )
    if by != "best" and len(model.traces_) < 2:
        raise InputError(f'the model has one chain, so there is no other to publish by="{by}"; fit it with n_chains=4.')
    if by != "best" and len(model._chain_groups(len(model.traces_))) > 1:
        raise InputError(f'{kind} has chains of its own for each class, which have no common medoid; use by="best".')


def _topics_of_chains(model: Any) -> list[FloatArray]:
    """Topics, or emissions of states, of each chain."""
    if hasattr(model, "_emission_of"):
        return [model._emission_of(chain) for chain in model.chains_]
    return chain_topics(model)

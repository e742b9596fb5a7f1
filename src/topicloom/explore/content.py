"""The data of a page: topics with their words, map and tree, measures, and how the model was made."""

import math
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used

import topicloom
from topicloom._types import FloatArray
from topicloom.engine.estimator.parameters import plain as as_json
from topicloom.errors import InputError, StorageError
from topicloom.evaluation.coherence import coherence
from topicloom.evaluation.topic_maps import TopicMap, topic_map
from topicloom.evaluation.topics import effective_words, exclusivity
from topicloom.explore import covariates, documents
from topicloom.explore.covariates import short
from topicloom.explore.documents import Documents
from topicloom.explore.families import family
from topicloom.explore.held_out import add_report
from topicloom.explore.source import Source
from topicloom.explore.tokens import clean
from topicloom.explore.words import LAMBDA, WordTable, best_words, topics_of_words, words_for_every_lambda

VERSION = 1
_RELATED = 8
MEASURES_ABOUT = {
    "coherence": "How often the ten likeliest words occur near each other (C_NPMI, from −1 to 1); higher is better.",
    "exclusivity": "Mean of φ_kw / Σ φ_lw over the ten likeliest words: 1 if no other topic has them.",
    "effective words": "How many words the topic is spread over: the exponential of its entropy.",
    "R-hat": "Agreement of chains on the topic's share: 1 if they agree, above 1.05 if they do not.",
    "tokens": "Tokens that have the topic in the state that the page shows.",
    "document entropy": "Entropy of the topic's tokens over documents. Low: it lives in few documents.",
    "distance from corpus": "How far the topic's words are from those of the whole corpus (Kullback-Leibler, nats). "
    "Low: it says nothing of its own.",
    "burstiness": "Divergence between the top words' shares by tokens and by documents. High: words of few documents.",
    "rank 1 documents": "Share of the topic's documents in which no other has more tokens. Low: a background topic.",
    "documents above 0.3": "Share of the topic's documents of which it makes up 30% or more.",
    "MALLET coherence": "MALLET's coherence of the 20 top words, a sum of logarithms; nearer to 0 is better.",
}
_MALLET = {
    "tokens": "tokens",
    "document entropy": "document_entropy",
    "distance from corpus": "corpus_dist",
    "burstiness": "token_doc_diff",
    "rank 1 documents": "rank_1_docs",
    "documents above 0.3": "allocation_count",
    "MALLET coherence": "coherence",
}


def core(
    source: Source, docs: Documents, words: WordTable, *, title: str, level: float, models: dict[str, Any] | None,
    held_out: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """All of a page but its documents; ``words`` is filled with the words that it names."""
    diagnosis, verdict = _diagnosis(source)
    relevant = best_words(source, "relevance")
    measured = _measures(source, diagnosis)
    placed = topic_map(source.phi)
    topics = _topics(source, docs, words, relevant, placed, level)
    for k, topic in enumerate(topics):
        topic["measures"] = {name: _finite(values[k]) for name, values in measured.items()}
        topic["chains"] = None if diagnosis is None else _chains(diagnosis, k)
    own = family(source, docs, words, relevant, level)
    if held_out is not None:
        add_report(own, source.model, held_out)
    corpus = source.corpus
    return {
        "version": VERSION,
        "title": clean(title),
        "kind": source.kind,
        "about": about(source),
        "command": _command(source),
        "fingerprint": _fingerprint(source),
        "verdict": verdict,
        "topic_name": _topic_name(source),
        "word_name": "symbol" if hasattr(source.model, "transition_") else "word",
        "doc_name": "sequence" if hasattr(source.model, "transition_") else "document",
        "n_docs": 0 if corpus is None else corpus.n_docs,
        "n_tokens": 0 if corpus is None else corpus.n_tokens,
        "n_words": len(source.vocabulary),
        "lambda": LAMBDA,
        "topics": topics,
        "words": _words(source, words),
        "tree": _tree(placed.distances),
        "map": {
            "measure": "Jensen-Shannon",
            "explained": [short(value) for value in placed.explained],
            "n_words": placed.n_words,
        },
        "times": covariates.times(source, level),
        "groups": covariates.groups(source, level),
        "level": level,
        "intervals_about": covariates.about_intervals(source, level),
        "documents": docs.about(),
        "family": own,
        "models": models,
        "measures_about": {name: MEASURES_ABOUT[name] for name in measured},
    }


# -- topics --------------------------------------------------------------------------------------------------------


def _topics(
    source: Source, docs: Documents, words: WordTable, relevant: list[list[int]], placed: TopicMap, level: float
) -> list[dict[str, Any]]:
    frex, lift = best_words(source, "frex"), best_words(source, "lift")
    intervals = covariates.share_intervals(source, level)
    largest = np.zeros(source.n_topics, np.int64)
    if source.theta is not None and source.corpus is not None:
        filled = source.theta[source.corpus.doc_lengths > 0]
        largest = np.bincount(filled.argmax(axis=1), minlength=source.n_topics) if len(filled) else largest
    found = []
    for k, ever in enumerate(words_for_every_lambda(source)):
        named = sorted({*ever.tolist(), *relevant[k], *frex[k], *lift[k]}, key=lambda v: (-source.phi[k, v], v))
        found.append(
            {
                "name": _name(source, k),
                "label": ", ".join(clean(source.vocabulary[v]) for v in relevant[k][:3]) or f"{k}",
                "share": short(source.share[k]),
                "interval": None if intervals is None else intervals[k],
                "docs": int(largest[k]),
                "x": round(float(placed.places[k, 0]), 5),
                "y": round(float(placed.places[k, 1]), 5),
                "words": [[words[v], short(source.phi[k, v])] for v in named],
                "frex": [words[v] for v in frex[k]],
                "lift": [words[v] for v in lift[k]],
                "related": _related(placed.distances[k], k),
                "top_docs": documents.top_docs(source, docs, k),
                "color": color(k, source.n_topics),
            }
        )
    return found


def _name(source: Source, k: int) -> str | None:
    """What a user called the topic; of a model of labels, the label."""
    given = source.names[k] if k < len(source.names) else None
    if given is None and hasattr(source.model, "label_counts_"):
        given = str(documents.plain(source.model.classes_[k]))
    return None if given is None else clean(given)


def _topic_name(source: Source) -> str:
    if hasattr(source.model, "label_counts_"):
        return "label"
    return "state" if hasattr(source.model, "transition_") else "topic"


def _related(distances: FloatArray, k: int) -> list[list[Any]]:
    order = [int(other) for other in np.argsort(distances, kind="stable") if other != k][:_RELATED]
    return [[other, round(1.0 - float(distances[other]), 4)] for other in order]


def _tree(distances: FloatArray) -> list[list[Any]]:
    """Average linkage over the map's distances, as SciPy has it."""
    if len(distances) < 2:
        return []
    condensed = scipy.spatial.distance.squareform(distances, checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    return [[int(a), int(b), short(height), int(size)] for a, b, height, size in tree.tolist()]


def _words(source: Source, words: WordTable) -> dict[str, Any]:
    numbers = list(words.numbers)
    return {
        "text": [clean(source.vocabulary[v]) for v in numbers],
        "share": [short(source.word_share[v]) for v in numbers],
        "topics": [[[k, round(p, 3)] for k, p in own] for own in topics_of_words(source, numbers)],
    }


def color(k: int, n: int) -> str:
    """A colour per topic: hues by the golden angle, in three lightnesses, of about the same strength (OKLCH)."""
    hue = math.radians((25.0 + 137.50776 * k) % 360.0)
    light, chroma = (0.62, 0.52, 0.72)[k % 3] if n > 6 else 0.6, 0.13
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    cube = [(light + x * a + y * b) ** 3 for x, y in ((0.39634, 0.2158), (-0.10556, -0.06385), (-0.08948, -1.29149))]
    rgb = (
        4.07674 * cube[0] - 3.30771 * cube[1] + 0.23097 * cube[2],
        -1.26844 * cube[0] + 2.60976 * cube[1] - 0.34132 * cube[2],
        -0.0042 * cube[0] - 0.70342 * cube[1] + 1.70761 * cube[2],
    )
    curved = [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in (max(c, 0.0) for c in rgb)]
    return "#" + "".join(f"{min(255, max(0, round(255 * c))):02x}" for c in curved)


# -- measures ------------------------------------------------------------------------------------------------------


def _measures(source: Source, diagnosis: Any) -> dict[str, FloatArray]:
    from topicloom.diagnostics.topics import topic_diagnostics

    n = min(10, len(source.vocabulary))
    found: dict[str, FloatArray] = {}
    if source.corpus is not None and source.corpus.n_tokens and n > 1 and source.posterior is None:
        found["coherence"] = coherence(source.phi, source.corpus, n_words=n)
    found["exclusivity"] = exclusivity(source.phi, n)
    found["effective words"] = effective_words(source.phi)
    if diagnosis is not None and len(diagnosis.topics) == source.n_topics:
        found["R-hat"] = np.array([row.rhat for row in diagnosis.topics])
    if source.state is None:
        return found
    try:
        given = source.model if source.model is not None else (source.corpus, source.state, source.prior)
        mallet = topic_diagnostics(given)
    except (InputError, StorageError):  # there is no topic per token
        return found
    return found | {name: np.asarray(getattr(mallet, theirs), float) for name, theirs in _MALLET.items()}


def _finite(value: Any) -> float | None:
    return short(value) if np.isfinite(value) else None


def _diagnosis(source: Source) -> tuple[Any, str | None]:
    """What ``diagnose`` says, if it can say something."""
    from topicloom.diagnostics.fitted import diagnose

    if source.model is None:
        return None, None
    try:
        found = diagnose(source.model)
    except InputError as error:
        return None, f"Convergence is not known: {error}"
    except StorageError:  # it was saved without its corpus
        return None, None
    return found, found.verdict.line or found.verdict.text


def _chains(diagnosis: Any, k: int) -> list[int] | None:
    if diagnosis.n_chains < 2 or k >= len(diagnosis.topics):
        return None
    return [int(diagnosis.topics[k].chains), int(diagnosis.n_chains)]


# -- how the model was made ----------------------------------------------------------------------------------------


def about(source: Source) -> list[list[str]]:
    """Names and values, all of which are the same whenever the page is written."""
    model, corpus = source.model, source.corpus
    rows: list[tuple[str, Any]] = [("model", source.kind), ("topicloom", topicloom.__version__)]
    if corpus is not None:
        rows += [("documents", f"{corpus.n_docs:,}"), ("documents without words", f"{int(corpus.empty_docs.sum()):,}")]
        rows += [("words", f"{corpus.n_words:,}"), ("tokens", f"{corpus.n_tokens:,}")]
        rows += [("corpus fingerprint", corpus.fingerprint)]
    if model is not None:
        rows += [
            ("sweeps", f"{model.n_iter_:,}"),
            ("chains", len(model.traces_)),
            ("published chain", model.best_chain_),
        ]
        rows += [("log joint probability", f"{float(model.log_joint_[model.best_chain_]):.8g}")]
        rows += [("seed", model.seed_), ("fingerprint", model.fingerprint_)]
        rows += [(name, value) for name, value in _parameters(model).items()]
    elif source.prior is not None:
        rows += [("sum of α", f"{float(source.prior.alpha[0].sum()):.6g}"), ("β", f"{float(source.prior.beta[0]):.6g}")]
    return [[name, clean(value if isinstance(value, str) else repr(value))] for name, value in rows]


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters that are not left at their defaults, apart from those that change no result."""
    import inspect

    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    skip = {"checkpoint_dir", "checkpoint_every", "n_jobs", "verbose", "random_state"}
    given = {name: as_json(value) for name, value in model.get_params(deep=False).items() if name not in skip}
    return {name: value for name, value in given.items() if value != as_json(defaults.get(name))}


def _command(source: Source) -> str | None:
    if source.model is None:
        return None
    given = {**_parameters(source.model), "random_state": source.model.seed_}
    options = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return clean(f"topicloom.{source.kind}({options}).fit(corpus)")


def _fingerprint(source: Source) -> str:
    if source.model is not None:
        return str(source.model.fingerprint_)
    return "" if source.corpus is None else source.corpus.fingerprint

"""The diagnostics of topics again, from their definitions, in plain loops over tokens; and states to try them on."""

from collections import Counter
from math import log
from typing import Any

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics.topics import MEASURES, TopicDiagnostics
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.state import rebuild_counts
from topicloom.mallet import MalletState


def naive_diagnostics(
    corpus: Corpus, z: Any, prior: Prior, n_top: int, allowed: list[list[int]] | None = None
) -> tuple[dict[str, list[float]], list[list[dict[str, Any]]]]:
    """Measures by name, a value per topic, and per topic the values of its top words."""
    n_topics, n_words = prior.n_topics, corpus.n_words
    tokens = [(int(d), int(v), int(k)) for d, v, k in zip(corpus.token_docs, corpus.words, z, strict=True)]
    in_topic = [Counter(v for _, v, k in tokens if k == topic) for topic in range(n_topics)]
    size = [sum(counts.values()) for counts in in_topic]
    of_doc = [Counter(k for e, _, k in tokens if e == d) for d in range(corpus.n_docs)]
    in_corpus = Counter(v for _, v, _ in tokens)

    def smoothed(k: int, v: int) -> float:
        row = int(prior.boost_row[v])
        extra = float(prior.boost[row, k]) if row >= 0 else 0.0
        every = sum(
            float(prior.beta[w]) + (float(prior.boost[prior.boost_row[w], k]) if prior.boost_row[w] >= 0 else 0.0)
            for w in range(n_words)
        )
        return (in_topic[k][v] + float(prior.beta[v]) + extra) / (size[k] + every)

    def proportion(d: int, k: int) -> float:
        alpha = prior.alpha[prior.alpha_row[d]]
        total = sum(float(alpha[j]) for j in (range(n_topics) if allowed is None else allowed[d]))
        return (of_doc[d][k] + float(alpha[k])) / (sum(of_doc[d].values()) + total)

    beta = sum(float(b) for b in prior.beta) / n_words
    measures: dict[str, list[float]] = {}
    words = []
    for k in range(n_topics):
        best = sorted(in_topic[k], key=lambda v: (-in_topic[k][v], -v))[:n_top]
        having = {v: {d for d, w, topic in tokens if w == v and topic == k} for v in best}
        documents = [d for d in range(corpus.n_docs) if of_doc[d][k] > 0]
        share = {v: n / size[k] for v, n in in_topic[k].items()}
        listed: list[dict[str, Any]] = []
        coherence, cumulative = 0.0, 0.0
        by_tokens, by_docs = sum(in_topic[k][v] for v in best), sum(len(having[v]) for v in best)
        for i, v in enumerate(best):
            pairs = [log((len(having[v] & having[u]) + beta) / (len(having[u]) + beta)) for u in best[:i]]
            coherence += sum(pairs)
            cumulative += share[v]
            p, q = in_topic[k][v] / by_tokens, len(having[v]) / by_docs
            listed.append({
                "word": v,
                "count": in_topic[k][v],
                "prob": share[v],
                "cumulative": cumulative,
                "docs": len(having[v]),
                "word_length": len(corpus.vocabulary[v].encode("utf-16-be")) / 2,
                "coherence": min([0.0, *pairs]),
                "uniform_dist": share[v] * log(share[v] * n_words),
                "corpus_dist": share[v] * log(share[v] / (in_corpus[v] / len(tokens))),
                "token_doc_diff": p * log(2 * p / (p + q)) / 2 + q * log(2 * q / (p + q)) / 2,
                "exclusivity": smoothed(k, v) / sum(smoothed(j, v) for j in range(n_topics)),
            })  # fmt: skip
        missing = n_top - len(best)
        coherence += missing * sum(log(beta / (len(having[u]) + beta)) for u in best)
        firsts = [min(range(n_topics), key=lambda j: (-of_doc[d][j], j)) for d in documents]
        at_least = [sum(proportion(d, k) >= limit for d in documents) for limit in (0.02, 0.3, 0.5)]
        values = {
            "tokens": size[k],
            "document_entropy": -sum(of_doc[d][k] / size[k] * log(of_doc[d][k] / size[k]) for d in documents),
            "word_length": sum(word["word_length"] for word in listed) / n_top,
            "coherence": coherence,
            "uniform_dist": sum(p * log(p * n_words) for p in share.values()),
            "corpus_dist": sum(p * log(p * len(tokens) / in_corpus[v]) for v, p in share.items()),
            "eff_num_words": 1 / sum(p * p for p in share.values()) if share else 0.0,
            "token_doc_diff": sum(word["token_doc_diff"] for word in listed),
            "rank_1_docs": firsts.count(k) / len(documents) if documents else 0.0,
            "allocation_ratio": at_least[2] / at_least[0] if at_least[0] else 0.0,
            "allocation_count": at_least[1] / len(documents) if documents else 0.0,
            "exclusivity": sum(word["exclusivity"] for word in listed) / n_top,
        }
        for name, value in values.items():
            measures.setdefault(name, []).append(value)
        words.append(listed)
    return measures, words


def random_state(seed: int, n_topics: int = 4, n_docs: int = 12, n_words: int = 15) -> MalletState:
    """Documents of 0 to 9 tokens, of which every topic has some but the last; words with characters beyond U+FFFF."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 10, n_docs)
    lengths[3], lengths[4] = 0, 9
    words = rng.integers(0, n_words, lengths.sum())
    z = rng.integers(0, max(n_topics - 1, 1), len(words))
    vocabulary = tuple(f"{'𝛼b' * (v % 3)}{v}" for v in range(n_words))
    corpus = Corpus(words, np.concatenate(([0], np.cumsum(lengths))), vocabulary)
    boosts = {2: rng.random(n_topics), 7: rng.random(n_topics)}
    prior = make_prior(
        rng.random((2, n_topics)) + 0.05, rng.random(n_words) + 0.01, n_docs, boosts, rng.integers(0, 2, n_docs)
    )
    return MalletState(corpus, rebuild_counts(corpus, z, n_topics), prior)


def assert_equals_naive(found: TopicDiagnostics, of: MalletState, allowed: list[list[int]] | None = None) -> None:
    measures, words = naive_diagnostics(of.corpus, of.state.z, of.prior, found.n_top_words, allowed)
    assert list(measures) == list(MEASURES)
    for name, values in measures.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-12, atol=1e-14, err_msg=name)
    for k, listed in enumerate(words):
        assert found.top_words[k] == tuple(of.corpus.vocabulary[word["word"]] for word in listed)
        for name, array in found.words._asdict().items():
            expected = [word[name] for word in listed]
            np.testing.assert_allclose(array[k, : len(listed)], expected, rtol=1e-12, atol=1e-14, err_msg=name)
            assert set(array[k, len(listed) :].tolist()) <= {-1 if name == "word" else 0}


def assert_all_defined(found: TopicDiagnostics) -> None:
    for array in (*(getattr(found, name) for name in MEASURES), *found.words):
        assert np.all(np.isfinite(array))

"""Data of a page, made up: twelve topics, sixty documents in several scripts, every family's block, two models."""

import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.special import xlogy

THEMES = (
    "star planet orbit galaxy telescope moon comet light gravity mission",
    "patient doctor hospital drug clinic trial dose therapy disease nurse",
    "vote party senate election law court minister bill reform debate",
    "goal match team season coach player league score stadium fans",
    "bread butter oven flour sugar recipe kitchen salt dough taste",
    "guitar song album band concert drum melody singer stage record",
    "market price stock bank trade profit investor bond share inflation",
    "river forest soil rain climate species bird tree ocean flood",
    "engine wheel brake road driver fuel gear truck speed traffic",
    "code server network data memory compiler user file program bug",
    "שמש ירח כוכב שמים אור לילה יום גשם רוח ים",
    "人口 城市 经济 历史 文化 河流 山脉 铁路 大学 语言",
)
ARABIC = "قمر شمس نجم سماء ليل نهار"
COMMON = "time year people new world day work way part place number group point case week"
COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#7a5195", "#8c8c2f", "#3d6b99", "#b5651d", "#4b8b6f", "#a14d6f",
)  # fmt: skip
LEVEL = 0.9
PER_BLOCK = 16


class Data(NamedTuple):
    """The blocks of a page, and the arrays they were made of."""

    core: dict[str, Any]
    docs: dict[str, Any]
    texts: list[dict[str, Any]]
    phi: np.ndarray
    word_share: np.ndarray
    vocabulary: list[str]


def make(n_docs: int = 60, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    themes = [theme.split() for theme in THEMES]
    vocabulary = [*(word for theme in themes for word in theme), *COMMON.split(), *ARABIC.split()]
    n_topics, n_words = len(themes), len(vocabulary)
    phi = rng.dirichlet(np.full(n_words, 0.05), n_topics) * 0.15
    phi[:, 120:135] += rng.dirichlet(np.ones(15), n_topics) * 0.2
    for k, theme in enumerate(themes):
        phi[k, 10 * k : 10 * k + len(theme)] += 0.65 * rng.dirichlet(np.linspace(9, 1, len(theme)))
    phi[10, -6:] += 0.2
    phi = (phi + 1e-6) / (phi + 1e-6).sum(axis=1, keepdims=True)
    theta = rng.dirichlet(rng.gamma(1.0, 0.4, n_topics) + 0.05, n_docs)
    docs, texts = _documents(rng, theta, phi, vocabulary)
    lengths = np.array(docs["tokens"], float)
    share = lengths @ theta / lengths.sum()
    word_share = share @ phi
    core = _core(phi, theta, share, word_share, vocabulary, docs)
    return Data(core, docs, texts, phi, word_share, vocabulary)


def with_family(data: Data, rng: np.random.Generator | None = None) -> Data:
    """The same page with every block that some kind of model adds, and a second model."""
    rng = rng or np.random.default_rng(1)
    core = copy.deepcopy(data.core)
    core["family"] = _family(rng, len(core["topics"]), len(data.vocabulary))
    core["models"] = _models(rng, core)
    return data._replace(core=core)


# -- documents -------------------------------------------------------------------------------------------------------


def _documents(
    rng: np.random.Generator, theta: np.ndarray, phi: np.ndarray, vocabulary: list[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    docs: dict[str, Any] = {
        "row": list(range(len(theta))), "id": [], "title": [], "topics": [], "tokens": [],
        "time": [], "group": [], "words": [], "vocabulary": [],
    }  # fmt: skip
    entries = []
    for d, row in enumerate(theta):
        n = int(rng.integers(30, 160))
        z = rng.choice(len(row), n, p=row)
        words = np.array([rng.choice(len(vocabulary), p=phi[k]) for k in z])
        text, tokens = "", []
        for i, (k, w) in enumerate(zip(z, words, strict=True)):
            gap = "" if not i else (". " if i % 12 == 0 else " the " if i % 5 == 0 else " ")
            tokens.append([len(gap), len(vocabulary[w]), int(k), int(rng.integers(4, 16))])
            text += gap + vocabulary[w]
        entries.append({"text": text + ".", "cut": False, "tokens": tokens})
        found, counts = np.unique(words, return_counts=True)
        docs["words"].append([[int(s), int(c)] for s, c in zip(np.diff(found, prepend=0), counts, strict=True)])
        order = np.argsort(-row)
        docs["topics"].append([[int(k), round(float(row[k]), 4)] for k in order if row[k] >= 0.01])
        docs["id"].append(f"doc-{d:03d}")
        docs["title"].append(" ".join(text.split()[:8]))
        docs["tokens"].append(n)
        docs["time"].append(1990 + d % 10)
        docs["group"].append(("press", "letters", "speeches")[d % 3])
    blocks = [{"docs": entries[i : i + PER_BLOCK]} for i in range(0, len(entries), PER_BLOCK)]
    return docs, blocks


# -- core ------------------------------------------------------------------------------------------------------------


def _core(
    phi: np.ndarray, theta: np.ndarray, share: np.ndarray, word_share: np.ndarray, vocabulary: list[str],
    docs: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    n_topics = len(phi)
    distance = np.array([[_jensen_shannon(a, b) for b in phi] for a in phi])
    upper = distance[np.triu_indices(n_topics, 1)]
    x, y, explained = _map(distance)
    topics = [_topic(k, phi, theta, share, word_share, vocabulary, distance, x, y) for k in range(n_topics)]
    joint = phi * share[:, None] / word_share
    given = [[[int(k), round(float(row[k]), 4)] for k in np.argsort(-row)[:10] if row[k] >= 0.01] for row in joint.T]
    return {
        "version": 1, "title": "Twelve topics", "kind": "LDA", "fingerprint": "0123456789abcdef",
        "about": [["n_topics", n_topics], ["sampler", "sparse"], ["iterations", 1000], ["topicloom", "1.0"]],
        "command": "topicloom fit texts.jsonl --topics 12 --seed 0 --out model",
        "verdict": "Converged: R̂ of the log joint is 1.002 over 4 chains.",
        "word_name": "word", "doc_name": "document",
        "n_docs": len(theta), "n_tokens": int(sum(docs["tokens"])), "n_words": len(vocabulary), "lambda": 0.6,
        "topics": topics,
        "words": {"text": vocabulary, "share": [float(p) for p in word_share], "topics": given},
        "tree": [[int(a), int(b), round(float(h), 4), int(n)] for a, b, h, n in linkage(upper, "average")],
        "map": {"measure": "Jensen-Shannon", "explained": explained},
        "times": _covariate(theta, docs["time"], "year", values=True),
        "groups": [_covariate(theta, docs["group"], "source")],
        "level": LEVEL,
        "intervals_about": "Each holds 90% of the posterior of the mean.",
        "documents": {
            "n": len(theta), "of": len(theta), "sampled": False, "texts": "whole", "per_block": PER_BLOCK, "cut": 4000,
        },
        "family": None, "models": None,
        "measures_about": {
            "coherence": "Mean normalised pointwise mutual information of the ten best words.",
            "exclusivity": "How much the topic's words belong to it alone.",
            "effective words": "Exponential of the entropy of φ.",
        },
    }  # fmt: skip


def _topic(
    k: int, phi: np.ndarray, theta: np.ndarray, share: np.ndarray, word_share: np.ndarray, vocabulary: list[str],
    distance: np.ndarray, x: np.ndarray, y: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    log_phi, log_lift = np.log(phi[k]), np.log(phi[k] / word_share)
    lift = np.argsort(-log_lift)[:30]
    frex = np.argsort(-2 / (1 / (1 + _ranks(log_phi)) + 1 / (1 + _ranks(log_lift))))[:30]
    best = {int(w) for a in np.linspace(0, 1, 101) for w in np.argsort(-(a * log_phi + (1 - a) * log_lift))[:30]}
    words = sorted(best | set(lift.tolist()) | set(frex.tolist()), key=lambda w: -phi[k, w])
    near = [int(j) for j in np.argsort(distance[k]) if j != k][:6]
    label = [vocabulary[w] for w in np.argsort(-(0.6 * log_phi + 0.4 * log_lift))[:3]]
    return {
        "name": "cooking" if k == 4 else None, "label": " ".join(label), "share": round(float(share[k]), 5),
        "interval": [round(float(share[k]) * 0.9, 5), round(float(share[k]) * 1.12, 5)],
        "docs": int((theta.argmax(axis=1) == k).sum()),
        "x": round(float(x[k]), 4), "y": round(float(y[k]), 4),
        "words": [[w, float(f"{phi[k, w]:.6g}")] for w in words],
        "frex": frex.tolist(), "lift": lift.tolist(),
        "related": [[j, round(float(1 - distance[k, j]), 3)] for j in near],
        "top_docs": [[int(d), round(float(theta[d, k]), 4)] for d in np.argsort(-theta[:, k])[:30]],
        "measures": {
            "coherence": round(0.1 + 0.02 * k, 3), "exclusivity": round(0.9 - 0.03 * k, 3),
            "effective words": None if k == 2 else round(float(np.exp(-xlogy(phi[k], phi[k]).sum())), 1),
        },
        "chains": [4 - (k % 3 == 0), 4], "color": COLORS[k % len(COLORS)],
    }  # fmt: skip


def _ranks(values: np.ndarray) -> np.ndarray:
    return values.argsort().argsort().astype(float)


def _jensen_shannon(p: np.ndarray, q: np.ndarray) -> float:
    middle = (p + q) / 2
    return float(np.sqrt(max(0.0, (xlogy(p, p / middle).sum() + xlogy(q, q / middle).sum()) / 2)))


def _map(distance: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
    n = len(distance)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    explained = [round(float(v / values[values > 0].sum()), 3) for v in values[:-3:-1]]
    return vectors[:, -1] * np.sqrt(values[-1]), vectors[:, -2] * np.sqrt(values[-2]), explained


def _covariate(theta: np.ndarray, given: list[Any], name: str, *, values: bool = False) -> dict[str, Any]:
    labels = sorted(set(given))
    members = [np.array([value == label for value in given]) for label in labels]
    topics = []
    for k in range(theta.shape[1]):
        row = []
        for member in members:
            mean = theta[member, k].mean()
            error = 1.645 * theta[member, k].std(ddof=1) / np.sqrt(member.sum())
            row.append([round(float(v), 4) for v in (mean, max(0.0, mean - error), mean + error)])
        topics.append(row)
    result = {"name": name, "labels": [str(v) for v in labels], "docs": [int(m.sum()) for m in members]}
    return result | {"topics": topics} | ({"values": labels} if values else {})


# -- families, several models ----------------------------------------------------------------------------------------


def _family(rng: np.random.Generator, n_topics: int, n_words: int) -> dict[str, Any]:
    def interval() -> list[float]:
        mean = float(rng.uniform(0.02, 0.3))
        return [round(mean, 3), round(mean * 0.8, 3), round(mean * 1.25, 3)]

    names, states = ["press", "letters", "speeches"], 4
    words = [rng.choice(n_words, 8, replace=False).tolist() for _ in names]
    return {
        "labels": {
            "names": names, "docs": [20, 20, 20], "topics": [[0, 1], [2], [3, 4]], "words": words,
            "related": [[[1, 5]], [[0, 5], [2, 2]], [[1, 2]]],
        },
        "classes": {
            "names": names, "n": [20, 20, 20], "weights": rng.normal(size=(3, n_topics)).round(3).tolist(),
            "words": [[[w, round(float(rng.normal()), 3)] for w in row] for row in words],
            "confusion": [[17, 2, 1], [1, 18, 1], [0, 3, 17]], "numbers": False,
            "report": {
                "docs": 60, "without": 0.1, "level": 0.95,
                "averages": {name: [0.8, 0.7, 0.75] for name in ("micro", "macro", "weighted", "samples")},
                "rows": [["press", 20, 18, 0.94, 0.85, 0.89, [19.5, 15, 24]],
                         ["letters", 20, 23, 0.78, 0.9, 0.84, None],
                         ["speeches", 20, 19, 0.9, 0.85, 0.87, [30.0, 25, 35]],
                         ["<b>never seen", 1, 0, 0.0, 0.0, 0.0, None]],
            },
        },
        "collections": {
            "names": names, "docs": [20, 20, 20], "values": [1990, 1995, 2000],
            "pi": [[interval() for _ in range(n_topics)] for _ in names],
            "differences": [
                {"first": 0, "second": 1, "topics": [[*interval(), round(rng.random(), 3)] for _ in range(n_topics)]}
            ],
            "trends": [[0.01, -0.02, 0.03, 0.7] for _ in range(n_topics)],
        },
        "states": {
            "n": states, "start": [0.4, 0.3, 0.2, 0.1], "stationary": [0.25] * states,
            "transitions": rng.dirichlet(np.ones(states), states).round(4).tolist(),
            "symbols": [[[f"s{j}", round(0.5 / (j + 1), 3)] for j in range(6)] for _ in range(states)],
            "sequences": [
                {"id": f"seq-{i}", "symbols": [f"s{j % 6}" for j in range(40)],
                 "states": rng.integers(0, states, 40).tolist(),
                 "probability": rng.uniform(0.5, 1, 40).round(2).tolist()}
                for i in range(5)
            ],
        },
    }  # fmt: skip


def _models(rng: np.random.Generator, core: dict[str, Any]) -> dict[str, Any]:
    text = core["words"]["text"]
    first = [
        {"label": t["label"], "share": t["share"], "words": [text[w] for w, _ in t["words"][:10]]}
        for t in core["topics"]
    ]
    second = [dict(topic) for topic in first[:8]]
    flows = [[k, k % 8, round(float(rng.uniform(0.1, 1)), 3)] for k in range(12)]
    return {
        "names": ["K = 12", "K = 8"], "topics": [first, second], "flows": [flows],
        "matches": [[k if k < 8 else -1 for k in range(12)]],
    }  # fmt: skip

"""Digests of short fits of every model, sampler, method and number of shards: a rewrite must not change one bit.

    python tests/golden/record.py                 compare with digests.json
    python tests/golden/record.py --write         record them anew
    python tests/golden/record.py --only hmm      a part, by the beginning of the name

Each case has three digests: of a fit, of what the model says of new documents, and of a run that was
stopped and resumed.
"""

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from topicloom import HMM, LDA, CompoundLDA, DependencyLDA, LabeledLDA, MedLDAClassifier, MedLDARegressor, PriorLDA
from topicloom.datasets import synthetic_compound, synthetic_labeled, synthetic_lda, zipf
from topicloom.inference.kernel import kernel_names

RECORD = Path(__file__).parent / "digests.json"
_STOPPED, _DONE = 5, 12  # sweeps
_PUBLISHED = ("topic_word_", "doc_topic_", "alpha_", "beta_", "log_joint_", "coef_", "intercept_", "threshold_",
              "pi_", "gamma_", "collection_prior_", "label_topics_", "initial_", "transition_",
              "emission_")  # fmt: skip

Case = tuple[str, Callable[..., Any], dict[str, Any], Any]  # name, class, parameters, documents


def _small() -> Any:
    return synthetic_lda(60, 40, 4, doc_length=30.0, seed=1).corpus


def _large() -> Any:
    """Enough tokens for two shards to go on without meeting after each sweep."""
    return zipf(600_000, 3000, 20, seed=2).corpus


def _labeled() -> Any:
    return synthetic_labeled(80, 40, 4, doc_length=30, seed=3).corpus


def _classes() -> Any:
    corpus = _labeled()
    assert corpus.labels is not None
    return corpus.with_metadata(labels=[labels[:1] for labels in corpus.labels])


def _numbers() -> Any:
    corpus = _small()
    return corpus.with_metadata(responses=np.bincount(corpus.token_docs, corpus.words % 3, corpus.n_docs))


def _collections() -> Any:
    return synthetic_compound(3, [20, 30, 10], 40, 4, doc_length=30, seed=4).corpus


def _weighted() -> Any:
    matrix = _small().to_matrix().astype(np.float64)
    matrix.data *= 0.7 + 0.6 * np.cos(np.arange(matrix.nnz))
    return topicloom.from_matrix(matrix)


def _sequences() -> Any:
    rng = np.random.default_rng(5)
    return [rng.integers(0, 6, size).tolist() for size in (30, 1, 50, 17)]


def cases() -> Iterator[Case]:
    yield from _gibbs()
    for mode in ("cvb0", "cvb", "cvb_exact", "vb", "scvb0", "svb"):
        for shards in (1, 2):
            yield f"lda {mode} shards={shards}", LDA, {"n_components": 4, "inference": mode, "n_shards": shards}, _small
        if mode != "cvb_exact":
            yield f"lda {mode} weights", LDA, {"n_components": 4, "inference": mode, "learn_priors": False}, _weighted
    yield from _labels()
    yield from _supervised()
    for method in ("ags", "mgs", "vem"):
        for shards in (1, 2):
            params = {"n_components": 4, "inference": method, "n_shards": shards, "burn_in": 4, "lag": 2}
            yield f"compound {method} shards={shards}", CompoundLDA, params, _collections
    for sampler in ("collapsed", "partial", "blocked"):
        for paths in (1, 3):
            yield f"hmm {sampler} paths={paths}", HMM, {"sampler": sampler, "n_paths": paths, "burn_in": 3}, _sequences
    yield "hmm em", HMM, {"inference": "em", "n_chains": 2}, _sequences


def _gibbs() -> Iterator[Case]:
    for sampler in kernel_names():
        for shards in (1, 2):
            params = {"n_components": 4, "sampler": sampler, "n_shards": shards}
            yield f"lda {sampler} shards={shards}", LDA, {**params, "burn_in": 4, "lag": 3}, _small
            if shards == 2 and sampler in ("dense", "sparse", "words", "auto"):
                yield f"lda {sampler} shards=2 large", LDA, {**params, "n_components": 60}, _large
    yield "lda auto K=600", LDA, {"n_components": 600}, _small
    yield "lda standard fixed", LDA, {"n_components": 4, "estimator": "standard", "doc_topic_prior": [1, 2, 3, 4.0],
                                      "topic_word_prior": 0.1}, _small  # fmt: skip
    yield "lda chains", LDA, {"n_components": 4, "n_chains": 3}, _small
    yield "lda paths", LDA, {"n_components": 4, "n_paths": 3, "burn_in": 4}, _small
    yield "lda seeds", LDA, {"n_components": 4, "seed_words": {0: ["word0", "word3"]}}, _small


def _labels() -> Iterator[Case]:
    for cls in (LabeledLDA, PriorLDA, DependencyLDA):
        for method in ("gibbs", "cvb0"):
            params = {"inference": method, "label_rule": "threshold", "burn_in": 4, "n_chains": 2}
            yield f"{cls.__name__} {method}", cls, params, _labeled
    yield "PriorLDA meta", PriorLDA, {"burn_in": 4}, _labeled


def _supervised() -> Iterator[Case]:
    few = {"n_components": 5, "burn_in": 4}
    for sampler in ("mh", "dense"):
        for shards in (1, 2):
            params = {**few, "sampler": sampler, "n_shards": shards}
            for loss in ("hinge", "logistic"):
                name = f"medlda {sampler} {loss} shards={shards}"
                yield name, MedLDAClassifier, {**params, "loss": loss}, _classes
            yield f"medlda regression {sampler} shards={shards}", MedLDARegressor, params, _numbers
    for composition in ("cycle", "doc", "word", "exp"):
        name = f"medlda composition={composition}"
        yield name, MedLDAClassifier, {**few, "sampler": "mh", "composition": composition}, _classes
    yield "medlda ovr", MedLDAClassifier, {**few, "multi_class": "ovr", "n_chains": 2}, _classes
    yield "medlda label sets", MedLDAClassifier, few, _labeled


def _digest(arrays: Iterator[tuple[str, Any]]) -> str:
    digest = blake2b(digest_size=8)
    for name, array in arrays:
        plain = np.ascontiguousarray(array)
        digest.update(f"{name} {plain.dtype.str} {plain.shape}".encode())
        digest.update(plain.tobytes())
    return digest.hexdigest()


def _published(model: Any) -> str:
    return _digest((name, getattr(model, name)) for name in _PUBLISHED if hasattr(model, name))


def _said(model: Any, documents: Any) -> str:
    if isinstance(model, HMM):
        states = model.predict(documents)
        return _digest(iter([*((str(i), path) for i, path in enumerate(states)), ("score", model.score(documents))]))
    found = [("transform", model.transform(documents))]
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            found.append((name, getattr(model, name)(documents)))
    if isinstance(model, MedLDARegressor):
        found.append(("predict", model.predict(documents)))
    if isinstance(model, LDA) and not hasattr(model, "predict"):
        found.append(("perplexity", model.perplexity(documents)))
    return _digest(iter(found))


def digests(case: Case, folder: Path) -> dict[str, str]:
    name, cls, params, make = case
    documents = make()
    short = _DONE if "large" not in name else 11
    params = {**params, "random_state": 7, "trace_every": 3, "checkpoint_every": 4}
    model = cls(**params, max_iter=short).fit(documents)
    new = documents if isinstance(documents, list) else documents.select(np.arange(12))
    cls(**params, max_iter=_STOPPED, checkpoint_dir=folder).fit(documents)
    resumed = topicloom.resume(folder, max_iter=short)
    return {"fit": _published(model), "new": _said(model, new), "resumed": _published(resumed)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record the digests instead of comparing them")
    parser.add_argument("--only", default="", help="the cases whose names begin so")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file of digests")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(options.record.read_text()) if options.record.exists() else {}
    differing = 0
    for case in cases():
        if not case[0].startswith(options.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = digests(case, Path(folder) / "run")
        if options.write:
            known[case[0]] = found
        else:
            wrong = [what for what, digest in found.items() if known.get(case[0], {}).get(what) != digest]
            differing += bool(wrong)
            print(f"{case[0]:40s} {'equal' if not wrong else 'DIFFERS: ' + ', '.join(wrong)}", flush=True)
    if options.write:
        options.record.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{len(known)} cases recorded in {options.record}")
    elif differing:
        print(f"{differing} cases differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())

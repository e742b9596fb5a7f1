"""Digests of short fits of every model, sampler, method and number of shards: a rewrite must not change one bit.

    python -m tests.golden.record                 compare with digests.json, and list what differs by name
    python -m tests.golden.record --write         record anew
    python -m tests.golden.record --only hmm      a part, by the beginning of the name

Recorded of each case is what a fit publishes and what the model says of new documents. A run that was stopped and
resumed must publish the same bits as the fit.

Bits depend on the kind of CPU and on the versions of libraries (docs/guide/reproducibility.md), so these are recorded
too. Elsewhere a weighted sum of each array is compared in place of its bits. To compare bits there, record
the code as it was before a change with ``--write --record other.json``, and compare with ``--record other.json``.
"""

import argparse
import json
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from topicloom import (
    HDP,
    HMM,
    LDA,
    CompoundLDA,
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
)
from topicloom.datasets import synthetic_compound, synthetic_labeled, synthetic_lda, zipf
from topicloom.lda.gibbs import sampler_names

RECORD = Path(__file__).parent / "digests.json"
_SWEEPS = {"large": (5, 11), "learned": (25, 45), "": (5, 12)}  # by the end of a name; samplers learn priors from 20 on
_PUBLISHED = ("topic_word_", "doc_topic_", "alpha_", "beta_", "log_joint_", "coef_", "intercept_", "threshold_",
              "pi_", "pi_draws_", "gamma_", "collection_prior_", "label_topics_", "label_counts_", "initial_",
              "transition_", "emission_")  # fmt: skip
_SAID = ("transform", "perplexity", "decision_function", "predict_proba", "predict", "score_samples")
_CLOSE = 1e-6  # relative, of sums on another machine

Case = tuple[str, Callable[..., Any], dict[str, Any], Any]  # name, class, parameters, documents
Seen = dict[str, list[Any]]  # by name: digest and weighted sum
Recorded = dict[str, Seen]


def _small() -> Any:
    return synthetic_lda(60, 40, 4, doc_length=30.0, seed=1).corpus


def _long() -> Any:
    """Documents that are long enough to tell what the priors are."""
    return synthetic_lda(100, 60, 4, doc_length=80.0, seed=6).corpus


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
            yield (
                f"lda {mode} shards={shards}",
                VariationalLDA,
                {"n_components": 4, "method": mode, "n_shards": shards},
                _small,
            )
        if mode != "cvb_exact":
            yield (
                f"lda {mode} weights",
                VariationalLDA,
                {"n_components": 4, "method": mode, "learn_priors": False},
                _weighted,
            )
    yield from _labels()
    yield from _supervised()
    for method in ("ags", "mgs", "vem"):
        for shards in (1, 2):
            params = {"n_components": 4, "method": method, "n_shards": shards, "burn_in": 4, "thin": 2}
            yield f"compound {method} shards={shards}", CompoundLDA, params, _collections
        params = {"n_components": 4, "method": method, "burn_in": 22, "collection_prior": None}
        yield f"compound {method} learned", CompoundLDA, params, _collections
    yield "hdp", HDP, {"initial_topics": 4, "n_chains": 2}, _small
    yield "hdp given", HDP, {"doc_concentration": 2.0, "topic_concentration": 5.0, "topic_word_prior": 0.02}, _long
    for sampler in ("collapsed", "partial", "blocked"):
        for paths in (1, 3):
            params = {"sampler": sampler, "n_paths": paths, "burn_in": 3, "start": {"n_runs": 1}}
            yield f"hmm {sampler} paths={paths}", HMM, params, _sequences
    yield "hmm em", HMM, {"method": "em", "n_chains": 2, "start": {"n_runs": 1}}, _sequences


def _gibbs() -> Iterator[Case]:
    for sampler in sampler_names():
        for shards in (1, 2):
            params = {"n_components": 4, "sampler": sampler, "n_shards": shards}
            yield f"lda {sampler} shards={shards}", LDA, {**params, "burn_in": 4, "thin": 3}, _small
            if shards == 2 and sampler in ("dense", "sparse", "words", "auto"):
                yield f"lda {sampler} shards=2 large", LDA, {**params, "n_components": 60}, _large
        yield f"lda {sampler} learned", LDA, {"n_components": 4, "sampler": sampler, "burn_in": 22}, _long
    yield "lda auto K=600", LDA, {"n_components": 600}, _small
    yield "lda standard fixed", LDA, {"n_components": 4, "estimator": "standard", "doc_topic_prior": [1, 2, 3, 4.0],
                                      "topic_word_prior": 0.1}, _small  # fmt: skip
    yield "lda chains", LDA, {"n_components": 4, "n_chains": 3}, _small
    yield "lda paths", LDA, {"n_components": 4, "n_paths": 3, "burn_in": 4}, _small
    yield "lda seeds", LDA, {"n_components": 4, "seed_words": {0: ["word0", "word3"]}}, _small


def _labels() -> Iterator[Case]:
    for cls in (LabeledLDA, PriorLDA, DependencyLDA):
        for method in ("gibbs", "cvb0"):
            params = {"method": method, "label_rule": "threshold", "burn_in": 4, "n_chains": 2}
            yield f"{cls.__name__} {method}", cls, params, _labeled
    yield "PriorLDA meta", PriorLDA, {"burn_in": 4}, _labeled


def _supervised() -> Iterator[Case]:
    few: dict[str, Any] = {"n_components": 5, "burn_in": 4, "calibrate": False}
    numbers = few | {"n_chains": 1}
    few |= {"topic_word_prior": 0.01, "weight_precision": 4096.0}
    for sampler in ("mh", "dense"):
        for shards in (1, 2):
            how = {"sampler": sampler, "n_shards": shards}
            for loss, nu in (("hinge", 4096.0), ("logistic", 1.0)):
                params = few | how | {"loss": loss, "weight_precision": nu}
                yield f"medlda {sampler} {loss} shards={shards}", MedLDAClassifier, params, _classes
            yield f"medlda regression {sampler} shards={shards}", MedLDARegressor, numbers | how, _numbers
    for composition in ("cycle", "doc", "word", "exp"):
        name, options = f"medlda composition={composition}", {"composition": composition}
        yield name, MedLDAClassifier, {**few, "sampler": "mh", "sampler_options": options}, _classes
    yield "medlda ovr", MedLDAClassifier, {**few, "multi_class": "ovr", "n_chains": 2}, _classes
    yield "medlda label sets", MedLDAClassifier, few, _labeled


def machine() -> dict[str, str]:
    """What bits may depend on beside the code."""
    import scipy.linalg  # noqa: F401  (brings its own BLAS)
    from llvmlite import binding
    from threadpoolctl import threadpool_info

    features = sorted(name for name, has in binding.get_host_cpu_features().items() if has)
    cpu = f"{binding.get_host_cpu_name()} {blake2b(' '.join(features).encode(), digest_size=4).hexdigest()}"
    blas = sorted({str(own.get("architecture")) for own in threadpool_info() if own["user_api"] == "blas"})
    packages = ("numba", "llvmlite", "numpy", "scipy", "scikit-learn")
    found = {"cpu": cpu, "blas": " ".join(blas), "python": platform.python_version()}
    return found | {name: version(name) for name in packages}


def seen(value: Any) -> list[Any]:
    """A digest of the bits, and a sum that hardly depends on the last of them."""
    parts = [np.ascontiguousarray(part) for part in (value if isinstance(value, list) else [value])]
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(f"{part.dtype.str} {part.shape}".encode())
        digest.update(part.tobytes())
    flat = np.concatenate([part.ravel() for part in parts])
    total = float(np.sum(flat * (1.0 + np.arange(len(flat)) % 97))) if flat.dtype.kind in "biuf" else 0.0
    return [digest.hexdigest(), float(f"{total:.10g}")]


def _published(model: Any) -> Seen:
    return {name: seen(getattr(model, name)) for name in _PUBLISHED if hasattr(model, name)}


def _said(model: Any, documents: Any) -> Seen:
    return {name: seen(getattr(model, name)(documents)) for name in _SAID if hasattr(model, name)}


def observe(case: Case, folder: Path) -> Recorded:
    """What a short fit, the same model on some documents, and a run that was stopped and resumed give."""
    name, cls, params, make = case
    documents = make()
    stopped, done = next(sweeps for end, sweeps in _SWEEPS.items() if name.endswith(end))
    params = {**params, "random_state": 7, "trace_every": 3, "checkpoint_every": 4}
    if "predict_options" in cls._OPTIONS:  # the records are of draws
        params.setdefault("predict_options", {"method": "gibbs"})
    model = cls(**params, max_iter=done).fit(documents)
    new = documents if isinstance(documents, list) else documents.select(np.arange(12))
    cls(**params, max_iter=stopped, checkpoint_dir=folder).fit(documents)
    resumed = topicloom.resume(folder, max_iter=done)
    return {"fit": _published(model), "new": _said(model, new), "resumed": _published(resumed)}


def differences(found: Recorded, known: Recorded, *, bits: bool) -> list[str]:
    """Names of what is not as recorded: by its bits, or by sums alone."""
    wrong = [f"resumed {name}" for name in found["fit"] if found["resumed"].get(name) != found["fit"][name]]
    for part in ("fit", "new"):
        old = known.get(part, {})
        for name in sorted(found[part].keys() | old.keys()):
            (now, total), (then, before) = found[part].get(name, ["", 0.0]), old.get(name, ["", 0.0])
            same = now == then if bits else now and then and np.isclose(total, before, rtol=_CLOSE, atol=_CLOSE)
            if not same:
                wrong.append(f"{part} {name}")
    return wrong


def read(record: Path = RECORD) -> tuple[dict[str, str], dict[str, Recorded]]:
    """The machine, and what was recorded there."""
    if not record.exists():
        return {}, {}
    known = json.loads(record.read_text())
    return known["machine"], known["cases"]


def write(record: Path, known: dict[str, Recorded]) -> None:
    lines = [f"  {json.dumps(name)}: {{\n" + ",\n".join(
        f"   {json.dumps(part)}: {json.dumps(found[part])}" for part in ("fit", "new")
    ) + "}" for name, found in known.items()]  # fmt: skip
    text = f'{{"machine": {json.dumps(machine())},\n "cases": {{\n' + ",\n".join(lines) + "\n }}\n"
    record.write_text(text)


def run(case: Case) -> Recorded:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return observe(case, Path(folder) / "run")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--only", default="", help="the cases whose names begin so")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file of digests")
    options = parser.parse_args()
    chosen = [case for case in cases() if case[0].startswith(options.only)]
    where, known = read(options.record)
    here = machine()
    if options.write:
        if options.only and where != here:
            parser.error(f"{options.record} is of another machine, {where}: record all cases, not --only some.")
        known = known if options.only else {}
        write(options.record, known | {case[0]: run(case) for case in chosen})
        print(f"{len(chosen)} cases recorded in {options.record}")
        return 0
    if where != here:
        print(f"recorded on another machine: sums are compared, not bits.\n  there: {where}\n  here:  {here}")
    differing = 0
    for case in chosen:
        wrong = differences(run(case), known.get(case[0], {}), bits=where == here)
        differing += bool(wrong)
        print(f"{case[0]:40s} {'equal' if not wrong else 'DIFFERS: ' + ', '.join(wrong)}", flush=True)
    print(f"{differing} of {len(chosen)} cases differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())

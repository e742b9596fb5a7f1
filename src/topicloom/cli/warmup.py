"""``warmup``: compile every kernel now, so that the first fit does not have to."""

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from topicloom.cli._run import Json, say, show_json

_PREDICT: Any = {"burn_in": 1, "n_samples": 1}


def warmup(json: Json = False) -> None:
    """Compile all samplers and measures, once after installation, so that the first fit starts at once.

    It fits every kind of model to a few made-up documents, says what each part took, and where the compiled code is
    kept. What is there already is not compiled again.
    """
    from topicloom.lda.gibbs import sampler_names
    from topicloom.numerics.cache import record, reporter

    say("compiling all samplers and measures: up to some minutes, less if some is there already.")
    reporter.said_compiling = True
    started, parts, known, n_loaded = time.perf_counter(), {}, {*record.compiled}, record.n_loaded
    for name, compile_part in PARTS.items():
        before, since = len(record.compiled), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two sweeps are not enough, for instance
            compile_part()
        parts[name] = {"seconds": time.perf_counter() - since, "compiled": len(record.compiled) - before}
        if not json:
            typer.echo(f"{name}: {parts[name]['seconds']:.1f} s, {parts[name]['compiled']} functions compiled")
    compiled_now = {name: took for name, took in record.compiled.items() if name not in known}
    n_loaded = record.n_loaded - n_loaded
    seconds, used = time.perf_counter() - started, [path.parent for path in record.files if path.is_file()]
    folder = os.path.commonpath(used) if used else None
    files = [*Path(folder).rglob("*.nbc")] if folder else []
    size = sum(path.stat().st_size for path in files)
    if json:
        found = {"samplers": sampler_names(), "parts": parts, "kernels": compiled_now}
        counts = {"loaded": n_loaded, "files": len(files), "bytes": size}
        show_json({"seconds": seconds, **found, **counts, "folder": folder})
        return
    compiled = f"{len(compiled_now)} functions compiled in {sum(compiled_now.values()):.1f} s"
    typer.echo(f"ready in {seconds:.1f} s: {compiled}, {n_loaded} loaded from files.")
    if folder is None:
        typer.echo("Nothing is kept, so each process compiles again. NUMBA_CACHE_DIR names a folder to keep it in.")
    else:
        typer.echo(f"Compiled code is in {folder}: {len(files)} files, {size / 1e6:.1f} MB.")


def _texts() -> None:
    from topicloom.corpus._compiled_cutting import CompiledCutter

    CompiledCutter(lowercase=True).cut([" ".join(f"w{v}" for v in range(20_000)).encode()], True)


def _lda() -> None:
    import numpy as np

    from topicloom import LDA, datasets
    from topicloom.engine.prior import make_prior
    from topicloom.engine.sampler import Key, Schedule
    from topicloom.lda.gibbs import get_sampler, sampler_names
    from topicloom.lda.gibbs.growing_start import Part, grow

    corpus = datasets.bars(n_docs=20, doc_length=20).corpus
    for name in sampler_names():
        # Two chains, kept samples and learned priors touch all that a fit can.
        for estimator in ("standard", "cgs_p"):
            model = LDA(
                3, sampler=name, estimator=estimator, n_chains=2, max_iter=30, burn_in=25, thin=5, random_state=0,
                n_jobs=2, predict_options=_PREDICT,
            ).fit(corpus)  # fmt: skip
            model.transform(corpus)
            model.perplexity(corpus)
    model.set_params(predict_options={"method": "cvb0"}).transform(corpus)
    LDA(500, max_iter=1, random_state=0).fit(corpus)  # starts in a way of its own, as large corpora do
    half = Part(corpus.n_docs, np.full(corpus.n_docs, 32))
    prior = make_prior(np.full(3, 0.1), np.full(corpus.n_words, 0.1), corpus.n_docs)
    grow(get_sampler("auto"), [half, half], corpus, prior, Key(0, 0, 0), Schedule())


def _variational() -> None:
    from topicloom import VariationalLDA, datasets

    corpus = datasets.bars(n_docs=20, doc_length=20).corpus
    for method in ("cvb0", "cvb", "vb", "scvb0", "svb"):
        VariationalLDA(3, method=method, max_iter=2, random_state=0).fit(corpus).transform(corpus)


def _process() -> None:
    from topicloom import HDP, datasets

    HDP(max_iter=2, random_state=0).fit(datasets.bars(n_docs=20, doc_length=20).corpus)


def _labels() -> None:
    from topicloom import PriorLDA, datasets

    labeled = datasets.synthetic_labeled(20, 10, 3, doc_length=5).corpus
    for method, estimator in (("gibbs", "standard"), ("gibbs", "cgs_p"), ("cvb0", "cgs_p")):
        PriorLDA(
            method=method, estimator=estimator, max_iter=3, burn_in=2, thin=1, random_state=0,
            predict_options={**_PREDICT, "estimator": estimator},
        ).fit(labeled)  # fmt: skip


def _collections() -> None:
    from topicloom import CompoundLDA, datasets

    grouped = datasets.synthetic_compound(2, 10, 10, 3, doc_length=5).corpus
    CompoundLDA(3, max_iter=25, random_state=0).fit(grouped)
    CompoundLDA(3, method="mgs", max_iter=5, random_state=0).fit(grouped)


def _supervised() -> None:
    from topicloom import MedLDAClassifier, MedLDARegressor, datasets

    labeled = datasets.synthetic_labeled(20, 10, 3, doc_length=5).corpus
    supervised: tuple[dict[str, Any], ...] = (
        {"sampler": "mh", "loss": "hinge", "estimator": "standard"},
        {"sampler": "dense", "loss": "logistic", "estimator": "cgs_p"},
    )
    for given in supervised:
        MedLDAClassifier(3, max_iter=3, burn_in=2, thin=1, predict_options=_PREDICT, random_state=0, **given).fit(
            labeled
        )
    MedLDARegressor(3, max_iter=3, burn_in=2, predict_options=_PREDICT).fit(
        labeled, [float(n) for n in labeled.doc_lengths]
    )


def _sequences() -> None:
    from topicloom import HMM

    for method in ("gibbs", "em"):
        model = HMM(2, method=method, max_iter=3, random_state=0)
        model.fit([[0, 1, 1, 0, 2], [1, 0, 2]]).decode([[0, 1, 1]])


def _measures() -> None:
    from topicloom import LDA, datasets, evaluation, mallet
    from topicloom.diagnostics.annealed import annealed

    corpus = datasets.bars(n_docs=20, doc_length=20).corpus
    model = LDA(3, max_iter=2, random_state=0).fit(corpus)
    evaluation.left_to_right(model.topic_word_, model.alpha_, corpus, n_particles=2)
    annealed(model.topic_word_, model.alpha_, corpus, temperatures=2, n_particles=2)
    for measure in ("c_npmi", "u_mass", "c_v"):
        evaluation.coherence(model.topic_word_, corpus, measure, n_words=3)
    chain = model.chains_[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.gz"
        mallet.write_state(path, corpus, chain.state, chain.prior)
        mallet.read_state(path)


PARTS: dict[str, Callable[[], None]] = {
    "cutting of texts": _texts,
    "samplers of LDA": _lda,
    "variational LDA": _variational,
    "hierarchical Dirichlet processes": _process,
    "labels": _labels,
    "collections": _collections,
    "supervised topics": _supervised,
    "hidden Markov models": _sequences,
    "measures and MALLET states": _measures,
}

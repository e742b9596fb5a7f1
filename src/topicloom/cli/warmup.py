"""``warmup``: compile every kernel now, so that the first fit does not have to."""

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import typer

from topicloom.cli._run import Json, say, show_json


def warmup(json: Json = False) -> None:
    """Compile all samplers and measures, once after installation, so that the first fit starts at once."""
    from topicloom.numerics.cache import reporter

    say("compiling all samplers and measures: up to some minutes.")
    reporter.said_compiling = True
    started = time.perf_counter()
    names = compile_all()
    seconds = time.perf_counter() - started
    if json:
        show_json({"seconds": seconds, "samplers": names})
    else:
        typer.echo(
            f"ready in {seconds:.1f} s: samplers {', '.join(names)}, of labels, collections and supervised topics, "
            "estimates, measures, MALLET states."
        )


def compile_all() -> list[str]:
    """Use everything that compiles, on a corpus of no size; returns the names of the samplers."""
    from topicloom import datasets, evaluation, mallet
    from topicloom.diagnostics.annealed import annealed
    from topicloom.lda.gibbs import sampler_names
    from topicloom.models import HDP, LDA, CompoundLDA, MedLDAClassifier, MedLDARegressor, PriorLDA

    corpus = datasets.bars(n_docs=20, doc_length=20).corpus
    names = sampler_names()
    for name in names:
        # Two chains, kept samples and learned priors touch all that a fit can.
        for estimator in ("standard", "cgs_p"):
            model = LDA(
                3, sampler=name, estimator=estimator, n_chains=2, max_iter=30, burn_in=25, thin=5, random_state=0,
                n_jobs=2, predict_options={"burn_in": 1, "n_samples": 1},
            ).fit(corpus)  # fmt: skip
            model.transform(corpus)
            model.perplexity(corpus)
    model.set_params(predict_options={"method": "cvb0"}).transform(corpus)
    LDA(500, max_iter=1, random_state=0).fit(corpus)  # starts in a way of its own
    HDP(max_iter=2, random_state=0).fit(corpus)
    labeled = datasets.synthetic_labeled(20, 10, 3, doc_length=5).corpus
    for method, estimator in (("gibbs", "standard"), ("gibbs", "cgs_p"), ("cvb0", "cgs_p")):
        PriorLDA(
            method=method, estimator=estimator, max_iter=3, burn_in=2, thin=1, random_state=0,
            predict_options={"burn_in": 1, "n_samples": 1, "estimator": estimator},
        ).fit(labeled)  # fmt: skip
    grouped = datasets.synthetic_compound(2, 10, 10, 3, doc_length=5).corpus
    CompoundLDA(3, max_iter=25, random_state=0).fit(grouped)
    CompoundLDA(3, method="mgs", max_iter=5, random_state=0).fit(grouped)
    supervised: tuple[dict[str, Any], ...] = (
        {"sampler": "mh", "loss": "hinge", "estimator": "standard"},
        {"sampler": "dense", "loss": "logistic", "estimator": "cgs_p"},
    )
    for given in supervised:
        MedLDAClassifier(
            3, max_iter=3, burn_in=2, thin=1, predict_options={"burn_in": 1, "n_samples": 1}, random_state=0, **given
        ).fit(labeled)  # fmt: skip
    MedLDARegressor(3, max_iter=3, burn_in=2, predict_options={"burn_in": 1, "n_samples": 1}).fit(
        labeled, [float(n) for n in labeled.doc_lengths]
    )
    evaluation.left_to_right(model.topic_word_, model.alpha_, corpus, n_particles=2)
    annealed(model.topic_word_, model.alpha_, corpus, temperatures=2, n_particles=2)
    for measure in ("c_npmi", "u_mass", "c_v"):
        evaluation.coherence(model.topic_word_, corpus, measure, n_words=3)
    chain = model.chains_[0]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "state.gz"
        mallet.write_state(path, corpus, chain.state, chain.prior)
        mallet.read_state(path)
    return names

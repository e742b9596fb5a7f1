"""Fits of every model at the ends of what parameters may be, each within a limit of time; run as a program.

A fit that does not end is ended from outside, wherever it is, with a list of where it was: ``faulthandler`` needs no
lock that a compiled loop holds.
"""

import faulthandler
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import topicloom as tl
from topicloom.engine.estimator.parameters import LEAST, MOST
from topicloom.lda.gibbs import auto as samplers
from topicloom.lda.gibbs import sampler_names

LIMIT = 60.0  # seconds for a fit, of which each takes some milliseconds, or seconds if it compiles
SAMPLERS = tuple(sorted(set(sampler_names())))
MODES = ("cvb0", "cvb", "cvb_exact", "vb", "scvb0", "svb")
_ENDS = (LEAST, MOST)
_QUICK = {"max_iter": 3, "random_state": 0}
_SHORT = {**_QUICK, "predict_options": {"burn_in": 1, "n_samples": 1, "n_chains": 1}}
_RNG = np.random.default_rng(3)

Case = tuple[str, Callable[[], Any]]


def _corpus(docs: list[Any], n_words: int) -> tl.Corpus:
    ptr = np.concatenate(([0], np.cumsum([len(doc) for doc in docs])))
    return tl.Corpus(np.concatenate(docs).astype(np.int32), ptr, tuple(f"w{v}" for v in range(n_words)))


CORPORA = {
    "one long document": _corpus([_RNG.zipf(1.3, 3000) % 60], 60),
    "words that occur once": _corpus([np.arange(d * 10, d * 10 + 10) for d in range(30)], 300),
    "documents of one word": _corpus([np.array([d % 9]) for d in range(90)], 9),
    "one word": _corpus([np.zeros(500, int), np.zeros(2, int)], 1),
    "documents of all lengths": _corpus([_RNG.zipf(1.5, n) % 40 for n in (1, 2, 5, 900, 40, 0, 7)], 40),
}
COUNTS = _RNG.poisson(0.8, (24, 12))
COUNTS[:, 0] += 1
WEIGHTS = {
    "fractions": COUNTS * _RNG.random(COUNTS.shape),
    "small": COUNTS * _RNG.random(COUNTS.shape) * 1e-9,
    "of all sizes": COUNTS * 10.0 ** _RNG.uniform(-12, 8, COUNTS.shape),
}
CLASSES, NUMBERS = _RNG.integers(0, 3, 24), _RNG.normal(size=24)
LABELS = (_RNG.random((24, 4)) < 0.4).astype(int)
LABELS[:, 0] |= LABELS.sum(axis=1) == 0
GROUPS = ["a", "b", "c"] * 8
SEQUENCES = [_RNG.integers(0, 4, 15) for _ in range(5)]
NAMED = tl.from_matrix(COUNTS, [f"w{v}" for v in range(12)])


def _priors(n: int) -> list[Any]:
    """Of n topics or words: both ends, what once made a sampler loop, an ordinary one, and all of them mixed."""
    return [LEAST, 1e-9, 1.0, MOST, np.where(np.arange(n) % 2, LEAST, MOST)]


def _sampled() -> Iterator[Case]:
    for name, corpus in CORPORA.items():
        for sampler, alpha, beta in itertools.product(SAMPLERS, _priors(12), _priors(corpus.n_words)):
            yield (
                f"{sampler}, {name}, α {alpha}, β {np.unique(beta)}",
                lambda c=corpus, s=sampler, a=alpha, b=beta: tl.LDA(
                    12, sampler=s, doc_topic_prior=a, topic_word_prior=b, estimator="standard", **_SHORT
                ).fit(c),
            )
    for (name, corpus), alpha, beta in itertools.product(CORPORA.items(), (*_ENDS, 1.0), (*_ENDS, 1.0)):
        yield (
            f"first topics one by one, {name}, α {alpha}, β {beta}",
            lambda c=corpus, a=alpha, b=beta: tl.LDA(
                samplers._ONLINE, doc_topic_prior=a, topic_word_prior=b, estimator="standard", **_SHORT
            ).fit(c),
        )
    for sampler, weight, end in itertools.product(SAMPLERS, _ENDS, (*_ENDS, None)):
        yield (
            f"{sampler}, seed words {weight}, β {end}",
            lambda s=sampler, w=weight, b=end: tl.LDA(
                3, sampler=s, seed_words={0: ["w3", "w4"], 1: ["w5"]}, seed_weight=w, topic_word_prior=b, **_SHORT
            ).fit(NAMED),
        )


def _variational() -> Iterator[Case]:
    data = {"counts": COUNTS, **WEIGHTS}
    for mode, (name, X), alpha, beta in itertools.product(MODES, data.items(), (*_ENDS, 1.0), (*_ENDS, 1.0)):
        if mode != "cvb_exact" or name == "counts":
            for learn in (False, True):
                yield (
                    f"{mode}, {name}, α {alpha}, β {beta}, {learn}",
                    lambda m=mode, x=X, a=alpha, b=beta, o=learn: tl.VariationalLDA(
                        3, method=m, doc_topic_prior=a, topic_word_prior=b, learn_priors=o, **_QUICK
                    ).fit(x),
                )


def _compound() -> Iterator[Case]:
    for mode, end in itertools.product(("ags", "mgs", "vem"), _ENDS):
        options: list[dict[str, Any]] = [
            {"concentration": end}, {"collection_prior": end}, {"topic_word_prior": end},
            *({"collection_prior": {"shape": a, "rate": b}} for a, b in ((end, 1), (1, end), (end, end))),
        ]  # fmt: skip
        for own, sampler in itertools.product(options, ("sparse", "words")):
            yield (
                f"compound {mode}, {own}",
                lambda m=mode, o=own, s=sampler: tl.CompoundLDA(3, method=m, sampler=s, **o, **_SHORT).fit(
                    COUNTS, groups=GROUPS
                ),
            )


def _labeled() -> Iterator[Case]:
    for mode, end in itertools.product(("gibbs", "cvb0"), _ENDS):
        for own in ("doc_topic_prior", "topic_word_prior", "smoothing", "frequency_weight"):
            yield (
                f"labels {mode}, {own} {end}",
                lambda m=mode, o=own, e=end: tl.DependencyLDA(
                    method=m, label_sweeps=3, burn_in=2, thin=1, **{o: e}, **_SHORT
                ).fit(COUNTS, LABELS),
            )


def _supervised() -> Iterator[Case]:
    for sampler, end in itertools.product(("mh", "dense"), _ENDS):
        for own in ("loss_weight", "weight_precision", "doc_topic_prior", "topic_word_prior"):
            for loss in ("hinge", "logistic"):
                yield (
                    f"{loss} {sampler}, {own} {end}",
                    lambda s=sampler, x=loss, o=own, e=end: tl.MedLDAClassifier(
                        3, sampler=s, loss=x, burn_in=2, thin=1, **{o: e}, **_SHORT
                    ).fit(COUNTS, CLASSES),
                )
            yield (
                f"numbers {sampler}, {own} {end}",
                lambda s=sampler, o=own, e=end: tl.MedLDARegressor(
                    3, sampler=s, burn_in=2, thin=1, **{o: e}, **_SHORT
                ).fit(COUNTS, NUMBERS),
            )
        for other in _ENDS:
            yield (
                f"logistic {sampler}, {end}, {other}",
                lambda s=sampler, e=end, f=other: tl.MedLDAClassifier(
                    3,
                    sampler=s,
                    loss="logistic",
                    loss_weight=e,
                    weight_precision=f,
                    class_weight={0: MOST},
                    **_SHORT,
                    burn_in=2,
                ).fit(COUNTS, CLASSES),
            )
        for scale in (1e-90, 1e90):
            yield (
                f"numbers times {scale}",
                lambda s=sampler, y=scale: tl.MedLDARegressor(3, sampler=s, burn_in=2, epsilon=y, **_SHORT).fit(
                    COUNTS, NUMBERS * y
                ),
            )


def _hidden() -> Iterator[Case]:
    for sampler, end, own in itertools.product(
        ("collapsed", "partial", "blocked"), _ENDS, ("initial_prior", "transition_prior", "emission_prior")
    ):
        yield (
            f"hmm {sampler}, {own} {end}",
            lambda s=sampler, o=own, e=end: tl.HMM(3, sampler=s, n_paths=2, **{o: e}, **_QUICK).fit(SEQUENCES),
        )
        yield f"hmm em, {own} {MOST}", lambda o=own: tl.HMM(2, method="em", **{o: MOST}, **_QUICK).fit(SEQUENCES)
    for end, own in itertools.product(_ENDS, ("initial_prior", "transition_prior", "emission_prior")):
        yield (
            f"hmm cvb0, {own} {end}",
            lambda o=own, e=end: tl.HMM(3, method="cvb0", **{o: e}, **_QUICK).fit(SEQUENCES),
        )


def cases() -> Iterator[Case]:
    for part in (_sampled, _variational, _compound, _labeled, _supervised, _hidden):
        yield from part()


def _wrong(model: Any) -> str:
    """What is wrong with a fitted model's numbers."""
    if not all(np.isfinite(np.asarray(own, float)).all() for own in model._fitted_numbers()):
        return "not finite"
    if not hasattr(model, "components_"):
        return ""
    gamma = getattr(model.chains_[0].state, "gamma", np.zeros(1))
    if not np.all((gamma >= 0) & (gamma <= 1 + 1e-9)):
        return "no probabilities of topics"
    theta = model.transform(model.corpus_)
    if not np.isfinite(theta).all() or not np.allclose(theta.sum(axis=1), 1):
        return "no topics of documents"
    return "" if (model.components_ > 0).all() and (model.doc_topic_ >= 0).all() else "negative"


def main() -> None:
    """Every fit once; the first of a kind may have to compile."""
    warnings.simplefilter("ignore")
    made, refused, wrong = 0, [], []
    kinds: set[str] = set()
    for name, fit in cases():
        kind = name.split(",")[0]
        faulthandler.dump_traceback_later(LIMIT if kind in kinds else 600.0, exit=True)
        kinds.add(kind)
        print(name, file=sys.stderr)
        try:
            model = fit()
        except tl.errors.InputError as error:  # two ends that do not go together
            if "not finite" not in str(error):
                raise
            refused.append(name)
            continue
        made += 1
        if found := _wrong(model):
            wrong.append(f"{name}: {found}")
    faulthandler.cancel_dump_traceback_later()
    print(made)
    print(*(f"refused {name}" for name in refused), *(f"wrong {name}" for name in wrong), sep="\n")


if __name__ == "__main__":
    main()

"""What is computed: every model, sampler and method on data of several sizes, and what is looked at."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

Case = Callable[[int], Iterator[tuple[str, Any]]]
PREDICT = {"burn_in": 3, "thin": 1, "n_samples": 2}

# -- data ----------------------------------------------------------------------------------------------------------
# "small" has long documents; "large" has enough of them for BLAS to cut sums among its threads, "many" enough labels.


@cache
def labeled(size: str) -> Any:
    from topicloom.datasets import synthetic_labeled

    n_docs, length = {"tiny": (60, 12), "small": (240, 40)}.get(size, (12_000, 20))
    n_labels = 40 if size == "many" else 6
    return synthetic_labeled(n_docs, 150, n_labels, labels_per_doc=2.0, doc_length=length, seed=1).corpus


@cache
def corpus(size: str) -> Any:
    """The same with groups, and without labels."""
    found = labeled(size)
    return found.with_metadata(groups=[f"group{d % 5}" for d in range(found.n_docs)], labels=None)


@cache
def fresh(size: str) -> Any:
    """Documents to predict: the training documents of "large", so that there are many; a few of the others."""
    return labeled(size) if size == "large" else labeled(size).select(range(60))


@cache
def first_labels(size: str) -> list[str]:
    return [own[0] if own else "none" for own in labeled(size).labels]


@cache
def numbers(size: str) -> Any:
    import numpy as np

    lengths = np.array([len(own) for own in labeled(size).labels], float)
    return lengths + np.random.default_rng(0).normal(size=len(lengths))


# -- what is looked at -----------------------------------------------------------------------------------------------


def published(model: Any) -> Iterator[tuple[str, Any]]:
    """What every topic model has."""
    from topicloom.errors import InputError

    yield "topics", model.components_
    yield "priors", (model.alpha_, model.beta_)
    yield "documents", model.doc_topic_
    yield "log joint", (model.log_joint_, [vars(trace) for trace in model.traces_])
    with suppress(InputError):  # of variational inference, which draws no topics
        yield "estimates", [model.estimate(estimator) for estimator in ("standard", "cgs_p")]
    yield "fingerprint", model.fingerprint_


def said(model: Any, documents: Any) -> Iterator[tuple[str, Any]]:
    """What every topic model says of new documents."""
    yield "transform", model.transform(documents)
    yield "perplexity", model.perplexity(documents)


def lda(size: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import LDA, VariationalLDA

        model = (VariationalLDA if "method" in options else LDA)(
            6, max_iter=6 if size == "large" else 25, random_state=3, n_jobs=n_jobs, **options
        )
        model.fit(corpus(size))
        yield from published(model)
        yield from said(model, fresh(size))

    return run


def streamed(size: str, mode: str) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        import numpy as np

        from topicloom import VariationalLDA

        whole = corpus(size)
        model = VariationalLDA(
            6, method=mode, random_state=3, n_jobs=n_jobs, total_samples=whole.n_docs, batch_size=12_000
        )
        bounds = []
        for docs in (np.arange(whole.n_docs), np.arange(whole.n_docs)[::-1], np.arange(whole.n_docs)):
            bounds.append(model.partial_fit(whole.select(docs)).log_joint_)
        yield "partial_fit", (model.components_, model.alpha_, model.beta_)
        yield "bounds", bounds
        yield "fingerprint of partial_fit", model.fingerprint_

    return run


def compound(size: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import CompoundLDA

        model = CompoundLDA(6, max_iter=8 if size == "large" else 30, random_state=3, n_jobs=n_jobs, **options)
        model.fit(corpus(size))
        yield from published(model)
        yield "mixtures", (model.pi_, model.pi_draws_, model.gamma_, model.collection_prior_)
        yield "tables", [table.to_dict("list") for table in (
            model.prevalence(frame="pandas"), model.prevalence(str.upper, frame="pandas"),
            model.prevalence([d % 3 for d in range(corpus(size).n_docs)], frame="pandas"),
            model.differences("group0", "group1", frame="pandas"), model.trends(frame="pandas"),
        )]  # fmt: skip
        yield from said(model, corpus(size).select(range(60)))

    return run


def process(size: str) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import HDP

        model = HDP(6, max_iter=8 if size == "large" else 30, random_state=3, n_jobs=n_jobs, n_chains=2)
        model.fit(corpus(size))
        yield from published(model)
        yield "process", (model._level, model.n_topics_trace_)
        yield from said(model, corpus(size).select(range(60)))

    return run


def labels(size: str, kind: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        import topicloom

        quick: dict[str, Any] = {"predict_options": PREDICT}
        quick |= {"max_iter": 30, "burn_in": 15} if size == "small" else {"max_iter": 6, "burn_in": 3, "thin": 1}
        quick |= {"holdout": 0.9 if size == "many" else 0.5}
        model = getattr(topicloom, kind)(random_state=3, n_jobs=n_jobs, **quick, **options)
        model.fit(labeled(size))
        yield from published(model)
        yield "threshold", model.threshold_
        yield "calibration", tuple(model._calibration)
        yield "Meta-Labeler", tuple(model._meta)
        yield from said(model, fresh(size))
        yield "decision_function", model.decision_function(fresh(size))
        yield "predict_proba", model.predict_proba(fresh(size))
        for rule in ("meta", "threshold"):
            model.set_params(label_rule=rule)
            yield f"predict by {rule}", model.predict(fresh(size))
            yield f"score by {rule}", model.score(fresh(size))

    return run


def classes(size: str, kind: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import MedLDAClassifier

        y: Any = first_labels(size)
        if kind == "two":
            y = [name == "label0" for name in y]
        elif kind == "sets":
            y = [set(own) for own in labeled(size).labels]  # in an order that the hash seed decides
        quick = {"max_iter": 5, "burn_in": 3, "thin": 1} if size == "large" else {"max_iter": 20, "burn_in": 10}
        model = MedLDAClassifier(8, random_state=3, n_jobs=n_jobs, predict_options=PREDICT,
                                 **quick, **options).fit(corpus(size), y)  # fmt: skip
        yield from published(model)
        yield "weights", (model.coef_, model.class_topic_rows())
        yield from said(model, fresh(size))
        yield "decision_function", model.decision_function(fresh(size))
        yield "predict", model.predict(fresh(size))
        yield "score", model.score(fresh(size), y[: fresh(size).n_docs])
        if hasattr(model, "predict_proba"):
            yield "predict_proba", model.predict_proba(fresh(size))

    return run


def regression(size: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import MedLDARegressor

        quick = {"max_iter": 5, "burn_in": 3, "thin": 1} if size == "large" else {"max_iter": 20, "burn_in": 10}
        model = MedLDARegressor(6, random_state=3, n_jobs=n_jobs, predict_options=PREDICT,
                                **quick, **options).fit(corpus(size), numbers(size))  # fmt: skip
        yield from published(model)
        yield "weights", (model.coef_, model.intercept_, model.class_topic_rows())
        yield from said(model, fresh(size))
        yield "predict", model.predict(fresh(size))
        yield "score", model.score(fresh(size), numbers(size)[: fresh(size).n_docs])

    return run


def hmm(size: str, **options: Any) -> Case:
    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        import numpy as np

        from topicloom import HMM

        rng = np.random.default_rng(2)
        n, length = (12_000, 6) if size == "large" else (8, 60)
        sequences = [[f"symbol{v}" for v in rng.integers(0, 5, length)] for _ in range(n)]
        model = HMM(3, max_iter=8, tol=0, n_chains=2, random_state=3, n_jobs=n_jobs, **options).fit(sequences)
        yield "parameters", (model.initial_, model.transition_, model.emission_, list(model.alphabet_))
        yield "log joint", (model.log_joint_, [vars(trace) for trace in model.traces_])
        yield "fingerprint", model.fingerprint_
        yield "predict", np.concatenate(model.predict(sequences))
        yield "predict_proba", np.concatenate(model.predict_proba(sequences))
        yield "decode", [model.decode(sequences, method) for method in ("viterbi", "posterior")]
        yield "score", (model.score(sequences), model.score_samples(sequences))
        yield "sample", model.sample([40, 7], random_state=1)

    return run


def measures(size: str) -> Case:
    """Functions over arrays."""

    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        import numpy as np

        from topicloom import evaluation as ev
        from topicloom.diagnostics.annealed import annealed

        whole, rng = corpus(size), np.random.default_rng(4)
        phi, theta = rng.dirichlet(np.full(whole.n_words, 0.1), 6), rng.dirichlet(np.full(6, 0.3), whole.n_docs)
        truth = np.array([[f"label{k}" in own for k in range(6)] for own in labeled(size).labels])
        times = np.arange(whole.n_docs) % 20
        shares = ev.topic_weights(theta, times)
        yield "coherence", [ev.coherence(phi, whole, measure) for measure in ("c_npmi", "u_mass", "c_v")]
        yield "topics", (ev.topic_diversity(phi), ev.topic_distances(phi), ev.effective_words(phi), ev.exclusivity(phi))
        yield "sizes", (ev.topic_sizes(theta, whole.doc_lengths), ev.topic_discrepancy(phi, phi[::-1]))
        yield "map", [*ev.topic_map(phi)]
        yield "clusters", (ev.topic_linkage(phi), ev.silhouette_widths(phi, [0, 0, 0, 1, 1, 1]))
        yield "likelihood", ev.log_likelihood(phi, theta, whole)
        yield "left to right", ev.left_to_right(phi, np.full(6, 0.3), fresh(size), n_particles=3, n_jobs=n_jobs)
        yield "annealed", [*annealed(phi, np.full(6, 0.3), fresh(size), temperatures=9, n_particles=3, n_jobs=n_jobs)]
        yield "labels", [ev.label_set_scores(truth, theta > 0.3), ev.label_ranking_scores(truth, theta),
                         ev.label_calibration(truth, theta)]  # fmt: skip
        yield "trends", (*shares, ev.time_entropy(shares.weights), ev.bucket_lengths(*shares))

    return run


def texts() -> Case:
    """Words and labels as Python has them: in sets, whose order the hash seed decides."""

    def run(n_jobs: int) -> Iterator[tuple[str, Any]]:
        from topicloom import LDA, LabeledLDA, from_texts

        lines = [" ".join(f"word{(7 * d + i * i) % 50}" for i in range(20)) for d in range(80)]
        tags = [{f"label{d % 3}", f"label{d % 5}"} for d in range(80)]
        made = from_texts(lines, stop_words={"word1", "word2"}, labels=tags)
        yield "corpus", (made.vocabulary, made.words, made.labels, made.fingerprint, made.text_options)
        model = LDA(4, seed_words={1: {"word3", "word4", "word5"}}, max_iter=10, random_state=1, n_jobs=n_jobs)
        yield "fit", model.fit(made).fingerprint_
        yield "parameters", model._params_to_save(None)["seed_words"]
        supervised = LabeledLDA(max_iter=10, burn_in=5, random_state=1, n_jobs=n_jobs).fit(lines, tags)
        yield "labels", (list(supervised.classes_), supervised.fingerprint_, supervised.predict_labels(lines[:9]))

    return run


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for size in ("small", "large"):
        for sampler in ("auto", "dense", "mh", "partial", "sparse", "warp", "words"):
            found[f"LDA {sampler}, {size}"] = lda(size, sampler=sampler)
        found[f"LDA 3 shards, {size}"] = lda(size, n_shards=3)
        found[f"LDA 2 chains, 2 paths, burn-in, {size}"] = lda(size, n_chains=2, n_paths=2, burn_in=3, thin=2)
        for mode in ("vb", "cvb0", "cvb", "svb", "scvb0"):
            found[f"VariationalLDA {mode}, {size}"] = lda(size, method=mode, tol=0.0, batch_size=12_000)
        for mode in ("svb", "scvb0"):
            found[f"VariationalLDA {mode} stream, {size}"] = streamed(size, mode)
        for method in ("ags", "mgs", "vem"):
            more = {"method_options": {"tol": 0.0}} if method == "vem" else {}
            found[f"CompoundLDA {method}, {size}"] = compound(size, method=method, **more)
        found[f"HDP 2 chains, {size}"] = process(size)
        for kind in ("LabeledLDA", "PriorLDA", "DependencyLDA"):
            for method in ("gibbs", "cvb0"):
                more = {"n_label_topics": 2, "label_sweeps": 20} if kind == "DependencyLDA" else {}
                found[f"{kind} {method}, {size}"] = labels(size, kind, method=method, **more)
        for kind in ("two", "several", "sets"):
            found[f"MedLDAClassifier {kind}, {size}"] = classes(size, kind)
        found[f"MedLDAClassifier logistic, {size}"] = classes(size, "several", loss="logistic")
        found[f"MedLDAClassifier dense, {size}"] = classes(size, "two", sampler="dense")
        found[f"MedLDAClassifier ovr, 2 shards, {size}"] = classes(size, "several", multi_class="ovr", n_shards=2)
        for sampler in ("mh", "dense"):
            found[f"MedLDARegressor {sampler}, {size}"] = regression(size, sampler=sampler)
        for sampler in ("collapsed", "partial", "blocked"):
            found[f"HMM {sampler}, {size}"] = hmm(size, sampler=sampler, n_paths=2)
        found[f"HMM em, {size}"] = hmm(size, method="em")
        found[f"measures, {size}"] = measures(size)
    found["LabeledLDA, many"] = labels("many", "LabeledLDA")
    found["LabeledLDA 3 shards, large"] = labels("large", "LabeledLDA", n_shards=3)
    found["texts"] = texts()
    found["VariationalLDA cvb_exact, tiny"] = lda("tiny", method="cvb_exact", tol=0.0)
    return found

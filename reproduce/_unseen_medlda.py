"""MedLDA at its defaults beside LDA with a linear model on its topics, and a linear model on tf-idf."""

import numpy as np

from reproduce._common import load, load_split, note, table
from reproduce._light_medlda import Options, one_class, ridge_r2, svm_accuracy, tf_idf
from topicloom import LDA, MedLDAClassifier, MedLDARegressor
from topicloom._types import AnyArray
from topicloom.corpus import Corpus

PENALTIES = (0.1, 1.0, 10.0, 100.0)
LEVELS = (0.5, 0.8, 0.9, 0.95)


def _parts(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """70 % of the documents to learn from, 30 % to predict, drawn at random."""
    order = np.random.default_rng(seed).permutation(corpus.n_docs)
    n_test = int(0.3 * corpus.n_docs)
    return corpus.select(np.sort(order[n_test:])), corpus.select(np.sort(order[:n_test]))


def lda_r2(k: int, train: Corpus, test: Corpus, seed: int) -> float:
    """Ridge on LDA's topics; the penalty is chosen on the training documents."""
    from sklearn.linear_model import RidgeCV

    lda = LDA(k, random_state=seed).fit(train)
    model = RidgeCV(np.logspace(-4, 3, 22)).fit(lda.transform(train), train.responses)
    return float(model.score(lda.transform(test), test.responses))


def lda_accuracy(k: int, train: Corpus, test: Corpus, seed: int) -> float:
    """Logistic regression on LDA's topics; the penalty is chosen on the training documents."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, KFold

    lda = LDA(k, random_state=seed).fit(train)
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": PENALTIES}, cv=folds)
    search.fit(lda.transform(train), one_class(train))
    return float(search.score(lda.transform(test), one_class(test)))


def topics_of_many(options: Options) -> str:
    """One chain on the corpus of classes, seed 0, at the defaults."""
    train, test, _ = load_split(options.data, options.classes)
    rows = []
    for k in options.sizes([40, 60, 100, 150, 200, 400]):
        few = {"max_iter": 4, "burn_in": 2} if options.quick else {}
        accuracy = MedLDAClassifier(k, random_state=0, **few).fit(train).score(test)
        note(f"defaults, K = {k}: {accuracy:.3f}")
        rows.append([k, f"{accuracy:.3f}"])
    rows.append(["linear SVM on tf-idf", f"{svm_accuracy(train, test):.3f}"])
    return table(["K", "accuracy"], rows)


def beside_lda(options: Options) -> str:
    """R² on splits at random; accuracy on the published split, or one at random, and on splits at random after it."""
    rows: list[list[object]] = []
    few = {"max_iter": 4, "burn_in": 2} if options.quick else {}
    for name in options.numbers:
        corpus = load(options.data, name)
        for k in options.sizes([10, 20, 40]):
            found = []
            for seed in range(options.runs):
                train, test = _parts(corpus, seed)
                model = MedLDARegressor(k, random_state=seed, **few).fit(train)
                found.append((model.score(test), lda_r2(k, train, test, seed), ridge_r2(train, test)))
                note(f"{name}, K = {k}: {found[-1]}")
            rows.append([name, k, *(" ".join(f"{own[i]:.3f}" for own in found) for i in range(3))])
    for name in (options.classes, *options.others):
        first, corpus = load_split(options.data, name)[:2], load(options.data, name)
        for k in options.sizes([20, 40]):
            found = []
            for seed in range(options.runs):
                train, test = first if seed == 0 else _parts(corpus, seed)
                accuracy = MedLDAClassifier(k, random_state=seed, **few).fit(train).score(test)
                found.append((accuracy, lda_accuracy(k, train, test, seed), svm_accuracy(train, test)))
                note(f"{name}, K = {k}: {found[-1]}")
            rows.append([name, k, *(" ".join(f"{own[i]:.3f}" for own in found) for i in range(3))])
    return table(["corpus", "K", "MedLDA", "LDA and a linear model", "tf-idf and a linear model"], rows)


def short_reviews(options: Options) -> str:
    """The first words of a few reviews alone: K = 20, some documents to learn from and 2,000 others."""
    rows: list[list[object]] = []
    few = {"max_iter": 4, "burn_in": 2} if options.quick else {}
    for name, (n, words) in zip(options.numbers, ((3000, 20), (1500, 15)), strict=False):
        whole = load(options.data, name)
        corpus = whole.keep_tokens(np.arange(whole.n_tokens) - whole.doc_ptr[whole.token_docs] < words)
        for k in options.sizes([20]):
            found = []
            for seed in range(options.runs):
                order = np.random.default_rng(seed).permutation(corpus.n_docs)
                n_train = min(n, corpus.n_docs // 2)
                train, test = corpus.select(order[:n_train]), corpus.select(order[n_train : n_train + 2000])
                model = MedLDARegressor(k, random_state=seed, **few).fit(train)
                found.append((model.score(test), lda_r2(k, train, test, seed), ridge_r2(train, test)))
                note(f"{name}, {n} reviews of {words} words: {found[-1]}")
            rows.append([name, n, words, *(" ".join(f"{own[i]:.3f}" for own in found) for i in range(3))])
    heads = ["MedLDA", "LDA and ridge", "tf-idf and ridge"]
    return table(["corpus", "reviews", "words", *heads], rows)


def _cells(answer: AnyArray, truth: AnyArray) -> list[str]:
    """Micro-F1, macro-F1, and the share of documents without any label."""
    from sklearn.metrics import f1_score

    scores = [f1_score(truth, answer, average=kind, zero_division=0) for kind in ("micro", "macro")]
    return [*(f"{own:.3f}" for own in scores), f"{np.mean(answer.sum(axis=1) == 0):.1%}"]


def label_sets(options: Options) -> str:
    """Published split, seed 0, beside a linear SVM per label on tf-idf."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    train, test, _ = load_split(options.data, options.labels)
    few = {"max_iter": 4, "burn_in": 2} if options.quick else {}
    rows: list[list[object]] = []
    names = sorted({name for own in train.labels or () for name in own})
    trained, truth = (
        np.array([[name in own for name in names] for own in part.labels or ()]) for part in (train, test)
    )
    for k in options.sizes([40]):
        for what, more in (
            ("hinge", {}), ("hinge, balanced", {"class_weight": "balanced"}), ("logistic", {"loss": "logistic"}),
        ):  # fmt: skip
            answer = MedLDAClassifier(k, random_state=0, **few, **more).fit(train, trained).predict(test)
            rows.append([k, what, *_cells(answer, truth)])
            note(f"label sets: {rows[-1]}")
    X, made = tf_idf(train)
    answer = OneVsRestClassifier(LinearSVC(C=1.0)).fit(X, trained.astype(int)).predict(tf_idf(test, made)[0])
    rows.append(["", "linear SVM on tf-idf", *_cells(answer, truth)])
    return table(["K", "model", "micro-F1", "macro-F1", "documents without a label"], rows)


def intervals_of_numbers(options: Options) -> str:
    """Share of held-out numbers between the limits of ``predict_interval``."""
    rows: list[list[object]] = []
    few = {"max_iter": 4, "burn_in": 2} if options.quick else {}
    for name in options.numbers:
        corpus = load(options.data, name)
        for k in options.sizes([20]):
            for seed in range(options.runs):
                train, test = _parts(corpus, seed)
                model = MedLDARegressor(k, random_state=seed, **few).fit(train).fit_intervals()
                y = np.asarray(test.responses)
                limits = [model.predict_interval(test, level) for level in LEVELS]
                shares = [np.mean((low <= y) & (y <= high)) for low, high in (own.T for own in limits)]
                width = float(np.ptp(limits[2][0])) / float(np.std(y))
                rows.append([name, k, seed, *(f"{share:.3f}" for share in shares), f"{width:.2f}"])
                note(f"intervals: {rows[-1]}")
    heads = [f"{level:.0%}" for level in LEVELS]
    return table(["corpus", "K", "split", *heads, "width of 90%, in standard deviations of y"], rows)

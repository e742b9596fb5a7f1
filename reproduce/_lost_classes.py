"""How often a MedLDA classifier loses a whole class: many seeds on folds of one corpus."""

import warnings

import numpy as np

from reproduce._common import load, note, table
from reproduce._light_medlda import Options, one_class
from topicloom import MedLDAClassifier
from topicloom.corpus import Corpus
from topicloom.errors import LostClassesWarning

N_FOLDS, N_TOPICS = 5, 20


def one_fit(k: int, train: Corpus, test: Corpus, seed: int, quick: bool) -> tuple[float, list[str], bool]:
    """Accuracy, classes of the test documents that are never predicted, and whether the fit warned of some."""
    few = {"max_iter": 4, "burn_in": 2} if quick else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MedLDAClassifier(k, random_state=seed, **few).fit(train)
    truth, answer = np.array(one_class(test)), model.predict(test)
    lost = sorted(set(truth.tolist()) - set(answer.tolist()))
    warned = any(issubclass(own.category, LostClassesWarning) for own in caught)
    return float(np.mean(truth == answer)), lost, warned


def lost_classes(options: Options) -> str:
    """At the defaults, fold by fold."""
    corpus = load(options.data, options.repeated)
    part = np.random.default_rng(0).permutation(corpus.n_docs) % N_FOLDS
    (k,), seeds = options.sizes([N_TOPICS])[:1], [2] if options.quick else options.seeds
    rows: list[list[object]] = []
    for fold in range(N_FOLDS):
        train, test = corpus.select(part != fold), corpus.select(part == fold)
        n_seeds, found = seeds[min(fold, len(seeds) - 1)], []
        for seed in range(n_seeds):
            found.append(one_fit(k, train, test, seed, options.quick))
            note(f"{options.repeated}, fold {fold}, seed {seed}: {found[-1]}")
        accuracy = [own[0] for own in found]
        lost, warned = sum(bool(own[1]) for own in found), sum(own[2] for own in found)
        silent = sum(bool(own[1]) and not own[2] for own in found)
        numbers = [f"{own:.3f}" for own in (np.mean(accuracy), min(accuracy))]
        rows.append([fold, n_seeds, *numbers, lost, warned, silent])
    return f"{options.repeated}, K = {k}.\n\n" + table(
        ["fold", "seeds", "accuracy", "at worst", "a class lost", "warned", "lost and not warned"], rows
    )

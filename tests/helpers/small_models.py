"""A small model of every kind, as the files of its directory, finished or stopped on the way."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from topicloom import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.diagnostics import publish
from topicloom.engine import shards as blocks

_TEXTS = (
    "goal match team goal coach", "vote law party vote", "atom quark field atom", "team coach match", "law court vote",
    "quark atom energy field", "goal team vote", "court law party party", "field energy quark", "match goal coach team",
    "", "party vote atom",
)  # fmt: skip
_LABELS = (("sport",), ("state",), ("nature",), ("sport",), ("state",), ("nature",), ("sport", "state"), ("state",),
           ("nature",), ("sport",), (), ("state", "nature"))  # fmt: skip
_CLASSES = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
_GROUPS = [2001, 2002, 2001, 2002] * 3
_SEQUENCES = [[0, 1, 2, 1, 0], [2, 2, 1], [0, 0, 1, 2], [1, 2]]
_NUMBERS = [np.array([[0.5, 1.0], [np.nan, 2.0], [3.0, 3.5], [3.5, 2.5]]), np.array([[0.0, 1.5], [0.4, np.nan]])]
_QUICK = {"max_iter": 4, "random_state": 3, "trace_every": 2}
_KEEPING = {**_QUICK, "burn_in": 2, "thin": 1}
_SHORT = {"predict_options": {"burn_in": 1, "n_samples": 1, "n_chains": 1}}
_VARIATIONAL = {**_QUICK, "tol": 0.0}


def _corpus(*, keep_texts: bool = False) -> Corpus:
    return topicloom.from_texts(_TEXTS, ids=[f"d{d}" for d in range(len(_TEXTS))], keep_texts=keep_texts)


_KEPT = tempfile.TemporaryDirectory(prefix="small-models-")


def _mapped_corpus() -> Corpus:
    path = Path(_KEPT.name, "a.corpus")
    save_corpus(_corpus(keep_texts=True), path, mapped=True)
    return load_corpus(path)


def _one(theta: np.ndarray, phi: np.ndarray) -> float:
    return float(phi[0, 0])


def _several(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return phi[:, :2]


_FUNCTIONS = {"one": _one, "several": _several}


def _lda(**more: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda **run: topicloom.LDA(3, **_SHORT, **more, **run), (_corpus(),)


def _make(name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How the model of this name is made, and what it is fitted to."""
    kind, _, more = name.partition(" ")
    if kind == "lda":
        options: dict[str, Any] = {
            "auto": {**_KEEPING, "n_chains": 2, "seed_words": {1: ["goal", "vote"]}},
            "paths": {**_KEEPING, "n_paths": 2, "sampler": "dense"},
            "course": {**_QUICK, "max_iter": 15, "n_shards": 2, "sampler": "dense", "checkpoint_every": 1},
            "mapped": {**_KEEPING, "sampler": "dense"},
            "draws": {**_KEEPING, "n_chains": 2, "keep_draws": ["theta", "phi"]},
            "functions": {**_KEEPING, "n_chains": 2, "keep_draws": {"theta": "theta", **_FUNCTIONS}},
            "merged": {**_QUICK, "n_chains": 3},
        }.get(more, {**_QUICK, "sampler": more})
        make, data = _lda(**options)
        return make, (_mapped_corpus(),) if more == "mapped" else data
    if kind == "variational":
        batches = {"batch_size": 4} if more in ("scvb0", "svb") else {}
        return lambda **run: topicloom.VariationalLDA(3, **_VARIATIONAL, method=more, **batches, **run), (_corpus(),)
    if kind == "labels":
        made = {"labeled": topicloom.LabeledLDA, "cvb0": topicloom.LabeledLDA, "prior": topicloom.PriorLDA}
        cls = made.get(more, topicloom.DependencyLDA)
        options = {**_KEEPING, "method": "cvb0" if more == "cvb0" else "gibbs"}
        options |= {"label_sweeps": 2, "n_label_topics": 2} if more == "dependency" else {}
        return lambda **run: cls(**_SHORT, **options, **run), (_corpus(), _LABELS)
    if kind == "medlda":
        target = {
            "binary": [c > 0 for c in _CLASSES],
            "ovr": _CLASSES,
            "classes": _CLASSES,
            "labels": _LABELS,
            "numbers": np.arange(12.0),
        }
        options = {**_KEEPING, **({"multi_class": "ovr", "n_chains": 2} if more == "ovr" else {})}
        options |= {"class_weight": {0: 2.0, 2: 0.5}} if more == "classes" else {}
        model = topicloom.MedLDARegressor if more == "numbers" else topicloom.MedLDAClassifier
        return lambda **run: model(3, **_SHORT, **options, **run), (_corpus(), target[more])
    if kind == "compound":
        options = (
            {**_QUICK, "method": "vem", "method_options": {"tol": 0.0}}
            if more == "vem"
            else {**_KEEPING, "method": more}
        )
        corpus = _corpus().with_metadata(groups=_GROUPS)
        return lambda **run: topicloom.CompoundLDA(3, **_SHORT, **options, **run), (corpus,)
    if kind == "hdp":
        return lambda **run: topicloom.HDP(3, **_SHORT, **_QUICK, **run), (_corpus(),)
    assert kind == "hmm"
    if more.startswith("numbers"):
        options = {**_QUICK, "method": "em", "tol": 0.0} if more.endswith("em") else {**_KEEPING, "n_paths": 2}
        return lambda **run: topicloom.HMM(2, emission="gaussian", **options, **run), (_NUMBERS,)
    options = {**_QUICK, "method": "em", "tol": 0.0} if more == "em" else {**_KEEPING, "n_paths": 2}
    return lambda **run: topicloom.HMM(2, **options, **run), (_SEQUENCES,)


_FINISHED = (
    "lda auto", "lda paths", "lda course", "lda mapped", "lda mh", "lda warp", "lda partial", "lda words",
    "lda functions", "lda merged",
    "variational vb", "variational cvb0", "variational cvb", "variational cvb_exact", "variational scvb0",
    "variational svb", "stream scvb0", "stream svb", "labels labeled", "labels cvb0", "labels prior",
    "labels dependency", "medlda binary", "medlda classes", "medlda ovr", "medlda labels", "medlda numbers",
    "compound ags", "compound mgs", "compound vem", "hdp", "hmm gibbs", "hmm em", "hmm numbers", "hmm numbers em",
)  # fmt: skip
_RUNNING = (
    "lda auto", "lda course", "lda mapped", "lda sparse", "lda draws", "variational vb", "variational cvb0",
    "variational cvb", "variational svb", "variational scvb0", "labels labeled", "labels cvb0", "labels prior",
    "labels dependency", "medlda binary", "medlda ovr", "medlda labels", "medlda numbers", "compound ags",
    "compound mgs", "compound vem", "hdp", "hmm gibbs", "hmm em", "hmm numbers em",
)  # fmt: skip
BASES = tuple([f"finished {name}" for name in _FINISHED] + [f"running {name}" for name in _RUNNING])


class _StoppedError(Exception):
    pass


def _stop_at(sweep: int) -> Callable[[Any], None]:
    def stop(chain: Any) -> None:
        if chain.sweep >= sweep:
            raise _StoppedError

    return stop


@contextmanager
def _blocks_of_any_size(name: str) -> Iterator[None]:
    """Cuts even a small corpus into pieces, so that a chain has a course."""
    least, per_topic = blocks.LEAST, blocks.PER_TOPIC
    if name.endswith("course"):
        blocks.LEAST = blocks.PER_TOPIC = 0
    try:
        yield
    finally:
        blocks.LEAST, blocks.PER_TOPIC = least, per_topic


@cache
def base(name: str) -> tuple[dict[str, bytes], str]:
    """Files of a model's directory, and what using it says."""
    status, _, rest = name.partition(" ")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), _blocks_of_any_size(name):
        warnings.simplefilter("ignore")
        path = Path(folder, "model")
        if rest.startswith("stream"):
            stream = topicloom.VariationalLDA(3, **_VARIATIONAL, method=rest.split()[1])
            stream.partial_fit(_corpus(), score_first=True).save(path)
        elif status == "finished":
            make, data = _make(rest)
            model = make().fit(*data)
            model = publish(model, by="merged", threshold=0.2) if rest == "lda merged" else model
            model.save(path)
        else:
            make, data = _make(rest)
            stop = 13 if rest.endswith("course") else 3
            more = {} if rest.endswith("course") else {"checkpoint_every": 1}
            with suppress(_StoppedError):
                make(checkpoint_dir=path, **more).fit(*data, callbacks=[_stop_at(stop)])
        files = {file.name: file.read_bytes() for file in sorted(path.iterdir())}
        return files, use(path, name)


def use(folder: Path, name: str) -> str:
    """Load or resume a model and ask it all that reads its files; a digest of what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = topicloom.load(folder) if name.startswith("finished") else topicloom.resume(folder)
        said = [np.frombuffer(model.fingerprint_.encode(), np.uint8), model.log_joint_]
        if "hmm" in name:
            data = _NUMBERS if "numbers" in name else _SEQUENCES
            said += [*model.predict(data), *model.predict_proba(data), model.corpus_.words]
            said += [chain.state.moves for chain in model.chains_]
        else:
            new = topicloom.from_texts(["goal vote atom team", "law law", ""], vocabulary=model.vocabulary_)
            if "compound" in name:
                new = new.with_metadata(groups=[2001, 1999, None])
            said += [model.transform(new), model.topic_word_, *(chain.prior.alpha for chain in model.chains_)]
            said += [] if "stream" in name else [model.doc_topic_, model.corpus_.words]
            said += [model.predict(new)] if hasattr(model, "predict") else []
            said += [] if "stream" in name else model.draws_.values()
            said += [model.predict(new)] if "labels" in name else []
    digest = blake2b(digest_size=16)
    for array in said:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()

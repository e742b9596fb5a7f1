"""Fitted models in directories: saving, loading, resuming."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray
from topicloom.arrays import as_path, from_bytes, to_bytes
from topicloom.corpus.stored import corpus_part, text_options
from topicloom.directories import Part, Stored, finish_run, save_model
from topicloom.errors import StorageError
from topicloom.inference.chain import Chain, Trace
from topicloom.manifests import CORPUS, MANIFEST, MODEL, chain_role
from topicloom.models import _stored_checks
from topicloom.models._estimator import check_is_fitted
from topicloom.models.base import TopicModel
from topicloom.stored_checks import Contents


class StoredModel(TopicModel):
    """A topic model that can be written to a directory and read back."""

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no training text and cannot be resumed."""
        check_is_fitted(self, "seed_")
        save_model(as_path(path), type(self).__name__, self._plain_params(), self.seed_, self._parts(corpus))

    def _parts(self, corpus: bool) -> dict[str, Part]:
        """Files of a saved model."""
        parts: dict[str, Part] = {}
        if corpus:
            parts = {CORPUS: corpus_part(self.corpus_), **self._beside_corpus(), **self._chain_parts()}
        return {**parts, MODEL: self._model_part()}

    def _beside_corpus(self) -> dict[str, Part]:
        """What a kind of model was fitted to beside the corpus, as a file."""
        return {}

    def _chain_parts(self) -> dict[str, Part]:
        return {chain_role(chain.index): self._chain_part(chain) for chain in self.chains_}

    def _chain_part(self, chain: Chain) -> Part:
        return storage.chain_part(chain)

    def _trace_names(self) -> list[str]:
        return list(vars(Trace()))

    def _trace_from(self, arrays: dict[str, AnyArray]) -> Trace:
        return Trace(**{name: values.tolist() for name, values in arrays.items()})

    def _own_arrays(self) -> dict[str, AnyArray]:
        """What a kind of model has beside topics and priors, by name."""
        return {}

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        """The same, from a file."""

    def _check_own(self, file: Contents) -> None:
        """Refuse a file whose arrays of this kind are not what they must be, or that has others."""
        _stored_checks.check_positive_alpha(file)
        file.expect_no_others()

    def _write(self, run: Stored) -> None:
        """Add the finished model to the directory of its run."""
        finish_run(run, len(self.traces_), self._model_part())

    def _model_part(self) -> Part:
        """The finished estimates."""
        arrays: dict[str, AnyArray] = {
            "by_word": self._by_word,
            "alpha": self.alpha_,
            "beta": self.beta_,
            "log_joint": self.log_joint_,
            "empty_docs": self.empty_docs_,
            "vocabulary": to_bytes(self.vocabulary_),
        }
        arrays |= self._own_arrays()
        for index, trace in enumerate(self.traces_):
            arrays |= {f"trace_{index}_{name}": np.asarray(values) for name, values in vars(trace).items()}
        info = {
            "best_chain": self.best_chain_,
            "n_iter": self.n_iter_,
            "n_chains": len(self.traces_),
            "interrupted": self.interrupted_,
            "text_options": self._text_options,
            "reading": self._reading,
        }
        return arrays, info

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON knows them; the seed is saved on its own."""
        params = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        params["random_state"] = None
        weights = getattr(self, "class_weight", None)
        if isinstance(weights, Mapping):  # by classes, which need not be strings, as JSON's names are
            params["class_weight"] = [[plain(name), plain(weight)] for name, weight in weights.items()]
        return params

    @classmethod
    def _from_params(cls, stored: Stored) -> Self:
        manifest = stored.manifest
        params = dict(manifest["params"])
        try:
            if isinstance(params.get("seed_words"), dict):
                params["seed_words"] = {int(topic): words for topic, words in params["seed_words"].items()}
            if isinstance(params.get("class_weight"), list):
                params["class_weight"] = dict(params["class_weight"])
            model = cls(**params)
        except (TypeError, ValueError) as error:
            raise StorageError(f"{stored.folder / MANIFEST}: {error}. Upgrade topicloom.") from error
        check_params(stored, model)
        model.random_state = manifest["seed"]
        return model

    @classmethod
    def _load(cls, stored: Stored) -> Self:
        if stored.running:
            folder = stored.folder
            raise StorageError(f"the run in {folder} has not finished; go on with topicloom.resume({str(folder)!r}).")
        arrays, info = stored.read(MODEL)
        model = cls._from_params(stored)
        model._check_own(_stored_checks.topic_model(stored.path(MODEL), arrays, info, model))
        model._set_arrays(arrays["by_word"], arrays["alpha"], arrays["beta"])
        model.log_joint_, model.empty_docs_ = arrays["log_joint"], arrays["empty_docs"]
        model.traces_ = tuple(
            model._trace_from(
                {name: arrays[key] for name in model._trace_names() if (key := f"trace_{index}_{name}") in arrays}
            )
            for index in range(info["n_chains"])
        )
        model.vocabulary_ = tuple(from_bytes(arrays["vocabulary"]))
        model._text_options, model._reading = text_options(info["text_options"]), info.get("reading")
        model.n_features_in_ = len(model.vocabulary_)
        model.best_chain_, model.n_iter_, model.interrupted_ = (
            info["best_chain"],
            info["n_iter"],
            info["interrupted"],
        )
        model.seed_ = stored.manifest["seed"]
        model._stored, model._corpus, model._chains, model._doc_topic = stored, None, None, None
        model._set_own_arrays(arrays)
        return model


def check_params(stored: Stored, model: Any) -> None:
    """Refuse a manifest whose parameters are of no use to the model that it names."""
    _stored_checks.check_parameter_types(stored.folder / MANIFEST, stored.manifest["params"], type(model))
    try:
        model._plan(stored.manifest["seed"])
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StorageError(f"{stored.folder / MANIFEST} has wrong parameters: {error}") from error


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)  # a set's order is by chance
    return value if value is None or isinstance(value, str | int | float | bool) else None

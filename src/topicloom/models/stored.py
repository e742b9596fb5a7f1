"""Fitted models in directories: saving, loading, resuming."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray
from topicloom.arrays import from_bytes, read_digest, to_bytes, write_arrays
from topicloom.corpus.stored import save_corpus, text_options
from topicloom.errors import InputError, StorageError
from topicloom.inference.chain import Chain, Trace
from topicloom.models._estimator import check_is_fitted
from topicloom.models.base import TopicModel


class StoredModel(TopicModel):
    """A topic model that can be written to a directory and read back."""

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no training text and cannot be resumed."""
        check_is_fitted(self, "seed_")
        folder = Path(path)
        if folder.exists() and any(folder.iterdir()) and not (folder / storage.MANIFEST).exists():
            raise InputError(f"{folder} is not empty and not a topicloom directory; give another.")
        folder.mkdir(parents=True, exist_ok=True)
        chains = self.chains_ if corpus else []
        if corpus:
            save_corpus(self.corpus_, folder / storage.CORPUS)
        else:
            for old in (folder / storage.CORPUS, *folder.glob("chain-*.safetensors")):
                old.unlink(missing_ok=True)
        for chain in chains:
            self._save_chain(folder, chain)
        self._write(folder)

    def _save_chain(self, folder: Path, chain: Chain) -> None:
        storage.save_chain(folder, chain)

    def _trace_names(self) -> list[str]:
        return list(vars(Trace()))

    def _trace_from(self, arrays: dict[str, AnyArray]) -> Trace:
        return Trace(**{name: values.tolist() for name, values in arrays.items()})

    def _own_arrays(self) -> dict[str, AnyArray]:
        """What a kind of model has beside topics and priors, by name."""
        return {}

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        """The same, from a file."""

    def _write(self, folder: Path) -> None:
        """The finished model, beside whatever corpus and chains the directory has."""
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
        }
        hashes = {storage.MODEL: write_arrays(folder / storage.MODEL, arrays, info)}
        if (folder / storage.CORPUS).exists():
            hashes[storage.CORPUS] = read_digest(folder / storage.CORPUS)
        storage.write_manifest(folder, type(self).__name__, self._plain_params(), self.seed_, "finished", hashes)

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON knows them; the seed is saved on its own."""
        params = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        params["random_state"] = None
        return params

    @classmethod
    def _from_params(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        params = dict(manifest["params"])
        if isinstance(params.get("seed_words"), dict):
            params["seed_words"] = {int(topic): words for topic, words in params["seed_words"].items()}
        try:
            model = cls(**params)
        except TypeError as error:
            raise StorageError(f"{folder / storage.MANIFEST}: {error}. Upgrade topicloom.") from error
        model.random_state = manifest["seed"]
        return model

    @classmethod
    def _load(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        if manifest["status"] != "finished":
            raise StorageError(f"the run in {folder} has not finished; go on with topicloom.resume({str(folder)!r}).")
        arrays, info = storage.read_hashed(folder, storage.MODEL, manifest)
        model = cls._from_params(folder, manifest)
        model._set_arrays(arrays["by_word"], arrays["alpha"], arrays["beta"])
        model.log_joint_, model.empty_docs_ = arrays["log_joint"], arrays["empty_docs"]
        model.traces_ = tuple(
            model._trace_from(
                {name: arrays[key] for name in model._trace_names() if (key := f"trace_{index}_{name}") in arrays}
            )
            for index in range(info["n_chains"])
        )
        model.vocabulary_ = tuple(from_bytes(arrays["vocabulary"]))
        model._text_options = text_options(info["text_options"])
        model.n_features_in_ = len(model.vocabulary_)
        model.best_chain_, model.n_iter_, model.interrupted_ = (
            info["best_chain"],
            info["n_iter"],
            info["interrupted"],
        )
        model.seed_ = manifest["seed"]
        model._folder, model._corpus, model._chains, model._doc_topic = folder, None, None, None
        model._set_own_arrays(arrays)
        return model


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else None

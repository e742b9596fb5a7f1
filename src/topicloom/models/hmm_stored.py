"""A fitted hidden Markov model: its arrays, its chains, and the directory it is written to and read from."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.arrays import from_bytes, read_digest, to_bytes, write_arrays
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.errors import InputError, StorageError
from topicloom.inference import hmm, hmm_run
from topicloom.inference.hmm import Parameters
from topicloom.inference.hmm_run import HMMChain, HMMTrace
from topicloom.models import _sequences
from topicloom.models._estimator import Estimator, check_is_fitted
from topicloom.models.stored import plain


class StoredHMM(Estimator):
    """What a fitted HMM holds. The subclass brings the parameters and ``fit``."""

    n_states: int
    random_state: Any

    initial_: FloatArray
    transition_: FloatArray
    emission_: FloatArray
    alphabet_: _sequences.Alphabet
    best_chain_: int
    converged_: bool
    interrupted_: bool
    log_joint_: FloatArray
    n_iter_: int
    seed_: int
    traces_: tuple[HMMTrace, ...]
    _corpus: Corpus | None
    _chains: list[HMMChain] | None
    _folder: Path | None

    def _set_parameters(self, found: Parameters) -> None:
        k = self.n_states
        self.initial_ = np.array(found.moves[k])
        self.transition_ = np.array(found.moves[:k])
        self.emission_ = np.array(found.emission.T, order="C")

    def _parameters(self) -> Parameters:
        check_is_fitted(self, "seed_")
        return hmm.make_parameters(self.initial_, self.transition_, self.emission_)

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def trace_(self) -> HMMTrace:
        """What was recorded along the published chain."""
        return self.traces_[self.best_chain_]

    @property
    def corpus_(self) -> Corpus:
        """The training sequences (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._corpus is None:
            assert self._folder is not None
            if not (self._folder / storage.CORPUS).exists():
                raise StorageError(f"the model in {self._folder} was saved without its sequences.")
            self._corpus = load_corpus(self._folder / storage.CORPUS)
        return self._corpus

    @property
    def chains_(self) -> list[HMMChain]:
        """All chains, with their paths (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._chains is None:
            assert self._folder is not None
            paths = [storage.chain_path(self._folder, index) for index in range(len(self.traces_))]
            self._chains = [hmm_run.load_chain(path, self.corpus_, self.n_states) for path in paths]
        return self._chains

    @property
    def fingerprint_(self) -> str:
        """A hash of the parameters: equal for equal models."""
        digest = blake2b(digest_size=16)
        for array in self._parameters():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no sequences and cannot be resumed."""
        check_is_fitted(self, "seed_")
        folder = Path(path)
        if folder.exists() and any(folder.iterdir()) and not (folder / storage.MANIFEST).exists():
            raise InputError(f"{folder} is not empty and not a topicloom directory; give another.")
        self._plain_params(self.alphabet_)
        chains = self.chains_ if corpus else []
        folder.mkdir(parents=True, exist_ok=True)
        if corpus:
            save_corpus(self.corpus_, folder / storage.CORPUS)
        else:
            for old in (folder / storage.CORPUS, *folder.glob("chain-*.safetensors")):
                old.unlink(missing_ok=True)
        for chain in chains:
            save_chain(folder, chain)
        self._write(folder)

    def _write(self, folder: Path) -> None:
        """The finished model, beside whatever sequences and chains the directory has."""
        arrays: dict[str, AnyArray] = {
            "initial": self.initial_,
            "transition": self.transition_,
            "emission": self.emission_,
            "log_joint": self.log_joint_,
            "alphabet": to_bytes(self.alphabet_),
        }
        for index, trace in enumerate(self.traces_):
            arrays |= {f"trace_{index}_{name}": np.asarray(values) for name, values in vars(trace).items()}
        info = {name: getattr(self, f"{name}_") for name in ("best_chain", "n_iter", "interrupted", "converged")}
        info["n_chains"] = len(self.traces_)
        hashes = {storage.MODEL: write_arrays(folder / storage.MODEL, arrays, info)}
        if (folder / storage.CORPUS).exists():
            hashes[storage.CORPUS] = read_digest(folder / storage.CORPUS)
        params = self._plain_params(self.alphabet_)
        storage.write_manifest(folder, type(self).__name__, params, self.seed_, "finished", hashes)

    def _plain_params(self, alphabet: _sequences.Alphabet) -> dict[str, Any]:
        """Parameters as JSON knows them, with the alphabet that was found; the seed is saved on its own."""
        params = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        params["random_state"] = None
        params["alphabet"] = list(alphabet) if alphabet != tuple(range(len(alphabet))) else len(alphabet)
        try:
            same = json.loads(json.dumps(params["alphabet"])) == params["alphabet"]
        except (TypeError, ValueError):
            same = False
        if not same:
            raise InputError("the alphabet has symbols that a file cannot hold; use strings or numbers as symbols.")
        return params

    @classmethod
    def _from_manifest(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        try:
            model = cls(**manifest["params"])
        except TypeError as error:
            raise StorageError(f"{folder / storage.MANIFEST}: {error}. Upgrade topicloom.") from error
        model.random_state = manifest["seed"]
        return model

    @classmethod
    def _load(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        if manifest["status"] != "finished":
            raise StorageError(f"the run in {folder} has not finished; go on with topicloom.resume({str(folder)!r}).")
        arrays, info = storage.read_hashed(folder, storage.MODEL, manifest)
        model = cls._from_manifest(folder, manifest)
        for name in ("initial", "transition", "emission", "log_joint"):
            setattr(model, f"{name}_", arrays[name])
        for name in ("best_chain", "n_iter", "interrupted", "converged"):
            setattr(model, f"{name}_", info[name])
        model.alphabet_ = tuple(from_bytes(arrays["alphabet"]))
        model.traces_ = tuple(
            hmm_run.load_trace({name: arrays[f"trace_{index}_{name}"] for name in vars(HMMTrace())})
            for index in range(info["n_chains"])
        )
        model.seed_ = manifest["seed"]
        model._folder, model._corpus, model._chains = folder, None, None
        return model


def save_chain(folder: Path, chain: HMMChain) -> None:
    hmm_run.save_chain(storage.chain_path(folder, chain.index), chain)

"""A fitted hidden Markov model: its arrays, its chains, and the directory it is written to and read from."""

import json
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.arrays import as_path, from_bytes, to_bytes
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import corpus_part
from topicloom.directories import Part, Stored, finish_run, save_model
from topicloom.errors import InputError, StorageError
from topicloom.inference import hmm, hmm_run
from topicloom.inference.hmm import Parameters
from topicloom.inference.hmm_run import HMMChain, HMMTrace
from topicloom.manifests import CORPUS, MANIFEST, MODEL, chain_role
from topicloom.models import _sequences, _stored_checks
from topicloom.models._estimator import Estimator, check_is_fitted
from topicloom.models.stored import check_params, plain


class StoredHMM(Estimator):
    """What a fitted HMM holds. The subclass brings the parameters and ``fit``."""

    n_states: int
    n_paths: int
    inference: str
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
    _stored: Stored | None

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
            assert self._stored is not None
            if not self._stored.has(CORPUS):
                raise StorageError(f"the model in {self._stored.folder} was saved without its sequences.")
            corpus = storage.read_corpus(self._stored)
            _stored_checks.check_sequences(self._stored.path(CORPUS), corpus, len(self.alphabet_))
            self._corpus = corpus
        return self._corpus

    @property
    def chains_(self) -> list[HMMChain]:
        """All chains, with their paths (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._chains is None:
            assert self._stored is not None
            chains = [self._load_chain(self._stored, index, self.corpus_) for index in range(len(self.traces_))]
            _stored_checks.check_published(self._stored.folder, self, chains)
            self._chains = chains
        return self._chains

    def _load_chain(self, stored: Stored, index: int, corpus: Corpus) -> HMMChain:
        n_paths = None if self.inference == "em" else self.n_paths
        return hmm_run.load_chain(stored, index, corpus, self.n_states, n_paths)

    @property
    def fingerprint_(self) -> str:
        """A hash of the parameters and of the log joints or likelihoods: equal for equal models."""
        digest = blake2b(digest_size=16)
        for array in self._fitted_numbers():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _fitted_numbers(self) -> list[AnyArray]:
        return [*self._parameters(), self.log_joint_]

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no sequences and cannot be resumed."""
        check_is_fitted(self, "seed_")
        params = self._plain_params(self.alphabet_)
        parts: dict[str, Part] = {}
        if corpus:
            chains = {chain_role(chain.index): hmm_run.chain_part(chain) for chain in self.chains_}
            parts = {CORPUS: corpus_part(self.corpus_), **chains}
        save_model(as_path(path), type(self).__name__, params, self.seed_, {**parts, MODEL: self._model_part()})

    def _write(self, run: Stored) -> None:
        """Add the finished model to the directory of its run."""
        finish_run(run, len(self.traces_), self._model_part())

    def _model_part(self) -> Part:
        """The finished estimates."""
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
        return arrays, info

    def _plain_params(self, alphabet: _sequences.Alphabet) -> dict[str, Any]:
        """Parameters as JSON knows them, with the alphabet that was found; the seed is saved on its own."""
        params = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        params["random_state"] = None
        params["alphabet"] = len(alphabet) if _sequences.is_counted(alphabet) else list(alphabet)
        try:
            same = json.loads(json.dumps(params["alphabet"])) == params["alphabet"]
        except (TypeError, ValueError):
            same = False
        if not same:
            raise InputError("the alphabet has symbols that a file cannot hold; use strings or numbers as symbols.")
        return params

    @classmethod
    def _from_params(cls, stored: Stored) -> Self:
        try:
            model = cls(**stored.manifest["params"])
        except TypeError as error:
            raise StorageError(f"{stored.folder / MANIFEST}: {error}. Upgrade topicloom.") from error
        check_params(stored, model)
        model.random_state = stored.manifest["seed"]
        return model

    @classmethod
    def _load(cls, stored: Stored) -> Self:
        if stored.running:
            folder = stored.folder
            raise StorageError(f"the run in {folder} has not finished; go on with topicloom.resume({str(folder)!r}).")
        arrays, info = stored.read(MODEL)
        model = cls._from_params(stored)
        _stored_checks.check_hmm_model(stored.path(MODEL), arrays, info, model.n_states)
        for name in ("initial", "transition", "emission", "log_joint"):
            setattr(model, f"{name}_", arrays[name])
        for name in ("best_chain", "n_iter", "interrupted", "converged"):
            setattr(model, f"{name}_", info[name])
        model.alphabet_ = tuple(from_bytes(arrays["alphabet"]))
        model.traces_ = tuple(
            hmm_run.load_trace({name: arrays[f"trace_{index}_{name}"] for name in vars(HMMTrace())})
            for index in range(info["n_chains"])
        )
        model.seed_ = stored.manifest["seed"]
        model._stored, model._corpus, model._chains = stored, None, None
        return model

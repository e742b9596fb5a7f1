"""What a fitted model holds: its corpus, its chains and what was recorded along them, read when it is asked for."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine import checkpoint, draws
from topicloom.engine.estimator import stored_checks
from topicloom.engine.run import Chain, Trace
from topicloom.errors import StorageError
from topicloom.files.directories import Stored
from topicloom.files.manifests import CORPUS


class LearnedState:
    """The part of a fitted model that has its corpus and its chains."""

    best_chain_: int
    seed_: int
    traces_: tuple[Trace, ...]
    _corpus: Corpus | None
    _chains: list[Chain] | None
    _published_by: str = "best"  # how ``best_chain_`` was chosen
    _stored: Stored | None  # where a loaded model finds its corpus and chains

    # -- what a model brings -------------------------------------------------------------------------------------

    def _fitted_numbers(self) -> list[Any]:
        """All numbers that the model publishes or predicts with."""
        raise NotImplementedError

    def _stored_problem(self, stored: Stored, seed: int) -> Any:
        """The problem as the files of a run or of a saved model have it."""
        raise NotImplementedError

    def _load_chain(self, stored: Stored, index: int, problem: Any) -> Chain:
        raise NotImplementedError

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def fingerprint_(self) -> str:
        """A hash of all numbers that the model publishes or predicts with (str): equal for equal models.

        Examples
        --------
        >>> from topicloom import LDA
        >>> first, second = (LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"]) for _ in range(2))
        >>> first.fingerprint_ == second.fingerprint_
        True
        """
        check_is_fitted(self, "seed_")
        digest = blake2b(digest_size=16)
        for array in self._fitted_numbers():
            digest.update(np.ascontiguousarray(array, np.float64).data)
        return digest.hexdigest()

    def _names_key(self) -> str:
        return self.fingerprint_

    @property
    def published_by_(self) -> str:
        """How the published chain was chosen (str): "best", "medoid", or "merged" with the others.

        ``topicloom.diagnostics.publish`` chooses.
        """
        check_is_fitted(self, "seed_")
        return self._published_by

    @property
    def trace_(self) -> Trace:
        """What was recorded along the published chain (Trace): one list per quantity, one entry per recorded sweep.

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=20, trace_every=10, random_state=0).fit(["river boat", "money bank"])
        >>> model.trace_.sweep, len(model.trace_.log_joint)
        ([10, 20], 2)
        """
        return self.traces_[self.best_chain_]

    @property
    def corpus_(self) -> Corpus:
        """The training corpus (Corpus). A loaded model reads it on first use."""
        check_is_fitted(self, "seed_")
        if self._corpus is None:
            stored = self._stored_in()
            if not stored.has(CORPUS):
                raise StorageError(f"the model in {stored.folder} was saved without its corpus, so this is not known.")
            corpus = checkpoint.read_corpus(stored)
            self._check_corpus(stored.path(CORPUS), corpus)
            self._corpus = corpus
        return self._corpus

    def _corpus_at_hand(self) -> Corpus | None:
        """The training corpus, if the model has it or can read it."""
        known = self._corpus is not None or (self._stored is not None and self._stored.has(CORPUS))
        return self.corpus_ if known else None

    def _check_corpus(self, path: Path, corpus: Corpus) -> None:
        """Refuse a corpus that a model cannot have been fitted on or, if it is fitted, was not."""
        raise NotImplementedError

    def _corpus_in(self, stored: Stored) -> Corpus:
        """The corpus of a directory: that of this model, if it is fitted, otherwise that of a run."""
        if hasattr(self, "seed_"):
            return self.corpus_
        corpus = checkpoint.read_corpus(stored)
        self._check_corpus(stored.path(CORPUS), corpus)
        return corpus

    def _stored_in(self) -> Stored:
        if self._stored is None:
            raise StorageError("this model was fed by partial_fit, which keeps no documents, so this is not known.")
        return self._stored

    @property
    def chains_(self) -> list[Chain]:
        """All chains, with their states (list of Chain). A loaded model reads them on first use."""
        check_is_fitted(self, "seed_")
        if self._chains is None:
            stored = self._stored_in()
            with stored_checks.parameters_of(stored):
                problem = self._stored_problem(stored, self.seed_)
                chains = [self._load_chain(stored, index, problem) for index in range(len(self.traces_))]
            stored_checks.check_published(stored.folder, self, chains)
            draws.check_same_shapes(stored.folder, chains)
            self._chains = chains
        return self._chains

    @property
    def draws_(self) -> dict[str, AnyArray]:
        """Kept draws by name (dict of str to ndarray of shape (n_chains, n_draws, ...)).

        It has what ``keep_draws`` asked for, at each kept sweep of every chain. Topics are numbered as each chain
        numbers them. If chains were stopped at different sweeps, there are as many draws as all of them have. The
        arrays are copies; ``chains_[i].draws.arrays`` are those of one chain.

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=20, burn_in=10, thin=5, keep_draws="phi", n_chains=2, random_state=0)
        >>> model.fit(["river boat river", "money bank money"] * 5).draws_["phi"].shape
        (2, 3, 2, 4)
        """
        check_is_fitted(self, "seed_")
        return draws.together(self.chains_) if getattr(self, "keep_draws", None) else {}

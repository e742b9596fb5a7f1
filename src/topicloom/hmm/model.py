"""Hidden Markov models with categorical emissions, as a scikit-learn style estimator."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import html, inputs, parameters, tables
from topicloom.engine.estimator.documented import CHAINS, RUN, documented
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import threads_for
from topicloom.errors import InputError, warn
from topicloom.files.arrays import from_bytes, to_bytes
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import MODEL
from topicloom.hmm import gibbs, sequences
from topicloom.hmm.decoding import SequenceModel
from topicloom.hmm.sampler import em_sampler, estimate, gibbs_sampler
from topicloom.hmm.state import HMMPrior, make_hmm_prior
from topicloom.hmm.stored_checks import check_hmm_model, check_sequences

PriorLike = float | Sequence[float] | Sequence[Sequence[float]] | AnyArray
_ARRAYS = ("initial", "transition", "emission")


@documented(run=RUN, chains=CHAINS)
class HMM(SequenceModel):
    """A hidden Markov model over symbols.

    ``fit``, ``predict``, ``score`` and the others take a list of sequences of any lengths, or one sequence. A sequence
    is a vector of whole numbers (symbols 0 … V − 1) or a list of symbols that can be hashed. Symbols that are equal in
    Python (1, 1.0 and True) are one. In a ``Corpus`` that keeps the order of its texts each document is a sequence.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states K.
    n_paths : int, default=1
        Coupled paths m that share their counts, so that the parameters φ have a density ∝ P(φ) P(w | φ)^m. One is the
        posterior. More than one settle at a higher likelihood.
    method : {"gibbs", "em"}, default="gibbs"
        "gibbs" samples, "em" is Baum-Welch.
    sampler : {"collapsed", "partial", "blocked"}, default="collapsed"
        "collapsed": parameters integrated out, one state at a time. "partial": parameters drawn, one state at a time.
        "blocked": parameters drawn, a whole sequence at a time.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        "standard" counts drawn states. "cgs_p" takes each state's distribution given all others instead.
    initial_prior : float or array of shape (n_components,), default=1
        Dirichlet parameters of the first state. All priors are at least 1 for "em", where 1 is maximum likelihood.
    transition_prior : float or array of shape (n_components,) or (n_components, n_components), default=1
        Dirichlet parameters of the following state; a matrix has a row per state.
    emission_prior : float or array of shape (n_symbols,) or (n_components, n_symbols), default=1
        Dirichlet parameters of the symbols; a matrix has a row per state.
    alphabet : int or list of symbols, optional
        A number V stands for 0 … V − 1. None finds the symbols in the data.
    max_iter : int, "auto" or Converged, default=500
        Number of sweeps, or the most iterations of "em". "auto" makes sweeps until several chains agree.
    tol : float, default=0.001
        "em" has converged when an iteration raises the log posterior by less.
    burn_in : int, optional
        First sweep that is kept. Counts are averaged over the kept sweeps. None keeps the last one.
    thin : int, default=10
        Sweeps from one kept sweep to the next.
    keep_draws : str, list of str or dict, optional
        Draws to keep at these sweeps, in ``draws_``: "initial", "transition", "emission", a list of these, or a dict of
        functions by name, each called as ``function(initial, transition, emission)``. Needs ``burn_in``.
    n_chains : int, default=1
        Independent chains, or restarts of "em". The one with the highest joint (posterior) probability is published.
    {run}

    Attributes
    ----------
    initial_ : ndarray of shape (n_components,)
        Probabilities of a sequence's first state.
    transition_ : ndarray of shape (n_components, n_components)
        Probabilities of the next state, a row per state.
    emission_ : ndarray of shape (n_components, n_symbols)
        Probabilities of the symbols, a row per state.
    alphabet_ : tuple
        The symbols, in the order of columns.
    converged_ : bool
        Whether "em" stopped by ``tol``.
    {chains}

    See Also
    --------
    LDA : For documents in which order does not matter.

    Examples
    --------
    >>> from topicloom import HMM
    >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
    >>> model.alphabet_
    ('a', 'b')
    >>> path = model.predict(["a", "a", "b"])
    >>> bool(path[0] == path[1] != path[2])
    True
    """

    converged_: bool

    _DRAWS: ClassVar[draws.Kinds] = draws.Kinds(_ARRAYS)
    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "method": parameters.choice(("gibbs", "em")),
        "sampler": parameters.choice(gibbs.SAMPLERS),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_paths: int = 1,
        method: Literal["gibbs", "em"] = "gibbs",
        sampler: Literal["collapsed", "partial", "blocked"] = "collapsed",
        estimator: Estimator = "cgs_p",
        initial_prior: PriorLike = 1.0,
        transition_prior: PriorLike = 1.0,
        emission_prior: PriorLike = 1.0,
        alphabet: Any = None,
        max_iter: MaxIter = 500,
        tol: float = 1e-3,
        burn_in: int | None = None,
        thin: int = 10,
        keep_draws: draws.KeepDraws | None = None,
        n_chains: int = 1,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_paths = n_paths
        self.method = method
        self.sampler = sampler
        self.estimator = estimator
        self.initial_prior = initial_prior
        self.transition_prior = transition_prior
        self.emission_prior = emission_prior
        self.alphabet = alphabet
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.thin = thin
        self.keep_draws = keep_draws
        self.n_chains = n_chains
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Any = None, *, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            A sequence is a vector of whole numbers or a list of symbols. With ``lengths``, all sequences end to end: a
            vector, a list of symbols or a column.
        lengths : list of int, optional
            Length of each sequence in X. They sum to the number of symbols.
        callbacks : sequence of callables, default=()
            Each is called with the chain after every sweep. A true answer stops the chain.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a parameter is out of bounds, or a symbol is missing or not in the alphabet.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, max_iter=50, random_state=0).fit([0, 0, 1, 1, 0, 1], lengths=[4, 2])
        >>> model.transition_.shape
        (2, 2)
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        corpus, alphabet = sequences.training_corpus(X, sequences.read_alphabet(self.alphabet), lengths)
        return self._fit(self._problem(corpus, alphabet, seed), callbacks)

    @property
    def _samples(self) -> bool:
        return self.method == "gibbs"

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        if self.n_components > 1 << 15:
            raise InputError(
                f"n_components={self.n_components} is more than {1 << 15}; the matrix of moves would not fit."
            )
        if self.method == "em" and self.n_paths != 1:
            raise InputError(f'n_paths={self.n_paths} couples sampled paths; method="em" has none, leave it at 1.')
        if self.method == "em" and self.keep_draws is not None:
            raise InputError('keep_draws is for sampling; use method="gibbs", or leave it out.')
        return self._sampling_plan(
            seed,
            burn_in=self.burn_in if self.method == "gibbs" else None,
            schedule=Schedule(n_jobs=threads_for(self.n_jobs)),
        )

    def _problem(self, corpus: Corpus, alphabet: sequences.Alphabet, seed: int) -> Problem:
        prior = self._prior(len(alphabet))
        sampler = self._sampler_for(prior)
        return Problem(corpus, corpus, sampler, lambda: prior, self._plan(seed), self.n_chains, data=alphabet)

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        return self._problem(self._corpus_in(stored), self._known_alphabet(), seed)

    def _sampler_for(self, prior: HMMPrior) -> Sampler:
        if self.method == "em":
            return em_sampler(float(self.tol), prior)
        return gibbs_sampler(self.sampler, self.n_paths, prior)

    def _chain_sampler(self) -> Sampler:
        return self._sampler_for(self._prior(len(self.alphabet_)))

    def _prior(self, n_symbols: int) -> HMMPrior:
        k = self.n_components
        initial = inputs.check_prior("initial_prior", self.initial_prior, k, "states", 1.0)
        transition = _rows("transition_prior", self.transition_prior, k, k, "states")
        emission = _rows("emission_prior", self.emission_prior, k, n_symbols, "symbols")
        if self.method == "em":
            for name, values in (("initial", initial), ("transition", transition), ("emission", emission)):
                if values.min() < 1:
                    raise InputError(
                        f'{name}_prior has {values.min():g}, below which the maximum that method="em" looks for is '
                        "at zero probabilities; give at least 1, which is maximum likelihood."
                    )
        return make_hmm_prior(initial, transition, emission)

    def _html_content(self) -> html.Content:
        return html.state_content(self.initial_, self.transition_, self.emission_, self.alphabet_)

    # -- what was learned ----------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        best = chains[self.best_chain_]
        self.alphabet_, self.converged_ = problem.data, best.converged
        found, k = estimate(problem.corpus, best, self.estimator), self.n_components
        self.initial_, self.transition_ = np.array(found.moves[k]), np.array(found.moves[:k])
        self.emission_ = np.array(found.emission.T, order="C")

    def _emission_of(self, chain: Chain) -> FloatArray:
        """Emission probabilities [K, V] of a chain."""
        return np.array(estimate(self.corpus_, chain, self.estimator).emission.T, order="C")

    def _warn_unfinished(self, problem: Problem, best: Chain) -> None:
        if self.method == "em" and self.tol > 0 and not best.converged and best.sweep >= problem.plan.max_iter:
            warn(
                f"not converged after max_iter={self.max_iter} iterations at tol={self.tol:g}; raise one of them.",
                ConvergenceWarning,
            )

    def _fitted_numbers(self) -> list[Any]:
        return [*self._parameters(), self.log_joint_]

    def _n_named(self) -> int:
        return self.n_components

    def _label_words(self, n_words: int) -> list[list[str]]:
        counts = tables.word_counts(self._corpus_at_hand(), self.emission_.T)
        return tables.relevant_words(self.emission_, counts, list(map(str, self.alphabet_)), n_words)

    # -- files ---------------------------------------------------------------------------------------------------

    def _known_alphabet(self) -> sequences.Alphabet:
        """Of a fitted model, or of one that is read: its parameters then name all symbols."""
        found = self.alphabet_ if hasattr(self, "seed_") else sequences.read_alphabet(self.alphabet)
        return () if found is None else found

    def _check_corpus(self, path: Path, corpus: Corpus) -> None:
        check_sequences(path, corpus, len(self._known_alphabet()))

    def _params_to_save(self, data: Any) -> dict[str, Any]:
        """With the alphabet that was found."""
        params = super()._params_to_save(data)
        alphabet = self.alphabet_ if data is None else data
        params["alphabet"] = len(alphabet) if sequences.is_counted(alphabet) else list(alphabet)
        try:
            same = json.loads(json.dumps(params["alphabet"])) == params["alphabet"]
        except (TypeError, ValueError):
            same = False
        if not same:
            raise InputError("the alphabet has symbols that a file cannot hold; use strings or numbers as symbols.")
        return params

    def _model_part(self) -> Part:
        arrays: dict[str, AnyArray] = {name: getattr(self, f"{name}_") for name in (*_ARRAYS, "log_joint")}
        arrays["alphabet"] = to_bytes(self.alphabet_)
        info = {name: getattr(self, f"{name}_") for name in ("best_chain", "n_iter", "interrupted", "converged")}
        return arrays | self._trace_arrays(), info | {"n_chains": len(self.traces_)} | self._published_part()[1]

    def _set_model(self, stored: Stored, arrays: dict[str, AnyArray], info: Any) -> None:
        check_hmm_model(stored.path(MODEL), arrays, info, self.n_components)
        for name in _ARRAYS:
            setattr(self, f"{name}_", arrays[name])
        self.converged_, self.alphabet_ = info["converged"], tuple(from_bytes(arrays["alphabet"]))


def _rows(name: str, value: Any, n_rows: int, size: int, of: str) -> FloatArray:
    """A Dirichlet parameter for every state: from a number, a vector for all states, or a row for each."""
    matrix = as_numbers(name, value)
    if matrix.ndim < 2:
        return np.tile(inputs.check_prior(name, value, size, of, 1.0), (n_rows, 1))
    if matrix.shape != (n_rows, size):
        raise InputError(
            f"{name} has shape {matrix.shape}; give one number, one for each of {size} {of}, or a matrix of "
            f"{n_rows} × {size}."
        )
    return np.array([inputs.check_prior(name, row, size, of, 1.0) for row in matrix])

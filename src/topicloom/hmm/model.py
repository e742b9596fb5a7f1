"""Hidden Markov models with categorical emissions, as a scikit-learn style estimator."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers, shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine import draws
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters, tables
from topicloom.engine.estimator.fitted import FittedModel, Problem
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError, warn
from topicloom.files.arrays import from_bytes, to_bytes
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import MODEL
from topicloom.hmm import forward_backward, gibbs, sequences
from topicloom.hmm.sampler import em_sampler, estimate, gibbs_sampler
from topicloom.hmm.state import HMMPrior, Parameters, make_hmm_prior, make_parameters
from topicloom.hmm.stored_checks import check_hmm_model, check_sequences

PriorLike = float | Sequence[float] | Sequence[Sequence[float]] | AnyArray
_ARRAYS = ("initial", "transition", "emission")


class HMM(FittedModel):
    """A hidden Markov model over symbols.

    ``fit``, ``predict``, ``score`` and the others take a list of sequences of any lengths, or one sequence. A sequence
    is a vector of whole numbers (symbols 0 … V − 1) or a list of symbols of any kind that can be hashed; symbols that
    are equal in Python (1, 1.0 and True) are one. In a ``Corpus`` that keeps the order of its texts each document is a
    sequence. ``lengths`` cuts sequences that come end to end, as in hmmlearn.

    Parameters
    ----------
    n_components : number of hidden states K.
    n_paths : coupled paths m that share their counts, so that the parameters have a density ∝ P(φ) P(w | φ)^m. More
        than one settle at a higher likelihood; one is the posterior.
    method : "gibbs", or "em" (Baum-Welch).
    sampler : "collapsed" (parameters integrated out, a state at a time), "partial" (parameters drawn, a state at a
        time) or "blocked" (parameters drawn, a whole sequence at a time).
    estimator : "cgs_p" takes each state's distribution given all others in place of its drawn value, "standard" counts.
    initial_prior, transition_prior, emission_prior : Dirichlet parameters; a number, one for each state or symbol, or a
        matrix with a row for each state. At least 1 for "em", where 1 is maximum likelihood.
    alphabet : None finds the symbols in the data; a number V is 0 … V − 1; or the list of symbols.
    max_iter : number of sweeps, "auto" (until several chains agree) or a ``Converged``; the most iterations of "em".
    tol : rise of the log posterior in an iteration of "em" below which it has converged.
    burn_in, thin : with ``burn_in=None`` the last sweep is the one sample; otherwise counts are averaged over sweeps
        ``burn_in``, ``burn_in + thin``, …
    keep_draws : which draws to keep at these sweeps, which must be set: "initial", "transition", "emission", a list of
        these, or a dict of functions by name, each called as ``function(initial, transition, emission)``. They are in
        ``draws_``.
    n_chains : independent chains, or restarts of "em"; the one with the highest joint (posterior) is published.
    trace_every : sweeps between records.
    checkpoint_dir, checkpoint_every : where, and after how many sweeps, to save a run for ``topicloom.resume``.
    n_jobs : threads, over chains, or over the paths of one. They change no result.
    random_state : seed.
    verbose : 1 shows progress.

    Attributes
    ----------
    initial_, transition_, emission_ : [K], [K, K], [K, V] probabilities. alphabet_ : the symbols, by column.
    chains_, best_chain_, log_joint_, traces_, trace_ : the chains, the number of the one published, the last log joint
        of each, what was recorded along them and along the one published.
    draws_ : draws [chains, draws, …] by name, as ``keep_draws`` asked for, in single precision.
    n_iter_, converged_, interrupted_, seed_, fit_seconds_, fingerprint_
    """

    initial_: FloatArray
    transition_: FloatArray
    emission_: FloatArray
    alphabet_: sequences.Alphabet
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
        """Learn from sequences. Each callback is given the chain after every sweep; a true answer stops it there.

        With ``lengths`` (whole numbers that sum to the number of symbols) X is all sequences end to end: a vector, a
        list of symbols or a column.
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
            schedule=Schedule(n_jobs=resolve_jobs(self.n_jobs)),
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

    def _parameters(self) -> Parameters:
        check_is_fitted(self, "seed_")
        return make_parameters(self.initial_, self.transition_, self.emission_)

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

    # -- sequences -----------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, lengths: Any = None) -> FloatArray:
        """log P(w) of every sequence, exactly, by the forward pass."""
        given = self._parameters()
        return forward_backward.log_likelihoods(sequences.new_corpus(X, self.alphabet_, lengths)[0], given)

    def score(self, X: Any, lengths: Any = None) -> float:
        """log P(w) of all sequences together: higher is better."""
        return float(self.score_samples(X, lengths).sum())

    def decode(
        self, X: Any, method: Literal["viterbi", "posterior"] = "viterbi", *, lengths: Any = None
    ) -> tuple[FloatArray, Any]:
        """(log probabilities, states) of every sequence; of one sequence given alone, a number and a vector.

        "viterbi" finds the most probable path and gives log P(path, w); "posterior" takes the most probable state at
        each place and gives log P(w). With ``lengths``, states come as X does: end to end, in one vector.
        """
        given = self._parameters()
        inputs.check_choice("method", method, ("viterbi", "posterior"))
        corpus, single = sequences.new_corpus(X, self.alphabet_, lengths)
        if method == "viterbi":
            values, states = forward_backward.best_paths(corpus, given)
        else:
            values, shares = forward_backward.posteriors(corpus, given)
            states = [share.argmax(axis=1) for share in shares]
        _check_possible(values)
        if lengths is not None:
            return values, np.concatenate(states)
        return (values[0], states[0]) if single else (values, states)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most probable path of every sequence (Viterbi), as a list of vectors.

        Of one sequence given alone, and of sequences end to end with their ``lengths``, it is one vector.
        """
        return self.decode(X, lengths=lengths)[1]

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """P(state at t | the whole sequence) [T, K] of every sequence; with ``lengths``, of all end to end."""
        given = self._parameters()
        corpus, single = sequences.new_corpus(X, self.alphabet_, lengths)
        values, shares = forward_backward.posteriors(corpus, given)
        _check_possible(values)
        if lengths is not None:
            return np.concatenate(shares)
        return shares[0] if single else shares

    def sample(self, lengths: int | Sequence[int], random_state: Any = None) -> tuple[Any, Any]:
        """(states, sequences) drawn from the fitted model, of these lengths; of one length, a vector and a sequence."""
        given = self._parameters()
        single = isinstance(lengths, int | np.integer)
        several = cast(Any, lengths)
        if not single and (isinstance(several, str) or not isinstance(several, Iterable)):
            raise InputError(f"lengths={shown(lengths)} must be a whole number, or a list of them.")
        sizes = [inputs.check_whole("lengths", n, 0) for n in ([lengths] if single else several)]
        states, symbols = forward_backward.simulate(given, np.array(sizes, np.int64), inputs.draw_seed(random_state))
        if sequences.is_counted(self.alphabet_):
            drawn: list[Any] = [values.astype(np.int64) for values in symbols]
        else:
            drawn = [[self.alphabet_[v] for v in values] for values in symbols]
        return (states[0], drawn[0]) if single else (states, drawn)


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


def _check_possible(values: FloatArray) -> None:
    if np.any(np.isneginf(values)):
        raise InputError(
            f"sequence {int(np.argmax(np.isneginf(values)))} has probability 0 under this model, so it has no states. "
            'A prior above 1 (or method="gibbs") leaves nothing impossible.'
        )

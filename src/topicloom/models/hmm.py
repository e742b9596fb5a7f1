"""Hidden Markov models with categorical emissions, as a scikit-learn style estimator."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_numbers, shown
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Stored, restart_run
from topicloom.errors import InputError, InterruptedFitWarning, warn
from topicloom.estimates import ESTIMATORS, Estimator
from topicloom.inference import hmm, hmm_run
from topicloom.inference.hmm import HMMPrior
from topicloom.inference.hmm_run import Callback, HMMChain, HMMPlan
from topicloom.inference.parallel import resolve_jobs
from topicloom.manifests import CORPUS
from topicloom.models import _inputs, _published, _sequences, _stored_checks
from topicloom.models.hmm_stored import StoredHMM
from topicloom.progress import progress

PriorLike = float | Sequence[float] | Sequence[Sequence[float]] | AnyArray
_WHOLE_NUMBERS = ("n_states", "n_paths", "max_iter", "lag", "n_chains", "trace_every", "checkpoint_every")


class HMM(StoredHMM):
    """A hidden Markov model over symbols.

    ``fit``, ``predict``, ``score`` and the others take a list of sequences of any lengths, or one sequence. A sequence
    is a vector of whole numbers (symbols 0 … V − 1) or a list of symbols of any kind that can be hashed; symbols that
    are equal in Python (1, 1.0 and True) are one. In a ``Corpus`` that keeps the order of its texts each document is a
    sequence. ``lengths`` cuts sequences that come end to end, as in hmmlearn.

    Parameters
    ----------
    n_states : number of hidden states K.
    n_paths : coupled paths m that share their counts, so that the parameters have a density ∝ P(φ) P(w | φ)^m. More
        than one settle at a higher likelihood; one is the posterior.
    inference : "gibbs", or "em" (Baum-Welch).
    sampler : "collapsed" (parameters integrated out, a state at a time), "partial" (parameters drawn, a state at a
        time) or "blocked" (parameters drawn, a whole sequence at a time).
    estimator : "cgs_p" takes each state's distribution given all others in place of its drawn value, "standard" counts.
    initial_prior, transition_prior, emission_prior : Dirichlet parameters; a number, one for each state or symbol, or a
        matrix with a row for each state. At least 1 for "em", where 1 is maximum likelihood.
    alphabet : None finds the symbols in the data; a number V is 0 … V − 1; or the list of symbols.
    max_iter : number of sweeps, or the most iterations of "em".
    tol : rise of the log posterior in an iteration of "em" below which it has converged.
    burn_in, lag : with ``burn_in=None`` the last sweep is the one sample; otherwise counts are averaged over the sweeps
        ``burn_in``, ``burn_in + lag``, …
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
    n_iter_, converged_, interrupted_, seed_, fit_seconds_, fingerprint_
    """

    def __init__(
        self,
        n_states: int = 2,
        *,
        n_paths: int = 1,
        inference: Literal["gibbs", "em"] = "gibbs",
        sampler: Literal["collapsed", "partial", "blocked"] = "collapsed",
        estimator: Estimator = "cgs_p",
        initial_prior: PriorLike = 1.0,
        transition_prior: PriorLike = 1.0,
        emission_prior: PriorLike = 1.0,
        alphabet: Any = None,
        max_iter: int = 500,
        tol: float = 1e-3,
        burn_in: int | None = None,
        lag: int = 10,
        n_chains: int = 1,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.n_paths = n_paths
        self.inference = inference
        self.sampler = sampler
        self.estimator = estimator
        self.initial_prior = initial_prior
        self.transition_prior = transition_prior
        self.emission_prior = emission_prior
        self.alphabet = alphabet
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.lag = lag
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
        _inputs.check_call(self, callbacks)
        seed = _inputs.draw_seed(self.random_state)
        plan = self._plan(seed)
        corpus, alphabet = _sequences.training_corpus(X, _sequences.read_alphabet(self.alphabet), lengths)
        prior = self._prior(len(alphabet))
        run = None
        if self.checkpoint_dir is not None:
            params = self._plain_params(alphabet)
            run = storage.start_run(self.checkpoint_dir, corpus, type(self).__name__, params, seed)
        chains = [hmm_run.start_chain(corpus, prior, plan, index) for index in range(self.n_chains)]
        self._run(corpus, alphabet, prior, chains, plan, callbacks, run)
        return self

    def _plan(self, seed: int) -> HMMPlan:
        """Check every parameter; what is left to check depends on the data."""
        for name in _WHOLE_NUMBERS:
            _inputs.check_whole(name, getattr(self, name), 1)
        _inputs.check_choice("inference", self.inference, ("gibbs", "em"))
        _inputs.check_choice("sampler", self.sampler, hmm.SAMPLERS)
        _inputs.check_choice("estimator", self.estimator, ESTIMATORS)
        _inputs.check_number("tol", self.tol, 0.0, np.inf)
        if self.n_states > 1 << 15:
            raise InputError(f"n_states={self.n_states} is more than {1 << 15}; the matrix of moves would not fit.")
        if self.burn_in is not None and _inputs.check_whole("burn_in", self.burn_in, 1) > self.max_iter:
            raise InputError(
                f"burn_in={self.burn_in} leaves no sweep to keep of max_iter={self.max_iter}; make it smaller."
            )
        if self.inference == "em" and self.n_paths != 1:
            raise InputError(f'n_paths={self.n_paths} couples sampled paths; inference="em" has none, leave it at 1.')
        resolve_jobs(self.n_jobs)
        return HMMPlan(
            seed=seed,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            lag=self.lag,
            estimator=self.estimator,
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
            inference=self.inference,
            sampler=self.sampler,
            n_paths=self.n_paths,
            tol=float(self.tol),
        )

    def _prior(self, n_symbols: int) -> HMMPrior:
        k = self.n_states
        initial = _inputs.check_prior("initial_prior", self.initial_prior, k, "states", 1.0)
        transition = _rows("transition_prior", self.transition_prior, k, k, "states")
        emission = _rows("emission_prior", self.emission_prior, k, n_symbols, "symbols")
        if self.inference == "em":
            for name, values in (("initial", initial), ("transition", transition), ("emission", emission)):
                if values.min() < 1:
                    raise InputError(
                        f'{name}_prior has {values.min():g}, below which the maximum that inference="em" looks for is '
                        "at zero probabilities; give at least 1, which is maximum likelihood."
                    )
        return hmm.make_hmm_prior(initial, transition, emission)

    def _run(
        self,
        corpus: Corpus,
        alphabet: _sequences.Alphabet,
        prior: HMMPrior,
        chains: list[HMMChain],
        plan: HMMPlan,
        callbacks: Sequence[Callback] = (),
        run: Stored | None = None,
    ) -> None:
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, cast(Any, chains), plan) as watch:
            interrupted = hmm_run.run_chains(
                corpus,
                prior,
                chains,
                plan,
                n_jobs=resolve_jobs(self.n_jobs),
                callbacks=[*cast(Any, watch), *callbacks],
                checkpoint=None if run is None else partial(hmm_run.save_chain, run),
            )
        self.fit_seconds_ = time.perf_counter() - started
        log_joints = np.array([hmm_run.final_value(corpus, prior, chain) for chain in chains])
        best = chains[int(np.argmax(log_joints))]
        with _published.publishing(self):
            self._corpus, self._chains, self._stored = corpus, chains, None
            self.log_joint_, self.best_chain_ = log_joints, best.index
            self.alphabet_, self.seed_, self.interrupted_ = alphabet, plan.seed, interrupted
            self.n_iter_, self.converged_ = best.sweep, best.converged
            self.traces_ = tuple(chain.trace for chain in chains)
            self._set_parameters(hmm_run.estimate(corpus, prior, best, plan))
        if run is not None and not interrupted:
            self._write(run)
        if interrupted:
            warn(
                f"interrupted after step {self.n_iter_} of {plan.max_iter}; the estimates come from the steps done.",
                InterruptedFitWarning,
            )
        elif plan.inference == "em" and plan.tol > 0 and not best.converged and best.sweep >= plan.max_iter:
            from sklearn.exceptions import ConvergenceWarning

            warn(
                f"not converged after max_iter={plan.max_iter} iterations at tol={plan.tol:g}; raise one of them.",
                ConvergenceWarning,
            )

    @classmethod
    def _resume(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        model = cls._from_params(stored)
        model.set_params(**changes, checkpoint_dir=stored.folder)
        plan = model._plan(stored.manifest["seed"])
        corpus = storage.read_corpus(stored)
        alphabet = _sequences.read_alphabet(model.alphabet)
        _stored_checks.check_sequences(stored.path(CORPUS), corpus, len(alphabet or ()))
        assert alphabet is not None
        prior = model._prior(len(alphabet))
        chains = [
            model._load_chain(stored, index, corpus)
            if stored.chain_path(index) is not None
            else hmm_run.start_chain(corpus, prior, plan, index)
            for index in range(model.n_chains)
        ]
        done = max(chain.sweep for chain in chains)
        _inputs.check_goes_on(model.max_iter, done, stored.folder, stored.manifest, "steps")
        run = restart_run(stored, stored.manifest["params"] | changes)
        model._run(corpus, alphabet, prior, chains, plan, run=run)
        return model

    # -- sequences -----------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, lengths: Any = None) -> FloatArray:
        """log P(w) of every sequence, exactly, by the forward pass."""
        given = self._parameters()
        return hmm.log_likelihoods(_sequences.new_corpus(X, self.alphabet_, lengths)[0], given)

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
        _inputs.check_choice("method", method, ("viterbi", "posterior"))
        corpus, single = _sequences.new_corpus(X, self.alphabet_, lengths)
        if method == "viterbi":
            values, states = hmm.best_paths(corpus, given)
        else:
            values, shares = hmm.posteriors(corpus, given)
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
        corpus, single = _sequences.new_corpus(X, self.alphabet_, lengths)
        values, shares = hmm.posteriors(corpus, given)
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
        sizes = [_inputs.check_whole("lengths", n, 0) for n in ([lengths] if single else several)]
        states, symbols = hmm.simulate(given, np.array(sizes, np.int64), _inputs.draw_seed(random_state))
        if _sequences.is_counted(self.alphabet_):
            drawn: list[Any] = [values.astype(np.int64) for values in symbols]
        else:
            drawn = [[self.alphabet_[v] for v in values] for values in symbols]
        return (states[0], drawn[0]) if single else (states, drawn)


def _rows(name: str, value: Any, n_rows: int, size: int, of: str) -> FloatArray:
    """A Dirichlet parameter for every state: from a number, a vector for all states, or a row for each."""
    matrix = as_numbers(name, value)
    if matrix.ndim < 2:
        return np.tile(_inputs.check_prior(name, value, size, of, 1.0), (n_rows, 1))
    if matrix.shape != (n_rows, size):
        raise InputError(
            f"{name} has shape {matrix.shape}; give one number, one for each of {size} {of}, or a matrix of "
            f"{n_rows} × {size}."
        )
    return np.array([_inputs.check_prior(name, row, size, of, 1.0) for row in matrix])


def _check_possible(values: FloatArray) -> None:
    if np.any(np.isneginf(values)):
        raise InputError(
            f"sequence {int(np.argmax(np.isneginf(values)))} has probability 0 under this model, so it has no states. "
            'A prior above 1 (or inference="gibbs") leaves nothing impossible.'
        )

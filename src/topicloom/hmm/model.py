"""Hidden Markov models with categorical emissions, as a scikit-learn style estimator."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from topicloom._types import AnyArray, FloatArray
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
from topicloom.files.manifests import MODEL, NUMBERS
from topicloom.hmm import cvb0, gibbs, observations, sequences, values
from topicloom.hmm.documented import EMISSIONS as EMISSIONS_DOC
from topicloom.hmm.documented import FITTED
from topicloom.hmm.emissions.choices import EMISSIONS, check_form, dirichlet_rows, make_emission
from topicloom.hmm.observations import Numbers
from topicloom.hmm.posterior import InferredParameters
from topicloom.hmm.sampler import cvb0_sampler, em_sampler, estimate, gibbs_sampler, usual
from topicloom.hmm.state import HMMPrior, Observed, observed_symbols, stacked
from topicloom.hmm.stored_checks import check_hmm_model, check_numbers, check_sequences

PriorLike = float | Sequence[float] | Sequence[Sequence[float]] | AnyArray
_MOVES = ("initial", "transition")


class Data(NamedTuple):
    """What a model was fitted to beside the corpus: the alphabet of symbols, or numbers."""

    alphabet: sequences.Alphabet
    numbers: Numbers | None
    seen: Observed


@documented(emissions=EMISSIONS_DOC, fitted=FITTED, run=RUN, chains=CHAINS)
class HMM(InferredParameters):
    """A hidden Markov model over symbols, numbers or counts.

    ``fit``, ``predict``, ``score`` and the others take a list of sequences of any lengths, or one sequence. A sequence
    of symbols is a vector of whole numbers (symbols 0 … V − 1) or a list of symbols that can be hashed. Symbols that
    are equal in Python (1, 1.0 and True) are one. In a ``Corpus`` that keeps the order of its texts each document is a
    sequence. A sequence of numbers is a matrix of places × features, or a vector. None, NaN and masked entries are
    missing: they are integrated out, and their places stay.

    Parameters
    ----------
    n_components : int, default=2
        Number of hidden states K.
    n_paths : int, default=1
        Coupled paths m that share their counts, so that the parameters φ have a density ∝ P(φ) P(w | φ)^m. One is the
        posterior. More than one settle at a higher likelihood.
    method : {"gibbs", "em", "cvb0"}, default="gibbs"
        "gibbs" samples, "em" is Baum-Welch, "cvb0" takes collapsed expected counts, of symbols.
    sampler : {"collapsed", "partial", "blocked"}, default="collapsed"
        "collapsed": parameters integrated out, one state at a time. "partial": parameters drawn, one state at a time.
        "blocked": parameters drawn, a whole sequence at a time.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        "standard" counts drawn states. "cgs_p" takes each state's distribution given all others instead.
    initial_prior : float or array of shape (n_components,), default=1
        Dirichlet parameters of the first state. All priors are at least 1 for "em", where 1 is maximum likelihood. A 0
        says that something can never be, for all but single moves.
    transition_prior : float or array of shape (n_components,) or (n_components, n_components), default=1
        Dirichlet parameters of the following state; a matrix has a row per state.
    {emissions}
    alphabet : int or list of symbols, optional
        A number V stands for 0 … V − 1. None finds the symbols in the data.
    max_iter : int, "auto" or Converged, default=500
        Number of sweeps, or the most iterations of "em" and "cvb0". "auto" makes sweeps until several chains agree.
    tol : float, default=0.001
        "em" has converged when an iteration raises the log posterior by less, "cvb0" when it moves fewer symbols.
        With 0 "em" makes all iterations.
    burn_in : int, optional
        First sweep that is kept. Counts are averaged over the kept sweeps. None keeps the last one.
    thin : int, default=10
        Sweeps from one kept sweep to the next.
    keep_draws : str, list of str or dict, optional
        Draws to keep at these sweeps, in ``draws_``: "initial", "transition", "emission", a list of these, or a dict of
        functions by name, each called as ``function(initial, transition, emission)``. Needs ``burn_in``.
    n_chains : int, default=1
        Independent chains, or restarts. The one with the highest joint (posterior) probability is published.
    {run}

    Attributes
    ----------
    initial_ : ndarray of shape (n_components,)
        Probabilities of a sequence's first state.
    transition_ : ndarray of shape (n_components, n_components)
        Probabilities of the next state, a row per state.
    {fitted}
    converged_ : bool
        Whether "em" or "cvb0" stopped by ``tol``.
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
    _data: Data | None = None  # what it was fitted to, where that is at hand

    _DRAWS: ClassVar[draws.Kinds] = draws.Kinds(values.PARTS)
    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "emission": parameters.choice(EMISSIONS),
        "method": parameters.choice(("gibbs", "em", "cvb0")),
        "sampler": parameters.choice(gibbs.SAMPLERS),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_paths: int = 1,
        method: Literal["gibbs", "em", "cvb0"] = "gibbs",
        sampler: Literal["collapsed", "partial", "blocked"] = "collapsed",
        estimator: Estimator = "cgs_p",
        initial_prior: PriorLike = 1.0,
        transition_prior: PriorLike = 1.0,
        emission_prior: PriorLike | Mapping[str, Any] | None = None,
        emission: Literal["categorical", "gaussian", "gaussian_full", "poisson", "multinomial"] = "categorical",
        start: Mapping[str, Any] | None = None,
        fixed: Sequence[str] | None = None,
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
        self.emission = emission
        self.start = start
        self.fixed = fixed
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
            A sequence is a vector of whole numbers or a list of symbols; of numbers a vector or a matrix of places ×
            features. With ``lengths``, all sequences end to end.
        lengths : list of int, optional
            Length of each sequence in X. They sum to the number of places.
        callbacks : sequence of callables, default=()
            Each is called with the chain after every sweep. A true answer stops the chain.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a parameter is out of bounds, or a symbol is not in the alphabet.

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
        return self._fit(self._problem(*self._read(X, lengths), seed), callbacks)

    def _read(self, X: Any, lengths: Any) -> tuple[Corpus, Data]:
        """Sequences to learn from."""
        if self.emission == "categorical":
            corpus, alphabet = sequences.training_corpus(X, sequences.read_alphabet(self.alphabet), lengths)
            return corpus, Data(alphabet, None, observed_symbols(corpus))
        numbers = observations.read_numbers(X, lengths, self.emission)
        observations.check_some(numbers)
        return observations.as_corpus(numbers), self._of_numbers(numbers)

    def _of_numbers(self, numbers: Numbers) -> Data:
        return Data((), numbers, observations.as_rows(numbers, self.emission))

    @property
    def _samples(self) -> bool:
        return self.method == "gibbs"

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        if self.n_components > 1 << 15:
            raise InputError(
                f"n_components={self.n_components} is more than {1 << 15}; the matrix of moves would not fit."
            )
        if not self._samples and self.n_paths != 1:
            raise InputError(
                f'n_paths={self.n_paths} couples sampled paths; method="{self.method}" has none, leave it at 1.'
            )
        if self.method == "cvb0" and self.emission != "categorical":
            raise InputError(
                f'method="cvb0" is for symbols, and emission is "{self.emission}"; use method="gibbs" or "em".'
            )
        if not self._samples and self.keep_draws is not None:
            raise InputError('keep_draws is for sampling; use method="gibbs", or leave it out.')
        if self.emission != "categorical" and self.alphabet is not None:
            raise InputError(f'alphabet names symbols, and emission="{self.emission}" has none; leave it out.')
        check_form(self.emission, self.emission_prior)
        values.check_start(self.emission, self.start, self.fixed)
        if self.fixed and (self.method == "cvb0" or (self._samples and self.sampler == "collapsed")):
            way = 'method="cvb0"' if self.method == "cvb0" else 'sampler="collapsed"'
            raise InputError(f'fixed holds parameters, and {way} integrates them out; use sampler="blocked".')
        self._check_draws()
        return self._sampling_plan(
            seed,
            burn_in=self.burn_in if self.method == "gibbs" else None,
            schedule=Schedule(n_jobs=threads_for(self.n_jobs)),
        )

    def _check_draws(self) -> None:
        if self.emission in ("categorical", "multinomial") or self.keep_draws is None:
            return
        if isinstance(self.keep_draws, Mapping) or "emission" in (
            [self.keep_draws] if isinstance(self.keep_draws, str) else self.keep_draws
        ):
            raise InputError(
                f'keep_draws has "emission" or a function, which emission="{self.emission}" does not have; '
                'keep "initial" and "transition", and use draw_parameters for the others.'
            )

    def _problem(self, corpus: Corpus, data: Data, seed: int) -> Problem:
        prior = self._prior(data)
        sampler = self._sampler_for(prior, data)
        beside: dict[str, Part] = {} if data.numbers is None else {NUMBERS: ({"values": data.numbers.values}, {})}
        note = None
        if self.method == "cvb0":
            note = partial(cvb0.memory_note, corpus.n_tokens, self.n_components, self.n_chains)
        return Problem(
            corpus, corpus, sampler, lambda: prior, self._plan(seed), self.n_chains, data=data, beside=beside, note=note
        )

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        corpus = self._corpus_in(stored)
        return self._problem(corpus, self._stored_data(stored, corpus), seed)

    def _stored_data(self, stored: Stored, corpus: Corpus) -> Data:
        if self.emission == "categorical":
            return Data(self._known_alphabet(), None, observed_symbols(corpus))
        if self._data is not None:
            return self._data
        arrays, info = stored.read(NUMBERS)
        known = self._emission_kind().n_features if hasattr(self, "seed_") else None
        check_numbers(stored.path(NUMBERS), arrays, info, corpus, known)
        numbers = Numbers(arrays["values"], corpus.doc_ptr)
        observations.check_numbers(numbers, self.emission)
        return self._of_numbers(numbers)

    def _training_data(self) -> Data:
        corpus = self.corpus_
        return self._stored_data(self._stored_in(), corpus) if self._data is None else self._data

    def _beside_corpus(self) -> dict[str, Part]:
        numbers = self._training_data().numbers
        return {} if numbers is None else {NUMBERS: ({"values": numbers.values}, {})}

    def _sampler_for(self, prior: HMMPrior, data: Data) -> Sampler:
        start = values.read_start(self.start, prior.emission)
        observed = None if data.numbers is None else data.seen
        if self.method == "em":
            return em_sampler(float(self.tol), prior, start, observed)
        if self.method == "cvb0":
            return cvb0_sampler(float(self.tol), prior, start)
        return gibbs_sampler(self.sampler, self.n_paths, prior, start, observed)

    def _chain_sampler(self) -> Sampler:
        data = self._training_data()
        return self._sampler_for(self._prior(data), data)

    def _prior(self, data: Data) -> HMMPrior:
        k, em = self.n_components, self.method == "em"
        initial = dirichlet_rows("initial_prior", self.initial_prior, 1, k, "states", zeros=True)[0]
        transition = dirichlet_rows("transition_prior", self.transition_prior, k, k, "states", zeros=True)
        emission = make_emission(self.emission, k, self.emission_prior, len(data.alphabet), data.seen, em)
        prior = HMMPrior(stacked(initial, transition), emission)
        if em:
            _check_maximum(prior)
        elif self._samples and self.sampler != "blocked" and prior.has_zeros:
            raise InputError(
                f"a prior has zeros, so that some moves or symbols can never be, and sampler={self.sampler!r} moves "
                'one state at a time, which may lead nowhere; use sampler="blocked".'
            )
        fixed = values.fixed_values(self.fixed, values.read_start(self.start, emission), self.emission)
        return prior._replace(fixed=fixed)

    def _html_content(self) -> html.Content:
        if self.emission != "categorical":
            return html.state_content(
                self.initial_, self.transition_, [self._state_words(k) for k in range(self.n_components)], None
            )
        return html.state_content(self.initial_, self.transition_, self.emission_, self.alphabet_)

    # -- what was learned ----------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        best = chains[self.best_chain_]
        self._data = problem.data
        self.alphabet_, self.converged_ = problem.data.alphabet, best.converged
        found, k = estimate(problem.data.seen, best, self.estimator), self.n_components
        self.initial_, self.transition_ = np.array(found.moves[k]), np.array(found.moves[:k])
        for name, value in usual(best.prior, found).items():
            setattr(self, f"{name}_", value)

    def _emission_of(self, chain: Chain) -> FloatArray:
        """Emission probabilities [K, V] of a chain."""
        return usual(chain.prior, estimate(self._training_data().seen, chain, self.estimator))["emission"]

    def _warn_unfinished(self, problem: Problem, best: Chain) -> None:
        if not self._samples and self.tol > 0 and not best.converged and best.sweep >= problem.plan.max_iter:
            warn(
                f"not converged after max_iter={self.max_iter} iterations at tol={self.tol:g}; raise one of them.",
                ConvergenceWarning,
            )

    def _fitted_numbers(self) -> list[Any]:
        known = self._known()
        return [known.moves, *known.own.values(), self.log_joint_]

    def _n_named(self) -> int:
        return self.n_components

    def _label_words(self, n_words: int) -> list[list[str]]:
        if self.emission != "categorical":
            return [self._state_words(k) for k in range(self.n_components)]
        corpus = self._corpus_at_hand()
        counts = tables.word_counts(corpus, self.emission_.T)[: len(self.alphabet_)]  # without missing ones
        return tables.relevant_words(self.emission_, counts, list(map(str, self.alphabet_)), n_words)

    # -- files ---------------------------------------------------------------------------------------------------

    def _known_alphabet(self) -> sequences.Alphabet:
        """Of a fitted model, or of one that is read: its parameters then name all symbols."""
        found = self.alphabet_ if hasattr(self, "seed_") else sequences.read_alphabet(self.alphabet)
        return () if found is None else found

    def _check_corpus(self, path: Path, corpus: Corpus) -> None:
        check_sequences(path, corpus, len(self._known_alphabet()))

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Earlier versions began where chance had it."""
        return {"start": {"n_runs": 1}, **super()._renamed(params)}

    def _params_to_save(self, data: Any) -> dict[str, Any]:
        """With the alphabet that was found."""
        params = super()._params_to_save(data)
        alphabet = self.alphabet_ if data is None else data.alphabet
        if self.emission != "categorical":
            return params
        params["alphabet"] = len(alphabet) if sequences.is_counted(alphabet) else list(alphabet)
        try:
            same = json.loads(json.dumps(params["alphabet"])) == params["alphabet"]
        except (TypeError, ValueError):
            same = False
        if not same:
            raise InputError("the alphabet has symbols that a file cannot hold; use strings or numbers as symbols.")
        return params

    def _model_part(self) -> Part:
        names = (*_MOVES, *values.own_names(self.emission), "log_joint")
        arrays: dict[str, AnyArray] = {name: getattr(self, f"{name}_") for name in names}
        arrays["alphabet"] = to_bytes(self.alphabet_)
        info = {name: getattr(self, f"{name}_") for name in ("best_chain", "n_iter", "interrupted", "converged")}
        return arrays | self._trace_arrays(), info | {"n_chains": len(self.traces_)} | self._published_part()[1]

    def _set_model(self, stored: Stored, arrays: dict[str, AnyArray], info: Any) -> None:
        check_hmm_model(stored.path(MODEL), arrays, info, self.n_components, self.emission)
        self._data = None
        for name in (*_MOVES, *values.own_names(self.emission)):
            setattr(self, f"{name}_", arrays[name])
        self.converged_, self.alphabet_ = info["converged"], tuple(from_bytes(arrays["alphabet"]))


def _check_maximum(prior: HMMPrior) -> None:
    """A density without a maximum inside would end at zero probabilities."""
    emission = getattr(prior.emission, "prior", np.ones(1))
    for name, rows in (("initial", prior.moves[-1:]), ("transition", prior.moves[:-1]), ("emission", emission)):
        if rows[rows > 0].min() < 1:
            raise InputError(
                f'{name}_prior has {rows[rows > 0].min():g}, below which the maximum that method="em" looks for is '
                "at zero probabilities; give at least 1, which is maximum likelihood."
            )

"""What a fitted hidden Markov model says of sequences: probabilities, states, new sequences."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus._checks import shown
from topicloom.engine.estimator import inputs
from topicloom.engine.estimator.fitted import FittedModel
from topicloom.errors import InputError
from topicloom.hmm import forward_backward, observations, sequences
from topicloom.hmm.emissions.base import Emission
from topicloom.hmm.emissions.choices import bare_emission
from topicloom.hmm.state import Known, Observed, Parameters, observed_symbols, stacked
from topicloom.hmm.values import own_names
from topicloom.numerics.rng import Purpose, path_key


class SequenceModel(FittedModel):
    """A fitted model of sequences. Subclasses bring the parameters and ``fit``."""

    initial_: FloatArray
    transition_: FloatArray
    emission: str
    emission_: FloatArray
    alphabet_: sequences.Alphabet

    @property
    def n_features_in_(self) -> int:
        """Features of the numbers that it was fitted to.

        Examples
        --------
        >>> import numpy as np
        >>> from topicloom import HMM
        >>> X = np.array([[0.1, 2.0], [0.3, 1.0], [0.2, 1.5]])
        >>> HMM(2, emission="gaussian", max_iter=5, random_state=0).fit(X).n_features_in_
        2
        """
        if not hasattr(self, "seed_") or self.emission == "categorical":
            raise AttributeError("only a model that was fitted to numbers has n_features_in_.")
        return self._emission_kind().n_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.emission not in ("gaussian_full", "multinomial")  # there whole places alone
        tags.input_tags.two_d_array = self.emission != "categorical"
        tags.input_tags.one_d_array = self.emission == "categorical"
        tags.input_tags.positive_only = self.emission in ("poisson", "multinomial")
        return tags

    def _emission_kind(self) -> Emission:
        check_is_fitted(self, "seed_")
        if self.emission == "categorical":
            return bare_emission(self.emission, len(self.initial_), len(self.alphabet_))
        first = getattr(self, f"{own_names(self.emission)[0]}_")
        return bare_emission(self.emission, *first.shape)

    def _known(self) -> Known:
        """The parameters as samplers have them."""
        kind = self._emission_kind()
        own = kind.from_state({name: getattr(self, f"{name}_") for name in own_names(self.emission)})
        return Known(stacked(self.initial_, self.transition_), own)

    def _see(self, X: Any, lengths: Any) -> tuple[Observed, bool]:
        """New sequences, and whether it was one alone."""
        if self.emission == "categorical":
            corpus, single = sequences.new_corpus(X, self.alphabet_, lengths)
            return observed_symbols(corpus), single
        numbers = observations.read_numbers(X, lengths, self.emission, self._emission_kind().n_features)
        return observations.as_rows(numbers, self.emission), numbers.single

    def _on_rows(self, seen: Observed) -> tuple[Parameters, FloatArray | None]:
        """Parameters as compiled code takes them, and what was taken out of the rows."""
        known = self._known()
        table, top = self._emission_kind().table(known.own, seen)
        return Parameters(known.moves, table), top

    def _posteriors(self, seen: Observed) -> tuple[FloatArray, list[FloatArray]]:
        return forward_backward.posteriors(seen, *self._on_rows(seen))

    def _state_words(self, state: int) -> list[str]:
        """A few words on what a state emits, of numbers."""
        if self.emission == "multinomial":
            likeliest = np.argsort(-self.emission_[state], kind="stable")[:5]
            return [f"{v} ({self.emission_[state, v]:.0%})" for v in likeliest]
        first = getattr(self, f"{own_names(self.emission)[0]}_")[state]
        return [f"{x:.3g}" for x in first[:5]]

    def score_samples(self, X: Any, lengths: Any = None) -> FloatArray:
        """log P(w) of every sequence, exactly, by the forward pass.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        ndarray of shape (n_sequences,)
            −∞ for a sequence that is impossible.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.score_samples([["a", "b"], ["b"]]).shape
        (2,)
        """
        check_is_fitted(self, "seed_")
        seen, _ = self._see(X, lengths)
        return forward_backward.log_likelihoods(seen, *self._on_rows(seen))

    def score(self, X: Any, lengths: Any = None) -> float:
        """log P(w) of all sequences together.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        float
            Higher is better.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.score(["a", "b"]) > model.score(["b", "a"])
        True
        """
        return float(self.score_samples(X, lengths).sum())

    def decode(
        self, X: Any, method: Literal["viterbi", "posterior"] = "viterbi", *, lengths: Any = None
    ) -> tuple[FloatArray, Any]:
        """Hidden states of every sequence, and their log probability.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        method : {"viterbi", "posterior"}, default="viterbi"
            "viterbi" finds the most probable path. "posterior" takes the most probable state at each place.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        log_probability : ndarray of shape (n_sequences,)
            log P(path, w) for "viterbi", log P(w) for "posterior". A number for one sequence given alone.
        states : list of ndarray
            States of each sequence. One vector for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> value, states = model.decode(["a", "a", "b"])
        >>> len(states), bool(states[0] != states[2])
        (3, True)
        """
        check_is_fitted(self, "seed_")
        inputs.check_choice("method", method, ("viterbi", "posterior"))
        seen, single = self._see(X, lengths)
        given, top = self._on_rows(seen)
        if method == "viterbi":
            logs = None if top is None else self._emission_kind().log_table(self._known().own, seen)
            values, states = forward_backward.best_paths(seen, given, logs)
        else:
            values, shares = forward_backward.posteriors(seen, given, top)
            states = [share.argmax(axis=1) for share in shares]
        _check_possible(values)
        if lengths is not None:
            return values, np.concatenate(states)
        return (values[0], states[0]) if single else (values, states)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most probable path of every sequence (Viterbi).

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        list of ndarray
            States of each sequence. One vector for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> path = model.predict(["a", "a", "b"])
        >>> bool(path[0] == path[1] != path[2])
        True
        """
        return self.decode(X, lengths=lengths)[1]

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """Probabilities of the states at each place, given the whole sequence.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        list of ndarray of shape (length, n_components)
            A matrix per sequence, whose rows sum to 1. One matrix for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.predict_proba(["a", "a", "b"]).shape
        (3, 2)
        """
        check_is_fitted(self, "seed_")
        seen, single = self._see(X, lengths)
        values, shares = self._posteriors(seen)
        _check_possible(values)
        if lengths is not None:
            return np.concatenate(shares)
        return shares[0] if single else shares

    def sample(self, lengths: int | Sequence[int], random_state: Any = None) -> tuple[Any, Any]:
        """Draw states and sequences from the fitted model.

        Parameters
        ----------
        lengths : int or list of int
            Length of each sequence.
        random_state : int or numpy.random.RandomState, optional
            The seed.

        Returns
        -------
        states : list of ndarray
            Hidden states of each sequence. One vector for one length.
        sequences : list
            Symbols of each sequence: vectors of whole numbers, or lists of symbols. One sequence for one length.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> states, symbols = model.sample([5, 8], random_state=0)
        >>> [len(own) for own in symbols]
        [5, 8]
        """
        known = self._known()
        single = isinstance(lengths, int | np.integer)
        several = cast(Any, lengths)
        if not single and (isinstance(several, str) or not isinstance(several, Iterable)):
            raise InputError(f"lengths={shown(lengths)} must be a whole number, or a list of them.")
        sizes = [inputs.check_whole("lengths", n, 0) for n in ([lengths] if single else several)]
        seed, kind = inputs.draw_seed(random_state), self._emission_kind()
        symbols_of = known.own["emission"] if self.emission == "categorical" else np.ones((1, len(self.initial_)))
        given = Parameters(known.moves, symbols_of)
        states, symbols = forward_backward.simulate(given, np.array(sizes, np.int64), seed)
        if self.emission != "categorical":
            rng = np.random.default_rng(path_key(seed, Purpose.SIMULATION, 1))
            drawn: list[Any] = [kind.sample(known.own, own, rng) for own in states]
        elif sequences.is_counted(self.alphabet_):
            drawn = [values.astype(np.int64) for values in symbols]
        else:
            drawn = [[self.alphabet_[v] for v in values] for values in symbols]
        return (states[0], drawn[0]) if single else (states, drawn)


def _check_possible(values: FloatArray) -> None:
    if np.any(np.isneginf(values)):
        raise InputError(
            f"sequence {int(np.argmax(np.isneginf(values)))} has probability 0 under this model, so it has no states. "
            'A prior above 1 (or method="gibbs") leaves nothing impossible.'
        )

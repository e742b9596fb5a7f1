"""What topicloom raises and warns with. Every message says what, where, what was expected and what to do."""


class InputError(ValueError):
    """The data or a parameter cannot be used as given; nothing has been changed."""


class StorageError(ValueError):
    """A file is damaged, foreign or of an unknown version; nothing has been loaded."""


class MissingExtraError(ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""


class UnknownWordsWarning(UserWarning):
    """Many words of new documents are not in the model's vocabulary."""


class InterruptedFitWarning(UserWarning):
    """A fit was stopped by Ctrl-C; the estimates come from the sweeps that were done."""


class UnknownGroupsWarning(UserWarning):
    """No label of new documents' collections is one that the model knows."""


class SeedWordWarning(UserWarning):
    """A seed word is not in the vocabulary and has no effect."""

"""Characters that separate columns or labels, by themselves or by name."""

from topicloom.corpus._checks import shown
from topicloom.errors import InputError

NAMES = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "colon": ":",
    "space": " ",
    "blank": " ",
}
NONE = "none"
_LISTED = ", ".join(name for name in NAMES if name.isalpha())


def delimiter_of(given: object) -> str:
    """The character between columns that is meant by itself or by its name."""
    character = NAMES.get(given, given) if isinstance(given, str) else given
    if not isinstance(character, str) or len(character) != 1 or character in "\r\n\0":
        raise InputError(f"delimiter={shown(given)} must be one character, or a name: {_LISTED}.")
    return character


def label_separator_of(given: object) -> str | None:
    """The character between labels; "" if a cell is one label, and None if nobody has said so."""
    if given is None or given == "" or given == NONE:
        return None if given is None else ""
    character = NAMES.get(given, given) if isinstance(given, str) else given
    if not isinstance(character, str) or len(character) != 1:
        raise InputError(
            f"label_separator={shown(given)} must be one character, a name ({_LISTED}), or {NONE!r} if each "
            "cell is one label."
        )
    return " " if character.isspace() and character != "\t" else character


def name_of(character: str) -> str:
    """How a message writes a separator: as a name where the character is hard to see."""
    return {"\t": "tab", " ": "space"}.get(character, character)

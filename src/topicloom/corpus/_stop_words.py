"""Lists of stop words by the names of languages: English here, others from the package stopwordsiso."""

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from topicloom.corpus._checks import shown
from topicloom.errors import InputError, MissingExtraError

# Contractions are cut at the apostrophe, so their stumps ("don", "ll", "ve") are words to stop as well.
_WORDS = """
a an the this that these those such same other others another each every either neither both all any
some none no not nor several few fewer many more most much less least enough own only

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves one ones oneself who whom whose which
what whoever whomever whatever whichever someone somebody something anyone anybody anything everyone
everybody everything nobody nothing

be am is are was were been being do does did done doing have has had having can could may might must
shall should will would ought cannot let lets get gets got gotten getting go goes went gone going make
makes made making seem seems seemed seeming become becomes became becoming keep keeps kept say says said
saying tell tells told come comes came coming take takes took taken taking put puts use uses used using

about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by concerning despite down during except for from in inside into
like near of off on onto opposite out outside over past per regarding since than through throughout till
to toward towards under underneath until unto up upon versus via with within without

and or but so yet if unless although though because while whereas whether when whenever where wherever
why how however therefore thus hence moreover furthermore nevertheless nonetheless otherwise meanwhile
instead else then thereby therein thereafter thereof whereby wherein hereby herein hereafter

again ago almost already also always anyhow anyway anywhere apart aside away back ever everywhere
elsewhere far further here indeed just later lately maybe merely mostly much namely nearly never next
now nowhere often once perhaps quite rather really simply somehow sometime sometimes somewhat somewhere
soon still there too together twice usually very well even yes

etc ie eg vs

ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn ll
re ve im ive id dont didnt doesnt cant wont isnt wasnt
"""
ENGLISH_STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())

# Languages by name and by the ISO code under which the package has them.
LANGUAGES = {
    "afrikaans": "af", "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "breton": "br",
    "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da",
    "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi", "french": "fr",
    "galician": "gl", "german": "de", "greek": "el", "gujarati": "gu", "hausa": "ha", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "indonesian": "id", "irish": "ga", "italian": "it", "japanese": "ja", "korean": "ko",
    "kurdish": "ku", "latin": "la", "latvian": "lv", "lithuanian": "lt", "malay": "ms", "marathi": "mr",
    "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "slovak": "sk", "slovenian": "sl", "somali": "so", "spanish": "es", "swahili": "sw", "swedish": "sv",
    "tagalog": "tl", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
    "yoruba": "yo", "zulu": "zu",
}  # fmt: skip
_CODES = frozenset(LANGUAGES.values())


def stop_words(languages: str) -> frozenset[str]:
    """The stop words of a language, or of several.

    The English list is built in. The others are those of the package stopwordsiso, which the extra ``languages``
    installs.

    Parameters
    ----------
    languages : str
        A language's name or ISO 639-1 code, or several with commas between them: "german", "de", "english, german".

    Returns
    -------
    frozenset of str
        The words, to be used as they are or with others of your own.

    Examples
    --------
    >>> from topicloom.corpus import stop_words
    >>> "the" in stop_words("english")
    True
    >>> sorted(stop_words("english") & {"the", "river"} | {"inc"})
    ['inc', 'the']
    """
    if not isinstance(languages, str):
        raise InputError(f"languages={shown(languages)} must be a string, such as 'german' or 'english, german'.")
    codes = [_code(name.strip(), languages) for name in languages.split(",")]
    return frozenset().union(*map(_words_of, codes))


def is_language(name: str) -> bool:
    """Whether a list has this name or code."""
    return name.lower() in LANGUAGES or name.lower() in _CODES


def _code(name: str, given: str) -> str:
    code = LANGUAGES.get(name.lower(), name.lower())
    if code not in _CODES:
        raise InputError(
            f"stop_words={shown(given)}: there is no list for {shown(name)}. A string names languages, with commas "
            "between several; words to leave out are a set or a list. Languages have English names, such as german, "
            f"and codes: {', '.join(sorted(_CODES))}."
        )
    return code


@cache
def _words_of(code: str) -> frozenset[str]:
    if code == "en":
        return ENGLISH_STOP_WORDS
    try:
        from stopwordsiso import stopwords
    except ImportError:
        raise MissingExtraError(
            "stop words of languages other than English need the package stopwordsiso; install it with "
            "pip install 'topicloom[languages]', or give the words themselves."
        ) from None
    return frozenset(stopwords(code))


def given_stop_words(given: str | Collection[str] | None) -> frozenset[str]:
    """What the option ``stop_words`` means: a string names lists, anything else holds the words themselves."""
    if given is None:
        return frozenset()
    if isinstance(given, str):
        return stop_words(given)
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InputError(f"stop_words must be None, a language or a collection of words, not {_typed(given)}.")
    words = tuple(given)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words holds {_typed(word)}; every stop word must be a string.")
    if isinstance(given, list) and words and all(word.lower() in LANGUAGES for word in words):
        raise InputError(
            f"stop_words={shown(given)} would leave out the names of languages. For their lists write "
            f"{', '.join(words)!r}, one string; for the words themselves give a set."
        )
    return frozenset(words)


def _typed(value: Any) -> str:
    return f"{shown(value)} ({type(value).__name__})"

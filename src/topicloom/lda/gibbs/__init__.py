"""Samplers of LDA, one file each. Each registers itself under its name when its module is imported."""

from importlib import import_module

from topicloom.engine.sampler import Sampler, registered, registered_names

_MODULES = ("auto", "mh", "partial", "warp")


def get_sampler(name: str) -> Sampler:
    """A sampler of LDA by its name."""
    _load()
    return registered(name)


def sampler_names() -> list[str]:
    _load()
    return registered_names()


def _load() -> None:
    for module in _MODULES:
        import_module(f"{__name__}.{module}")

"""Work on many machines, with the answer of one."""

from topicloom.scale.session import ray

__all__ = ["ray"]

"""Workers in this process that go away."""

from contextlib import AbstractContextManager

from topicloom.engine import places
from topicloom.scale.cluster import InProcess, WorkersLostError
from topicloom.scale.place import Workers


def losing_a_worker() -> AbstractContextManager[None]:
    """Two workers for the fits within, one of which is lost in the first sweep."""
    cluster, lost = InProcess(2), list[int]()

    def lose(worker: int, method: str) -> None:
        if method == "visit" and not lost:
            lost.append(worker)
            raise WorkersLostError("for a test")

    cluster.before_call = lose
    return places.using(Workers(cluster))

"""How far the tasks of a round are, which threads tell each other while they work.

Cores that others use, too, are not equally quick, and which one is the slower changes from one moment to the next. So
threads that have tasks of equal loads exchange them when the quicker one has done so much more that by the exchange
both are going to end together. A task is drawn in one order by one stream whoever has it: what threads tell
each other changes when they meet, and nothing else.
"""

from topicloom._types import FloatArray
from topicloom.kernels._jit import step

# A row a task, in lines that no other thread writes: the share that is done, what it was when threads met last, and
# for making it of a number of tokens from the first one on, and the document at which a thread was called away. The
# first number of one more row calls threads to meet.
DONE, MET, FROM, PER, REACHED = range(5)
LINE = 16
EVERY = 64  # documents between looks
_SOME = 0.3  # of two tasks together, to be done before speeds are compared
_WORTH = 0.03  # of a task: what a meeting must save, as it takes time itself


@step
def calls(pace: FloatArray, own: int, token: int) -> bool:
    """Say that task ``own`` has come to a token; whether its thread is to stop there and meet the others."""
    called = pace.shape[0] - 1
    done = (token - pace[own, FROM]) * pace[own, PER]
    pace[own, DONE] = done
    if pace[called, 0] > 0.0:
        return True
    last = 0
    for task in range(called):
        if pace[task, DONE] < pace[last, DONE]:
            last = task
    mine, theirs = done - pace[own, MET], pace[last, DONE] - pace[last, MET]  # speeds, in any unit
    lead, left = done - pace[last, DONE], 1.0 - done
    if mine + theirs < _SOME or mine <= theirs or theirs <= 0.0 or lead * theirs < left * (mine - theirs):
        return False
    saved = (left + lead) / theirs - max((left + lead) / mine, left / theirs)
    if 0.5 * (mine + theirs) * saved < _WORTH:
        return False
    pace[called, 0] = 1.0
    return True

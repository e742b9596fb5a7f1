"""A small hidden Markov model, and all ways to fit one."""

import numpy as np

INITIAL = np.array([0.8, 0.2])
TRANSITION = np.array([[0.9, 0.1], [0.2, 0.8]])
EMISSION = np.array([[0.7, 0.2, 0.1, 0.0], [0.05, 0.15, 0.3, 0.5]])
LENGTHS = [300, 1, 200, 0, 120]
QUICK = {"max_iter": 12, "trace_every": 3}
WAYS = [
    {"sampler": "collapsed"},
    {"sampler": "collapsed", "n_paths": 3},
    {"sampler": "partial", "n_paths": 2},
    {"sampler": "blocked", "n_paths": 2},
    {"method": "em"},
    {"method": "cvb0"},
]
IDS = ["collapsed", "collapsed, 3 paths", "partial, 2 paths", "blocked, 2 paths", "em", "cvb0"]

"""Hidden Markov models over symbols."""

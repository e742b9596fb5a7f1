"""What a state emits: one file per kind, each with its prior, its draws, its maximum and its predictive."""

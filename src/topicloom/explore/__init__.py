"""Results as people read them: frames, and later plots and the explorer page."""

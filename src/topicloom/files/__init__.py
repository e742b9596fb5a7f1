"""Arrays and JSON on disk: atomic files with a digest, and directories of models and runs."""

"""Kernels by name, the one chain loop, threads over fixed shards, and unseen documents."""

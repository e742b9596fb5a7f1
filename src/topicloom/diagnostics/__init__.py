"""Chains judged together."""

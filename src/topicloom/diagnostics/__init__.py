"""Chains and topics judged: convergence, alignment, stability, diagnostics of topics."""

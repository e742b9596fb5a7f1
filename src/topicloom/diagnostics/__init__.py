"""Is a fit to be trusted: chains judged together, topics judged one by one."""

"""topicloom beside other tools on the same data, in one run. Run as ``python -m benchmarks.NAME``."""

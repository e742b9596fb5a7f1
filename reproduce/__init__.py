"""One module a paper: its tables and figures, computed with topicloom. Run as ``python -m reproduce.NAME``."""

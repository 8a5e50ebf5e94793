"""kasmos: one truthful, read-only monitor for a group of coding agents."""

__version__ = "0.1.0"

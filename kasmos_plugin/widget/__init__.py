"""The monitor as files: a document, and a preview page around it. Built from `web/`."""

from kasmos_plugin.widget.document import widget_hash, widget_html
from kasmos_plugin.widget.preview import preview_html

__all__ = ["preview_html", "widget_hash", "widget_html"]

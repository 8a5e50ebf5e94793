"""The monitor as files: a document, a preview page around it, a bundle. Built from `web/`."""

from kasmos_plugin.widget.bundle import bundle_files, bundle_manifest
from kasmos_plugin.widget.document import widget_hash, widget_html
from kasmos_plugin.widget.preview import preview_html

__all__ = ["bundle_files", "bundle_manifest", "preview_html", "widget_hash", "widget_html"]

"""The monitor as files: one HTML document, the preview, the bundle. Built from `web/`."""

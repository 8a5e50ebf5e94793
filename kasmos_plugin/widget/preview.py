"""The preview page: the widget inside a small visible host that asks one bridge for snapshots.

It knows how the page is written, not who serves it: a file and `GET /` of serve both use it.
"""

import base64
import hashlib
import json
import re
from urllib.parse import urlsplit

from kasmos_plugin.contract.monitor import DEFAULT_SERVE_URL, DisplayMode, Theme
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.widget.document import ROOT_ID, asset, inline_script, page

_HINT = f"--serve-url {DEFAULT_SERVE_URL}"
_NETLOC = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::[0-9]{1,5})?"
)
_PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*")
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


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

    `serve_url` is the http(s) origin that it asks, with a path prefix if it has one; empty means
    the place that served the page. `secret` goes into a page that is written to a file, and
    nowhere else. Without `theme` the page follows the browser. Raises: BadArgument.
    """
    url = serve_origin(serve_url) if serve_url else ""
    seed = {
        "serve_url": url,
        "secret": secret,
        "project": project,
        "task": task,
        "mode": mode,
        "theme": theme,
    }
    styles = (asset("monitor.css"), asset("preview.css"))
    scripts = (asset("preview.js"), asset("monitor.js"))
    policy = _policy(url, styles, scripts)
    return page(
        title="kasmos monitor · preview",
        head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        theme=theme or "",
        styles=styles,
        body=(
            f'<script type="application/json" id="kasmos-seed">{seed_json(seed)}</script>\n'
            '<header id="host-bar" aria-label="preview host"></header>\n'
            f'<div id="stage"><div id="{ROOT_ID}"></div></div>\n'
            '<aside id="conversation" aria-label="conversation"></aside>'
        ),
        scripts=scripts,
    )


def serve_origin(url: str) -> str:
    """Return `url` as `http(s)://host[:port][/prefix]`, without a slash at its end.

    Raises:
        BadArgument: it is no http(s) origin, or carries a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        is_port_fine = parts.port is None or 0 < parts.port < 65_536
    except ValueError:
        raise _refused(url, "cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise _refused(url, "is not an http or https URL")
    if "@" in parts.netloc:
        raise _refused(url, "must not hold a user")
    if "?" in url or "#" in url:
        raise _refused(url, "must not hold a query or a fragment")
    is_clean = url.isprintable() and not re.search(r"\s|\\", url)
    if not (is_clean and is_port_fine and _NETLOC.fullmatch(parts.netloc)):
        raise _refused(url, "has no host that can be used")
    if not _PATH.fullmatch(parts.path) or ".." in parts.path.split("/"):
        raise _refused(url, "has a path that cannot be used")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def seed_json(seed: object) -> str:
    """Return `seed` as JSON that can neither end nor open an element around it."""
    return json.dumps(seed, allow_nan=False).translate(_ESCAPES)


def _refused(url: str, why: str) -> BadArgument:
    shown = url if url.isprintable() else ascii(url)[1:-1]
    return BadArgument(f"The serve URL '{shown}' {why}.", hint=_HINT)


def _policy(url: str, styles: tuple[str, ...], scripts: tuple[str, ...]) -> str:
    parts = urlsplit(url)
    asked = f"{parts.scheme}://{parts.netloc}" if url else "'self'"
    script_hashes = " ".join(_hash(inline_script(script)) for script in scripts)
    style_hashes = " ".join(_hash(style) for style in styles)
    return (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; "
        f"connect-src {asked}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

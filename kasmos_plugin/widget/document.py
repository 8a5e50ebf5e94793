"""The widget as one self-contained HTML document. Knows the built assets, not who serves it."""

import hashlib
import re
from functools import cache

from importlib_resources import files

ROOT_ID = "root"
"""Id of the element that the monitor draws into."""
_ENDS_SCRIPT = re.compile(r"<(?=/script|script|!--)", re.IGNORECASE)


@cache
def asset(name: str) -> str:
    """Return the text of a built asset, such as `monitor.js`."""
    return (files("kasmos_plugin.widget") / "assets" / name).read_text(encoding="utf-8")


@cache
def widget_html() -> str:
    """Return the widget for a host's frame: script and style inline, no network.

    The style stands before the body, so that the pane has its own background from the first paint.
    """
    return page(
        title="kasmos monitor",
        styles=(asset("monitor.css"),),
        body=f'<div id="{ROOT_ID}"></div>',
        scripts=(asset("monitor.js"),),
    )


@cache
def widget_hash() -> str:
    """Return 16 hex digits that change with the document, for resource URIs."""
    return hashlib.sha256(widget_html().encode()).hexdigest()[:16]


def page(
    *,
    title: str,
    styles: tuple[str, ...],
    body: str,
    scripts: tuple[str, ...],
    head: str = "",
    theme: str = "",
) -> str:
    """Return one HTML page. Every argument is trusted markup, style or script of ours."""
    attribute = f' data-theme="{theme}"' if theme else ""
    style_elements = "".join(f"<style>{style}</style>\n" for style in styles)
    script_elements = "".join(f"<script>{inline_script(script)}</script>\n" for script in scripts)
    return (
        f'<!doctype html>\n<html lang="en"{attribute}>\n<head>\n<meta charset="utf-8">\n{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n{style_elements}</head>\n"
        f"<body>\n{body}\n{script_elements}</body>\n</html>\n"
    )


def inline_script(script: str) -> str:
    r"""Return `script` so that it cannot end its element: `</script` becomes `\x3c/script`.

    Such text occurs only inside strings and templates of a bundle, where both mean the same.
    """
    return _ENDS_SCRIPT.sub(r"\\x3c", script)

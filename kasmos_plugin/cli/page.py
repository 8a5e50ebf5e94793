"""The monitor page as a file, and in a browser. Knows neither the snapshot nor the store."""

import os
import tempfile
from pathlib import Path

from kasmos_plugin.cli.output import note
from kasmos_plugin.contract.monitor import DEFAULT_SERVE_URL
from kasmos_plugin.errors import BadArgument, Conflict, KasmosError, Unreachable
from kasmos_plugin.rules.text import clean

MADE_BY_US = b"<title>kasmos monitor"
"""What tells a page of ours from another file."""


def write_page(path: Path, content: bytes, *, force: bool) -> None:
    """Write the page for this user alone, whole or not at all; keep what another program wrote.

    Raises:
        BadArgument: the path is a directory, or cannot be written.
        Conflict: the file is no page of ours.
    """
    target = path.expanduser().resolve()  # A link is kept, and what it names is replaced.
    if target.is_dir():
        raise BadArgument(f"'{path}' is a directory.", hint="--out FILE")
    try:
        if target.exists() and not force and not _is_ours(target):
            raise Conflict(f"'{path}' is no page of kasmos; it was left alone.", hint="--force")
        # Made by mkstemp with mode 0600, beside the target so that the rename is atomic.
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        beside = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadArgument(
            f"'{path}' cannot be written: {error.strerror}.", hint="--out FILE"
        ) from error


def require_page(url: str) -> None:
    """Make sure that a monitor page is served at `url`.

    Raises:
        BadArgument: it is no http(s) address.
        Unreachable: nothing answers there, or another program.
    """
    if why := _why_not_ours(url):
        raise Unreachable(f"No monitor page at {clean(url, 500)}: {why}.", hint="kas serve")


def browse(url: str) -> None:
    """Open an address in the browser; where there is none, say so.

    Raises:
        KasmosError: the browser cannot be started.
    """
    import webbrowser  # Only who asked for a browser waits for it.

    try:
        is_open = webbrowser.open(url)
    except webbrowser.Error as error:
        raise KasmosError(f"No browser could be started: {error}.", hint=f"open {url}") from error
    if not is_open:
        note(f"no browser was found here; open {url} yourself")


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        beginning = file.read(4_096)
    return not beginning or MADE_BY_US in beginning


def _why_not_ours(url: str) -> str:
    """Return why the monitor page cannot be read there, "" when it can."""
    import http.client
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadArgument(f"'{clean(url, 500)}' is no address: {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadArgument(
            f"'{clean(url, 500)}' is no http(s) address.", hint=f"--serve-url {DEFAULT_SERVE_URL}"
        )
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, port, timeout=5)
    try:
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        if answer.status != 200 or MADE_BY_US not in answer.read(65_536):
            return "another program answers there"
    except (OSError, http.client.HTTPException) as error:
        return (getattr(error, "strerror", None) or str(error) or "no answer").lower()
    finally:
        connection.close()
    return ""

"""What a task's texts may be. Texts are stored as given, or refused with the reason."""

from urllib.parse import urlsplit

from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.text import NAME_LIMIT, clean, is_clean_name

TEXT_LIMIT = 100_000
"""Code points of a feedback or a block reason."""
URL_LIMIT = 2_000
"""Characters of an address."""


def check_name(what: str, name: str) -> None:
    """Refuse a name that is empty, too long, or would have to be cleaned."""
    if not is_clean_name(name):
        raise BadArgument(
            f"{what} is one line of 1 to {NAME_LIMIT} characters without control characters,"
            f" not '{clean(name, 60)}'.",
            hint="--name NAME",
        )


def check_line(what: str, text: str) -> None:
    """Refuse a line that is given and cannot be a name."""
    if text:
        check_name(what, text)


def check_text(what: str, text: str) -> None:
    """Refuse a text that is too long to keep."""
    if len(text) > TEXT_LIMIT:
        raise BadArgument(f"{what} has {len(text)} characters, at most {TEXT_LIMIT} are kept.")


def check_url(url: str) -> None:
    """Refuse an address that is not http(s), or cannot be shown as it is."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or len(url) > URL_LIMIT:
        raise BadArgument(f"'{clean(url)}' is no http(s) address.", hint="--pr-url https://…")
    if clean(url, URL_LIMIT) != url:
        raise BadArgument("The address holds characters that cannot be shown.")

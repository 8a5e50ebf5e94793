"""contract.base: timestamps on the wire."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from kasmos_plugin.contract.base import rfc3339
from kasmos_plugin.contract.event import EventRecord


@pytest.mark.parametrize(
    ("microsecond", "text"),
    [(0, "01:02:03Z"), (500_000, "01:02:03.5Z"), (1, "01:02:03.000001Z"), (120, "01:02:03.00012Z")],
)
def test_trailing_zeros_are_trimmed(microsecond: int, text: str) -> None:
    at = datetime(2026, 1, 1, 1, 2, 3, microsecond, tzinfo=UTC)
    assert rfc3339(at) == f"2026-01-01T{text}"


def test_every_zone_leaves_as_utc() -> None:
    at = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(at) == "2025-12-31T23:00:00Z"


def test_a_timestamp_without_zone_is_refused() -> None:
    at = datetime(2026, 1, 1)  # noqa: DTZ001 - the point.
    with pytest.raises(ValidationError, match="time zone"):
        EventRecord(id=1, project="p", at=at, kind="k", message="m")

"""What a daemon is told at its start: where it listens, what it watches, how patient it is."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Timings:
    """How patient the daemon is, in seconds; tests make it hasty."""

    grace_s: float = 15.0
    """After the start, shims may come back before anybody is judged."""
    tick_s: float = 1.0
    """Between two looks at the processes of silent shims."""
    worktrees_s: float = 5.0
    """Between two looks at the working trees."""
    poll_s: float = 0.25
    """Between two questions whether the store was written."""
    hello_within_s: float = 5.0
    """A link must say its hello within this."""
    takes_within_s: float = 5.0
    """A reader of events that takes nothing for this long is cut."""
    quiet_s: float = 15.0
    """A stream says at least this often that it lives."""
    drain_s: float = 2.0
    """Open requests have this long to end when the daemon stops."""
    backup_s: float = 86_400.0
    """Between two backups of the store."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One daemon."""

    socket_path: Path
    database: Path
    timings: Timings = field(default_factory=Timings)

    @property
    def lock_path(self) -> Path:
        """The lock that belongs to the socket."""
        return self.socket_path.with_name(self.socket_path.name + ".lock")

    @property
    def store_lock_path(self) -> Path:
        """The lock that belongs to the store: one daemon watches it."""
        return self.database.with_name(self.database.name + ".daemon-lock")

    @property
    def ends_dir(self) -> Path:
        """Where shims leave word of their end while no daemon listens."""
        return self.socket_path.with_name(self.socket_path.name + ".ends")

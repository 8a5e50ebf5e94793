"""What is around the shim: the terminal that a person looks at, or the log instead of one.

Knows modes, sizes and files; nothing of the child and of the daemon. Built-in modules only.
"""

import fcntl
import os
import termios

LOG_BYTES = 4 * 1024 * 1024
CHUNK = 16_384
PIPE_CHUNK = 4_096
"""A pipe that can be written takes this much without waiting: pipe(7), PIPE_BUF."""
DEFAULT_SIZE = (24).to_bytes(2, "little") + (80).to_bytes(2, "little") + bytes(4)
"""24 rows of 80 columns, for an agent that no terminal shows."""


class Terminal:
    """The terminal around us, if there is one: its keys, its modes, its size."""

    def __init__(self, *, is_detached: bool) -> None:
        self.has_keys = not is_detached and os.isatty(0)
        self.shown = -1 if is_detached else next((fd for fd in (0, 1, 2) if os.isatty(fd)), -1)
        self.saved: list[object] | None = None
        self.out = 1
        self.takes = PIPE_CHUNK
        if not is_detached and os.isatty(1):
            try:
                # A description of our own: whoever shares fd 1 must not find it non-blocking.
                flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
                self.out, self.takes = os.open(os.ttyname(1), flags), CHUNK
            except OSError:
                pass

    def is_foreground(self) -> bool:
        """Return whether keys are ours to read."""
        try:
            return self.has_keys and os.tcgetpgrp(0) == os.getpgrp()
        except OSError:
            return False

    def take(self) -> None:
        """Pass every key on as it is, when we are in the foreground."""
        if self.saved is not None or not self.is_foreground():
            return
        try:
            self.saved = termios.tcgetattr(0)
            mode = termios.tcgetattr(0)
            mode[0] &= ~(
                termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON
            )
            if os.isatty(1):
                # Else others write to the terminal, as `| tee` does, and need its line ends.
                mode[1] &= ~termios.OPOST
            mode[2] = (mode[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
            mode[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
            termios.tcsetattr(0, termios.TCSADRAIN, mode)
        except termios.error:
            self.saved = None

    def give_back(self) -> None:
        """Restore the terminal's own modes."""
        saved, self.saved = self.saved, None
        if saved is not None:
            try:
                termios.tcsetattr(0, termios.TCSADRAIN, saved)  # type: ignore[arg-type]  # as it came
            except termios.error:
                pass

    def size(self) -> bytes:
        """Return the window's size as the kernel's struct."""
        if self.shown < 0:
            return DEFAULT_SIZE
        try:
            return fcntl.ioctl(self.shown, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            return DEFAULT_SIZE

    def modes(self) -> list[object] | None:
        """Return the modes that the child's pty begins with, None for the kernel's own."""
        if self.saved is not None:
            return self.saved
        try:
            return termios.tcgetattr(self.shown) if self.shown >= 0 else None
        except termios.error:
            return None


class Log:
    """The output of an agent without a terminal: one file and the one before it, both bounded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1
        self.size = 0
        self.open()

    def open(self) -> None:
        """Open the file, private, at its end."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self.fd = os.open(self.path, flags, 0o600)
        self.size = os.fstat(self.fd).st_size

    def write(self, data: bytes) -> None:
        """Append; a full disk loses output, never the agent."""
        try:
            if self.size >= LOG_BYTES:
                os.replace(self.path, self.path + ".1")
                os.close(self.fd)
                self.open()
            self.size += os.write(self.fd, data)
        except OSError:
            pass


def set_pty(size: bytes, modes: list[object] | None, *, is_exact: bool) -> None:
    """In the child: give its pty a size and modes before anybody asks for them."""
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    try:
        if modes is not None:
            termios.tcsetattr(1, termios.TCSANOW, modes)  # type: ignore[arg-type]  # as it came
        if is_exact:
            # The output goes to a file or a pipe: no line ends for a screen.
            mode = termios.tcgetattr(1)
            mode[1] &= ~termios.OPOST
            termios.tcsetattr(1, termios.TCSANOW, mode)
    except termios.error:
        pass


def is_same_file(one: int, other: int) -> bool:
    """Return whether two descriptors are open on one file."""
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def say(text: str) -> None:
    """Print a line for a person, whatever mode the terminal is in."""
    try:
        os.write(2, f"{text}\r\n".encode("utf-8", "replace"))
    except OSError:
        pass

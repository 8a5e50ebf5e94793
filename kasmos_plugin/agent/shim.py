"""Holds one agent's process on a pty and tells the daemon of it.

`kas agent run` becomes this by `start.py`. People run twenty of these, so that only built-in
modules are imported: `signal`, `socket`, `json` or `re` would double its memory. Decides nothing.

    terminal <──> shim <──pty──> command          the child holds the pty, not the terminal
                   │ beats up, words down
                   └──────────> daemon             absent, slow or hung: the pty never waits

Arguments: socket, file for last words, hello, boot id, log, announcement, then the command. The
hello is a JSON object without its closing brace; shim and process are added here. A log makes the
shim leave the terminal, and print the announcement once the command runs.
"""

import errno
import fcntl
import os
import select
import sys
import termios
import time

from kasmos_plugin.agent.link import Link, leave_word
from kasmos_plugin.agent.sessions import identity, members, signal_groups
from kasmos_plugin.agent.terminal import CHUNK, Log, Terminal, is_same_file, say, set_pty

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

if TYPE_CHECKING:
    import _socket

BEAT_S = 10.0
FRESH_BEAT_S = 1.0
"""After the last beat, when output comes after a pause: a stage changes."""
FLOW_BEAT_S = 4.0
"""After the last beat, while output flows: it stays younger than the daemon's ten seconds."""
PAUSE_IN_OUTPUT_S = 3.0
STOP_PATIENCE_S = 5.0
LAST_WORD_S = 1.0
DRAIN_QUIET_S = 0.25
"""After the child's end its output is complete when nothing came for this long."""
DRAIN_MOST_S = 2.0


class Shim:
    """One child, its pty, and the loop that serves both sides."""

    def __init__(self, argv: list[str]) -> None:
        path, self.last_words, self.hello, self.boot_id, log, self.announcement, *self.command = (
            argv
        )
        self.link = Link(path)
        self.is_detached = bool(log)
        self.log_path = log
        self.log: Log | None = None
        self.announce_to = -1
        self.pid = self.pty = -1
        self.status: int | None = None
        self.is_paused = False
        self.last_output: float | None = None
        self.has_news = False
        self.is_fresh = False
        self.last_beat = 0.0
        self.wants_beat = False
        self.kill_at: float | None = None
        self.pty_rests_until = 0.0
        self.started_at = 0.0
        self.to_child = b""
        self.to_terminal = b""

    def run(self) -> int:
        """Serve until the child is gone; return its exit code as a shell would give it."""
        if self.is_detached:
            os.closerange(3, 1024)
            self.log = Log(self.log_path)
            self.announce_to = leave_terminal(self.announcement)
        self.terminal = Terminal(is_detached=self.is_detached)
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        if why := self.link.connect(time.monotonic()):
            say(f"kas: no daemon ({why}): this agent is not seen until one runs")
        self.take_signals()
        self.terminal.take()
        try:
            self.start()
            return self.serve()
        finally:
            self.terminal.give_back()

    def take_signals(self) -> None:
        """Have signals wake the loop; what the caller ignores stays ignored."""
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)

    def start(self) -> None:
        """Fork the child onto a pty; raises SystemExit when the command cannot be run."""
        direct = {0: not os.isatty(0), 2: not os.isatty(2) and not is_same_file(1, 2)}
        if self.is_detached:
            direct[2] = False
        kept = {fd: os.dup(fd) for fd, is_direct in direct.items() if is_direct}
        failed, failure = os.pipe()
        size, modes = self.terminal.size(), self.terminal.modes()
        is_exact = not self.is_detached and not os.isatty(1)
        self.pid, self.pty = os.forkpty()
        if self.pid == 0:
            try:
                set_pty(size, modes, is_exact=is_exact)
                for fd, original in kept.items():
                    os.dup2(original, fd)
                become(self.command)
            except OSError as error:
                os.write(failure, b"%d" % (error.errno or 0))
            finally:
                os._exit(126)
        os.close(failure)
        for original in kept.values():
            os.close(original)
        if code := os.read(failed, 16):
            os.waitpid(self.pid, 0)
            self.refuse(int(code))
        os.close(failed)
        os.set_blocking(self.pty, False)
        # Only the child reads the input: when it is done with a pipe, the writer must see that.
        leave_files((0, 1, 2) if self.is_detached else (0,) if direct[0] else ())
        self.started_at = time.monotonic()
        self.greet()

    def announce(self, now: float) -> None:
        """Let the caller go once the daemon knows the agent, or will not hear of it soon."""
        if self.announce_to < 0:
            return
        is_heard = self.link.is_open or self.link.connection is None
        if is_heard or self.status is not None or now - self.started_at > LAST_WORD_S:
            os.write(self.announce_to, b"0")
            os.close(self.announce_to)
            self.announce_to = -1

    def refuse(self, code: int) -> None:
        """Say why the command cannot be run, and leave as a shell would."""
        exit_code = 127 if code == errno.ENOENT else 126
        text = f"error: '{self.command[0]}' cannot be run: {os.strerror(code)}"
        self.terminal.give_back()
        if self.announce_to >= 0:
            os.write(self.announce_to, f"{exit_code} {text}".encode("utf-8", "replace"))
        else:
            say(text)
        os._exit(exit_code)

    def greet(self) -> None:
        """Make the hello of what runs, and say it."""
        shim = identity(os.getpid(), self.boot_id)
        process = identity(self.pid, self.boot_id)
        self.link.hello = f'{self.hello},"shim":{shim},"process":{process}}}'.encode()
        self.link.say(self.link.hello)
        self.wants_beat = True

    def serve(self) -> int:
        """Serve both sides until the child is gone and its output is passed on."""
        ended_at = 0.0
        while True:
            now = time.monotonic()
            self.keep_link(now)
            self.announce(now)
            if self.kill_at is not None and now >= self.kill_at:
                self.kill_at = None
                self.signal_session(signal.SIGKILL)
            if self.status is None:
                self.reap()
                ended_at = time.monotonic()
            elif self.is_drained(now, ended_at):
                break
            self.turn(now)
        self.terminal.give_back()
        self.say_end()
        if os.WIFSIGNALED(self.status):
            return 128 + os.WTERMSIG(self.status)
        return os.WEXITSTATUS(self.status)

    def is_drained(self, now: float, ended_at: float) -> bool:
        """Return whether nothing more is to come from a child that has ended."""
        if self.kill_at is not None and members(self.pid):
            return False
        if self.pty < 0:
            return not self.to_terminal or now - ended_at > DRAIN_MOST_S
        newest = max(ended_at, self.last_output or 0.0)
        return now - newest > DRAIN_QUIET_S or now - ended_at > DRAIN_MOST_S

    def keep_link(self, now: float) -> None:
        """Connect again when it is time, and beat when it is time."""
        if self.link.connection is None and now >= self.link.retry_at:
            self.link.connect(now)
            self.wants_beat = True
        if self.link.connection is not None and now >= self.beat_at():
            self.last_beat = now
            self.has_news = self.is_fresh = self.wants_beat = False
            self.link.say(self.beat(now))
        self.link.flush(now)

    def beat_at(self) -> float:
        """Return when the next beat is due."""
        if self.wants_beat:
            return 0.0
        if self.has_news:
            return self.last_beat + (FRESH_BEAT_S if self.is_fresh else FLOW_BEAT_S)
        return self.last_beat + BEAT_S

    def beat(self, now: float, end: str = "") -> bytes:
        """Return a beat as JSON."""
        fields = [f'"is_paused":{"true" if self.is_paused else "false"}']
        if self.last_output is not None:
            fields.append(f'"output_age_ms":{max(int((now - self.last_output) * 1000), 0)}')
        if end:
            fields.append(end)
        return ("{" + ",".join(fields) + "}").encode()

    def turn(self, now: float) -> None:
        """Wait for the next thing, and deal with it."""
        link = self.link.connection
        readers: list[int | _socket.socket] = [self.wake]
        writers: list[int | _socket.socket] = []
        if link is not None:
            readers.append(link)
            if self.link.outgoing:
                writers.append(link)
        if self.pty >= 0:
            if not self.to_terminal and now >= self.pty_rests_until:
                readers.append(self.pty)
            if self.to_child:
                writers.append(self.pty)
        if self.to_terminal:
            writers.append(self.terminal.out)
        if not self.to_child and self.status is None and self.terminal.is_foreground():
            readers.append(0)
        ready, writable, _ = select.select(readers, writers, [], self.patience(now))
        now = time.monotonic()
        if self.wake in ready:
            self.take_wakes()
        if link is not None and link in ready:
            for word in self.link.words(now):
                self.obey(word, now)
        if 0 in ready:
            self.read_keys()
        if self.pty in writable:
            self.write_child()
        if self.pty in ready:
            self.read_child(now)
        if self.to_terminal:
            self.write_terminal()

    def patience(self, now: float) -> float:
        """Return for how long nothing is due."""
        due = self.beat_at() if self.link.connection is not None else self.link.retry_at
        if self.kill_at is not None:
            due = min(due, self.kill_at)
        if self.announce_to >= 0:
            due = min(due, self.started_at + LAST_WORD_S)
        if self.pty_rests_until > now:
            due = min(due, self.pty_rests_until)
        if self.status is not None:
            due = min(due, now + 0.05)
        return min(max(due - now, 0.0), BEAT_S)

    def take_wakes(self) -> None:
        """Deal with the signals that came."""
        try:
            numbers = os.read(self.wake, 512)
        except BlockingIOError:
            return
        for number in set(numbers):
            if number == signal.SIGWINCH:
                self.copy_size()
            elif number == signal.SIGCONT:
                self.terminal.take()
                self.copy_size()
            elif number != signal.SIGCHLD:
                self.pass_on(number)

    def copy_size(self) -> None:
        """Give the pty the window's size; the kernel tells the child."""
        if self.pty >= 0 and self.terminal.shown >= 0:
            try:
                fcntl.ioctl(self.pty, termios.TIOCSWINSZ, self.terminal.size())
            except OSError:
                pass

    def pass_on(self, number: int) -> None:
        """Give a signal to the child's group and to the one in the foreground of its pty."""
        groups = {self.pid}
        try:
            groups.add(os.tcgetpgrp(self.pty))
        except OSError:
            pass
        signal_groups(groups, number)

    def signal_session(self, number: int) -> None:
        """Send a signal to every process group of the child's session, forks of a moment too."""
        done: set[int] = set()
        while groups := {group for _, group in members(self.pid)} - done:
            signal_groups(groups, number)
            done |= groups

    def obey(self, word: str, now: float) -> None:
        """Do what the daemon asks."""
        if word == "pause":
            self.set_paused(True)
        elif word == "resume":
            self.set_paused(False)
        elif word == "stop" and self.kill_at is None:
            self.signal_session(signal.SIGTERM)
            # A stopped process takes the signal only once it goes on.
            self.signal_session(signal.SIGCONT)
            self.kill_at = now + STOP_PATIENCE_S

    def set_paused(self, is_paused: bool) -> None:
        """Stop or continue the whole session, and say so at once."""
        if self.status is None:
            self.signal_session(signal.SIGSTOP if is_paused else signal.SIGCONT)
            self.is_paused = is_paused
            self.wants_beat = True

    def reap(self) -> None:
        """Take what the kernel says of the child: stopped, continued or gone."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            was_paused, self.is_paused = self.is_paused, True
            self.wants_beat = self.wants_beat or not was_paused
        elif os.WIFCONTINUED(status):
            self.wants_beat = self.wants_beat or self.is_paused
            self.is_paused = False
        else:
            self.status, self.is_paused, self.pty_rests_until = status, False, 0.0

    def read_keys(self) -> None:
        """Take keys for the child."""
        try:
            self.to_child = os.read(0, CHUNK)
        except OSError:
            pass
        if not self.to_child:
            self.terminal.has_keys = False

    def write_child(self) -> None:
        """Give the child what it takes."""
        try:
            self.to_child = self.to_child[os.write(self.pty, self.to_child) :]
        except BlockingIOError:
            pass
        except OSError:
            self.to_child = b""

    def read_child(self, now: float) -> None:
        """Take the child's output, and date it."""
        try:
            data = os.read(self.pty, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            # Linux answers EIO while nobody holds the other side: pty(7).
            data = b""
        if not data:
            if self.status is not None:
                os.close(self.pty)
                self.pty = -1
            else:
                # The child closed its side and lives on, or is about to be reaped.
                self.pty_rests_until = now + DRAIN_QUIET_S
            return
        if self.last_output is None or now - self.last_output > PAUSE_IN_OUTPUT_S:
            self.is_fresh = True
        self.last_output = now
        self.has_news = True
        if self.log is not None:
            self.log.write(data)
        else:
            self.to_terminal = data

    def write_terminal(self) -> None:
        """Show what the terminal takes; one that is gone takes everything."""
        try:
            if select.select([], [self.terminal.out], [], 0)[1]:
                sent = os.write(self.terminal.out, self.to_terminal[: self.terminal.takes])
                self.to_terminal = self.to_terminal[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self.to_terminal = b""

    def say_end(self) -> None:
        """Tell the daemon how the child ended; where nobody hears it, leave it in a file."""
        if os.WIFSIGNALED(self.status or 0):
            end = f'"end":"killed","signal":{os.WTERMSIG(self.status or 0)}'
        else:
            end = f'"end":"exited","exit_code":{os.WEXITSTATUS(self.status or 0)}'
        now = time.monotonic()
        deadline = now + LAST_WORD_S
        if self.link.connection is None:
            self.link.connect(now)
        self.link.say(self.beat(now, end))
        while (now := time.monotonic()) < deadline:
            self.link.flush(now)
            link = self.link.connection
            if link is None:
                break
            select.select([link], [link] if self.link.outgoing else [], [], deadline - now)
            if "bye" in self.link.words(now):
                return
        if self.link.has_spoken:
            leave_word(self.last_words, self.beat(time.monotonic(), end))


def leave_terminal(announcement: str) -> int:
    """Go on in a session of our own; return where the caller waits for word of the start.

    The caller prints the announcement, or why nothing was started, and ends.
    """
    hear, tell = os.pipe()
    if os.fork():
        os.close(tell)
        said = b""
        while data := os.read(hear, CHUNK):
            said += data
        code, _, text = said.decode("utf-8", "replace").partition(" ")
        if code == "0":
            os.write(1, f"{announcement}\n".encode("utf-8", "surrogateescape"))
            os._exit(0)
        say(text or "error: the agent ended before it ran")
        os._exit(int(code or 1))
    os.close(hear)
    os.setsid()
    if os.fork():
        os._exit(0)
    return tell


def leave_files(fds: tuple[int, ...]) -> None:
    """Put /dev/null in the place of descriptors that are not ours to hold."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in fds:
        os.dup2(null, fd)
    os.close(null)


def become(command: list[str]) -> None:
    """In the child: undo what Python and the shim ignore, and become the command."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)


def main() -> None:
    """Run the shim with the process's arguments and end with the child's exit code."""
    try:
        code = Shim(sys.argv[1:]).run()
    except OSError as error:
        say(f"error: the agent cannot be held: {error.strerror} {error.filename or ''}".rstrip())
        code = 1
    os._exit(code)

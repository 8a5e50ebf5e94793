"""Signal handlers for the time of a block. Knows no command."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], object] | signal.Handlers


@contextmanager
def handled(handler: Handler, *numbers: signal.Signals) -> Iterator[None]:
    """Let `handler` take the signals inside the block, and the former handlers after it."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def ended_once() -> Iterator[None]:
    """Let the first of SIGINT, SIGTERM and SIGHUP end the block, which then undoes in peace.

    Raises:
        KeyboardInterrupt: one came.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        for one in _ENDS:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    # What the starter of the process ignores, as nohup does, stays ignored.
    with handled(end, *(one for one in _ENDS if signal.getsignal(one) != signal.SIG_IGN)):
        yield

"""daemon.wire: HTTP as bytes, in whatever pieces they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.daemon import wire

SIZED = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKasmos-Control: 1\r\nConnection: close\r\n\r\nhello"
)
CHUNKED = (
    b"HTTP/1.1 409 Conflict\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"
)
NOTHING = b"HTTP/1.1 204 No Content\r\n\r\n"


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = [*sorted({cut % len(data) for cut in cuts}), len(data)]
    starts = [0, *ends[:-1]]
    return [data[start:end] for start, end in zip(starts, ends, strict=True) if start < end]


@given(st.sampled_from([SIZED, CHUNKED, NOTHING]), st.lists(st.integers(0, 500)))
def test_an_answer_is_the_same_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    whole, cut = wire.Answer(), wire.Answer()
    whole.feed(data)
    for piece in pieces(data, cuts):
        assert not cut.is_complete
        cut.feed(piece)
    assert vars(cut) == vars(whole)
    assert cut.is_complete


def test_an_answer_says_what_its_head_says() -> None:
    answer = wire.Answer()
    assert answer.feed(SIZED)
    assert (answer.status, answer.body, answer.control, answer.keeps_connection) == (
        200,
        b"hello",
        "1",
        False,
    )


def test_an_answer_without_a_length_ends_with_the_stream() -> None:
    answer = wire.Answer()
    assert not answer.feed(b"HTTP/1.0 200 OK\r\n\r\nab")
    assert not answer.feed(b"c")
    assert answer.feed(b"")
    assert (answer.body, answer.keeps_connection) == (b"abc", False)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,
    ],
)
def test_bytes_that_are_no_answer_are_refused(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.Answer().feed(data)


@pytest.mark.parametrize("end", range(1, len(SIZED)))
def test_an_answer_that_ends_early_is_never_taken_for_a_whole_one(end: int) -> None:
    answer = wire.Answer()
    answer.feed(SIZED[:end])
    with pytest.raises(wire.WireError, match="too early"):
        answer.feed(b"")


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_wire_error(data: bytes) -> None:
    answer = wire.Answer()
    try:
        answer.feed(data)
        answer.feed(b"")
    except wire.WireError:
        return
    assert answer.status


def test_a_request_is_whole() -> None:
    assert wire.request("GET", "/v1/ping", close=True) == (
        b"GET /v1/ping HTTP/1.1\r\nHost: kasmos\r\nConnection: close\r\n\r\n"
    )
    assert wire.request("POST", "/x", b"{}") == (
        b"POST /x HTTP/1.1\r\nHost: kasmos\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    )

"""Reference: a Starlette route that returns the bytes it was started with. Prints its port."""

import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

BODY = sys.stdin.buffer.read()


async def answer(request: Request) -> Response:
    """Return the same bytes after reading the request's body."""
    await request.body()
    return Response(BODY, media_type="application/json")


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(listener.getsockname()[1], flush=True)
app = Starlette(routes=[Route("/", answer, methods=["POST"])])
config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=75)
uvicorn.Server(config).run(sockets=[listener])

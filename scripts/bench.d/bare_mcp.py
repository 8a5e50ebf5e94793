"""Reference: a bare `MCPServer` with one tool that does nothing. Prints its port, then serves."""

import socket
import sys

import uvicorn
from mcp.server import MCPServer

server: MCPServer = MCPServer("bare", log_level="ERROR")


@server.tool()
def nothing(project: str = "", task: str = "") -> str:
    """Return nothing."""
    return ""


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(listener.getsockname()[1], flush=True)
app = server.streamable_http_app(stateless_http=True, json_response=True)
config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=75)
uvicorn.Server(config).run(sockets=[listener])
sys.exit(0)

"""The two origins of a host of MCP Apps: its page with a way to kas serve, and the sandbox.

Knows how such a host is served, nothing of what its page does.
"""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOST_PAGE = """<!doctype html>
<html lang="en" data-sandbox="{sandbox}"><meta charset="utf-8"><link rel="icon" href="data:,">
<title>host</title>
<style>iframe {{ display: block; width: 640px; height: 480px; border: 0 }}</style>
<body><script src="/host.js"></script></body></html>
"""
SANDBOX_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>sandbox</title>
<style>html, body, iframe { display: block; margin: 0; width: 100%; height: 100%; border: 0 }
</style>
<body><script src="/sandbox.js"></script></body></html>
"""


class HostServers:
    """Serves host and sandbox on ports of their own; tests read what reached them."""

    def __init__(self, scripts: Path, mcp_url: str) -> None:
        self.scripts = scripts
        self.mcp = urlsplit(mcp_url)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """Every tool call that reached kas serve: the tool and its arguments."""
        self.answered = 0
        """How many of them have their answer."""
        self.violations: list[Any] = []
        """What the browser reported against the policy of the view."""
        self.policies: list[str] = []
        self._started: list[tuple[ThreadingHTTPServer, threading.Thread]] = []
        self.sandbox_url = self._serve(_sandbox_handler(self))
        self.url = self._serve(_host_handler(self))

    def close(self) -> None:
        for server, thread in self._started:
            server.shutdown()
            thread.join(timeout=5)
            server.server_close()

    def called(self, tool: str) -> list[dict[str, Any]]:
        """Return the arguments of every call of `tool`, oldest first."""
        return [arguments for name, arguments in self.calls if name == tool]

    def _serve(self, handler: type[BaseHTTPRequestHandler]) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self._started.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(
        self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _host_handler(host: HostServers) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        def do_GET(self) -> None:
            if self.path == "/":
                page = HOST_PAGE.format(sandbox=host.sandbox_url).encode()
                self.answer(200, page, "text/html")
            elif self.path == "/host.js":
                self.answer(200, (host.scripts / "host.js").read_bytes(), "text/javascript")
            else:
                self.answer(405 if self.path == "/mcp" else 404)

        def do_POST(self) -> None:
            asked = self.body()
            message = json.loads(asked)
            if message.get("method") == "tools/call":
                params = message["params"]
                host.calls.append((params["name"], params.get("arguments", {})))
            # kas serve answers no page of another origin: a host asks as a program.
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() in ("accept", "content-type") or name.lower().startswith("mcp-")
            }
            link = http.client.HTTPConnection(host.mcp.netloc, timeout=10)
            try:
                link.request("POST", host.mcp.path, asked, headers)
                answer = link.getresponse()
                kind = answer.getheader("Content-Type") or "application/json"
                self.answer(answer.status, answer.read(), kind)
            except OSError:
                self.answer(502)
            finally:
                link.close()
                host.answered += message.get("method") == "tools/call"

    return Handler


def _sandbox_handler(host: HostServers) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path == "/sandbox.html":
                declared = json.loads(parse_qs(address.query)["csp"][0])
                policy = _policy(declared)
                host.policies.append(policy)
                self.answer(200, SANDBOX_PAGE.encode(), "text/html", Content_Security_Policy=policy)
            elif address.path == "/sandbox.js":
                self.answer(200, (host.scripts / "sandbox.js").read_bytes(), "text/javascript")
            else:
                self.answer(404)

        def do_POST(self) -> None:
            host.violations.append(json.loads(self.body()))
            self.answer(204)

    return Handler


def _policy(declared: dict[str, list[str]]) -> str:
    """Return the policy of a view that declares these domains, as the specification words it."""
    resources = " ".join(declared["resourceDomains"])
    connects = " ".join(declared["connectDomains"]) or "'none'"
    frames = " ".join(declared["frameDomains"]) or "'none'"
    bases = " ".join(declared["baseUriDomains"]) or "'none'"
    return (
        f"default-src 'none'; script-src 'self' 'unsafe-inline' {resources}; "
        f"style-src 'self' 'unsafe-inline' {resources}; img-src 'self' data: {resources}; "
        f"connect-src {connects}; frame-src {frames}; base-uri {bases}; object-src 'none'; "
        "report-uri /violations"
    )

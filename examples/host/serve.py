"""Serves the example page with a bundle of the monitor, and passes on its one question.

The page and `kas serve` have different origins, and `kas serve` answers no page of another origin:
so this program asks in its place, for this page alone.
"""

import argparse
import contextlib
import http.client
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}


class Handler(BaseHTTPRequestHandler):
    """Knows a few files by name, and one question."""

    files: dict[str, Path]
    endpoint: str
    upstream: str
    own: tuple[str, ...]

    def do_GET(self) -> None:
        file = self.files.get(urlsplit(self.path).path)
        self.answer(200, file.read_bytes(), TYPES[file.suffix]) if file else self.send_error(404)

    def do_POST(self) -> None:
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        length = self.headers.get("Content-Length", "")
        # A name that points here (DNS rebinding) or a page of another origin gets nothing.
        if host not in self.own or origin not in (None, f"http://{host}"):
            return self.send_error(403)
        if self.path != self.endpoint or not length.isdecimal() or int(length) > 65_536:
            return self.send_error(400)
        link = http.client.HTTPConnection(self.upstream, timeout=10)
        headers = {"Content-Type": "application/json"}  # No Origin: a program asks, not a page.
        try:
            link.request("POST", self.endpoint, self.rfile.read(int(length)), headers)
            reply = link.getresponse()
            return self.answer(reply.status, reply.read(), "application/json")
        except (OSError, http.client.HTTPException):
            return self.send_error(502, "kas serve does not answer")
        finally:
            link.close()

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a poll every two seconds is no news."""


parser = argparse.ArgumentParser(description="Serve the example host.")
parser.add_argument("--bundle", type=Path, required=True, help="made by: kas monitor bundle")
parser.add_argument("--serve-url", help="default: what the manifest says")
parser.add_argument("--port", type=int, default=7440, help="0 takes a free one")
given = parser.parse_args()
manifest = json.loads((given.bundle / "kasmos-monitor.manifest.json").read_text("utf-8"))
if manifest["contract_version"] != 1:
    sys.exit(f"this host knows version 1, the bundle has {manifest['contract_version']}")
asked = manifest["snapshot_endpoint"]
Handler.endpoint = asked["path"]
Handler.upstream = urlsplit(given.serve_url or asked["default_origin"]).netloc
Handler.files = {f"/{file['path']}": given.bundle / file["path"] for file in manifest["files"]}
Handler.files |= {f"/{name}": HERE / name for name in ("index.html", "host.js", "host.css")}
server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
Handler.own = (f"127.0.0.1:{server.server_port}", f"localhost:{server.server_port}")
Handler.files["/"] = HERE / "index.html"
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
with contextlib.suppress(KeyboardInterrupt):
    server.serve_forever()

"""A door before serve that counts, holds and refuses requests: the server's side of a poll."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Gate:
    """Passes requests on to serve under a port of its own; tests read and steer it."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.polls = 0
        self.answered = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.is_refusing = False
        self.open = threading.Event()
        self.open.set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                gate._pass(self)

            def do_POST(self) -> None:
                with gate._lock:
                    gate.polls += 1
                    gate.in_flight += 1
                    gate.most_in_flight = max(gate.most_in_flight, gate.in_flight)
                try:
                    gate.open.wait(timeout=30)
                    if gate.is_refusing:
                        self.send_error(503)
                    else:
                        gate._pass(self)
                finally:
                    with gate._lock:
                        gate.in_flight -= 1
                        gate.answered += 1

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler

    def _pass(self, incoming: BaseHTTPRequestHandler) -> None:
        length = int(incoming.headers.get("Content-Length") or 0)
        body = incoming.rfile.read(length)
        own, theirs = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.target_port}"
        headers = {
            name: value.replace(own, theirs)
            for name, value in incoming.headers.items()
            if name.lower() not in ("connection", "content-length", "accept-encoding")
        }
        link = http.client.HTTPConnection("127.0.0.1", self.target_port, timeout=10)
        try:
            link.request(incoming.command, incoming.path, body or None, headers)
            answer = link.getresponse()
            data = answer.read()
            incoming.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                    incoming.send_header(name, value.replace(theirs, own))
            incoming.send_header("Content-Length", str(len(data)))
            incoming.end_headers()
            incoming.wfile.write(data)
        except OSError:
            incoming.close_connection = True
        finally:
            link.close()

"""A model that says what a test wrote: the Responses API on loopback, as far as Codex asks it.

Knows the wire of a turn and nothing of kasmos.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Item = Mapping[str, Any]

UNKNOWN_MODEL = "scripted"
"""To a model that it does not know, Codex gives every tool in full. To its own models it gives one
tool that runs scripts, and names the MCP servers whose tools a script can call."""


def says(text: str) -> Item:
    """Return the turn's last word."""
    return {
        "type": "message",
        "role": "assistant",
        "id": "message",
        "content": [{"type": "output_text", "text": text}],
    }


def runs(script: str) -> Item:
    """Return the run of a script, in which `tools` has what the model may call."""
    return {"type": "custom_tool_call", "call_id": "call", "name": "exec", "input": script}


def calls(namespace: str, tool: str, arguments: Mapping[str, Any]) -> Item:
    """Return the call of a tool that Codex gave to the model in a namespace."""
    return {
        "type": "function_call",
        "call_id": "call",
        "namespace": namespace,
        "name": tool,
        "arguments": json.dumps(arguments),
    }


class Responses:
    """Answers each request with the next of `items`, and keeps the bodies of the requests."""

    def __init__(self, *items: Item) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._items = list(items)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def options(self, *, model: str | None = UNKNOWN_MODEL) -> list[str]:
        """Return the options with which a command of Codex asks here; `None` is its own model."""
        provider = {
            "name": '"scripted"',
            "base_url": f'"http://127.0.0.1:{self._server.server_port}/v1"',
            "wire_api": '"responses"',
            "requires_openai_auth": "false",
            "request_max_retries": "0",
            "stream_max_retries": "0",
        }
        table = ", ".join(f"{name} = {value}" for name, value in provider.items())
        settings = {
            **({"model": f'"{model}"'} if model else {}),
            "model_provider": '"scripted"',
            "model_providers.scripted": f"{{ {table} }}",
        }
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def tools(self, namespace: str) -> set[str]:
        """Return the names of a namespace's tools that the first request gave to the model."""
        return {
            tool["name"]
            for group in self.bodies[0]["tools"]
            if group["type"] == "namespace" and group["name"] == namespace
            for tool in group["tools"]
        }

    def told(self) -> str:
        """Return all text that the last request put before the model."""
        return "\n".join(
            part["text"]
            for item in self.bodies[-1]["input"]
            if item["type"] == "message"
            for part in item["content"]
            if "text" in part
        )

    def answered(self) -> str | list[dict[str, Any]]:
        """Return what came of the call before the last request, as the model sees it."""
        output: str | list[dict[str, Any]] = self.bodies[-1]["input"][-1]["output"]
        return output

    def _next(self, body: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
        self.bodies.append(body)
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return (
            {"type": "response.created", "response": {"id": "response"}},
            {"type": "response.output_item.done", "item": self._items.pop(0)},
            {"type": "response.completed", "response": {"id": "response", "usage": usage}},
        )

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for event in api._next(body):
                    line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                    self.wfile.write(line.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        return Handler

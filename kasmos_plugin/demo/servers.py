"""Daemon and serve of a demo that was started on its own: in its own home, on free ports."""

import json
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from kasmos_plugin.demo.stage import KAS, DemoFailed

START_S = 20.0
END_S = 10.0


class Servers:
    """Both processes, ended together. Their output goes to files beside the home."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = dict(environment)
        self._processes: list[subprocess.Popen[str]] = []

    def start(self) -> str:
        """Start both and return the monitor page's address.

        Raises:
            DemoFailed: one of them did not start.
        """
        self._spawn("daemon", "start", "--foreground", output=subprocess.DEVNULL)
        serve = self._spawn(
            "serve", "--port", "0", "--mcp-port", "0", "--json", output=subprocess.PIPE
        )
        address = self._address(serve)
        self._wait_for_daemon()
        return address

    def stop(self) -> None:
        """End both, the last one started first."""
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self._processes.clear()

    def _spawn(self, *arguments: str, output: int) -> "subprocess.Popen[str]":
        with (self._directory / f"{arguments[0]}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*KAS, *arguments],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for the demo, which ends them in order.
            )
        self._processes.append(process)
        return process

    def _address(self, serve: "subprocess.Popen[str]") -> str:
        stream: IO[str] | None = serve.stdout
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], START_S)
        line = stream.readline() if ready else ""
        try:
            return str(json.loads(line)["monitor"])
        except (ValueError, KeyError, TypeError):
            raise self._failed("serve") from None

    def _wait_for_daemon(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            asked = subprocess.run(
                [*KAS, "daemon", "status", "--json"],
                env=self._environment,
                capture_output=True,
                check=False,
            )
            if asked.returncode == 0:
                return
            if self._processes[0].poll() is not None or time.monotonic() > deadline:
                raise self._failed("daemon")
            time.sleep(0.1)

    def _failed(self, name: str) -> DemoFailed:
        log = self._directory / f"{name}.log"
        said = log.read_text("utf-8", "replace").strip() if log.exists() else ""
        return DemoFailed(f"kas {name} did not start. {said[-1_000:]}".strip())

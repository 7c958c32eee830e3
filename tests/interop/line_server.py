"""A partner in a process of its own: a line of JSON to it, a line of JSON back."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 300


class OtherError(Exception):
    """What the other side raised: class and message; the trace is a note."""


class LineServer:
    """A process that answers each line of JSON with one; not for two threads at once."""

    def __init__(self, process: subprocess.Popen[str], log: Path):
        self._process = process
        self._log = log

    @classmethod
    @contextmanager
    def started(cls, command: Sequence[str | Path]) -> Iterator["LineServer"]:
        """Up for as long as the block lasts."""
        with tempfile.TemporaryDirectory(prefix="polynya-server-") as folder:
            log = Path(folder) / "log"
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with log.open("w") as errors, subprocess.Popen(command, stderr=errors, cwd=folder, **pipes) as process:
                try:
                    yield cls(process, log)
                finally:
                    process.kill()

    def ask(self, command: dict[str, Any]) -> Any:
        """Send one command and return its result."""
        guard = threading.Timer(ANSWER_SECONDS, self._process.kill)
        guard.start()
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            guard.cancel()
        if not line:
            raise OtherError(f"the server died on {command}: {self._log.read_text()[-4000:]}")
        answer = json.loads(line)
        if not answer["ok"]:
            error = OtherError(answer["error"])
            error.add_note(answer["trace"])
            raise error
        return answer.get("result")

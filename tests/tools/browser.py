"""Headless Chromium for tests, spoken to without any library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from select import select
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or sys.platform == "win32",
    reason="no Chromium: install it, for example by apt-get install chromium",
)

# Descriptors 3 and 4 are where Chromium listens and answers.
REWIRE = (
    "import os, sys\n"
    "listen, answer = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))\n"
    "os.dup2(listen, 3), os.dup2(answer, 4)\n"
    "os.set_inheritable(3, True), os.set_inheritable(4, True)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)
PATIENCE = 60.0  # seconds for one answer: the machine may be busy


class Browser:
    """Headless Chromium, spoken to through a pipe (--remote-debugging-pipe)."""

    def __init__(self, profile: Path) -> None:
        listen, self.out = os.pipe()
        self.inn, answer = os.pipe()
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-extensions", "--disable-background-networking",
            "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", REWIRE, str(listen), str(answer), str(CHROMIUM), *options],
            pass_fds=(listen, answer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(listen)
        os.close(answer)
        self.rest, self.count = b"", 0
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None

    def start(self) -> None:
        """A page of its own to look at, with all its news."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for part in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{part}.enable")

    def close(self) -> None:
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; those that answer nothing are kept as events."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select([self.inn], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self.inn, 1 << 16) if ready else b""
            if not chunk:
                raise OSError("Chromium does not answer.")
            self.rest += chunk
        text, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: Path) -> None:
        """Show a page, and forget what happened on the one before."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"][
            "value"
        ]

    def of(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event["method"] == method]

    def requests(self) -> list[str]:
        """Every address the page asked for."""
        return [event["request"]["url"] for event in self.of("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Errors and warnings, console messages, and dialogues."""
        logged = [event["entry"]["text"] for event in self.of("Log.entryAdded")]
        thrown = [str(event) for event in self.of("Runtime.exceptionThrown")]
        said = [str(event["args"]) for event in self.of("Runtime.consoleAPICalled")]
        asked = [event["message"] for event in self.of("Page.javascriptDialogOpening")]
        return logged + thrown + said + asked

    def faults(self) -> list[str]:
        """Errors and warnings alone: without what a script says for information."""
        logged = [event["entry"]["text"] for event in self.of("Log.entryAdded")]
        thrown = [str(event) for event in self.of("Runtime.exceptionThrown")]
        calls = self.of("Runtime.consoleAPICalled")
        said = [str(call["args"]) for call in calls if call["type"] in ("error", "warning")]
        return logged + thrown + said

    def resize(self, width: int, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

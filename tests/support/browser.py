"""A headless Chromium that opens pages from disk, driven over a pipe (DevTools protocol): nothing is installed for it."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# The browser reads commands from its descriptor 3 and answers on 4.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
_WAIT_S = 180.0  # a busy machine; a page takes less than two seconds, its accessibility check up to ten


def chromium() -> str:
    """Return the path of the browser, of CHROMIUM or of the usual names; skips the test where there is none."""
    named = os.environ.get("CHROMIUM", "")
    for name in (named, *_NAMES):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip("no Chromium was found; CHROMIUM names one")


@dataclass
class Browser:
    """A page of a running Chromium.

    Attributes:
        console: what pages wrote as errors or warnings, and what they threw, since the last `open`.
        requests: addresses that they asked for.
    """

    into: int
    out: int
    session: str = ""
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _last: int = 0
    _rest: bytes = b""
    _happened: list[str] = field(default_factory=list)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; raises RuntimeError with the browser's own words."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.into, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def open(self, path: Path, width: int = 1200, height: int = 800, scripts: bool = True) -> None:
        """Open a file in a window of that size, and wait until it is loaded; where `scripts` run, until it is drawn."""
        self.console.clear()
        self.requests.clear()
        self._happened.clear()
        self.size(width, height)
        self.send("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._happened:
            self._note(self._next())
        if scripts:
            self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def size(self, width: int, height: int) -> None:
        """Make the window that large; narrow ones are those of phones."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def run(self, script: str) -> Any:
        """Return the value of an expression on the page, awaited."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            told = done["exceptionDetails"]
            raise RuntimeError(told.get("exception", {}).get("description", told["text"]))
        return done["result"].get("value")

    def key(self, key: str) -> None:
        """Press and release a key where the focus is."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move ("mouseMoved"), press or release the mouse at a point of the window."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, whole: bool = True) -> bytes:
        """Return a PNG of the page, or of the window alone."""
        return base64.b64decode(
            self.send("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))["data"]
        )

    def pdf(self) -> bytes:
        """Return the page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    def _clip(self, whole: bool) -> Mapping[str, Any]:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _WAIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.out], [], [], max(0.0, until - time.monotonic()))
            read = os.read(self.out, 1 << 20) if ready else b""
            if not read:
                raise RuntimeError("The browser does not answer." if not ready else "The browser has ended.")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, message: Mapping[str, Any]) -> None:
        method, told = message.get("method", ""), message.get("params", {})
        self._happened.append(method)
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(one.get("value", one.get("description"))) for one in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.console.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Run a Chromium with its profile in `folder` for as long as it is needed; software rendering."""
    ours, theirs = os.pipe(), os.pipe()
    # moved out of the way of 3 and 4
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (ours[0], theirs[1]))
    command = [
        chromium(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "--no-first-run",
        "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--mute-audio", "--force-color-profile=srgb", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", _START, str(read), str(write), *command],
        pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    for end in (ours[0], theirs[1], read, write):
        os.close(end)
    page = Browser(ours[1], theirs[0])
    try:
        (target, *_) = [one for one in page.send("Target.getTargets")["targetInfos"] if one["type"] == "page"] or [
            page.send("Target.createTarget", url="about:blank")
        ]
        page.session = page.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        yield page
        page.session = ""
        page.send("Browser.close")
    finally:
        os.close(ours[1])
        os.close(theirs[0])
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

"""Chromium, driven over its own protocol (Chrome DevTools Protocol) through a WebSocket."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from websockets.sync.client import ClientConnection, connect

STARTED_S: Final = 30.0
PATIENCE_S: Final = 30.0
"""Longest waits, for the browser and for something on a page."""

FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Page:
    """One page of the browser. Methods wait until what they want is there, and fail the test otherwise."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = count(1)
        self.errors: list[str] = []
        """Exceptions of the page's program, and messages of its console with the level "error"."""
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command of the protocol and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def open(self, address: str) -> None:
        """Open an address."""
        self.command("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, as a JSON value; a promise is awaited."""
        got = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def wait(self, expression: str, seconds: float = PATIENCE_S) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.value(f"!!({expression})"):
            assert time.monotonic() < until, f"in vain: {expression}\n{self.text()[:3000]}\n{self.errors}"
            time.sleep(0.03)

    def text(self) -> str:
        """Return the page's text as it is seen."""
        return str(self.value("document.body?.innerText ?? ''"))

    def click(self, words: str, of: str = "button, a, summary, [role=tab]") -> None:
        """Click the first element with exactly these words."""
        self.wait(f"{_found(words, of)} && !{_found(words, of)}.disabled")
        self.value(f"{_found(words, of)}.click()")

    def fill(self, selector: str, text: str) -> None:
        """Replace the text of an input and leave it, as a user does."""
        self.wait(f"document.querySelector({json.dumps(selector)})")
        self.value(
            f"(() => {{ const it = document.querySelector({json.dumps(selector)}); it.focus(); "
            f"it.value = {json.dumps(text)}; it.dispatchEvent(new Event('input', {{bubbles: true}})); "
            "it.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key where the focus is."""
        text = {"text": key} if len(key) == 1 else {}
        more = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.command("Input.dispatchKeyEvent", type="keyDown", **more, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", **more)

    def choose_file(self, selector: str, file: Path) -> None:
        """Give a file to an input of files."""
        self.wait(f"document.querySelector({json.dumps(selector)})")
        root = self.command("DOM.getDocument")["root"]["nodeId"]
        node = self.command("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.command("DOM.setFileInputFiles", nodeId=node, files=[str(file)])

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window, and the colours that the user prefers."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path) -> None:
        """Write what is seen as a PNG."""
        file.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(message["params"]["entry"]["text"])


@contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """Start Chromium with an empty profile and yield its page. Skips the test where it is not installed."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("NOT TESTED: chromium is not installed, so no browser has seen the page (apt-get install chromium)")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with connect(_address_of_page(profile), max_size=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _address_of_page(profile: Path) -> str:
    """Return the address of the page's socket, from the file with the port that the browser writes."""
    import urllib.request

    until = time.monotonic() + STARTED_S
    while time.monotonic() < until:
        try:
            port = int((profile / "DevToolsActivePort").read_text().split("\n")[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            return str(pages[0]["webSocketDebuggerUrl"])
        except (OSError, ValueError, IndexError):
            time.sleep(0.05)
    raise AssertionError("chromium did not start")


def _found(words: str, of: str) -> str:
    same = f"each.textContent.trim() === {json.dumps(words)} && each.checkVisibility()"
    return f"[...document.querySelectorAll({json.dumps(of)})].find((each) => {same})"

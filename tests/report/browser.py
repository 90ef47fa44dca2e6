"""Headless Chromium by the WebDriver protocol, without a package for it."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def available():
    return shutil.which("chromedriver") is not None and shutil.which("chromium") is not None


class Browser:
    """One window; `log` holds what the page wrote to its console."""

    def __init__(self, folder, width=1280, height=900, dark=False):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._base = f"http://127.0.0.1:{port}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(["chromedriver", f"--port={port}"], **quiet)
        flags = [*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={folder}"]
        if dark:
            flags.append("--blink-settings=preferredColorScheme=0")
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        for _ in range(100):
            try:
                made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except ConnectionError:
                time.sleep(0.1)
            except urllib.error.URLError:
                time.sleep(0.1)
        self._session = f"/session/{made['sessionId']}"

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._base + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self._call("POST", self._session + "/url", {"url": path.as_uri()})

    def run(self, script):
        return self._call("POST", self._session + "/execute/sync", {"script": script, "args": []})

    def log(self):
        return self._call("POST", self._session + "/se/log", {"type": "browser"})

    def hover(self, x, y):
        self._pointer([{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}])

    def click(self, x, y):
        moves = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._pointer(moves)

    def drag(self, x, y, dx, dy):
        moves = [
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": round(x + dx), "y": round(y + dy), "duration": 50},
            {"type": "pointerUp", "button": 0},
        ]
        self._pointer(moves)

    def _pointer(self, moves):
        source = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self._call("POST", self._session + "/actions", {"actions": [source]})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("GET", self._session + "/screenshot")))

    def media(self, kind):
        """Show the page as on "screen" or in "print"."""
        command = {"cmd": "Emulation.setEmulatedMedia", "params": {"media": kind}}
        self._call("POST", self._session + "/goog/cdp/execute", command)

    def pdf(self):
        return base64.b64decode(self._call("POST", self._session + "/print", {}))

    def close(self):
        try:
            self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(10)

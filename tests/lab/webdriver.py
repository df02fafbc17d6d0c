"""A browser to test pages in: Chromium by its driver's own protocol, with nothing to install."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

DRIVER = shutil.which("chromedriver")
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
_KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Delete": "\ue017", "Left": "\ue012", "Up": "\ue013",
         "Right": "\ue014", "Down": "\ue015", "Shift": "\ue008", "Control": "\ue009",
         "End": "\ue010", "Escape": "\ue00c"}  # fmt: skip


class Browser:
    """One window of a headless Chromium."""

    def __init__(self, width=1280, height=900, *, dark=False, touch=False):
        self.home = tempfile.mkdtemp(prefix="mercer-browser-")
        self.driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.session = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.base = f"http://127.0.0.1:{line.rsplit(' ', 1)[1].strip().rstrip('.')}"
                break
        options = {
            "binary": CHROMIUM,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage", f"--user-data-dir={self.home}",
                     f"--window-size={width},{height}"],
        }  # fmt: skip
        if width < 500:
            metrics = {"width": width, "height": height, "pixelRatio": 1.0, "touch": touch}
            options["mobileEmulation"] = {"deviceMetrics": metrics}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        found = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = found["sessionId"]
        if dark:
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            self.devtools("Emulation.setEmulatedMedia", features=[feature])

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        place = f"{self.base}/session/{self.session}{path}" if self.session else self.base + path
        request = urllib.request.Request(
            place, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *args):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def until(self, script, *args, seconds=30):
        """The value of a script, once it is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {script}", *args)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.03)
        return found

    def press(self, *keys):
        """Keys one after another; "Shift+Right" holds one meanwhile."""
        actions = []
        for key in keys:
            parts = [_KEYS.get(part, part) for part in key.split("+")]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self.act({"type": "key", "id": "keys", "actions": actions})

    def drag(self, *places, button=0):
        """The pointer goes down at the first place and up at the last."""
        steps = [
            {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)} for x, y in places
        ]
        steps.insert(1, {"type": "pointerDown", "button": button})
        steps.append({"type": "pointerUp", "button": button})
        self.act(
            {
                "type": "pointer",
                "id": "mouse",
                "parameters": {"pointerType": "mouse"},
                "actions": steps,
            }
        )

    def act(self, *actions):
        self.call("POST", "/actions", {"actions": list(actions)})

    def shot(self):
        return base64.b64decode(self.call("GET", "/screenshot"))

    def logs(self):
        """What the page complained about."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def quit(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(10)
            self.driver.stdout.close()
            shutil.rmtree(self.home, ignore_errors=True)

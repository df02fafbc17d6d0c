"""How long a move takes in the kernel lab: requests to a running server, 200 points, every view.

Run with ``python -m benchmarks.lab``: prints a table of the median and the 95th percentile of 40
moves (a point is dragged) as the page waits for them: the request, the computation in its process,
and the reply.
"""

from __future__ import annotations

import http.client
import json
import threading
from time import perf_counter
from typing import Any

import numpy as np

from mercer.lab.presets import PRESETS
from mercer.lab.server import LabServer
from mercer.lab.worker import Worker

POINTS, MOVES = 200, 40
CASES = {  # presets, and what they are called in the table
    "margins": "classify: linear, soft margin",
    "radial": "classify: Gaussian, soft margin",
    "nu": "classify: ν-SVM",
    "one-vs-rest": "classify: three classes",
    "good-fit": "regress: ridge",
    "gp": "regress: Gaussian process, draws",
    "tube": "regress: support vectors",
    "quantiles": "regress: three quantiles",
    "kernel-pca": "components",
    "xor-space": "space",
    "level-sets": "one class",
    "k-means": "clusters: kernel k-means",
    "rings": "clusters: spectral",
    "witness": "two samples: line",
    "witness-plane": "two samples: plane",
    "circle": "dependence",
    "gram": "Gram matrix",
    "sum-of-bumps": "functions: bumps",
    "top-hat": "functions: Fourier series",
    "k-mers": "strings: 24 of 60 letters",
    "denoising": "digits: 200 to learn from",
}


def enlarged(payload: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The payload with 200 points like its own, or 24 strings."""
    if payload["points"]:
        old = np.array(payload["points"])
        new = old[rng.integers(len(old), size=POINTS)]
        new[:, :2] = np.clip(new[:, :2] + 0.15 * rng.normal(size=(POINTS, 2)), -3.9, 3.9)
        payload["points"] = new.tolist()
    if payload["strings"]:
        payload["strings"] = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(24)]
    return payload


def main() -> None:
    worker = Worker()
    server = LabServer(worker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=120)
    place, kind = f"/{server.token}/picture", {"Content-Type": "application/json"}
    number = 0

    def move(payload: dict[str, Any]) -> float:
        nonlocal number
        number += 1
        body = json.dumps(payload | {"page": "benchmark", "number": number})
        start = perf_counter()
        connection.request("POST", place, body, kind)
        found = json.loads(connection.getresponse().read())
        seconds = perf_counter() - start
        if "error" in found:
            raise RuntimeError(found["error"])
        return 1e3 * seconds

    known = {preset.name: preset for preset in PRESETS}
    print(f"{'view':34}{'median':>9}{'95 %':>9}   (ms per move, {POINTS} points)")
    for name, title in CASES.items():
        rng = np.random.default_rng(0)
        payload = enlarged(known[name].payload(), rng)
        for _ in range(3):
            move(payload)
        times = []
        for _ in range(MOVES):
            if payload["points"]:
                payload["points"][0][:2] = rng.uniform(-2.5, 2.5, 2).round(3).tolist()
            times.append(move(payload))
        print(f"{title:34}{np.median(times):9.1f}{np.quantile(times, 0.95):9.1f}", flush=True)
    server.shutdown()
    server.server_close()
    worker.stop()


if __name__ == "__main__":
    main()

"""Pictures of reports and cards for the guide: ``python docs/screenshots.py`` (needs Chromium).

Pages are made from data that come with scikit-learn, and shown by a browser without a network.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    Gaussian,
    GaussianProcessRegressor,
    Linear,
    Matern,
    Spectrum,
    report,
    two_sample_test,
)

OUT = Path(__file__).parent / "_static"
FLAGS = [
    f"--{flag}"
    for flag in """headless no-sandbox disable-gpu disable-background-networking hide-scrollbars
    disable-component-update disable-sync no-first-run disable-dev-shm-usage""".split()  # noqa: SIM905
]
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
LARGEST = 150_000  # bytes of a picture


def shoot(page, name, box, *, width, dark=False):
    """A part of a page, (left, top, right, bottom), as a picture with few colours."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("Chromium is not installed.")
    with tempfile.TemporaryDirectory() as folder:
        frame, shot = Path(folder) / "frame.html", Path(folder) / "shot.png"
        height = box[3] + 50
        frame.write_text(
            '<meta name="color-scheme" content="light dark"><body style="margin:0">'
            f'<iframe src="{page.as_uri()}" style="width:{width}px;height:{height}px;border:0">'
        )
        size = f"--window-size={max(width, 520)},{height}"
        options = [
            f"--user-data-dir={folder}/profile",
            size,
        ]
        options += [f"--screenshot={shot}", *(DARK if dark else [])]
        command = [browser, *FLAGS, *options, frame.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with Image.open(shot) as image:
            part = image.convert("RGB").crop(box)
        part.quantize(128).save(OUT / name, optimize=True)
    assert (OUT / name).stat().st_size < LARGEST, name


def main():
    """All pictures."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    y = y.to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:320], order[320:]
    kernel = 1 * Matern(4.0, nu=1.5) + Linear()
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        title = "Progression of diabetes after a year"
        report(
            model, X.iloc[train], y[train], test=(X.iloc[test], y[test]), title=title, budget=120
        ).save(page)
        shoot(page, "report.png", (0, 0, 1280, 1000), width=1280)
        shoot(page, "report_phone.png", (0, 0, 390, 1000), width=390, dark=True)
        cards = Path(folder) / "cards.html"
        vectors = StandardScaler().fit_transform(X)
        shown = [
            2 * Gaussian(1.5).on(["age", "bmi"]) * Spectrum(3).on("gene").normalize() + Linear(),
            Gaussian("median").gram(vectors[np.argsort(y)]),
            two_sample_test(vectors[y < 150][:, 3], vectors[y >= 150][:, 3], rng=0),
        ]
        body = "<br>".join(each._repr_html_() for each in shown)
        cards.write_text(f'<meta charset="utf-8"><body style="margin:12px">{body}')
        shoot(cards, "cards.png", (0, 0, 860, 1220), width=860)


if __name__ == "__main__":
    main()

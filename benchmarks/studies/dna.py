"""Where transcription factors bind: four tasks on DNA, cut by the authors of FastSK."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mercer import SVC, GappyKmer, Kernel, Mismatch, Spectrum, kmer_weights

from .frame import Study, Trial
from .tasks import Contender, choose, chosen_area, tasks

FILE = "strings/tfbs_dna_a.tsv.gz"
SPECTRA: dict[str, Kernel] = {f"k = {k}": Spectrum(k).normalize() for k in (4, 5, 6, 7)}
GAPPED: dict[str, Kernel] = {
    f"({g}, {k})": GappyKmer(g, k).normalize() for g, k in ((8, 5), (8, 6), (10, 6))
}
_SMALL = 3000  # training sequences up to which gapped k-mers are searched: patience
FASTSK = {"CTCF": "0.970", "EP300": "0.991", "KAT2B": "0.922", "TP53": "0.824"}
KNOWN: tuple[tuple[Kernel, str, float | None], ...] = (
    (Spectrum(5), "0.9771", None),
    (Spectrum(6), "0.9802", None),
    (Mismatch(5, 1), "0.9694", None),
    (GappyKmer(8, 6), "0.9874", None),
    (GappyKmer(10, 6), "0.9896", 0.989),
)


def trials() -> Iterator[Trial]:
    """Kernels chosen on the training part; then EP300 with values known from another programme."""
    found = tasks(FILE)
    for name, task in found.items():
        searches = {"Spectrum(k)": SPECTRA}
        if len(task.X) <= _SMALL:
            searches["GappyKmer(g, k)"] = GAPPED
        for model, kernels in searches.items():
            score = partial(chosen_area, task, kernels)
            yield Trial(model, "AUC", score, f"FastSK {FASTSK[name]}", data=name)
    for kernel, reference, least in KNOWN:
        contender = Contender(found["EP300"], kernel.normalize())
        model, same = f"{kernel!r}, C = 1", f"{reference} (same kernel)"
        yield Trial(model, "AUC", contender.area, same, least, data="EP300")


def picture(path: Path) -> None:
    """The substrings that count most for EP300."""
    import matplotlib.pyplot as plt

    task = tasks(FILE)["EP300"]
    name, C = choose({name: Contender(task, kernel) for name, kernel in SPECTRA.items()})
    model = SVC(C=C, kernel=SPECTRA[name]).fit(task.X, task.y)
    found = kmer_weights(model, None)
    best = sorted(found, key=lambda w: -w.weight)
    shown = [*best[:10], *best[-10:]]
    figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
    colors = ["C0" if w.weight > 0 else "C1" for w in shown]
    ax.barh(range(len(shown)), [w.weight for w in shown], color=colors)
    ax.set_yticks(range(len(shown)), [w.text for w in shown], family="monospace")
    ax.invert_yaxis()
    ax.axvline(0, color="0.5", lw=0.8)
    ax.set(xlabel="weight of one occurrence", title=f"EP300: Spectrum, {name}, C = {C:g}")
    figure.savefig(path, dpi=110)
    plt.close(figure)


STUDY = Study("dna", "Binding sites of transcription factors", trials, picture)

"""Several sources side by side: paired variables from separate files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .base import Chunk, Chunks, regrouped
from .dask import DaskChunks, beside_each_other, zipped


class Together(Chunks):
    """Samples of several sources, row by row; the samples of a chunk are a :class:`Zipped`.

    Their chunks need not be of the same sizes. Targets are left out; weights are those of the first
    source that has some.

    Parameters
    ----------
    *sources : Chunks
        Of the same number of samples.
    """

    def __init__(self, *sources: Chunks) -> None:
        self.sources = sources

    @property
    def n_samples(self) -> int:
        return self.sources[0].n_samples

    def __iter__(self) -> Iterator[Chunk]:
        rows = max(len(next(iter(source))) for source in self.sources)
        parts = [regrouped(iter(source), rows) for source in self.sources]
        start = 0
        for each in zip(*parts, strict=True):
            yield replace(zipped(*each), start=start)
            start += len(each[0])


def together(*sources: Chunks) -> Chunks:
    """Several sources side by side; partitions on one cluster meet where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stream
    >>> from mercer.chunks.together import together
    >>> both = together(stream(np.arange(5.0)[:, None]), stream(np.ones((5, 2))))
    >>> [part.shape for part in both.take(np.array([1, 4])).X.parts]
    [(2, 1), (2, 2)]
    """
    sizes = [source.n_samples for source in sources]
    if len(set(sizes)) > 1:
        listed = ", ".join(map(str, sizes))
        raise ValueError(f"variables must have the same number of observations, got {listed}.")
    on_cluster = [source for source in sources if isinstance(source, DaskChunks)]
    if len(on_cluster) == len(sources):
        return beside_each_other(on_cluster)
    return Together(*sources)

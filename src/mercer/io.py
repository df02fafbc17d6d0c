"""Kernels, plans, functions and fitted models as files: arrays and a description, no code.

A file is a zip archive of ``model.json``, which says what the object is, and ``arrays/N.npy``.
Reading one never unpickles, never imports a module the file names, and never calls anything but
the constructors of mercer's own classes (and of your own :class:`~mercer.params.Params` classes,
if your program has defined them): a file from a stranger can be refused, but it cannot run code.

To make an estimator savable, list what ``fit`` leaves behind, and rebuild the rest::

    class MyModel(BaseEstimator):
        saved_state = ("kernel_", "X_fit_", "dual_coef_")

        def _restore(self):
            self.gram_ = self.kernel_.gram(self.X_fit_)
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from . import __version__, _codecs_data, _codecs_objects  # noqa: F401 (they register what they can write)
from ._codecs import Node, Unreadable, decode, encode

FORMAT = 1
MAX_DESCRIPTION = 64 * 2**20  # bytes of model.json
_MEMBER = re.compile(r"model\.json|arrays/\d{1,9}\.npy")


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a kernel, a plan, a function or a fitted model to a file.

    The file is written beside its final place and moved there when it is complete.

    Parameters
    ----------
    obj : Kernel, Plan, KernelRidge, KernelRidgeCV, RKHSFunction, ...
        Also arrays, CSR matrices, tables (without their index), and lists, tuples and dicts of
        all these.
    path : str or path
        Where to write; by convention the name ends in ``.mercer``.

    Examples
    --------
    >>> import tempfile, os
    >>> from mercer import Gaussian, Spectrum, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "kernel.mercer")
    ...     save(Gaussian(0.5).on("age") + Spectrum(3).on("sequence"), path)
    ...     load(path)
    Gaussian(lengthscale=0.5).on('age') + Spectrum().on('sequence')
    """
    writer = _Writer()
    header = {"format": FORMAT, "mercer": __version__, "value": writer(obj, type(obj).__name__)}
    text = json.dumps(header, allow_nan=False).encode("ascii")
    if len(text) > MAX_DESCRIPTION:
        raise ValueError(
            f"save: the description takes {len(text) / 2**20:.0f} MB, at most "
            f"{MAX_DESCRIPTION // 2**20} MB of strings can be stored in one file."
        )

    def write(stream: BinaryIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(_entry("model.json"), text, zipfile.ZIP_DEFLATED)
            for i, array in enumerate(writer.arrays):
                with archive.open(_entry(f"arrays/{i}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    write_atomically(path, write)


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save` wrote; nothing in the file is run.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    ValueError
        If it is not such a file, is damaged, or holds what this version does not know.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(archive, os.path.getsize(path)).load()
    except Unreadable as error:
        raise ValueError(f"{path}: {error}") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError) as error:
        raise ValueError(f"{path} is not a mercer file, or is damaged ({error}).") from None


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], None]) -> None:
    """Call ``write`` on a new file that takes the place of ``path`` only once it is complete."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write to.")
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, target)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


class _Writer:
    """Collects the arrays of an object on its way into a description."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def __call__(self, value: Any, place: str) -> Node:
        return encode(value, self, place)

    def array(self, value: np.ndarray) -> int:
        self.arrays.append(value)
        return len(self.arrays) - 1


class _Reader:
    """Values of nodes, from an archive that nobody vouches for."""

    def __init__(self, archive: zipfile.ZipFile, nbytes: int) -> None:
        self.archive = archive
        self.members = {info.filename: info for info in archive.infolist()}
        strange = [name for name in self.members if not _MEMBER.fullmatch(name)]
        if strange or "model.json" not in self.members:
            raise Unreadable("is not a mercer file.")
        if sum(info.compress_size for info in self.members.values()) > nbytes:
            raise Unreadable("is damaged: its parts overlap.")

    def load(self) -> Any:
        info = self.members["model.json"]
        if info.file_size > MAX_DESCRIPTION:
            raise Unreadable(f"model.json is larger than {MAX_DESCRIPTION // 2**20} MB.")
        try:
            header = json.loads(self.archive.read(info))
            version = header["format"]
            if version == FORMAT:
                return self(header["value"])
        except Unreadable:
            raise
        except _WRONG as error:
            raise Unreadable(f"holds a damaged object ({_words(error)}).") from None
        raise Unreadable(
            f"has format {version!r}, written by mercer {header.get('mercer')!r}; this is mercer "
            f"{__version__}, which reads format {FORMAT}."
        )

    def __call__(self, node: Node) -> Any:
        return decode(node, self)

    def array(self, number: Any) -> np.ndarray:
        """An array whose header agrees with the bytes that are there; each is used once.

        So what a file takes in memory is what it takes on disk, and nothing is unpickled.
        """
        info = self.members.pop(f"arrays/{int(number)}.npy")
        if info.compress_type != zipfile.ZIP_STORED:
            raise Unreadable("holds a compressed array; mercer stores them as they are.")
        stream = io.BytesIO(self.archive.read(info))
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(stream)]
        shape, _, dtype = header(stream)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if dtype.hasobject or size != info.file_size - stream.tell():
            raise Unreadable("holds an array of Python objects, or one that is cut short.")
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


_WRONG = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".: ").replace("\n", " ")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of a fixed date: the same object gives the same bytes
    entry.external_attr = 0o644 << 16
    return entry

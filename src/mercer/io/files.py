"""Kernels, plans, functions and fitted models as files: arrays and a description, no code.

A file is a zip archive of ``model.json``, which says what the object is, and ``arrays/N.npy``.
Reading one never unpickles, never imports a module the file names, and never calls anything but
the constructors of mercer's own classes (and of your own :class:`~mercer.params.Params` classes,
if your program has defined them): a file from a stranger can be rejected, but it cannot run code.

To make an estimator savable, list what ``fit`` leaves behind, and rebuild the rest::

    class MyModel(BaseEstimator):
        saved_state = ("kernel_", "X_fit_", "dual_coef_")

        def _restore(self):
            self.gram_ = self.kernel_.gram(self.X_fit_)
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np

from .. import __version__
from ..engine.atomic import write_atomically
from ..exceptions import FileFormatError
from .codecs.kinds import Node, Unreadable, decode, encode

FORMAT = 1
MAX_DESCRIPTION = 64 * 2**20  # bytes of model.json
_RATIO = 8  # by which model.json may be compressed: a small file stays small when it is read
_FREE = 2**20  # bytes of model.json for which the ratio does not matter
_MEMBER = re.compile(r"model\.json|arrays/\d{1,9}\.npy")
_KINDS = "biufcUSmM"  # of the numbers, strings and times in arrays


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a kernel, a plan, a function or a fitted model to a file.

    The file is written under a temporary name and moved into place when it is complete.

    Parameters
    ----------
    obj : Kernel, Plan, KernelRidge, RKHSFunction, HSOperator, RidgePath, TestResult, ...
        Also arrays, CSR matrices, tables and Series of pandas (without their index) and polars,
        trees of :mod:`xml.etree` and nltk, graphs of networkx, and lists, tuples and dicts of all
        these.
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

    repetitive = len(text) > max(_FREE, _RATIO * len(zlib.compress(text, 6)))
    method = zipfile.ZIP_STORED if repetitive else zipfile.ZIP_DEFLATED

    def write(stream: BinaryIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(_entry("model.json"), text, method)
            for i, array in enumerate(writer.arrays):
                with archive.open(_entry(f"arrays/{i}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    write_atomically(path, write)


def load(path: str | os.PathLike[str]) -> Any:
    """Load what :func:`save` wrote; nothing in the file is executed.

    The memory needed is bounded by the size of the file, and a fitted model is checked: its parts
    must have consistent shapes and finite values, and it must be able to predict.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    mercer.exceptions.FileFormatError
        If it is not such a file, is damaged, or contains something this version does not know. (It
        is a ValueError.)
    """
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                return _Reader(archive, os.fstat(stream.fileno()).st_size).load()
        except Unreadable as error:
            raise FileFormatError(f"{path}: {error}") from None
        except OSError as error:
            if error.errno not in (None, errno.EINVAL):  # a disk or network that fails
                raise
            problem: Exception = error
        except (zipfile.BadZipFile, zlib.error, EOFError, *_WRONG) as error:
            problem = error
    raise FileFormatError(f"{path} is not a mercer file, or is damaged ({_words(problem)}).")


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
    """Values of nodes, from an untrusted archive.

    Sizes that the archive declares are not trusted: nothing is read beyond what the file itself
    allows for.
    """

    def __init__(self, archive: zipfile.ZipFile, nbytes: int) -> None:
        self.archive, self.nbytes = archive, nbytes
        self.members = {info.filename: info for info in archive.infolist()}
        strange = [name for name in self.members if not _MEMBER.fullmatch(name)]
        if strange or "model.json" not in self.members:
            raise Unreadable("is not a mercer file.")
        if sum(info.compress_size for info in self.members.values()) > nbytes:
            raise Unreadable("is damaged: its parts overlap.")

    def load(self) -> Any:
        info = self.members.pop("model.json")
        most = min(MAX_DESCRIPTION, max(_FREE, _RATIO * info.compress_size))
        try:
            header = json.loads(self._bytes(info, most))
            version = header["format"]
            if version == FORMAT:
                return self(header["value"])
        except Unreadable:
            raise
        except MemoryError:
            raise Unreadable(
                "contains an object that needs more memory than is available."
            ) from None
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
        data = self._bytes(info, self.nbytes)
        stream = io.BytesIO(data)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(stream)]
        shape, fortran, dtype = header(stream)
        if dtype.kind not in _KINDS or dtype.itemsize == 0:
            raise Unreadable("holds an array of Python objects, or of an unknown type.")
        self.check_shape(shape)
        if int(np.prod(shape, dtype=object)) * dtype.itemsize != len(data) - stream.tell():
            raise Unreadable("contains a truncated array.")
        order: Any = "F" if fortran else "C"
        found = np.ndarray(shape, dtype, data, stream.tell(), order=order).copy(order="K")
        most = {"b": 1, "U": 0x10FFFF}.get(dtype.kind)  # of a truth value, of a character
        raw = {"b": np.uint8, "U": np.uint32}.get(dtype.kind)
        if most is not None and found.size and np.frombuffer(found, raw).max() > most:
            raise Unreadable("contains an array with invalid characters or booleans.")
        return found

    def check_shape(self, shape: Any) -> None:
        """Refuse a length that no file of this size can mean: arrays may be empty, and long."""
        if not all(isinstance(n, int) and 0 <= n <= self.nbytes for n in shape):
            raise Unreadable(f"holds an array of shape {tuple(shape)}, larger than the file.")

    def _bytes(self, info: zipfile.ZipInfo, most: int) -> bytes:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable("is compressed in a way that mercer does not use.")
        with self.archive.open(info) as member:
            data = member.read(most + 1)
        if len(data) > most:
            raise Unreadable(f"{info.filename} is larger than {most / 2**20:.0f} MB.")
        return data


_WRONG = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,  # of recursion, and of methods that are not implemented, too
    TypeError,
    ValueError,
)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(".: ").replace("\n", " ")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of a fixed date: the same object gives the same bytes
    entry.external_attr = 0o644 << 16
    return entry

"""BLAS and LAPACK routines that release the interpreter lock while they run.

SciPy's own functions hold it, so that no other thread can run and Ctrl-C is not noticed. It also
exports the routines themselves, which are called here on arrays in place.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

_LETTERS = {"float32": "s", "float64": "d"}
_ONE = {name: np.ones(1, name) for name in _LETTERS}


def call(name: str, *args: Any) -> int:
    """Call a routine by its name without the letter of its precision, that of the arrays.

    Arrays are passed by address, letters and integers by value. The last argument of all routines,
    ``info``, is the result; invalid arguments are an error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engine.routines import call
    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> call("potrf", "U", 2, A, 2)
    0
    >>> np.tril(A)
    array([[2., 0.],
           [1., 2.]])
    """
    kind = next(a.dtype.name for a in args if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    info = _integer(0)
    places = [_place(arg) for arg in args]
    _routine(_LETTERS[kind] + name)(*places, ctypes.byref(info))
    if info.value < 0:
        raise ValueError(f"{name}: argument {-info.value} is invalid.")
    return info.value


def eigh(
    A: np.ndarray, largest: int | None = None, *, overwrite: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, increasing, and eigenvectors as columns.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        The matrix.
    largest : int, optional
        How many of the largest eigenvalues; by default all.
    overwrite : bool
        Work in the memory of A, which pays if it is of float64 and stored by columns (K.T).
    """
    n = len(A)
    A = (np.asarray if overwrite else np.array)(A, dtype=np.float64, order="F")
    if largest is None:
        w = np.empty(n)
        _with_workspace("syevd", ("V", "L", n, A, n, w), whole=True)
        return w, A
    kind = integer_type()
    w, Z, support = np.empty(n), np.empty((n, largest), order="F"), np.empty(2 * n, kind)
    zero, found = np.zeros(1), np.zeros(1, kind)  # bounds that are not used; how many
    order = ("V", "I", "L", n, A, n, zero, zero, n - largest + 1, n, zero)
    _with_workspace("syevr", (*order, found, w, Z, n, support), whole=True)
    return w[:largest], Z


def qr_with_pivots(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, R and pivots with Q R = A[:, pivots], where sizes of R_ii do not increase.

    Q is square, so that its last columns are a basis of what the columns of A do not span.
    """
    m, n = A.shape
    if not A.size:
        return np.eye(m), np.zeros((m, n)), np.arange(n)
    Q = np.zeros((m, max(m, n)), order="F")
    Q[:, :n] = A
    pivots, tau = np.zeros(n, integer_type()), np.zeros(min(m, n))
    _with_workspace("geqp3", (m, n, Q, m, pivots, tau))
    R = np.triu(Q[:, :n])
    _with_workspace("orgqr", (m, m, len(tau), Q, m, tau))
    return Q[:, :m], R, pivots - 1


def cholesky_with_pivots(A: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray, int]:
    """L, pivots and a rank r: the first r columns of L are a factor of A[pivots][:, pivots].

    It ends where no pivot exceeds ``tol``. What is above the diagonal of L is in no particular
    state. A is overwritten if it is stored by columns.
    """
    A, n = np.asfortranarray(A), len(A)
    pivots, rank = np.zeros(n, integer_type()), np.zeros(1, integer_type())
    call("pstrf", "L", n, A, n, pivots, rank, np.array([tol], A.dtype), np.empty(2 * n, A.dtype))
    return A, pivots - 1, int(rank[0])


def add_gram(C: np.ndarray, P: np.ndarray) -> None:
    """C += P' P in the memory of C, on and below its diagonal only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engine.routines import add_gram
    >>> C = np.zeros((2, 2))
    >>> add_gram(C, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> C
    array([[10.,  0.],
           [14., 20.]])
    """
    k, n = P.shape
    one = _ONE[C.dtype.name]
    order = ("U", "N", n, k, one, P, _stride(P), one, C, _stride(C))
    if n and k:
        _routine(_LETTERS[C.dtype.name] + "syrk", "blas")(*map(_place, order))


def _stride(A: np.ndarray) -> int:
    """The leading dimension: entries from one row to the next, at least one row."""
    return max(A.strides[0] // A.itemsize, A.shape[1])


def solve_positive(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B for a symmetric positive definite A, which is overwritten if it is stored by rows."""
    kind = np.result_type(A, B, np.float32)
    A, X = np.ascontiguousarray(A, dtype=kind), np.array(B, dtype=kind, order="F")
    n, columns = len(A), X.shape[1] if X.ndim > 1 else 1
    if X.size and (minor := call("posv", "U", n, columns, A, n, X, n)):
        raise np.linalg.LinAlgError(f"the leading minor of order {minor} is not positive definite.")
    return X


def solve_lower(
    L: np.ndarray, B: np.ndarray, *, transposed: bool = False, overwrite: bool = False
) -> np.ndarray:
    """L^-1 B, or L'^-1 B, for a lower triangular L; what is above its diagonal is ignored.

    ``overwrite``: B is overwritten if it is stored by columns and of the precision of the result.
    """
    return _solved("trtrs", L, B, transposed, overwrite)


def solve_cholesky(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(L L')^-1 B for a lower triangular L."""
    return _solved("potrs", L, B)


def _solved(
    name: str,
    L: np.ndarray,
    B: np.ndarray,
    transposed: bool | None = None,
    overwrite: bool = False,
) -> np.ndarray:
    """A system with L, or with L'. What is stored by rows is a transposed matrix to LAPACK."""
    kind = np.result_type(L, B, np.float32)
    by_columns = L.flags.f_contiguous and not L.flags.c_contiguous
    L = np.asarray(L, dtype=kind) if by_columns else np.ascontiguousarray(L, dtype=kind)
    X = (np.asarray if overwrite else np.array)(B, dtype=kind, order="F")
    how: tuple[str, ...] = ("L" if by_columns else "U",)
    if transposed is not None:
        how += ("N" if by_columns != transposed else "T", "N")
    n, columns = len(L), X.shape[1] if X.ndim > 1 else 1
    if X.size and call(name, *how, n, columns, L, n, X, n):
        raise np.linalg.LinAlgError("the triangular matrix is singular.")
    return X


def _with_workspace(name: str, args: tuple[Any, ...], *, whole: bool = False) -> None:
    """Call a routine with as much workspace as it asks for, of floats, and of integers."""
    sizes = [np.empty(1, kind) for kind in (np.dtype("f8"), integer_type())[: 1 + whole]]
    call(name, *args, *(part for size in sizes for part in (size, -1)))
    spaces = [np.empty(int(size[0]), size.dtype) for size in sizes]
    if call(name, *args, *(part for space in spaces for part in (space, len(space)))):
        raise np.linalg.LinAlgError("the eigenvalues did not converge.")


def _place(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return ctypes.c_void_p(arg.ctypes.data)
    return ctypes.byref(ctypes.c_char(arg.encode()) if isinstance(arg, str) else _integer(arg))


def _integer(value: int) -> Any:
    return (ctypes.c_int64 if integer_type().itemsize == 8 else ctypes.c_int32)(value)


@cache
def integer_type() -> np.dtype:
    """The integers of the routines: of 32 bits, or of 64 if SciPy was built so (from 1.18 on)."""
    version = [ctypes.c_int64(-1) for _ in range(3)]  # of LAPACK: small numbers
    _routine("ilaver")(*map(ctypes.byref, version))
    return np.dtype(np.int64 if 0 <= version[0].value < 2**31 else np.int32)


@cache
def _routine(name: str, library: str = "lapack") -> Any:
    capsule = import_module(f"scipy.linalg.cython_{library}").__pyx_capi__[name]
    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer(capsule, named(capsule)))


@cache
def address(dtype: np.dtype, name: str, library: str) -> int:
    """The address of a routine, by its name without the letter of its precision."""
    routine = _routine(_LETTERS[dtype.name] + name, library)
    return ctypes.cast(routine, ctypes.c_void_p).value or 0

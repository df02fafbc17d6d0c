"""Tensors of PyTorch, and other arrays that speak DLPack, as data: the only file that knows them.

One rule holds everywhere. Tensors are taken to the host, as arrays of NumPy, at the door; a
:class:`~mercer.Plan` decides what is computed where. Arrays that come out of a call are tensors on
the device of its first argument, if that was one; models keep arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import getattr_static, isfunction, signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .exceptions import DomainError

P = ParamSpec("P")
T = TypeVar("T")

METHODS = (
    *("fit", "partial_fit", "fit_predict", "fit_transform", "score", "score_samples"),
    *("predict", "predict_proba", "predict_log_proba", "predict_interval", "decision_function"),
    *("transform", "inverse_transform", "denoise", "project", "distance", "embedding", "weights"),
    *(
        "posterior_variance",
        "latent_mean_and_variance",
        "sample_y",
        "expect",
        "log_probability",
        "ndcg",
    ),
    *("leave_one_out", "leave_one_out_proba", "leave_one_out_loss", "reconstruction_error"),
)
_ON_HOST = (1, 3)  # kinds of devices of DLPack: the processor, and its pinned memory


def is_tensor(X: Any) -> bool:
    """Does X speak DLPack, but is no array of NumPy, nor of pyarrow, which is read as a column?"""
    speaks = hasattr(X, "__dlpack__") and hasattr(X, "__dlpack_device__")
    return speaks and not (isinstance(X, np.ndarray) or type(X).__module__.startswith("pyarrow"))


def on_host(X: Any) -> Any:
    """A tensor as an array of NumPy, which may share its memory; all else as it is.

    So are those of a list of tensors, such as views, or series.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tensors import on_host
    >>> on_host([1, 2]), on_host(np.ones(2))
    ([1, 2], array([1., 1.]))
    """
    if isinstance(X, list | tuple) and X and is_tensor(X[0]):
        return type(X)(map(on_host, X))
    if not is_tensor(X):
        return X
    if hasattr(X, "detach"):
        return _of_torch(X)
    if X.__dlpack_device__()[0] in _ON_HOST:
        return np.array(np.from_dlpack(X))  # its owner may write into it
    torch = sys.modules.get("torch")
    if torch is None:
        raise DomainError(
            f"a {type(X).__name__} is on a device that NumPy cannot read; import torch, which "
            "copies it to the host, or pass it as a NumPy array."
        )
    return _of_torch(torch.from_dlpack(X))


def like(found: Any, X: Any) -> Any:
    """What was found for X, with arrays of numbers as tensors where X is one, on its device.

    Single tuples and lists of arrays are looked into.
    """
    if isinstance(found, tuple | list) and not hasattr(found, "_fields"):
        return type(found)(like(each, X) for each in found)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return found
    if hasattr(X, "detach"):
        own = found if found.flags.writeable else found.copy()
        return sys.modules["torch"].from_numpy(np.ascontiguousarray(own)).to(X.device)
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__().asarray(found, device=X.device)
    return found


def takes_tensors(method: Callable[P, T]) -> Callable[P, T]:
    """A method, or function, that takes tensors where it takes arrays.

    It answers with tensors where its first argument, after ``self``, is one.
    """
    first = next(iter([name for name in signature(method).parameters if name != "self"]), None)
    own = "self" in signature(method).parameters

    @wraps(method)
    def answered(*args: P.args, **kwargs: P.kwargs) -> T:
        X = args[own] if len(args) > own else kwargs.get(first or "")
        X = X[0] if isinstance(X, list | tuple) and X else X
        hosted = [on_host(value) for value in args]
        named = {name: on_host(value) for name, value in kwargs.items()}
        found = method(*hosted, **named)
        return like(found, X) if is_tensor(X) else found

    vars(answered)["_takes_tensors"] = True
    return answered


class TakesTensors:
    """Estimators that take tensors, and answer with tensors where X is one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in METHODS:
            method = getattr_static(cls, name, None)
            if isfunction(method) and not hasattr(method, "_takes_tensors"):
                setattr(cls, name, takes_tensors(method))
            inner = getattr(method, "fn", None)  # of scikit-learn's available_if
            if isfunction(inner) and not hasattr(inner, "_takes_tensors"):
                method = copy(method)
                method.fn = takes_tensors(inner)
                setattr(cls, name, method)


def _of_torch(X: Any) -> np.ndarray:
    if str(X.layout) != "torch.strided":
        raise DomainError(
            f"tensors of layout {X.layout} are not supported; pass .to_dense(), or a SciPy sparse "
            "matrix."
        )
    X = X.detach().cpu()
    if str(X.dtype) == "torch.bfloat16":  # which NumPy does not have
        X = X.float()
    found: np.ndarray = X.resolve_conj().resolve_neg().numpy()
    return found

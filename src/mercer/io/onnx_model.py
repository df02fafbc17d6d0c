"""Models as ONNX: a small graph that runtimes of other languages evaluate, without Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..data import as_dense, evenly, is_frame, length, take
from ..engine.atomic import write_atomically
from ..frames import matrix
from ..rkhs.function import RKHSFunction
from .onnx_nodes import KernelNodes, Nodes

_OPSET, _IR = 17, 8  # understood by runtimes since 2022
_INT64, _DOUBLE = 7, 11  # types of elements, by their numbers in ONNX
_CHECKED = 25  # centres at which the graph must say what the model says
_NEAR = 1e-8  # to which part of the size of the answers they must agree
_ROUNDED = 8  # units in the last place of the sum of all terms in size, that rounding may cost
_BLURRED = 1e-3  # of the answers: those that rounding changes by more are not worth writing

Ask = Callable[[Any], Any]


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    r"""Convert a fitted model, or an RKHS function, to an ONNX graph.

    The graph computes f(x) = sum_i c_i k(z_i, x) + b, in double precision, for a matrix ``X`` of
    samples in rows. Its outputs are

    * for regressors, ``prediction``;
    * for classifiers, ``label`` and ``scores``, the values of f: one for two classes, otherwise one
      for each class or, for ``SVC`` and ``NuSVC``, for each pair of classes;
    * for novelty detectors, ``label`` and ``scores``;
    * for a function in an RKHS, ``prediction``.

    Before it is returned, the graph is compared with the model on some of the centres.

    Parameters
    ----------
    model : estimator or RKHSFunction
        On vectors or tables of numbers, with a kernel built by ``+``, ``*``, ``**`` and ``.on``
        from Gaussian, Laplacian, Matern (of order 1/2, 3/2, 5/2), RationalQuadratic, Linear,
        Polynomial, Exponential and Binomial. For tables, the columns of ``X`` are those of the
        table, in their order.
    path : str or path, optional
        A file to write, which is replaced completely or not at all.

    Returns
    -------
    onnx.ModelProto
        The model, checked by ``onnx``, which is the extra ``mercer[onnx]``.

    Raises
    ------
    ValueError
        If the predictions of the model are not such a function, or its kernel cannot be expressed
        in ONNX operators.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.io import to_onnx
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [2.0, 3.0]])
    >>> graph = to_onnx(SVC().fit(X, ["a", "a", "b", "b"]))  # doctest: +SKIP
    >>> from onnxruntime import InferenceSession  # doctest: +SKIP
    >>> session = InferenceSession(graph.SerializeToString())  # doctest: +SKIP
    >>> session.run(["label"], {"X": X[:1]})  # doctest: +SKIP
    [array(['a'], dtype=object)]

    References
    ----------
    `Open Neural Network Exchange <https://onnx.ai/onnx/>`_.
    """
    onnx = _import_onnx()
    function, offset = _function(model)
    if not is_frame(function.points) and np.ndim(function.points) not in (1, 2):
        raise ValueError(f"to_onnx: {type(model).__name__} was not fitted to vectors.")
    graph = Nodes(onnx, length(function.points))
    kernel = KernelNodes(graph, function.points)
    coef = function.coef.reshape(length(function.points), -1)
    F = graph.op("MatMul", kernel.matrix(function.kernel), graph.constant(coef))
    F = graph.op("Add", F, graph.constant(np.atleast_1d(offset)))
    seen = _some(function)
    outputs = (_labels if hasattr(model, "classes_") else _values)(graph, model, F, coef.shape[1])
    expected = {name: np.asarray(ask(seen)) for name, ask in outputs.items()}
    ends = [_described(onnx, name, value) for name, value in expected.items()]
    start = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, [None, kernel.width])
    whole = onnx.helper.make_graph(
        graph.nodes, type(model).__name__, [start], ends, graph.constants
    )
    made = onnx.helper.make_model(
        whole,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="mercer",
        producer_version=__version__,
    )
    onnx.checker.check_model(made)
    _compare(onnx, made, model, seen, expected, _rounding(function, seen))
    if path is not None:
        data = made.SerializeToString()
        write_atomically(path, lambda file: file.writelines([data]))
    return made


def _function(model: Any) -> tuple[RKHSFunction, Any]:
    """f without its offset, and the offset."""
    if isinstance(model, RKHSFunction):
        return model, 0.0
    check_is_fitted(model)
    function = getattr(model, "rkhs_function_", None)
    if not isinstance(function, RKHSFunction):
        raise ValueError(
            f"to_onnx: the predictions of {type(model).__name__} are not those of one function in "
            "an RKHS; mercer.save works for any model."
        )
    if hasattr(model, "intercept_"):
        return function, np.asarray(model.intercept_, dtype=float)
    if not is_regressor(model):  # a comparison decides whether labels are signs of functions
        return function, 0.0
    some = _some(function)
    return function, np.mean(model.predict(some) - function(some), axis=0)  # of targets, say


def _some(function: RKHSFunction) -> Any:
    """Centres of all parts of the sample."""
    return take(function.points, evenly(length(function.points), _CHECKED))


def _values(graph: Nodes, model: Any, F: str, functions: int) -> dict[str, Ask]:
    """The outputs of models that predict numbers or signs, with the corresponding methods."""
    flat = graph.op("Squeeze", F, graph.constant([1], np.int64)) if functions == 1 else F
    plain = isinstance(model, RKHSFunction)
    if plain or not is_outlier_detector(model):
        ask = model if plain else model.predict
        many = np.ndim(ask(take(_function(model)[0].points, slice(0, 1)))) == 2
        if many and hasattr(model, "_order"):  # values of several levels rise
            F = _sorted(graph, F, model._order)
        graph.op("Identity", F if many else flat, out="prediction")
        return {"prediction": ask}
    inside = graph.op("GreaterOrEqual", flat, graph.constant(0.0))
    graph.op(
        "Where", inside, graph.constant(1, np.int64), graph.constant(-1, np.int64), out="label"
    )
    graph.op("Identity", flat, out="scores")
    return {"label": model.predict, "scores": model.decision_function}


def _sorted(graph: Nodes, F: str, order: np.ndarray) -> str:
    """The values of each row, the least first, in columns of this order."""
    size = graph.constant([len(order)], np.int64)
    values = graph.op("TopK", F, size, axis=1, largest=0, sorted=1, more=("places",))
    return graph.op("Gather", values, graph.constant(np.argsort(order), np.int64), axis=1)


def _labels(graph: Nodes, model: Any, F: str, functions: int) -> dict[str, Ask]:
    """The outputs of a classifier."""
    k, zero = len(model.classes_), graph.constant(0.0)
    pairs = k > 2 and getattr(model, "multiclass", None) == "ovo"
    if pairs and model.break_ties:
        raise ValueError("to_onnx: break_ties=True cannot be written as ONNX; fit without it.")
    if functions == 1:
        flat = graph.op("Squeeze", F, graph.constant([1], np.int64))
        best = graph.op("Cast", graph.op("Greater", flat, zero), to=_INT64)
        graph.op("Identity", flat, out="scores")
    else:
        score = _votes(graph, F, k) if pairs else F
        best = graph.op("ArgMax", score, axis=1, keepdims=0)
        graph.op("Identity", F, out="scores")
    labels = np.asarray(model.classes_)
    kind = object if labels.dtype.kind in "UO" else labels.dtype
    graph.op("Gather", graph.constant(labels, kind), best, axis=0, out="label")
    outputs = {"label": model.predict}
    if hasattr(model, "decision_function") and not pairs:
        outputs["scores"] = model.decision_function
    else:
        function, offset = _function(model)
        outputs["scores"] = lambda X: function(X) + offset
    return outputs


def _votes(graph: Nodes, F: str, k: int) -> str:
    """Votes for each of k classes: a negative score of the pair (i, j) is a vote for j."""
    i, j = np.triu_indices(k, 1)
    moved = np.zeros((len(i), k))
    moved[np.arange(len(i)), j], moved[np.arange(len(i)), i] = 1, -1
    second = graph.op("Cast", graph.op("Less", F, graph.constant(0.0)), to=_DOUBLE)
    changes = graph.op("MatMul", second, graph.constant(moved))
    return graph.op("Add", changes, graph.constant(np.arange(k - 1.0, -1, -1)))


def _described(onnx: Any, name: str, value: np.ndarray) -> Any:
    """An output: its type, and its shape for any number of samples."""
    kind = onnx.TensorProto.STRING
    if value.dtype.kind == "f":  # graphs compute in double precision, whatever models do
        kind = onnx.TensorProto.DOUBLE
    elif value.dtype.kind not in "UO":
        kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, [None, *value.shape[1:]])


def _compare(
    onnx: Any, made: Any, model: Any, seen: Any, expected: dict[str, np.ndarray], rounding: float
) -> None:
    """Check that the graph and the model agree; otherwise predictions are more than a function."""
    sizes = [float(np.abs(v).max()) for name, v in expected.items() if name != "label"]
    size = 1 + max(sizes, default=0.0)
    blurred = not rounding <= _BLURRED * size
    near = _NEAR * size + (0.0 if blurred else rounding)
    X = matrix(seen, "to_onnx") if is_frame(seen) else seen
    X = np.asarray(as_dense(X), dtype=float)
    evaluator = onnx.reference.ReferenceEvaluator(made)
    answers = evaluator.run(None, {"X": X.reshape(len(X), -1)})
    ties = _undecided(expected["scores"], near) if "scores" in expected else np.zeros(0, bool)
    for name, found in zip(expected, answers, strict=True):
        value, same = expected[name], np.shape(found) == expected[name].shape
        if same and name == "label":
            same = bool(np.all((np.asarray(found).astype(value.dtype) == value) | ties))
        elif same:
            same = bool(np.all(np.abs(found - value) <= near))
        if not same and blurred:
            raise ValueError(
                f"to_onnx: the terms of {type(model).__name__} cancel, so rounding changes its "
                f"predictions by up to {rounding:.1g}: the samples are too large for the kernel. "
                "Scale the columns, for example with StandardScaler(), and fit again."
            )
        if not same:
            raise ValueError(
                f"to_onnx: the {name} of {type(model).__name__} is more than a function in an "
                "RKHS plus an offset, and only that can be written as ONNX; mercer.save works "
                "for any model."
            )


def _undecided(scores: np.ndarray, near: float) -> np.ndarray:
    """Samples whose label depends on the rounding of their scores."""
    if scores.ndim == 1:
        return np.abs(scores) <= near
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    return (first - second <= near) | np.any(np.abs(scores) <= near, axis=1)


def _rounding(function: RKHSFunction, seen: Any) -> float:
    """A bound on how much rounding changes sums c_i k(z_i, x), in the precision of the samples."""
    kernel, single = function.kernel, getattr(function.points, "dtype", None) == np.float32
    coef = np.abs(function.coef.reshape(length(function.points), -1))
    terms = np.abs(kernel(seen, function.points)).astype(np.float64) @ coef
    eps = np.finfo(np.float32 if single else np.float64).eps
    return _ROUNDED * float(eps) * float(terms.max(initial=0.0))


def _import_onnx() -> Any:
    try:
        import onnx
        import onnx.reference
    except ImportError:
        raise ImportError('to_onnx needs onnx: pip install "mercer[onnx]".') from None
    return onnx

"""Pairs of functions that write and read what the library itself makes: kernels, models, ..."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import isabstract, signature
from typing import Any

import numpy as np

from ...params import Params
from ..states import check_state, is_finite
from .kinds import ESTIMATOR, Node, Reader, Unreadable, Writer, decodes, encodes

_ELSEWHERE = {  # savable, but not a name of the package
    "Given": "mercer.tables.members",
    "Member": "mercer.tables.members",
    "RidgeClassifier": "mercer.tables.ridge",
    "TableClassifier": "mercer.tables.classifier",
    "TableRegressor": "mercer.tables.regressor",
    "Convolved": "mercer.kernels.approximate.sketch",
    "Coordinates": "mercer.kernels.approximate.sketch",
    "Degrees": "mercer.kernels.approximate.sketch",
    "Ones": "mercer.kernels.approximate.rules",
    "Waves": "mercer.kernels.approximate.fourier",
}
_STREAM = "kernel alpha plan warm_up budget kernels n_bets wealth_of squares kept waiting parts"
_RECORDS = {  # results and what they hold: their module, and attributes that no constructor lists
    "COCO": "mercer.stats.constrained",
    "Candidate": "mercer.search.outcome",
    "CausalGraph": "mercer.stats.causal_result",
    "ChiSquareMixture": "mercer.stats.mixtures weights shift normal",
    "Compression": "mercer.rkhs.compression",
    "DualReport": "mercer.models.svm_report",
    "Extremes": "mercer.stats.witnesses",
    "FeatureFunction": "mercer.rkhs.weighted kernel weights",
    "FourierFunction": "mercer.rkhs.fourier coef period",
    "FragmentWeight": "mercer.explain.trees",
    "Interval": "mercer.stats.interval",
    "KmerWeight": "mercer.explain.sequences",
    "NodeWeight": "mercer.explain.trees",
    "PSDCheck": "mercer.testing",
    "PreImages": "mercer.rkhs.preimages",
    "Quadrature": "mercer.rkhs.integration",
    "Screening": "mercer.tables.screening",
    "Segmentation": "mercer.stats.segmentation_result",
    "SensitivityResult": "mercer.stats.sensitivity",
    "SequentialIndependenceTest": f"mercer.stats.sequential {_STREAM}",
    "SequentialTwoSampleTest": f"mercer.stats.sequential {_STREAM}",
    "SpectralMeasure": "mercer.rkhs.spectral kernel dimension _scale",
    "TestResult": "mercer.stats.result",
    "Tuning": "mercer.search.outcome",
    "_Mirrored": "mercer.stats.pearson base",
    "_Scaled": "mercer.stats.two_sample_nulls base factor",
    "_SkewStudent": "mercer.stats.pearson centre scale power skew peak total",
}
_SPLITTERS = ("GroupKFold", "KFold", "LeaveOneOut", "StratifiedKFold")


@encodes("mercer.Params")
def _params(value: Params, write: Writer, place: str) -> Node:
    name = type(value).__name__
    if _params_class(name) is not type(value):
        raise ValueError(
            f"cannot save {place}: {name!r} is not the name of a class of mercer, or is also the "
            "name of another class."
        )
    named = {f.name: write(getattr(value, f.name), f"{place}.{f.name}") for f in fields(value)}
    return {"type": "params", "class": name, "fields": named}


@decodes("params")
def _(node: dict, read: Reader) -> Params:
    found = _params_class(node["class"])
    if found is None:
        raise Unreadable(
            f"holds a {node['class']!r}, which is not a kernel or plan of this version of mercer; "
            f"if it is your own class, import the module that defines it first."
        )
    return found(**{name: read(value) for name, value in node["fields"].items()})


@encodes(*(f"mercer.{name}" for name in _RECORDS))
def _record(value: Any, write: Writer, place: str) -> Node:
    name = type(value).__name__
    found, names = _record_class(name)
    if found is not type(value):
        raise ValueError(f"cannot save {place}: this version does not store such a {name}.")
    named = {n: write(getattr(value, n), f"{place}.{n}") for n in names}
    return {"type": "record", "class": name, "fields": named}


@decodes("record")
def _(node: dict, read: Reader) -> Any:
    if node["class"] not in _RECORDS:
        raise Unreadable(f"holds a {node['class']!r}, which this version does not know.")
    found, names = _record_class(node["class"])
    named = {name: read(value) for name, value in node["fields"].items()}
    if is_dataclass(found) or hasattr(found, "_fields"):
        record = found(**named)
    elif set(named) == set(names):
        record = object.__new__(found)
        vars(record).update(named)
    else:
        raise Unreadable(f"holds a {node['class']} without all its parts.")
    str(record)  # its parts are of types that can be shown, or this raises an error
    return record


def _record_class(name: str) -> tuple[Any, tuple[str, ...]]:
    """The class, and the names of what one of it consists of."""
    module, _, listed = _RECORDS[name].partition(" ")
    found = getattr(import_module(module), name)
    if is_dataclass(found):
        return found, tuple(f.name for f in fields(found))
    return found, getattr(found, "_fields", tuple(listed.split()))


@encodes("scipy.rv_frozen", "scipy.rv_continuous_frozen")
def _distribution(value: Any, write: Writer, place: str) -> Node:
    parts = {"args": write(value.args, place), "kwds": write(value.kwds, place)}
    return {"type": "distribution", "name": value.dist.name, **parts}


@decodes("distribution")
def _(node: dict, read: Reader) -> Any:
    from scipy import stats

    family = getattr(stats, str(node["name"]), None)
    if not isinstance(family, stats.rv_continuous):
        raise Unreadable(f"holds a distribution {node['name']!r}, which is unknown.")
    return family(*read(node["args"]), **read(node["kwds"]))


@decodes("report")  # as mercer 0.1 wrote them
def _(node: dict, read: Reader) -> Any:
    return _record_class("DualReport")[0](**{n: read(v) for n, v in node["fields"].items()})


@encodes("mercer.Calibration")
def _calibration(value: Any, write: Writer, place: str) -> Node:
    named = {name: write(getattr(value, name), f"{place}.{name}") for name in ("slopes", "offsets")}
    return {"type": "calibration", **named}


@decodes("calibration")
def _(node: dict, read: Reader) -> Any:
    from ...models.calibration import Calibration

    found = Calibration()
    if not {"slopes"} <= node.keys() - {"type"} <= {"slopes", "offsets"}:
        raise Unreadable("holds a calibration without all its parts.")
    found.slopes = read(node["slopes"])
    # files of mercer 0.1 may be without offsets: their probabilities were 1/2 at f = 0
    found.offsets = read(node["offsets"]) if "offsets" in node else np.zeros(1)
    if not all(is_finite(value) for value in (found.slopes, found.offsets)):
        raise Unreadable("holds a calibration whose numbers are not finite.")
    return found


@encodes(ESTIMATOR)
def _estimator(value: Any, write: Writer, place: str) -> Node:
    name = type(value).__name__
    if _shipped(name) is not type(value):
        raise ValueError(f"cannot save {place}: {name} is not one of mercer's own estimators.")
    params = value.get_params(deep=False)
    getattr(value, "_before_saving", lambda: None)()
    state = {n: getattr(value, n) for n in value.saved_state if hasattr(value, n)}
    return {
        "type": "estimator",
        "class": name,
        "params": {n: write(v, f"{place}.{n}") for n, v in params.items()},
        "state": {n: write(v, f"{place}.{n}") for n, v in state.items()},
    }


@decodes("estimator")
def _(node: dict, read: Reader) -> Any:
    found = _shipped(node["class"])
    known = getattr(found, "saved_state", None)
    if found is None or known is None:
        raise Unreadable(f"holds a {node['class']!r}, which is not an estimator of this version.")
    former = getattr(found, "former_params", ())
    params = {name: value for name, value in node["params"].items() if name not in former}
    model = found(**{name: read(value) for name, value in params.items()})
    for name, value in node["state"].items():
        if name not in known:
            raise Unreadable(f"gives {node['class']} a {name!r}, which it does not have.")
        setattr(model, name, read(value))
    if node["state"]:
        check_state(model)
    return model


@encodes(*(f"sklearn.{name}" for name in _SPLITTERS))
def _splitter(value: Any, write: Writer, place: str) -> Node:
    names = [n for n in signature(type(value)).parameters if hasattr(value, n)]
    named = {n: write(getattr(value, n), f"{place}.{n}") for n in names}
    return {"type": "splitter", "class": type(value).__name__, "params": named}


@decodes("splitter")
def _(node: dict, read: Reader) -> Any:
    from sklearn import model_selection

    if node["class"] not in _SPLITTERS:
        raise Unreadable(f"holds a splitter {node['class']!r}, which this version does not know.")
    found = getattr(model_selection, node["class"])
    return found(**{name: read(value) for name, value in node["params"].items()})


def _shipped(name: str) -> Any:
    """A class of mercer by its public name: the file picks from our list, it imports nothing."""
    import mercer

    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    return getattr(mercer, name) if name in mercer.__all__ else None


def _params_class(name: str) -> type[Params] | None:
    """Ours first, then what the running program has defined; no base class of ours."""
    found = _shipped(name) or Params.registry.get(name)
    if not isinstance(found, type) or not issubclass(found, Params) or isabstract(found):
        return None
    ours = found.__module__.partition(".")[0] == "mercer"
    return None if ours and _shipped(name) is not found else found

"""What a fitted model from a file must fulfil before it is handed out.

Shapes are written down once per class, for the class and all that derive from it: a letter is a
size, the same within a model wherever it occurs; one with a question mark may be absent, and then
is absent everywhere; one with a dot is that of a view. After that the model must predict one of its
own samples, which reveals what shapes do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import length, take
from .codecs.kinds import Unreadable

_REGRESSION = {"X_fit_": "n", "dual_coef_": "n t?"}
_SHAPES: dict[str, dict[str, str]] = {
    "KernelRidge": {**_REGRESSION, "_axes": "n r", "_spectrum": "r"},
    "DensityEstimate": {"X_fit_": "n", "dual_coef_": "n", "leave_one_out_": "n"},
    "KernelFisherDiscriminant": {
        "X_fit_": "n",
        "dual_coef_": "n q",
        "ratios_": "q",
        "means_": "k q",
        "_centre": "q",
        "priors_": "k",
        "classes_": "k",
    },
    "KernelICA": {"components_": "q d", "mixing_": "d q", "mean_": "d"},
    "LevelSetTree": {"labels_": "n", "_branches": "four b", "_node": "n"},
    "SequenceLabeller": {
        "X_fit_": "n",
        "dual_coef_": "n k",
        "classes_": "k",
        "transitions_": "k k",
        "first_": "k",
    },
    "KernelRanker": {"X_fit_": "n", "dual_coef_": "n"},
    "LearnedPreImage": {"X_fit_": "n", "dual_coef_": "n t", "mean_": "t"},
    "GaussianProcessRegressor": {
        "X_train_": "n",
        "y_train_": "n t?",
        "landmarks_": "n",
        "_roots": "s n n",
        "dual_coef_": "n t?",
        "_noise": "n s?",
    },
    "GaussianProcessClassifier": {"X_train_": "n", "_codes": "n", "classes_": "k"},
    "SemiparametricModel": {"coef_": "n t?", "null_coef_": "b t?", "_held_out": "n t?"},
    "SemiparametricRidge": {"X_fit_": "n"},
    "SplineModel": {"points_": "n d", "center_": "d"},
    "RepresenterMachine": {**_REGRESSION, "intercept_": "t?"},
    "SparseKernelMachine": {"support_": "n"},
    "MultipleKernelMachine": {"weights_": "k", "scales_": "k"},
    "LeastSquaresMachine": {**_REGRESSION, "intercept_": "t?"},
    "OnlineModel": {**_REGRESSION, "intercept_": "t?"},
    "MultiOutputKernelRidge": {**_REGRESSION, "_axes": "n r", "_spectrum": "r"},
    "ConditionalEmbedding": {"X_fit_": "n", "Y_fit_": "n", "dual_coef_": "n t?"},
    "KernelPCA": {
        "X_fit_": "n",
        "eigenvectors_": "n q",
        "eigenvalues_": "q",
        "X_transformed_fit_": "i q",  # of all samples, where X_fit_ are landmarks
        "dual_coef_": "i d",
    },
    "KernelKMeans": {**_REGRESSION, "_norms": "t", "labels_": "m"},
    "SpectralClustering": {"_degree": "n"},
    "SupportVectorMachine": {
        "support_": "n",
        "n_support_": "g",
        "dual_coef_": "m n",
        "intercept_": "p",
        "_few_coef": "z q",
    },
    "OneClassSVM": {"offset_": "p"},
    "ConformalRegressor": {"residuals_": "n", "_fold": "n"},
    "KernelCCA": {"points_": "each n.", "dual_coef_": "each n. q", "offsets_": "each q"},
    "FunctionalCCA": {
        "weights_": "each d. q",
        "means_": "each d.",
        "knots_": "each d.",
    },
    "CCA": {
        "weights_": "each d. q",
        "means_": "each d.",
        "loadings_": "each d. q",
        "_scales": "each d.",
    },
}
_SAMPLES = ("X_fit_", "X_train_", "landmarks_", "support_vectors_", "points_")
_MODELS = ("estimator_", "ridge_", "machine_")  # inside others, which have no samples of their own
_ANSWERS = ("predict_proba", "predict", "decision_function", "transform")


def check_state(model: Any) -> None:
    """Make the rest of a model from its state, and refuse one that does not fit together."""
    kind = type(model).__name__
    sizes: dict[str, int | None] = {}
    for base in type(model).__mro__:
        for name, shape in _SHAPES.get(base.__name__, {}).items():
            value = getattr(model, name, None)
            if value is None:
                continue
            parts: list[Any] = [("", value)]
            if shape.startswith("each "):
                several = isinstance(value, list | tuple) and len(value) > 0
                if not several or sizes.setdefault("each", len(value)) != len(value):
                    raise Unreadable(f"holds a {kind} whose {name} are not one for each view.")
                parts = list(enumerate(value))
            for view, part in parts:
                letters = shape.removeprefix("each ").replace(".", str(view)).split()
                if not _fits(name, part, letters, sizes):
                    raise Unreadable(
                        f"holds a {kind} whose {name} is not finite, or does not fit the rest."
                    )
    _check_counts(model)
    model._restore()
    _predict_one(model)


def is_finite(value: Any) -> bool:
    """Is this a finite number, or an array of such?"""
    array = np.asarray(value)
    return array.dtype.kind in "biuf" and bool(np.all(np.isfinite(array)))


def _fits(name: str, value: Any, letters: list[str], sizes: dict[str, int | None]) -> bool:
    """Finite numbers of this shape? Of samples, which may be anything, only their number counts."""
    samples = name in (*_SAMPLES, "Y_fit_")
    found: list[int | None] = [length(value)] if samples else list(np.shape(value))
    letters = letters[:1] if samples else letters
    if letters[-1].endswith("?") and len(found) == len(letters) - 1:
        found.append(None)
    if name == "leave_one_out_":  # logarithms, also of 0
        value = np.where(np.equal(value, -np.inf), 0.0, value)
    if len(found) != len(letters) or not (samples or name == "classes_" or is_finite(value)):
        return False
    pairs = zip(letters, found, strict=True)
    return all(sizes.setdefault(letter, size) == size for letter, size in pairs)


def _check_counts(model: Any) -> None:
    """Numbers that say how many there are of something, or where it is."""
    width = getattr(model, "n_features_in_", None)
    if width is not None and not isinstance(width, int):
        raise Unreadable("contains a model with an invalid number of features.")
    seen = getattr(model, "n_samples_seen_", None)
    streamed = getattr(model, "_stream", None) is not None  # its landmarks may be more
    if (
        seen is not None
        and hasattr(model, "X_fit_")
        and not (streamed or seen >= length(model.X_fit_))
    ):
        raise Unreadable("holds a model with more samples than it was fitted to.")
    support = getattr(model, "n_support_", None)
    if hasattr(model, "_passes"):  # functions of a few samples, which are no support vectors
        k = len(getattr(model, "classes_", (0, 1)))
        pairs = len(model.dual_coef_) == len(model.intercept_) == k * (k - 1) // 2
        if not pairs or model.dual_coef_.shape[1] != length(model.support_vectors_):
            raise Unreadable("contains a model whose functions do not match its samples.")
    elif support is not None:
        total = len(model.support_)
        if model.kernel == "precomputed":  # support_ are columns of K
            known = bool(np.all((model.support_ >= 0) & (model.support_ < model.n_features_in_)))
        else:
            known = length(model.support_vectors_) == total
        k = len(support) if hasattr(model, "classes_") else 2  # then there is one function
        rows, machines = (k, k) if getattr(model, "_each", False) else (k - 1, k * (k - 1) // 2)
        functions = len(model.dual_coef_) == rows and len(model.intercept_) == machines
        known = known and functions and k == len(getattr(model, "classes_", (0, 1)))
        if np.min(support) < 0 or np.sum(support) != total or not known:
            raise Unreadable("contains a model whose number of support vectors is inconsistent.")
    codes = getattr(model, "_codes", None)
    if codes is not None and (np.min(codes) < 0 or np.max(codes) >= len(model.classes_)):
        raise Unreadable("contains a classifier with labels that are not among its classes.")


def _predict_one(model: Any) -> None:
    if hasattr(model, "members_") or hasattr(model, "machines_"):
        return  # which have predicted rows of their own, or are parts of those
    inner = next((getattr(model, n) for n in _MODELS if n in model.saved_state), model)
    if not any(hasattr(inner, name) for name in getattr(inner, "saved_state", ())):
        raise Unreadable(f"holds a {type(model).__name__} without the model inside it.")
    found = [s for s in (getattr(inner, name, None) for name in _SAMPLES) if s is not None]
    if not found or getattr(inner, "kernel", None) == "precomputed" or not length(found[0]):
        return
    first = slice(0, 1)
    views = hasattr(model, "offsets_")
    one = [take(view, first) for view in found[0]] if views else take(found[0], first)
    for name in _ANSWERS:
        if hasattr(model, name):
            answer = getattr(model, name)(one)
            if not all(length(part) == 1 for part in (answer if views else [answer])):
                raise Unreadable(f"holds a {type(model).__name__} whose {name} does not work.")

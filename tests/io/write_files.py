"""Write one fitted model of each class: ``python tests/io/write_files.py``.

Files that exist are left as they are: they are what an earlier version wrote. Beside the models
lies what they answer, in ``answers-VERSION.npz``, to data of ``test_classes.py``.
"""

import importlib.util
from pathlib import Path

import numpy as np

import mercer

FILES = Path(__file__).with_name("files")


def zoo():
    """The module with a model of each class."""
    spec = importlib.util.spec_from_file_location(
        "classes", Path(__file__).with_name("test_classes.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fitted(classes):
    """(name, model, data that it is asked about) of every class."""
    for name, model in (classes.REGRESSION | classes.CLASSIFICATION).items():
        data = classes.X[:, :1] if name == "SmoothingSpline" else classes.X
        yield (
            name,
            model.fit(data, classes.Y if name in classes.REGRESSION else classes.CODES),
            data,
        )
    for name, make in classes.OTHERS.items():
        yield name, make(), classes.VIEWS if "CCA" in name else classes.X


def flat(answers):
    """Answers as named arrays: a method may give one for each view."""
    found = {}
    for name, value in answers.items():
        several = value if isinstance(value, tuple | list) else [value]
        found |= {f"{name}.{i}": np.asarray(v) for i, v in enumerate(several)}
    return found


def main():
    classes, version = zoo(), ".".join(mercer.__version__.split(".")[:2])
    path, noted = FILES / f"answers-{version}.npz", {}
    if path.exists():
        with np.load(path) as before:
            noted = dict(before)
    for name, model, data in fitted(classes):
        file = FILES / f"{name}-{version}.zip"
        if not file.exists():
            mercer.save(model, file)
            for what, value in flat(classes.answers(model, data)).items():
                noted[f"{name}.{what}"] = value
    np.savez_compressed(path, **noted)


if __name__ == "__main__":
    main()

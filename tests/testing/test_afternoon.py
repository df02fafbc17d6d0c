"""A stranger's afternoon: what the pages on extending the library show, put to use.

The code is taken from the pages themselves, as somebody would who follows them.
"""

import doctest
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    GaussianProcessRegressor,
    KernelMachine,
    KernelPCA,
    KernelRidge,
    Linear,
    Matern,
    Plan,
    RationalQuadratic,
    Spectrum,
    independence_test,
    two_sample_test,
)
from mercer.exceptions import DenseWarning
from mercer.testing import check_kernel, check_statistic

ROOT = Path(__file__).resolve().parents[2]


def shown(page, until):
    """The code of a page up to the line that begins with some text."""
    text = (ROOT / "docs" / "guide" / "extending" / f"{page}.rst").read_text(encoding="utf-8")
    source = ""
    for example in doctest.DocTestParser().get_examples(text):
        if example.source.startswith(until):
            return source
        source += example.source
    raise AssertionError(f"{page}.rst does not say {until!r}")


def names(page, until):
    found = {"__name__": f"stranger_{page}"}
    exec(shown(page, until), found)
    return found


# ---- a kernel ------------------------------------------------------------------------------
def test_a_kernel(rng):
    Cauchy = names("kernel", "from mercer.testing")["Cauchy"]
    X = rng.standard_normal((40, 3))
    same = RationalQuadratic(alpha=1.0, lengthscale=0.8 / np.sqrt(2))
    np.testing.assert_allclose(Cauchy(0.8)(X), same(X), rtol=1e-12)
    check_kernel(Cauchy(0.8).on([0, 2]) * Linear(), X)
    found = GaussianProcessRegressor(1 * Cauchy() + 0.1).fit(X, np.sin(X[:, 0]))
    usual = GaussianProcessRegressor(1 * RationalQuadratic(alpha=1.0) + 0.1)
    assert found.score(X, np.sin(X[:, 0])) > 0.9
    assert usual.kernel.properties.universal.value == found.kernel_.properties.universal.value
    search = GridSearchCV(SVC(kernel=Cauchy()), {"kernel__lengthscale": [0.1, 1.0]}, cv=2)
    assert search.fit(X, X[:, 0] > 0).best_score_ > 0.6


# ---- a kind of data ------------------------------------------------------------------------
USE = """
import sys
from collections import Counter
import numpy as np
from mercer import KernelPCA, KernelRidge, save, two_sample_test
from baskets import MinMax

rng = np.random.default_rng(0)
letters = np.array(list("abcdefgh"))
X = [Counter(rng.choice(letters, rng.integers(1, 9)).tolist()) for _ in range(40)]
y = np.array([x.total() for x in X])
model = KernelRidge(0.01, kernel=MinMax()).fit(X, y)
assert model.score(X, y) > 0.8
assert KernelPCA(2, kernel=MinMax()).fit_transform(X).shape == (40, 2)
assert two_sample_test(X[:20], X[20:], MinMax(), rng=0, n_permutations=99).pvalue > 0.01
save(model, sys.argv[1])
np.save(sys.argv[1] + ".npy", model.predict(X))
"""
AGAIN = """
import sys
import numpy as np
import baskets
from mercer import load

model = load(sys.argv[1])
wanted = np.load(sys.argv[1] + ".npy")
np.testing.assert_allclose(model.predict(model.X_fit_), wanted, atol=1e-12)
"""
ELSEWHERE = """
import sys
from mercer import load

load(sys.argv[1])
"""


def test_a_kind_of_data_is_one_file(tmp_path):
    (tmp_path / "baskets.py").write_text(shown("kind", "print("), encoding="utf-8")
    path = str(tmp_path / "model.mercer")
    where = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    def run(code):
        return subprocess.run(
            [sys.executable, "-c", code, path],
            env={**os.environ, "PYTHONPATH": where, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )

    for code in (USE, AGAIN):
        done = run(code)
        assert done.returncode == 0, done.stderr
    done = run(ELSEWHERE)
    assert "FileFormatError" in done.stderr
    assert "import the module that" in done.stderr


# ---- a loss --------------------------------------------------------------------------------
def test_a_loss(rng):
    Gamma = names("loss", "rng =")["Gamma"]
    X = rng.standard_normal((80, 3))
    y = np.exp(X @ [0.5, -0.3, 0.1] + 1) * rng.gamma(5.0, 0.2, 80)
    found = KernelMachine(Linear(), Gamma(), alpha=80 * 0.01, tol=1e-9).fit(X, y)
    usual = GammaRegressor(alpha=0.01, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(found.predict(X), usual.predict(X), rtol=1e-4)
    weights = rng.integers(1, 3, 80)
    weighted = KernelMachine(Linear(), Gamma(), tol=1e-9).fit(X, y, weights)
    twice = np.repeat(np.arange(80), weights)
    repeated = KernelMachine(Linear(), Gamma(), tol=1e-9).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5)


# ---- a Gram operator -----------------------------------------------------------------------
def test_a_gram_operator(rng):
    plan = Plan(storage=names("gram", "from mercer.testing")["ToeplitzGram"])
    x = np.linspace(0, 20, 600)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(600)
    new = rng.uniform(0, 20, (20, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DenseWarning)
        found = KernelRidge(0.1, kernel=Matern(0.5), plan=plan).fit(x, y)
        parts = KernelPCA(3, kernel=Matern(0.5), plan=plan).fit(x)
    usual = KernelRidge(0.1, kernel=Matern(0.5)).fit(x, y)
    np.testing.assert_allclose(found.predict(new), usual.predict(new), atol=1e-6)
    dense = KernelPCA(3, kernel=Matern(0.5)).fit(x)
    np.testing.assert_allclose(parts.eigenvalues_, dense.eigenvalues_, rtol=1e-6)
    machine = SVC(kernel=Matern(0.5), plan=plan).fit(x, y > 0)
    plain = SVC(kernel=Matern(0.5)).fit(x, y > 0)
    np.testing.assert_allclose(machine.decision_function(new), plain.decision_function(new))
    kept = machine.gram_.subset(np.array([0, 5, 6]))  # no grid any more
    np.testing.assert_allclose(kept @ np.ones(3), kept.to_dense().sum(axis=1), rtol=1e-12)
    assert len(machine.gram_.subset(np.array([2]))) == 1


# ---- a solver ------------------------------------------------------------------------------
def test_a_solver(rng):
    solver = names("solver", "from mercer.testing")["plain_cg"]
    words = ["".join(word) for word in rng.choice(list("abc"), (60, 8))]
    Y, weights = rng.standard_normal((60, 2)), rng.uniform(0.5, 2, 60)
    found = KernelRidge(0.5, kernel=Spectrum(2), solver=solver, tol=1e-10)
    usual = KernelRidge(0.5, kernel=Spectrum(2))
    np.testing.assert_allclose(
        found.fit(words, Y, weights).predict(words),
        usual.fit(words, Y, weights).predict(words),
        atol=1e-6,
    )


# ---- null distributions and statistics -----------------------------------------------------
def test_a_null_distribution(rng):
    """Clusters of one observation each: the wild bootstrap of the library, but for a factor."""
    clustered = names("null", "from mercer import")["clustered"]
    X, Y = rng.standard_normal((60, 1)), rng.standard_normal((60, 1)) + 0.4
    options = {"rng": 0, "n_permutations": 1999}
    found = two_sample_test(
        X, Y, Matern(), null=clustered, statistic="v", blocks=np.arange(120), **options
    )
    usual = two_sample_test(X, Y, Matern(), null="wild", **options)
    assert found.statistic == pytest.approx(usual.statistic)
    assert found.pvalue == pytest.approx(usual.pvalue, abs=0.03)


def test_statistics(rng):
    found = names("statistic", "from mercer import independence_test")
    neighbours = found["neighbours"]
    X = rng.standard_normal((30, 2))
    K, labels = Matern()(X), np.repeat([0, 1], 15)
    apart = np.linalg.norm(X[:, None] - X, axis=2) + 1e9 * np.eye(30)
    near = np.argsort(apart, axis=1)[:, :3]
    assert neighbours(K.copy(), labels) == np.mean([np.mean(labels[near[i]] == labels[i])
                                                    for i in range(30)])  # fmt: skip
    check_statistic(found["dependence"], of="variables", n_trials=50)
    x = rng.standard_normal(40)
    assert independence_test(
        x, x**2, kernels=Matern(), statistic=found["dependence"], rng=0, n_permutations=99
    ).pvalue < 0.05  # fmt: skip

"""The tests that the conditional one is compared with compute what they are said to."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_partial_correlation_is_the_t_test_of_a_regression(rng):
    from benchmarks.conditional import partial_correlation
    from scipy.stats import t as student

    Z = rng.standard_normal((40, 2))
    x = Z[:, 0] + rng.standard_normal(40)
    y = Z[:, 1] + 0.3 * x + rng.standard_normal(40)
    D = np.column_stack([x, np.ones(40), Z])
    c, squares, _, _ = np.linalg.lstsq(D, y, rcond=None)
    error = np.sqrt(squares[0] / 36 * np.linalg.inv(D.T @ D)[0, 0])
    wanted = 2 * student.sf(abs(c[0] / error), 36)
    assert partial_correlation((x, y, Z), 0) == pytest.approx(wanted)


def test_residuals_of_the_reference_are_small_where_z_explains_all(rng):
    from benchmarks.conditional import _residuals, gcm

    z = rng.uniform(-2, 2, (100, 1))
    Y = np.column_stack([np.sin(3 * z[:, 0]), z[:, 0]]) + 0.1 * rng.standard_normal((100, 2))
    assert np.all(_residuals(z, Y).std(axis=0) < 0.15)
    assert gcm((*Y.T, z), 0) > 0.01
    assert gcm((Y[:, 0], Y[:, 1] + Y[:, 0], z), 0) < 1e-4


def test_problems_are_triples_and_the_table_names_them(rng):
    from benchmarks.conditional import markdown
    from benchmarks.conditional_problems import ALTERNATIVES, NULLS

    assert len(NULLS) >= 12
    for draw in (NULLS | ALTERNATIVES).values():
        assert [len(v) for v in draw(30, rng)] == [30, 30, 30]
    key = "|z|, noise .1, n=200"
    assert "| \\|z\\|, noise .1, n=200 | 0.045 (400) |" in markdown({key: {"mercer": [18, 400]}})

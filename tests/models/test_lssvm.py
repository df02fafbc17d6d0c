import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LSSVC, LSSVR, Gaussian


@parametrize_with_checks([LSSVC(gamma=0.1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_is_regression_on_labels():
    X, y = load_iris(return_X_y=True)
    model = LSSVC(C=10, kernel=Gaussian()).fit(X, y)
    for k in range(3):
        f = LSSVR(C=10, kernel=Gaussian()).fit(X, np.where(y == k, 1.0, -1.0)).predict(X)
        np.testing.assert_allclose(model.decision_function(X)[:, k], f, atol=1e-8)
    assert model.score(X, y) > 0.95


def test_class_weights_move_the_boundary(rng):
    X = np.concatenate([rng.normal(0, 1, (180, 1)), rng.normal(1.5, 1, (20, 1))])
    y = np.repeat([0, 1], [180, 20])
    plain = LSSVC(kernel=Gaussian(2.0)).fit(X, y).predict(X).mean()
    balanced = LSSVC(kernel=Gaussian(2.0), class_weight="balanced").fit(X, y).predict(X).mean()
    assert balanced > plain


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="number of classes"):
        LSSVC().fit([[0.0], [1.0]], [1, 1])

r"""
Boundaries of support vector machines
=====================================

A support vector classifier separates classes by a plane in feature space. The kernel decides what
that plane is in the space of the data: a curve of degree four, a sum of bumps, an ellipse, or a
hyperbola. The model
is the same in all pictures below, and :func:`mercer.plots.svm.plot_decision` draws them.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, XOR, Conic, Gaussian, Polynomial
from mercer.plots.svm import plot_decision

rng = np.random.default_rng(4)


def side_by_side(*problems):
    """Pictures of (model, samples, labels), with their legends below."""
    _, panels = plt.subplots(1, len(problems), figsize=(9.6, 4.9), layout="constrained")
    for ax, (model, X, y) in zip(panels, problems, strict=True):
        plot_decision(model, X, y, ax=ax).set_title(repr(model.kernel_))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    plt.show()


# %%
# Polynomial and radial
# ---------------------
# One class lies between the two halves of the other, and no line separates them. A polynomial
# of degree four bends around it; a Gaussian kernel closes the boundary around the data it has seen.

centres = np.array([[-2.2, -2.0], [0.0, 0.0], [2.2, 2.0]])
X = np.repeat(centres, 50, axis=0) + rng.normal(0, 0.8, (150, 2))
y = np.repeat(["outer", "inner", "outer"], 50)

polynomial = SVC(C=1.0, kernel=Polynomial(degree=4, scale=0.1)).fit(X, y)
radial = SVC(C=1.0, kernel=Gaussian(1.5)).fit(X, y)
side_by_side((polynomial, X, y), (radial, X, y))

# %%
# Ellipse and XOR
# ---------------
# Whether a point is inside an ellipse is a linear question about the features of conic sections,
#
# .. math:: \phi(x) = (x_1^2,\, x_2^2,\, \sqrt2 x_1 x_2,\, \sqrt2 x_1,\, \sqrt2 x_2,\, 1).
#
# With the features x₁, x₂ and x₁x₂, the two diagonals of the XOR pattern are on two sides of a
# plane (:ref:`sphx_glr_auto_examples_plot_xor.py` shows it); in the plane of the data the boundary
# is a hyperbola.

E = rng.uniform((-2.5, -2), (3.5, 3), (260, 2))
radius = ((E - [0.5, 0.6]) ** 2 / [4.0, 1.2]).sum(axis=1)
E, radius = E[np.abs(radius - 1) > 0.2], radius[np.abs(radius - 1) > 0.2]
where = np.where(radius < 1, "inside", "outside")
ellipse = SVC(C=1000.0, kernel=Conic()).fit(E, where)

corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]) * 2.0
D = np.repeat(corners, 30, axis=0) + rng.normal(0, 0.65, (120, 2))
signs = np.repeat(["equal signs", "unequal signs"], 60)
xor = SVC(C=1.0, kernel=XOR()).fit(D, signs)
side_by_side((ellipse, E, where), (xor, D, signs))

# %%
# The plane is the equation of the conic: f(x) = <w, phi(x)> + b. The centre is where its gradient
# vanishes, and it is close to the true one, (0.5, 0.6).

k = ellipse.kernel_
w = ellipse.dual_coef_[0] @ k.features(k.prepare(ellipse.support_vectors_))
half_hessian = np.array([[w[0], w[2] / np.sqrt(2)], [w[2] / np.sqrt(2), w[1]]])
print("centre", np.linalg.solve(half_hessian, -w[3:5] / np.sqrt(2)).round(2))

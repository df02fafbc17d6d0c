r"""
A function as a sum of bumps
============================

Functions in the space H_k of a kernel are sums of copies of the kernel, centred at points and
scaled by coefficients:

.. math:: f = \sum_i a_i\, k(x_i, \cdot)

In mercer they are objects: they can be evaluated, added and scaled, and they have a norm.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelRidge, Laplacian, RKHSFunction
from mercer.plots.functions import plot_function

k = Gaussian(lengthscale=1.0)
f = RKHSFunction(k, [-4.0, -2.5, -0.5, 1.0, 3.5, 5.0], [0.6, 0.5, -0.45, 0.8, -0.35, 0.5])
plot_function(f, (-7, 8))
plt.show()

# %%
# The norm bounds the values of a function. By the reproducing property, f(x) is the inner product
# of f with the bump k(x, .), so no value of f can exceed the norm times the square root of k(x, x).

print(f)
print("value      ", f([[1.0]])[0].round(6))
print("<f, k(x,.)>", round(f @ k.at(1.0), 6))
print("bound      ", f.bound([[1.0]])[0].round(6))

# %%
# The same coefficients with a rougher kernel give a rougher function.

rough = RKHSFunction(Laplacian(lengthscale=1.0), f.points, f.coef)
plot_function(rough, (-7, 8))
plt.show()

# %%
# A fitted model is such a function too, with one bump for each training sample.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-5, 5, 12))
y = np.sin(x) + rng.normal(0, 0.1, x.size)
model = KernelRidge(alpha=0.05, kernel=k).fit(x[:, None], y)
ax = plot_function(model.rkhs_function_, (-7, 7))
ax.plot(x, y, "x", color="#228833", markersize=7, markeredgewidth=2, label="data", zorder=6)
ax.legend(frameon=False, ncols=2)
plt.show()

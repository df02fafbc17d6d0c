r"""
Fourier series, the top hat and the theta kernel
================================================

On the circle, a stationary kernel is a Fourier series with non-negative coefficients, and
the norm of its space divides by them:

.. math:: k(x) = \sum_l \hat k_l\, e^{ilx}, \qquad \|f\|^2 = \sum_l |\hat f_l|^2 / \hat k_l

So a function is in the space if its own coefficients decay fast enough compared with those of the
kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FourierSpace, Theta, top_hat

x = np.linspace(-np.pi, np.pi, 1001)
BLUE, RED = "#4477aa", "#cc6677"


def stems(ax, values, title):
    """Coefficients against frequency."""
    ax.axhline(0, color="0.8", linewidth=0.8)
    ax.vlines(range(len(values)), 0, values, color=BLUE)
    ax.plot(values, "o", color=BLUE, markersize=4)
    ax.set(title=title, xlabel="frequency $l$", xticks=range(0, 21, 5))
    ax.spines[["top", "right"]].set_visible(False)


# %%
# The top hat
# -----------
# It jumps, and its coefficients decay like 1/l. Twenty-one terms, the constant and twenty cosines,
# leave ripples that become narrower with more terms, but not lower (Gibbs).

hat = top_hat(1.0, L=20)
fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
left.plot(x, (np.abs(x) < 1).astype(float), color=RED, linewidth=1.5, label="top hat")
left.plot(x, hat(x), color=BLUE, linewidth=1.5, label="21 terms")
left.set(title="the function", xlabel="$x$", ylim=(-0.2, 1.45))
left.legend(frameon=False, loc="upper right")
left.spines[["top", "right"]].set_visible(False)
stems(right, hat.coef.real, r"its coefficients $\hat f_l$")
plt.show()

# %%
# The Jacobi theta kernel
# -----------------------
# This is the Gaussian of the circle. Its coefficients are a Gaussian too, so with 21 terms no
# difference is visible.

theta = Theta(lengthscale=0.4)
H = FourierSpace(theta)
section = H.feature(0.0, L=20)
fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
left.plot(x, theta(x, [0.0])[:, 0], color=RED, linewidth=4, alpha=0.6, label="$k(x, 0)$")
left.plot(x, section(x), color=BLUE, linewidth=1.5, label="21 terms")
left.set(title="the kernel", xlabel="$x$")
left.legend(frameon=False)
left.spines[["top", "right"]].set_visible(False)
stems(right, theta.fourier_coefficients(20), r"its coefficients $\hat k_l$")
plt.show()

print("largest error of 21 terms:", f"{np.abs(theta(x, [0.0])[:, 0] - section(x)).max():.1e}")

# %%
# The top hat is not in the space of the theta kernel
# ---------------------------------------------------
# Each truncated series is in the space, since it has finitely many coefficients. But the norms grow
# without bound, while those of a function in the space converge.

L = np.arange(1, 26)
norms = [H.norm(top_hat(1.0, int(l))) for l in L]
inside = [H.norm(H.function([-1.0, 0.5, 1.2], [1.0, -0.8, 0.6], L=int(l))) for l in L]
fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.semilogy(L, norms, "o-", color=RED, markersize=4, label="top hat")
ax.semilogy(L, inside, "o-", color=BLUE, markersize=4, label="three bumps of the kernel")
ax.set(xlabel="highest frequency kept", ylabel="norm in $H_k$")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

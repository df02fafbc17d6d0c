"""
Programs as trees
=================

A program is a tree: its syntax. Tree kernels compare such trees by the fragments that they have in
common, so names and constants do not matter, only the structure. Here nine small
functions are compared, three for each of three ideas.
"""

import ast

import matplotlib.pyplot as plt

from mercer import (
    SVC,
    ElasticTree,
    PartialTree,
    SubsetTree,
    Subtree,
    fragment_weights,
    node_weights,
)
from mercer.plots.trees import plot_nodes

programs = {
    "recursion": [
        "def f(n): return 1 if n < 2 else n * f(n - 1)",
        "def g(k): return 0 if k < 1 else k + g(k - 2)",
        "def power(a): return 3 if a < 5 else a * power(a - 7)",
    ],
    "loop": [
        "def f(n):\n    t = 1\n    for i in range(n):\n        t = t * i\n    return t",
        "def total(m):\n    s = 0\n    for k in range(m):\n        s = s + k * k\n    return s",
        "def h(z):\n    out = 2\n    for q in range(z):\n        out = out - q\n    return out",
    ],
    "list": [
        "def f(xs): return [x * x for x in xs if x > 0]",
        "def g(values): return [v + 1 for v in values if v < 10]",
        "def h(names): return [n * 2 for n in names if n > 3]",
    ],
}


def tree(node):
    """Nested tuples of the kinds of nodes, without names and constants."""
    return type(node).__name__, *[tree(child) for child in ast.iter_child_nodes(node)]


labels = [idea for idea, codes in programs.items() for _ in codes]
trees = [tree(ast.parse(code).body[0]) for codes in programs.values() for code in codes]

# %%
# Four ways to count
# ------------------
# Complete subtrees must agree down to the leaves; subset trees agree in whole productions; partial
# trees may leave children out; elastic ones may also leave out generations in between.

kernels = [Subtree(), SubsetTree(0.3), PartialTree(0.3, 0.3), ElasticTree(0.1)]
fig, panels = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
for kernel, ax in zip(kernels, panels, strict=True):
    image = ax.imshow(kernel.normalize()(trees), vmin=0, vmax=1, cmap="magma")
    ax.set(title=type(kernel).__name__, xticks=[], yticks=[1, 4, 7])
    ax.set_yticklabels(list(programs) if ax is panels[0] else [])
    for edge in (2.5, 5.5):
        ax.axhline(edge, color="w", lw=1)
        ax.axvline(edge, color="w", lw=1)
fig.colorbar(image, ax=panels, label="similarity")

# %%
# A classifier of trees
# ---------------------
# Every estimator takes trees as they are.

new = tree(ast.parse("def fib(x): return x if x < 2 else fib(x - 1) + fib(x - 2)").body[0])
machine = SVC(SubsetTree(0.3).normalize()).fit(trees, labels)
scores = machine.decision_function([new])[0]
for name, score in zip(machine.classes_, scores, strict=True):
    print(f"{name:10} {score:5.2f}")

# %%
# What the classifier has learned
# -------------------------------
# The decision is a sum over the nodes of a tree: a node contributes the fragments of which it is
# the root. A classifier of recursive functions relies on calls with a difference inside, as in f(n
# - 1), and on a conditional expression that is returned.

one = SVC(SubsetTree(0.3).normalize(), C=10).fit(trees, [idea == "recursion" for idea in labels])
nodes = node_weights(one, new)
ax = plot_nodes(nodes)
decision = sum(node.weight for node in nodes) + one.intercept_[0]
ax.set_title(f"recursion: the nodes add up to {decision:.2f}")
for text, weight in fragment_weights(one, 5):
    print(f"{weight:5.2f}  {text}")

plt.show()

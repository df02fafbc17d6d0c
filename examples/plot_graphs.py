"""
Graphs, and nodes of a graph
============================

Kernels between graphs count what two of them share: neighbourhoods, shortest paths, small
subgraphs. Kernels between the nodes of one graph say how well something flows from one node to
another.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from mercer import SVC, Diffusion, Graphlet, KernelRidge, ShortestPath, WeisfeilerLehman

# %%
# Three ways to grow
# ------------------
# Networks of forty nodes: links at random, links that prefer nodes with many links, and links to
# neighbours on a ring with some shortcuts. All have about the same number of links.

grow = {
    "random": lambda i: nx.gnm_random_graph(40, 78, seed=i),
    "preferring": lambda i: nx.barabasi_albert_graph(40, 2, seed=i),
    "small world": lambda i: nx.watts_strogatz_graph(40, 4, 0.1, seed=i),
}
graphs = [make(i) for make in grow.values() for i in range(20)]
kinds = np.repeat(list(grow), 20)

fig, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, i in zip(panels, (0, 20, 40), strict=True):
    nx.draw(graphs[i], nx.spring_layout(graphs[i], seed=1), ax=ax, node_size=18, width=0.5,
            node_color="#4477aa", edge_color="0.6")  # fmt: skip
    ax.set_title(kinds[i])

# %%
# What each kernel sees
# ---------------------
# The three blocks are the three kinds of network. The score is the accuracy on new graphs.

kernels = {
    "neighbourhoods": WeisfeilerLehman(2),
    "shortest paths": ShortestPath(labels=False),
    "subgraphs of 3": Graphlet(3),
}
new = np.arange(60) % 20 >= 12
fig, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, (name, kernel) in zip(panels, kernels.items(), strict=True):
    kernel = kernel.normalize()
    learned = SVC(kernel, C=100).fit([graphs[i] for i in np.flatnonzero(~new)], kinds[~new])
    score = learned.score([graphs[i] for i in np.flatnonzero(new)], kinds[new])
    ax.imshow(kernel(graphs), cmap="cividis")
    ax.set(title=f"{name}: {score:.0%} right", xticks=[], yticks=[])

# %%
# A function on the nodes
# -----------------------
# Two groups of friends, and the opinions of four of them. Diffusion carries opinions along the
# links: ridge regression with that kernel is the smoothest function that agrees with the known
# ones.

club = nx.karate_club_graph()
known, opinion = [0, 1, 32, 33], [1.0, 1.0, -1.0, -1.0]
model = KernelRidge(0.01, kernel=Diffusion(club, beta=0.5)).fit(known, opinion)
values = model.predict(list(club.nodes))

fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
where = nx.spring_layout(club, seed=3)
nodes = nx.draw_networkx_nodes(
    club, where, ax=ax, node_color=values, cmap="RdBu", vmin=-1, vmax=1, node_size=160,
    edgecolors=["k" if n in known else "0.7" for n in club],
)  # fmt: skip
nx.draw_networkx_edges(club, where, ax=ax, width=0.5, edge_color="0.6")
fig.colorbar(nodes, ax=ax, label="opinion; nodes with a black rim are known")
ax.set_axis_off()
plt.show()

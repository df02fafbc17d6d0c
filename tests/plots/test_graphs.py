"""Pictures of graphs."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from mercer import Graph, KernelRidge, NodeWeight, WeisfeilerLehman, node_weights  # noqa: E402
from mercer.plots.graphs import layout, plot_graph  # noqa: E402

RING = Graph([(i, (i + 1) % 6) for i in range(6)], labels=list("cccccn"))


def test_a_ring_is_drawn_as_one():
    """All six edges are of one length, and opposite nodes are two such lengths apart."""
    places = layout(RING)
    sides = np.hypot(*(places - np.roll(places, 1, axis=0)).T)
    across = np.hypot(*(places - np.roll(places, 3, axis=0)).T)
    np.testing.assert_allclose(sides, sides[0], rtol=1e-3)
    np.testing.assert_allclose(across, 2 * sides[0], rtol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_graphs_without_edges(n):
    places = layout(Graph([], nodes=n))
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(3), axis=0)) == n


def test_nodes_edges_and_colours():
    star = Graph([(0, 1), (0, 2)], labels=["C", "O", "O"], edge_labels=["=", "-"])
    nodes = [NodeWeight("C", 1.0, None), NodeWeight("O", -2.0, None), NodeWeight("O", 0.0, None)]
    ax = plot_graph(star, nodes, label=str.lower, lines={"=": 2, "-": 1}.__getitem__)
    assert [text.get_text() for text in ax.texts] == ["c", "o", "o"]
    assert len(ax.lines) == 3
    ax.figure.draw_without_rendering()
    red, _, blue = ax.collections[0].get_facecolor()[:, :3].T
    assert blue[0] > red[0]
    assert red[1] > blue[1]
    assert ax.figure.axes[1].get_ylim() == (-2, 2)


def test_weights_of_a_model_and_axes_of_the_user():
    import matplotlib.pyplot as plt

    path = Graph([(0, 1), (1, 2)], labels=["c", "c", "n"])
    model = KernelRidge(0.1, kernel=WeisfeilerLehman(1)).fit([RING, path], [1.0, -1.0])
    figure, ax = plt.subplots()
    assert plot_graph(RING, node_weights(model, RING), ax, colorbar=False) is ax
    assert figure.axes == [ax]
    plain = Graph([(0, 1)])
    assert [t.get_text() for t in plot_graph(plain, [NodeWeight(None, 0.0, None)] * 2).texts] == [
        "",
        "",
    ]
    plt.close("all")


def test_weights_of_another_graph_are_refused():
    with pytest.raises(ValueError, match="2 weights are given for 6 nodes"):
        plot_graph(RING, [NodeWeight("c", 0.0, None)] * 2)

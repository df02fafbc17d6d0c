"""Pictures of trees."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from mercer import KernelRidge, NodeWeight, SubsetTree, node_weights  # noqa: E402
from mercer.plots.trees import plot_nodes  # noqa: E402

X = ["(S (N dogs) (V bark))", "(S (N cats) (V purr))", "(S (N dogs) (V (A rarely) (B purr)))"]


@pytest.fixture
def nodes():
    model = KernelRidge(0.1, kernel=SubsetTree()).fit(X, [1.0, -1.0, -1.0])
    return node_weights(model, X[2])


def test_every_node_is_drawn_below_its_parent(nodes):
    ax = plot_nodes(nodes, label=str.upper)
    assert [text.get_text() for text in ax.texts] == [node.label.upper() for node in nodes]
    places = np.array([text.get_position() for text in ax.texts])
    for place, node in enumerate(nodes[1:], start=1):
        assert places[place, 1] == places[node.parent, 1] - 1
    assert len(ax.lines) == len(nodes) - 1
    assert places[nodes.index(nodes[1]), 0] < places[0, 0] < places[3, 0]  # N, S, V


def test_labels_do_not_overlap():
    wide = [
        NodeWeight("root", 0.0, None),
        NodeWeight("a rather long label", 0.0, 0),
        NodeWeight("x", 0.0, 1),
        NodeWeight("another long label", 0.0, 0),
        NodeWeight("y", 0.0, 3),
    ]
    ax = plot_nodes(wide)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]), (
        "labels overlap"
    )


def test_colours_tell_the_sign():
    ax = plot_nodes(
        [NodeWeight("a", 1.0, None), NodeWeight("b", -1.0, 0), NodeWeight("c", 0.0, 0)], limit=2
    )
    red, _, blue = zip(*(t.get_bbox_patch().get_facecolor()[:3] for t in ax.texts), strict=True)
    assert blue[0] > red[0]
    assert red[1] > blue[1]
    assert red[2] == pytest.approx(blue[2], abs=0.02)
    bar = ax.figure.axes[1]
    assert bar.get_ylim() == (-2, 2)


def test_a_single_node_and_axes_of_the_user():
    import matplotlib.pyplot as plt

    given = plt.subplots()[1]
    assert plot_nodes([NodeWeight("a", 0.0, None)], given) is given
    assert [text.get_text() for text in given.texts] == ["a"]
    plt.close("all")

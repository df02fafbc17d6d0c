"""How graphs, ours and those of other packages, are written to files."""

from __future__ import annotations

from typing import Any

from ...kinds import Stored, needed
from .graph import Graph

_CLASSES = ("DiGraph", "Graph", "MultiDiGraph", "MultiGraph")


def _of_graph(graph: Graph) -> dict[str, Any]:
    names = ("edges", "labels", "attributes", "edge_labels", "weights", "directed")
    return {"nodes": graph.n_nodes, **{name: getattr(graph, name) for name in names}}


def _graph(**parts: Any) -> Graph:
    try:
        return Graph._literally(**parts)
    except TypeError:
        raise ValueError("a graph with invalid parts") from None


# ---- networkx ------------------------------------------------------------------------------
def _of_networkx(graph: Any) -> dict[str, Any]:
    """Nodes, edges and all that is written on them."""
    directed = {False: "", True: "Di"}[graph.is_directed()]
    name = f"Multi{directed}Graph" if graph.is_multigraph() else f"{directed}Graph"
    edges = graph.edges(data=True, keys=True) if graph.is_multigraph() else graph.edges(data=True)
    return {
        "class": name,
        "graph": dict(graph.graph),
        "nodes": [[v, dict(data)] for v, data in graph.nodes(data=True)],
        "edges": [list(edge) for edge in edges],
    }


def _networkx(graph: dict, nodes: list, edges: list, **names: str) -> Any:
    name = names["class"]
    if name not in _CLASSES:
        raise ValueError(f"a graph of unknown type {name!r}")
    found = getattr(needed("networkx", "graphs"), name)()
    found.graph.update(graph)
    found.add_nodes_from((v, data) for v, data in nodes)
    if not all(u in found and v in found for u, v, *_ in edges):
        raise ValueError("a graph with an edge to a node that it does not have")
    found.add_edges_from(edges)
    return found


# ---- igraph ---------------------------------------------------------------------------------
def _of_igraph(graph: Any) -> dict[str, Any]:
    return {
        "nodes": graph.vcount(),
        "edges": [list(edge) for edge in graph.get_edgelist()],
        "directed": graph.is_directed(),
        "graph": {name: graph[name] for name in graph.attributes()},
        "vs": {name: graph.vs[name] for name in graph.vs.attributes()},
        "es": {name: graph.es[name] for name in graph.es.attributes()},
    }


def _igraph(nodes: int, edges: list, directed: bool, graph: dict, vs: dict, es: dict) -> Any:
    if not all(0 <= v < nodes for edge in edges for v in edge):
        raise ValueError("a graph with an edge to a node that it does not have")
    counts = [len(values) == nodes for values in vs.values()]
    counts += [len(values) == len(edges) for values in es.values()]
    if not all(counts):
        raise ValueError("a graph with more or fewer attributes than nodes and edges")
    return needed("igraph", "graphs").Graph(
        n=nodes,
        edges=edges,
        directed=directed,
        graph_attrs=graph,
        vertex_attrs=vs,
        edge_attrs=es,
    )


STORED = (
    Stored("mercer_graph", ("mercer.Graph",), _of_graph, _graph),
    Stored("graph", tuple(f"networkx.{name}" for name in _CLASSES), _of_networkx, _networkx),
    Stored("igraph", ("igraph.Graph",), _of_igraph, _igraph),
)

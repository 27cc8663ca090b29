"""Graphs of PyTorch Geometric, by stand-ins with the attributes that are read; the package is not installed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import nlil
from data_cases import rows
from nlil.errors import DataError


class Data(SimpleNamespace):
    """Stands in for torch_geometric.data.Data, which can also be iterated."""

    def __iter__(self):
        return iter(vars(self).items())


class HeteroData:
    """Stands in for torch_geometric.data.HeteroData: data[type].num_nodes, and attributes that end in _dict."""

    def __init__(self, num_nodes, edges):
        self._nodes = {kind: SimpleNamespace(num_nodes=count) for kind, count in num_nodes.items()}
        self.edge_types, self.edge_index_dict = list(edges), {k: e for k, e in edges.items() if e is not None}

    node_types = property(lambda self: list(self._nodes))

    def __getitem__(self, kind):
        return self._nodes[kind]

    def __iter__(self):
        return iter(self._nodes)


EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])
CITED = {
    ("author", "writes", "paper"): torch.tensor([[0, 1, 1], [0, 0, 2]]),
    ("paper", "cites", "paper"): torch.tensor([[2], [0]]),
}


def test_hetero_data():
    kb = nlil.KnowledgeBase.from_pyg(HeteroData({"author": 2, "paper": 4, "venue": None}, CITED))
    nodes = {("author_0", "author"), ("author_1", "author"), *((f"paper_{i}", "paper") for i in range(4))}
    edges = {("author_0", "writes", "paper_0"), ("author_1", "writes", "paper_0"), ("author_1", "writes", "paper_2")}
    assert rows(kb) == nodes | edges | {("paper_2", "cites", "paper_0")}


def test_nodes_that_only_edges_know():
    kb = nlil.KnowledgeBase.from_pyg(HeteroData({"author": None}, CITED))
    assert {row[0] for row in rows(kb) if row[1:] == ("paper",)} == {"paper_0", "paper_1", "paper_2"}


def test_data_by_types_of_edges():
    found = {("0", "5", "1"), ("1", "5", "2"), ("2", "7", "0")}
    types = torch.tensor([5, 5, 7])
    assert rows(nlil.KnowledgeBase.from_pyg(Data(edge_index=EDGES, edge_type=types))) == found
    assert rows(nlil.KnowledgeBase.from_pyg(Data(edge_index=EDGES, edge_attr=types[:, None], edge_type=None))) == found
    plain = {(a, "edge", b) for a, _, b in found}
    assert rows(nlil.KnowledgeBase.from_pyg(Data(edge_index=EDGES.numpy(), edge_attr=np.ones((3, 2))))) == plain
    kb = nlil.KnowledgeBase.from_pyg(Data(edge_index=EDGES, num_nodes=9))
    assert rows(kb) == plain
    assert list(kb.entities) == list("012345678")


def test_learn_takes_both():
    ring = torch.arange(12)
    edges = torch.stack((torch.cat((ring, (ring + 1) % 12)), torch.cat(((ring + 1) % 12, ring))))
    data = Data(edge_index=edges, edge_type=torch.arange(24) // 12)
    model = nlil.learn(data, search="count")
    assert model.predict("1(3, ?)")[0].entity == "2"
    hetero = HeteroData({"a": 12}, {("a", "next", "a"): edges[:, :12], ("a", "before", "a"): edges[:, 12:]})
    assert nlil.learn(hetero, search="count").predict("before(a_3, ?)")[0].entity == "a_2"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (Data(edge_index=torch.zeros(3, 2, dtype=int)), r"edge_index: expected whole numbers of shape \(2, edges\)"),
        (Data(edge_index=EDGES.float()), "got float32"),
        (Data(edge_index=EDGES - 1), "expected numbers of nodes from 0, got -1 to 1"),
        (Data(edge_index=None), "edge_index: expected whole numbers"),
        (Data(edge_index=EDGES[:, :0]), "expected a graph with edges"),
        (Data(edge_index=EDGES, edge_type=torch.zeros(2, dtype=int)), "one type for each of 3 edges, got 2"),
        (Data(edge_index=EDGES, edge_type=torch.zeros(3)), "edge_type: expected one whole number for each edge"),
        (HeteroData({}, {("a", "p", "b"): None}), "expected an edge_index, got none"),
    ],
)
def test_refused(data, said):
    with pytest.raises(DataError, match=said):
        nlil.KnowledgeBase.from_pyg(data)

"""Molecules of the study: what is read from SMILES strings, and what predictions are made of."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def read(text):
    from benchmarks.studies.smiles import read_smiles

    return read_smiles(text)


@pytest.mark.parametrize(
    ("text", "formula", "rings", "mass"),
    [
        ("C", "C1 H4", 0, 16.04),
        ("CCO", "C2 H6 O1", 0, 46.07),
        ("C#N", "C1 H1 N1", 0, 27.03),
        ("CC(C)(C)Cl", "C4 Cl1 H9", 0, 92.57),
        ("c1ccccc1", "C6 H6", 1, 78.11),
        ("C1=CC=CC=C1", "C6 H6", 1, 78.11),
        ("c1ccc2ccccc2c1", "C10 H8", 2, 128.17),
        ("c1ccccc1-c2ccccc2", "C12 H10", 2, 154.21),
        ("[nH]1cccc1", "C4 H5 N1", 1, 67.09),
        ("CC(=O)Oc1ccccc1C(=O)O", "C9 H8 O4", 1, 180.16),
        ("Cn1cnc2n(C)c(=O)n(C)c(=O)c12", "C8 H10 N4 O2", 2, 194.19),
        ("C[N+](=O)[O-]", "C1 H3 N1 O2", 0, 61.04),
        ("N[C@@H](C)C(=O)O", "C3 H7 N1 O2", 0, 89.09),
        (r"F/C=C/F", "C2 F2 H2", 0, 64.03),
        ("CS(=O)(=O)C", "C2 H6 O2 S1", 0, 94.13),
        ("C%12CCCC%12", "C5 H10", 1, 70.13),
        ("[NH4+].[OH-]", "H5 N1 O1", 0, 35.05),
    ],
)
def test_formula_rings_and_mass(text, formula, rings, mass):
    from benchmarks.studies.smiles import descriptors

    molecule = read(text)
    symbols = [atom.symbol for atom in molecule.atoms]
    counts = {symbol: symbols.count(symbol) for symbol in symbols}
    counts["H"] = sum(atom.hydrogens for atom in molecule.atoms)
    assert " ".join(f"{symbol}{n}" for symbol, n in sorted(counts.items())) == formula
    assert molecule.n_rings == rings
    assert descriptors(molecule)["mass"] == pytest.approx(mass, abs=0.02)


def test_graphs_have_atoms_and_bonds_as_labels():
    graph = read("CC(=O)[O-]").graph
    assert graph.labels.tolist() == ["C", "C", "O", "O-"]
    assert graph.edges.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert graph.edge_labels.tolist() == ["-", "=", "-"]
    assert read("C").graph.n_edges == 0


def test_bonds_between_aromatic_rings_are_single():
    """Rings of biphenyl are joined by a bond that is in no ring, written or not."""
    plain, written = (read(text).graph for text in ("c1ccccc1c1ccccc1", "c1ccccc1-c1ccccc1"))
    assert plain == written
    assert sorted(plain.edge_labels.tolist()) == ["-"] + 12 * [":"]


def test_one_molecule_in_several_spellings():
    """Different strings of a molecule are isomorphic graphs."""
    from mercer import WeisfeilerLehman

    same = ["CC(=O)Oc1ccccc1C(=O)O", "OC(=O)c1ccccc1OC(C)=O", "O=C(O)c1c(OC(=O)C)cccc1"]
    K = WeisfeilerLehman(5)([read(text).graph for text in same])
    np.testing.assert_array_equal(K, K[0, 0])


@pytest.mark.parametrize("text", ["C1CC", "C(C", "CC)", "1CC", "CX", "[C@@@Q]", "C?"])
def test_what_is_no_molecule(text):
    with pytest.raises(ValueError, match=r"SMILES|ring|branch"):
        read(text)


def test_descriptors():
    from benchmarks.studies.smiles import descriptors

    found = descriptors(read("CC(=O)Nc1ccc(O)cc1"))
    del found["mass"]
    counts = {"carbons": 8, "polar": 3, "donors": 2, "halogens": 0, "rings": 1}
    assert found == {**counts, "rotatable": 2, "unsaturated": 1, "aromatic": 6 / 11}


def test_parts_add_up_to_the_prediction():
    """Offset, atoms, places of the string and numbers: nothing of a prediction is left over."""
    from benchmarks.studies.molecules import explained, table, the_sum

    from mercer import GaussianProcessRegressor, node_weights, position_weights

    strings = ["CCO", "CCCO", "c1ccccc1", "CC(=O)O", "Cc1ccccc1", "CCCl", "CCN", "CCCCC"]
    X, y = table(strings), np.array([1.1, 0.6, -1.6, 1.2, -2.2, -1.1, 1.3, -3.2])
    model = GaussianProcessRegressor(the_sum(X), alpha=0.1, optimizer=None).fit(X, y)
    new = table(["CCc1ccc(O)cc1"])
    parts = explained(model, new)
    atoms = sum(node.weight for node in node_weights(model, new))
    places = position_weights(model, new)
    assert parts["graph"] == pytest.approx(atoms, rel=1e-9)
    assert parts["string"] == pytest.approx(places.sum(), rel=1e-9)
    assert parts["offset"] == pytest.approx(y.mean(), rel=1e-9)
    total = y.mean() + atoms + places.sum() + parts["numbers"]
    np.testing.assert_allclose(total, model.predict(new)[0], rtol=1e-9)

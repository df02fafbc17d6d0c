"""Molecules from SMILES strings: a graph of the heavy atoms, and numbers that describe it.

Read are atoms of the organic subset and in brackets (isotope, chirality, hydrogens, charge and
class), aromatic ones in lower case, bonds, branches, rings, and parts that a dot separates. The
directions of bonds at double bonds and the chirality of atoms are read over: a graph does not
have them. No structure is corrected, and aromatic is what is written in lower case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from mercer import Graph

_TOKEN = re.compile(
    r"(?P<bracket>\[[^\]]*\])|(?P<atom>Cl|Br|[BCNOPSFI]|[bcnops])|(?P<bond>[-=#$:/\\])"
    r"|(?P<ring>%\d\d|\d)|(?P<open>\()|(?P<close>\))|(?P<dot>\.)"
)
_BRACKET = re.compile(
    r"\[\d*(?P<symbol>[A-Z][a-z]?|[a-z][a-z]?|\*)@*(?:H(?P<hydrogens>\d*))?"
    r"(?P<charge>\++\d*|-+\d*)?(?::\d+)?\]"
)
_VALENCES = {"B": (3,), "C": (4,), "N": (3, 5), "O": (2,), "P": (3, 5), "S": (2, 4, 6)}
_ORDER = {"-": 1, "=": 2, "#": 3, "$": 4, ":": 1}
_MASS = {"H": 1.008, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999, "F": 18.998}
_MASS |= {"P": 30.974, "S": 32.06, "Cl": 35.45, "Br": 79.904, "I": 126.904}
_HALOGENS = ("F", "Cl", "Br", "I")


@dataclass
class Atom:
    """A heavy atom; hydrogens that are not written are counted when the bonds are known."""

    symbol: str
    aromatic: bool = False
    hydrogens: int | None = None
    charge: int = 0

    @property
    def label(self) -> str:
        """As it is written: lower case if it is aromatic, with its charge."""
        sign = "+" * self.charge if self.charge > 0 else "-" * -self.charge
        return (self.symbol.lower() if self.aromatic else self.symbol) + sign


@dataclass
class Molecule:
    """Atoms, and bonds as triples of two atoms and one of "-", "=", "#", "$" and ":"."""

    atoms: list[Atom] = field(default_factory=list)
    bonds: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        """Atoms are nodes, bonds are edges with labels."""
        labels = [atom.label for atom in self.atoms]
        ends = [bond[:2] for bond in self.bonds]
        kinds = [bond[2] for bond in self.bonds]
        return Graph(ends, labels=labels, edge_labels=kinds if kinds else None)

    @property
    def n_rings(self) -> int:
        """The number of independent rings."""
        parts = len(self.atoms) - len(_spanning(len(self.atoms), self.bonds))
        return len(self.bonds) - len(self.atoms) + parts


def read_smiles(text: str) -> Molecule:
    """The molecule that a SMILES string describes."""
    found = Molecule()
    open_rings: dict[str, tuple[int, str]] = {}
    branches: list[int] = []
    last, bond, place = -1, "", 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"{text!r} is no SMILES string: {text[place]!r} at place {place}.")
        kind, token, place = match.lastgroup, match.group(), match.end()
        if kind in ("atom", "bracket"):
            found.atoms.append(_bracket(token) if kind == "bracket" else _organic(token))
            if last >= 0:
                found.bonds.append((last, len(found.atoms) - 1, bond))
            last, bond = len(found.atoms) - 1, ""
        elif kind == "bond":
            bond = "" if token in "/\\" else token
        elif kind == "open":
            branches.append(last)
        elif kind == "close":
            if not branches:
                raise ValueError(f"{text!r}: a branch ends that has not begun.")
            last = branches.pop()
        elif kind == "dot":
            last, bond = -1, ""
        elif last < 0:
            raise ValueError(f"{text!r}: a ring begins without an atom.")
        elif token in open_rings:
            start, first = open_rings.pop(token)
            found.bonds.append((start, last, bond or first))
            bond = ""
        else:
            open_rings[token], bond = (last, bond), ""
    if open_rings or branches:
        raise ValueError(f"{text!r}: a {'ring' if open_rings else 'branch'} does not end.")
    return _completed(found)


def _organic(token: str) -> Atom:
    return Atom(token.capitalize(), token.islower())


def _bracket(token: str) -> Atom:
    match = _BRACKET.fullmatch(token)
    if match is None:
        raise ValueError(f"{token} is no atom of a SMILES string.")
    symbol, hydrogens, charge = match.group("symbol", "hydrogens", "charge")
    count = 0 if hydrogens is None else int(hydrogens or 1)
    number = (charge or "").lstrip("+-")
    size = int(number) if number else len(charge or "")
    sign = -1 if (charge or "").startswith("-") else 1
    return Atom(symbol.capitalize(), symbol.islower(), count, sign * size)


def _completed(molecule: Molecule) -> Molecule:
    """With bonds that are not written, and the hydrogens of atoms without brackets."""
    atoms, bonds = molecule.atoms, []
    inside = _in_rings(len(atoms), molecule.bonds)
    for (u, v, kind), ring in zip(molecule.bonds, inside, strict=True):
        aromatic = ring and atoms[u].aromatic and atoms[v].aromatic
        bonds.append((u, v, kind or (":" if aromatic else "-")))
    for number, atom in enumerate(atoms):
        if atom.hydrogens is None:
            used = sum(_ORDER[kind] for u, v, kind in bonds if number in (u, v)) + atom.aromatic
            free = [valence - used for valence in _VALENCES.get(atom.symbol, (1,))]
            free = free[:1] if atom.aromatic else free
            atom.hydrogens = next((rest for rest in free if rest >= 0), 0)
    return Molecule(atoms, bonds)


def _in_rings(n: int, bonds: list[tuple[int, int, str]]) -> list[bool]:
    """Is each bond part of a ring? It is if its ends are joined without it, too."""
    whole = len(_spanning(n, bonds))
    return [len(_spanning(n, bonds[:i] + bonds[i + 1 :])) == whole for i in range(len(bonds))]


def _spanning(n: int, bonds: list[tuple[int, int, str]]) -> list[int]:
    """Bonds of a spanning forest, by their places."""
    part, chosen = list(range(n)), []
    for place, (u, v, _) in enumerate(bonds):
        if part[u] != part[v]:
            old, new = part[u], part[v]
            part = [new if p == old else p for p in part]
            chosen.append(place)
    return chosen


# ---- numbers -------------------------------------------------------------------------------------
def descriptors(molecule: Molecule) -> dict[str, float]:
    """Counts of atoms, bonds and rings, the mass, and the share of aromatic atoms."""
    atoms, bonds = molecule.atoms, molecule.bonds
    hydrogens = sum(atom.hydrogens or 0 for atom in atoms)
    ends = np.bincount([end for bond in bonds for end in bond[:2]], minlength=len(atoms))
    rings = _in_rings(len(atoms), bonds)
    turns = [
        kind == "-" and not ring and ends[u] > 1 and ends[v] > 1
        for (u, v, kind), ring in zip(bonds, rings, strict=True)
    ]
    polar = [atom for atom in atoms if atom.symbol in ("N", "O")]
    return {
        "mass": sum(_MASS[atom.symbol] for atom in atoms) + hydrogens * _MASS["H"],
        "carbons": sum(atom.symbol == "C" for atom in atoms),
        "polar": len(polar),
        "donors": sum(atom.hydrogens or 0 for atom in polar),
        "halogens": sum(atom.symbol in _HALOGENS for atom in atoms),
        "rings": molecule.n_rings,
        "rotatable": int(sum(turns)),
        "unsaturated": sum(kind in "=#$" for *_, kind in bonds),
        "aromatic": sum(atom.aromatic for atom in atoms) / len(atoms),
    }

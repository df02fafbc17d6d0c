"""How objects are displayed in notebooks: as cards."""

from __future__ import annotations


class Shown:
    """A base of what has a card (:mod:`mercer.reports.cards`)."""

    def _repr_html_(self) -> str:
        """A card for notebooks; the text of ``repr`` stays what consoles show."""
        from .reports.cards import card_of

        return card_of(self)

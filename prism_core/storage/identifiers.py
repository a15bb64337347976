"""Which units hold which identifiers: reservation codes, user ids, dates, file names."""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Iterable, Sequence, Set

import numpy as np

from prism_core.changes import IntArray
from prism_core.text import literal_form, rough_form


class IdentifierIndex:
    """Identifiers by row and rows by identifier, with the chains they occur in.

    A chain is a row's task, else its session, else the scope as a whole.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows: list[list[int]] = []
        self._chains: list[dict[str, int]] = []
        self._held: list[tuple[int, ...]] = []
        self._forms: list[tuple[str, str]] = []
        self._chain_of: list[str] = []
        self._chain_names: set[str] = set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return 220 * len(self._numbers) + 80 * sum(map(len, self._rows))

    @property
    def chain_count(self) -> int:
        """Number of chains seen."""
        return len(self._chain_names)

    def put(self, row: int, values: Sequence[str], chain: str) -> None:
        """Set the identifiers of the next row, or of an earlier one in place of those it had."""
        self._chain_names.add(chain)
        numbers = tuple(self._number(value) for value in values)
        if row == len(self._held):
            self._held.append(())
            self._chain_of.append(chain)
        known = set(self._held[row])
        for number in known.difference(numbers):
            self._take(row, number)
        self._held[row] = (*(number for number in self._held[row] if number in set(numbers)), *_without(numbers, known))
        for number in _without(numbers, known):
            # A reply may come in after later rows; what is derived from rows must not tell.
            self._chains[number][chain] = min(row, self._chains[number].get(chain, row))
            insort(self._rows[number], row)

    def _take(self, row: int, number: int) -> None:
        """An identifier is in a row no more."""
        self._rows[number].remove(row)
        chain = self._chain_of[row]
        if self._chains[number][chain] == row:
            del self._chains[number][chain]
            others = [other for other in self._rows[number] if self._chain_of[other] == chain]
            if others:
                self._chains[number][chain] = others[0]

    def of_row(self, row: int) -> tuple[int, ...]:
        """Numbers of the identifiers in a row."""
        return self._held[row]

    def forms(self, number: int) -> tuple[str, str]:
        """Literal and rough form of an identifier."""
        return self._forms[number]

    def numbers(self, values: Iterable[str]) -> tuple[int, ...]:
        """Numbers of identifiers that occur in the scope."""
        return tuple(self._numbers[value] for value in values if value in self._numbers)

    def spread(self, number: int) -> tuple[int, IntArray]:
        """In how many chains an identifier occurs, and the rows that hold it."""
        return len(self._chains[number]), np.array(self._rows[number], dtype=np.intp)

    def within(self, value: str, chain: str) -> list[int]:
        """Rows of a chain that hold an identifier, in the order recorded."""
        return [row for row in self.rows(value) if self._chain_of[row] == chain]

    def rows(self, value: str) -> list[int]:
        """Rows that hold an identifier, by its exact value."""
        number = self._numbers.get(value)
        return [] if number is None else self._rows[number]

    def _number(self, value: str) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self._rows)
            self._rows.append([])
            self._chains.append({})
            self._forms.append((sys.intern(literal_form(value)), sys.intern(rough_form(value))))
        return known


def _without(numbers: Sequence[int], known: Set[int]) -> list[int]:
    return [number for number in numbers if number not in known]

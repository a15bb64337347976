"""Where calls of each action took their arguments from: which kinds of units held them when the call was made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prism_core.storage.columns import ChainNumber
from prism_core.storage.identifiers import IdentifierIndex

MOST_CALLS = 100
"""Only so many of an action's newest calls are looked at, so that the work does not grow with the scope."""
MOST_KEPT = 20 * MOST_CALLS
"""Calls whose offers are remembered; the first that were worked out go first."""
SHRINKAGE = 2.0
"""Values on offer that an origin is taken to have besides, of which the usual share is taken."""
_FEW_OFFERED, _FEW_TAKEN = 5.0, 0.5

ANY = ""
"""Stands for units of any kind; an identifier counts once for it however many hold it."""

Origin = tuple[str, str]
"""A form of identifier, literal or rough, and the kind of unit that holds it."""


@dataclass(slots=True)
class Offers:
    """What was on offer to one call, and what of it the call took, by literal form, rough form and kind of unit.

    Attributes:
        offered: number of identifiers on offer.
        taken: number of those that the call took.
    """

    offered: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    taken: Counter[tuple[str, str, str]] = field(default_factory=Counter)


class ArgumentOrigins:
    """Learns from calls where the next one will take its arguments from.

    What a call was offered is worked out when it is first asked for, and again after its chain changed other than by
    growing at its end; so it never depends on whether units came one by one or all at once.

    Args:
        identifiers: of the scope.
    """

    def __init__(self, identifiers: IdentifierIndex) -> None:
        self._identifiers = identifiers
        self._kinds: list[str] = []
        self._arguments: dict[int, tuple[int, ...]] = {}
        self._offers: dict[int, Offers] = {}
        self._known_calls: dict[ChainNumber, set[int]] = defaultdict(set)

    def put(self, row: int, kind: str, arguments: Sequence[int]) -> None:
        """Take in the next row.

        Args:
            row: the next row.
            kind: what kind of unit it is: its action type, or who speaks.
            arguments: numbers of the identifiers that its action took.
        """
        self._kinds.append(kind)
        if arguments:
            self._arguments[row] = tuple(arguments)

    def forget(self, chain: ChainNumber) -> None:
        """What calls of a chain were offered has to be worked out again."""
        for call in self._known_calls.pop(chain, ()):
            self._offers.pop(call, None)

    def arguments(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers that a row's action took as arguments."""
        return self._arguments.get(row, ())

    def kinds(self, rows: Iterable[int]) -> dict[int, set[str]]:
        """The kinds of units that hold each identifier of some rows.

        A unit that took an identifier as an argument and one that was told it are of different kinds.
        """
        found: dict[int, set[str]] = defaultdict(set)
        for row in rows:
            kind, taken = self._kinds[row], self._arguments.get(row, ())
            for number in self._identifiers.of_row(row):
                found[number].add(f"{kind} with" if number in taken else kind)
        return found

    def offers(self, call: int, chain: ChainNumber, before: Sequence[int]) -> Offers:
        """What a call was offered.

        Args:
            call: its row.
            chain: its chain.
            before: the rows of the chain before it.
        """
        if call not in self._offers:
            made, took = Offers(), self._arguments.get(call, ())
            for number, kinds in self.kinds(before).items():
                for kind in (ANY, *kinds):
                    key = (*self._identifiers.forms(number), kind)
                    made.offered[key] += 1
                    made.taken[key] += number in took
            if len(self._offers) == MOST_KEPT:
                del self._offers[next(iter(self._offers))]
            self._offers[call] = made
            self._known_calls[chain].add(call)
        return self._offers[call]


def lifts(offers: Iterable[Offers], believed: Mapping[str, float]) -> dict[Origin, float]:
    """How much more often than others of its form an identifier is taken when a kind of unit holds it.

    Args:
        offers: of calls of one action.
        believed: the forms that are told apart, literal ones first; others go by their rough form.

    Returns:
        Above 1 for kinds that values are taken from more than usual, below 1 for others; an unseen kind is left out.
    """
    offered, taken = Counter[Origin](), Counter[Origin]()
    for each in offers:
        for (literal, rough, kind), count in each.offered.items():
            origin = (literal if literal in believed else rough, kind)
            offered[origin] += count
            taken[origin] += each.taken[literal, rough, kind]
    usual = {
        form: (taken[form, kind] + _FEW_TAKEN) / (count + _FEW_OFFERED)
        for (form, kind), count in offered.items()
        if kind == ANY
    }
    return {
        (form, kind): (taken[form, kind] + SHRINKAGE * usual[form]) / (count + SHRINKAGE) / usual[form]
        for (form, kind), count in offered.items()
        if kind != ANY
    }

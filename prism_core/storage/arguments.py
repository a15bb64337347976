"""What calls of each action are made of: how many arguments of which form, learned from the calls in the scope."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from prism_core.text import literal_form, rough_form

LEAST_CHAINS = 2
LEAST_SHARE = 0.1
"""A literal form is believed once it is used in this many chains, and in this share of those that take the action."""


class ArgumentProfiles:
    """The forms of identifiers that calls took as arguments, by action type.

    A value has two forms: the literal one keeps the letters (`credit_card_9+`), the rough one only their kind
    (`a+_a+_9+`). The letters tell much where many chains use them, and nothing where they are one customer's name.
    """

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._chains: dict[str, set[str]] = defaultdict(set)
        self._literal: dict[str, Counter[str]] = defaultdict(Counter)
        self._rough: dict[str, Counter[str]] = defaultdict(Counter)
        self._literal_chains: dict[tuple[str, str], set[str]] = defaultdict(set)

    def add(self, action_type: str, values: Iterable[str], chain: str) -> None:
        """Take in one call."""
        self._calls[action_type] += 1
        self._chains[action_type].add(chain)
        for value in values:
            literal = literal_form(value)
            self._literal[action_type][literal] += 1
            self._rough[action_type][rough_form(value)] += 1
            self._literal_chains[action_type, literal].add(chain)

    def expected(self, action_type: str) -> Mapping[str, float]:
        """Mean number of arguments per call, by form; a believed literal form is not counted in its rough one."""
        calls = self._calls[action_type]
        if not calls:
            return {}
        least = max(LEAST_CHAINS, LEAST_SHARE * len(self._chains[action_type]))
        expected = {form: count / calls for form, count in self._rough[action_type].items()}
        for form, count in self._literal[action_type].items():
            if len(self._literal_chains[action_type, form]) >= least:
                rough = rough_form(form.replace("9+", "9"))
                expected[rough] = max(0.0, expected.get(rough, 0.0) - count / calls)
                expected[form] = count / calls
        return expected

from prism_core.context import ContextBuilder
from prism_core.evaluation.baselines import Shelf
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.references import IdentifierList, Oracle
from prism_core.evaluation.systems import Ask
from prism_core.text import O200kCounter, whole_identifiers
from prism_core.types import Event

COUNTER = O200kCounter()


def item(key: str, text: str) -> Item:
    event = Event(observation=text)
    return Item(key, (event,), event)


def test_the_oracle_takes_the_most_new_values_per_token_that_fits() -> None:
    system = Oracle(Shelf(), ContextBuilder(COUNTER))
    long = "and much more talk about nothing at all " * 10
    items = [
        item("r#0", f"ABC1 DEF2 {long}"),
        item("r#1", "ABC1"),
        item("r#2", f"ABC1 DEF2 {long} {long}"),
        item("r#3", "xDEF2"),
        item("s#0", "ABC1 DEF2"),
    ]
    system.add(items)
    contexts = system.search(Ask("?", budgets=(1, 60, 500), run="r", needed=frozenset({"ABC1", "DEF2"}))).contexts
    chosen = {budget: {unit.id for unit in packed.units} for budget, packed in contexts.items()}
    assert chosen == {1: set(), 60: {"r#1"}, 500: {"r#0", "r#1"}}


def test_the_identifier_list_is_cut_at_the_budget_newest_first() -> None:
    builder = ContextBuilder(COUNTER)
    system = IdentifierList(Shelf(), builder)
    system.add([item("r#0", "OLD1234 talk"), item("r#1", "NEW1234 more"), item("s#0", "FOREIGN1")])
    ranking = system.search(Ask("?", budgets=(1, 30, 200), run="r"))
    assert ranking.units == ()
    assert ranking.contexts[1].text == ""
    full = ranking.contexts[200].text
    assert full.index("NEW1234") < full.index("OLD1234")
    assert "talk" not in full
    assert "FOREIGN1" not in full
    narrow = max(budget for budget in range(1, 60) if "OLD1234" not in _list(system, budget))
    assert "NEW1234" in _list(system, narrow)
    assert all(context.tokens <= budget for budget, context in ranking.contexts.items())


def _list(system: IdentifierList, budget: int) -> str:
    return system.search(Ask("?", budgets=(budget,), run="r")).contexts[budget].text


def test_identifiers_that_are_parts_of_an_earlier_one_are_not_listed_again() -> None:
    assert whole_identifiers("write to mia.li3818@example.com about HAT136 and HAT1") == (
        "mia.li3818@example.com",
        "HAT136",
        "HAT1",
    )

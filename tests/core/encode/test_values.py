import pytest

from prism_core.encode.values import holds, used_values
from prism_core.testing import make_unit


@pytest.mark.parametrize(
    ("text", "value", "held"),
    [
        ("offer HS-4471, 95 EUR", "95", True),
        ("it costs 95.", "95", True),
        ("it costs 95.50", "95", False),
        ("on 2024-05-20", "20", False),
        ("295 or 952", "95", False),
        ("basic_economy", "economy", False),
        ("basic economy", "economy", True),
        ("Economy", "economy", False),
        ("订单X4471已发货", "X4471", True),
        ("去大学路", "大学", True),
        ("1, 12, 2", "2", True),
        ('{"city": "Oslo"}', "Oslo", True),
        ("", "Oslo", False),
    ],
)
def test_a_value_stands_by_itself(text: str, value: str, held: bool) -> None:
    assert holds(text, value) is held


@pytest.mark.parametrize(
    ("action", "values"),
    [
        ('f({"a": "HAT136", "b": ["Mia", {"c": "economy"}]})', ["HAT136", "economy"]),
        ('f({"sum": 95.50, "n": 3, "yes": true, "no": null})', ["95.50", "3"]),
        ('f({"expression": "(158 + 141) * 2"})', ["(158 + 141) * 2", "158", "141", "2"]),
        ('f({"street": "975 Sunset Drive"})', ["975 Sunset Drive", "975"]),
        ("python run.py --id A1234", ["A1234"]),
        ("f(A1234)", ["A1234"]),
        ("f()", []),
    ],
)
def test_what_an_action_uses(action: str, values: list[str]) -> None:
    assert used_values(make_unit("u", action=action, observation="B4567 came back")) == values


def test_of_prose_the_words_with_a_figure_count() -> None:
    prose = "The customer asks for a refund of booking SI5UK7 because of a change of plans. " * 3
    assert used_values(make_unit("u", action=f'note({{"text": "{prose}"}})')) == ["SI5UK7"]


def test_what_is_said_uses_its_identifiers() -> None:
    assert used_values(make_unit("u", "I booked HAT136 in economy for 95 EUR.")) == ["HAT136"]

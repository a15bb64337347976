import pytest

from prism_core.text import action_arguments, action_name, same_form


@pytest.mark.parametrize(
    ("action", "name", "arguments"),
    [
        ('book_hotel({"city": "Oslo"})', "book_hotel", '{"city": "Oslo"}'),
        (' a.b-c ( "(" ) ', "a.b-c", ' "(" '),
        ("ping()", "ping", ""),
        ("click the button", None, None),
        ("f(x) and g(y", None, None),
    ],
)
def test_calls_are_taken_apart(action: str, name: str | None, arguments: str | None) -> None:
    assert (action_name(action), action_arguments(action)) == (name, arguments)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('pay({"to": "Ann", "sum": 3})', 'pay( {"sum":3,"to":"Ann"} )', True),
        ("ping()", "ping({})", True),
        ("Click  OK", "click ok", True),
        ("run(a b)", "run(a  b)", True),
        ('pay({"sum": 3})', 'pay({"sum": 30})', False),
        ('pay({"sum": 3})', 'pay({"sum": "3"})', False),
        ('pay({"to": ["a", "b"]})', 'pay({"to": ["b", "a"]})', False),
        ('pay({"to": "Ann"})', 'owe({"to": "Ann"})', False),
    ],
)
def test_order_and_space_make_no_other_action(one: str, other: str, same: bool) -> None:
    assert (same_form(one) == same_form(other)) is same

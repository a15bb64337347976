import json

import pytest

from prism_core.context.passages import LONGEST, leaves, parsed, passages, records


def said(text: str) -> list[str]:
    return [passage.text for passage in passages(text)]


def test_sentences_and_lines() -> None:
    text = 'Site report, week four.\n\nIt rained on Monday. "Nobody came!" The crane stood still (all day).'
    found = passages(text)
    assert [passage.text for passage in found] == [
        "Site report, week four.",
        'It rained on Monday. "Nobody came!"',
        "The crane stood still (all day).",
    ]
    assert [passage.glue for passage in found] == ["\n", "\n", " "]


def test_abbreviations_and_small_words_end_no_sentence() -> None:
    assert said("We saw Dr. Ono and Mr. Li there. They had come by boat, e.g. from Osk, etc. and stayed.") == [
        "We saw Dr. Ono and Mr. Li there.",
        "They had come by boat, e.g. from Osk, etc. and stayed.",
    ]


def test_sentences_without_spaces_between() -> None:
    text = "今天下午我们在图书馆里面开会讨论了预算。负责人说还需要三十万元才可以完成项目！大家都同意再等一个月看结果。"
    found = passages(text)
    assert [passage.text[-1] for passage in found] == ["。", "！", "。"]
    assert "".join(passage.text for passage in found) == text
    assert found[1].glue == ""


@pytest.mark.parametrize("text", ["word " * 400, "字" * 900, "x" * 5000, "a,b;" * 500])
def test_text_without_sentence_ends_is_cut(text: str) -> None:
    found = passages(text)
    assert all(len(passage.text) <= LONGEST for passage in found)
    again = "".join((passage.glue if number else "") + passage.text for number, passage in enumerate(found))
    assert again == text.strip()


def test_nothing_said_has_no_passages() -> None:
    assert passages("") == passages(" \n\t ") == ()


def test_a_json_document_is_cut_by_its_objects() -> None:
    text = json.dumps(
        {"user": {"name": "Mia", "cards": [{"id": "card_4421"}, {"id": "card_7777"}]}, "tags": ["a", "b"]}
    )
    assert said(text) == ["user: name=Mia", "cards: id=card_4421", "cards: id=card_7777", "tags: a, b"]


@pytest.mark.parametrize("text", ["{not json}", "[" * 100_000, '{"a": 1', "plain", "{}", "[]", "[1" + "0" * 5000 + "]"])
def test_what_is_no_json_document_is_plain_text(text: str) -> None:
    assert parsed(text) is None
    passages(text)


def test_deeply_nested_json_is_walked_without_recursion() -> None:
    value = parsed("[" * 400 + '"deep1"' + "]" * 400)
    assert list(leaves(value)) == [("", "deep1")]
    assert list(records(value)) == ["deep1"]


def test_leaves_are_in_order_with_their_keys_and_name_the_keys_of_objects() -> None:
    assert list(leaves({"a": [1, True], "card_1": {"n": None}})) == [
        ("a", "1"),
        ("a", "true"),
        ("", "card_1"),
        ("n", "null"),
    ]

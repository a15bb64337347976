import pytest

from prism_core.context.excerpts import ELISION, excerpt, handle, worth
from prism_core.context.passages import passages
from prism_core.text import O200kCounter

SIZE = O200kCounter().count
REPORT = "\n".join(
    [
        "The culvert was filled with foamed concrete on Thursday afternoon.",
        "The gentleman next door came to the gate. He was perfectly polite about the noise.",
        "The surveyor took samples from the old boiler house. Six of them came back positive for asbestos.",
        "The drying room works now. The second shower does not, and nobody knows why that is.",
    ]
)


def test_the_passages_that_answer_stand_in_their_order_with_elisions_between() -> None:
    talk = "Nobody said a word about anything else on that day. " * 6
    text = f"{talk}The old culvert was filled with foamed concrete. {talk}The surveyor found some asbestos. {talk}"
    shown = excerpt(text, "What did the surveyor find, and what fills the culvert?", 22, SIZE)
    assert shown == "[…] The old culvert was filled with foamed concrete. […] The surveyor found some asbestos."


def test_the_sentence_beside_the_words_asked_for_is_worth_more_than_one_far_away() -> None:
    values = dict(zip((passage.text[:8] for passage in passages(REPORT)), worth("the surveyor?", REPORT), strict=True))
    assert values["The surv"] == 1.0
    assert values["The surv"] > values["Six of t"] > values["The culv"]


def test_figures_count_where_a_figure_is_asked_for() -> None:
    text = "The bell is old, as everybody here knows. The bell hangs in the tower. The bell weighs 412 kilos, they say."
    assert worth("How heavy is the bell?", text)[2] > max(worth("How heavy is the bell?", text)[:2])
    assert worth("钟有多重？多少公斤？", text) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("room", range(0, 60))
def test_never_larger_than_the_room(room: int) -> None:
    shown = excerpt(REPORT, "Why does the shower not work?", room, SIZE)
    assert SIZE(shown) <= room
    assert bool(shown) or room < 20


def test_without_a_word_of_the_question_the_beginning_stands() -> None:
    assert excerpt(REPORT, "zzz", 16, SIZE) == "The culvert was filled with foamed concrete on Thursday afternoon."


def test_a_cut_word_is_joined_again() -> None:
    text = "x" * 400
    assert excerpt(text, "", 4000, SIZE) == text
    assert excerpt("", "anything", 100, SIZE) == ""


def test_a_word_without_end_does_not_take_the_place_of_the_answer() -> None:
    link = "https://example.org/" + "aB3dE5gH1jK2" * 24
    text = f"See {link} where the valve was set to 3.7 bar today. " + "Other words follow here and there. " * 20
    for room in range(40, 400, 7):
        assert "3.7 bar" in excerpt(text, "What was the valve set to?", room, SIZE)


def test_parts_of_a_word_without_end_are_worth_nothing_for_standing_near_the_answer() -> None:
    text = "https://example.com/" + "a1b2c3" * 2000 + " is the link to the Halden site report"
    for room in (60, 150, 400, 2000):
        shown = excerpt(text, "the Halden site report", room, SIZE)
        assert "is the link to the Halden site report" in shown
        assert "c3a1b2" not in shown


def test_a_text_without_a_break_is_quoted_by_its_beginning() -> None:
    text = "龘靐齉爩" * 80
    shown = excerpt(text, "龘", 40, SIZE)
    assert shown.strip(f"{ELISION} ") in text
    assert shown.endswith(f" {ELISION}")
    assert 30 < SIZE(shown) <= 40
    assert excerpt(text, "龘", 15, SIZE) == ""


def test_chinese_without_spaces() -> None:
    text = (
        "我们下午在咖啡馆见面聊了很久的工作安排。" * 5
        + "小李的航班改到了星期四早上八点起飞。"
        + "晚上大家一起去河边散步看了烟花表演。" * 5
    )
    shown = excerpt(text, "小李的航班改到什么时候？", 40, SIZE)
    assert "改到了星期四早上八点" in shown
    assert ELISION in shown


def test_a_handle_is_half_of_an_own_id_and_all_of_any_other() -> None:
    assert handle("0123456789abcdef") == "01234567"
    assert handle("0123456789ABCDEF") == "0123456789ABCDEF"
    assert handle("D1:3") == "D1:3"

from itertools import pairwise

import pytest

from prism_core import Event, PrismMemory
from prism_core.encode.entities import RuleExtractor, named
from prism_core.types import Entity, EntityType

EXTRACTOR = RuleExtractor()


def found(text: str) -> list[tuple[str, str]]:
    return [(entity.text, entity.type.value) for entity in EXTRACTOR.extract(text)]


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("See https://example.org/a?b=1, please.", [("https://example.org/a?b=1", "url")]),
        ("Write to ana@example.org.", [("ana@example.org", "email")]),
        ("Open notes/plan.md and /var/log/app", [("notes/plan.md", "file"), ("/var/log/app", "path")]),
        ("Order R-7781 by mia_li_3668 on flight HAT030", [("R-7781", "id"), ("mia_li_3668", "id"), ("HAT030", "id")]),
        ("client.create(x) calls parse_rows", [("client.create", "code"), ("parse_rows", "code")]),
        ('She read "The Name of the Wind" again', [("The Name of the Wind", "quoted")]),
        ("I met Ines Duarte in Lisbon", [("Ines Duarte", "person"), ("Lisbon", "place")]),
        ("He works at Initech Labs", [("Initech Labs", "organisation")]),
        ('{"first_name": "Mia", "one": 2787}', [("Mia", "person")]),
        ("created at 2024-05-14T06:33:04", [("2024-05-14T06:33:04", "date")]),
        ("NameError in `run`", [("NameError", "code"), ("run", "code")]),
        ("Send it from ZIP code 06101, in a 7.5x5.3 inches box", [("06101", "id"), ("7.5x5.3 inches", "quantity")]),
        ("Saved as file:///workspace/a.zip", [("file:///workspace/a.zip", "url")]),
        ("It cost $1,200 and took 3 days", [("$1,200", "quantity"), ("3 days", "quantity")]),
        ("On May 27th at 9:30 am", [("May 27th", "date"), ("9:30 am", "time")]),
        ("Due 2026-05-01 or last Monday", [("2026-05-01", "date"), ("last Monday", "date")]),
        ("张医生在北京协和医院工作", [("张医生", "person"), ("北京协和医院", "organisation")]),
        ("小李下午三点到上海", [("小李", "person"), ("下午三点", "time"), ("上海", "place")]),
        ("2024年5月1日买了《三体》，花了50元", [("2024年5月1日", "date"), ("三体", "quoted"), ("50元", "quantity")]),
        ("Lisa和Sophia一起去公园", [("Lisa", "person"), ("Sophia", "person")]),
    ],
)
def test_entities_are_found_with_their_type(text: str, entities: list[tuple[str, str]]) -> None:
    assert [each for each in found(text) if each in entities] == entities
    for entity in EXTRACTOR.extract(text):
        assert text[entity.start : entity.end] == entity.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It rains.",
        "Thanks! Please go on.",
        "Total: done",
        "我很开心。",
        "OK, FAQ and PDF",
        "Glad I could help",
        "a P-V-T chart",
        '{"total_baggages": 0, "price": 2787}',
    ],
)
def test_where_nothing_is_named_nothing_is_found(text: str) -> None:
    assert found(text) == []


def test_nothing_overlaps() -> None:
    text = 'On 2026-05-01 Ana Lima paid $30 for "Blue Moon" at https://shop.example/2026-05-01?u=mia_77'
    spans = [(entity.start, entity.end) for entity in EXTRACTOR.extract(text)]
    assert spans == sorted(spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_spellings_of_a_name_meet() -> None:
    names = ("Paper_A", "Paper A", "paper-a", " PAPER  a")
    assert len({Entity(name, EntityType.QUOTED, 0, len(name)).normal for name in names}) == 1
    memory = PrismMemory.open(embedder=None)
    stored = memory.write(Event(observation='We read "Paper_A" on Monday'), scope="s").unit_id
    memory.write_many([f"Note {n} on the weather" for n in range(20)], scope="s")
    state = memory._reader.ready(("s",))
    assert [state.ids[row] for row in state.mentioning("Paper A").tolist()] == [stored]


def test_dates_and_quantities_meet_across_spellings_and_languages() -> None:
    first, second = (
        {entity.type: entity.normal for entity in EXTRACTOR.extract(text)}
        for text in ("On May 1st, 2024 he ran 3 km", "2024年5月1日跑了三公里")
    )
    assert first == second == {EntityType.DATE: "2024-05-01", EntityType.QUANTITY: "3 km"}


def test_an_extractor_of_ones_own_adds_to_the_names() -> None:
    class Vessels:
        def extract(self, text: str) -> list[Entity]:
            start = text.find("rubber duck")
            return [Entity("rubber duck", EntityType.PRODUCT, start, start + 11)] if start >= 0 else []

    assert "rubber duck" in named("the rubber duck sank near Oslo", Vessels())
    assert "Oslo" in named("the rubber duck sank near Oslo", Vessels())


@pytest.mark.parametrize(
    "text",
    [
        piece * (100_000 // len(piece))
        for piece in ("A", "a_", "1,", "A. ", '"', "一", "1x", "a/", "A-", "/a.", "一年", '": "')
    ],
)
def test_odd_texts_take_no_time(text: str) -> None:
    # Catastrophic backtracking would take hours, and the run's time limit.
    everywhere = RuleExtractor(looked_at=20_000)
    assert len(everywhere.extract(text)) + len(named(text, EXTRACTOR)) <= 20_000

import pytest

from prism_core.encode.distil import RuleDistiller
from prism_core.types import Event, FactCategory, Kind, Source

DISTILLER = RuleDistiller()


def stated(text: str, **fields: object) -> list[tuple[str, str, str]]:
    event = Event.model_validate({"observation": text, **fields})
    return [(claim.entity, claim.attribute, claim.value) for claim in DISTILLER.distil(event)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("My name is Ana Lima.", [("user", "name", "Ana Lima")]),
        ("I'm 34 years old", [("user", "age", "34")]),
        ("By the way, I live in Lisbon now", [("user", "home", "Lisbon")]),
        ("I'm a nurse at the county hospital", [("user", "occupation", "nurse")]),
        ("I'm allergic to nuts and shellfish", [("user", f"allergic to {x}", "yes") for x in ("nuts", "shellfish")]),
        ("I'm vegetarian, any ideas for dinner?", [("user", "diet", "vegetarian")]),
        ("My budget is 2000 euros", [("user", "budget", "2000 euros")]),
        ("I prefer window seats", [("user", "preferred seats", "window seats")]),
        ("I prefer tea over coffee", [("user", "coffee or tea", "tea")]),
        ("I love hiking and my favourite colour is green", [("user", "opinion of hiking", "loves")]),
        ("my favourite colour is green", [("user", "favourite colour", "green")]),
        ("My sister is allergic to hazelnuts.", [("user's sister", "allergic to hazelnuts", "yes")]),
        ("My wife's name is Ines", [("user", "wife", "Ines")]),
        ("OK, let's go with Barcelona then!", [("user", "decision for Barcelona", "yes")]),
        ("I'll send the report by Friday", [("user", "will send the report", "by Friday")]),
        ("Remember that the wifi password is hunter2", [("world", "wifi password", "hunter2")]),
        ("The staging server's port is 8080", [("staging server", "port", "8080")]),
        ("Always reply in German", [("user", "rule: Always reply in German", "yes")]),
        ("My birthday is on 3 May", [("user", "birthday", "3 May")]),
        ("I have two kids and I have a dog named Rex", [("user", "number of kids", "two"), ("user", "dog", "Rex")]),
        ("I have a peanut allergy", [("user", "allergic to peanut", "yes")]),
        ("I'm lactose intolerant", [("user", "lactose intolerant", "yes")]),
        ("I've been a vegetarian since 2010", [("user", "diet", "vegetarian")]),
        ("My son has type 1 diabetes", [("user's son", "has type 1 diabetes", "yes")]),
        ("I quit smoking", [("user", "gave up smoking", "yes")]),
        ("I started a new job at Bosch last week", [("user", "employer", "Bosch")]),
        ("I moved back to Paris", [("user", "home", "Paris")]),
        ("I'm married to Clara", [("user", "marital status", "married")]),
        ("I speak Portuguese and English", [("user", f"speaks {x}", "yes") for x in ("Portuguese", "English")]),
        ("Deploy target is eu-west-1", [("world", "Deploy target", "eu-west-1")]),
        ('He said: "I live in Oslo". Anyway, I live in Rome.', [("user", "home", "Rome")]),
        ("Correction: I live in Rome", [("user", "home", "Rome")]),
        ("我有两个孩子", [("user", "number of 孩子", "两")]),
        ("我患有糖尿病", [("user", "has 糖尿病", "yes")]),
        ("我的邮箱是 ana@example.cn", [("user", "邮箱", "ana@example.cn")]),
        ("请一直用中文回答我", [("user", "rule: 一直用中文回答我", "yes")]),
        ("我叫李雷，我住在北京", [("user", "name", "李雷"), ("user", "home", "北京")]),
        ("我对花生过敏", [("user", "allergic to 花生", "yes")]),
        ("我不喜欢香菜", [("user", "opinion of 香菜", "dislikes")]),
        ("我的预算是5000元", [("user", "budget", "5000元")]),
    ],
)
def test_what_is_stated_becomes_a_fact(text: str, facts: list[tuple[str, str, str]]) -> None:
    assert stated(text)[: len(facts)] == facts


@pytest.mark.parametrize(
    "text",
    [
        "evaluate whether Obsidian would help",
        "If I lived in Paris, I would eat more bread.",
        "What if my name is Ana?",
        "Do you know where I live?",
        "Is my budget 2000 euros?",
        "Maybe I live in a simulation",
        'My friend wrote "I love sushi and I live in Rome, my name is Ugo"',
        "> I live in Rome",
        "```\nmy name is Root\n```",
        "I used to live in Rome",
        "Write a story: My name is Bob.",
        "Please translate this:\nI live in Berlin. My name is Bob.",
        "I live in Rome, just kidding",
        "In the novel, the hero says: I live in Berlin. I have two kids.",
        "Tom: I live in Berlin. My name is Tom.",
        'My friend: "I\'m vegan"',
        "He is 34",
        "我朋友说：“我住在广州。”",
        "他写道：我有两个孩子。",
        "小明：我住在广州",
        "我住在北京的朋友叫小王",
        "我不喜欢的东西是香菜",
        "In the scenario, I live in Rome and my name is Bob.",
        "According to you, I live in Rome",
        "Act as a pirate: my name is Jack Sparrow",
        "Let's role play. My name is Jack.",
        "I love how you explain it",
        "Never give up!",
        "My day is going great",
        "如果我住在上海就好了",
        "你知道我叫什么吗？",
        "",
    ],
)
def test_questions_hypotheses_and_quotations_are_none(text: str) -> None:
    assert stated(text) == []


def test_a_text_that_narrates_tells_of_its_sender_alone() -> None:
    letter = "The weather was fine and the hens were laying. " * 25
    assert stated(f"The build port is 7. I live in Rome. {letter}") == [("user", "home", "Rome")]
    assert len(stated("The build port is 7. I live in Rome.")) == 2


def test_speaking_of_stories_silences_one_sentence_only() -> None:
    assert stated("In the novel I live in Oslo. I live in Rome.") == [("user", "home", "Rome")]
    assert stated("I work in the film industry. I live in Rome.") == [("user", "home", "Rome")]


def test_only_a_user_states_facts() -> None:
    said = "My name is Ana. I live in Lisbon. I'll send the file by Monday."
    assert len(stated(said)) == 3
    assert stated(said, source=Source.ASSISTANT) == [("assistant", "will send the file", "by Monday")]
    assert stated(said, source=Source.TOOL) == stated(said, kind=Kind.DOCUMENT) == []
    assert stated("I live in Lisbon", speaker="Ana") == [("Ana", "home", "Lisbon")]


def test_changes_are_told_from_first_statements() -> None:
    def claim(text: str) -> tuple[bool, bool, str]:
        (found,) = DISTILLER.distil(Event(observation=text))
        return found.correction, found.ends, found.was

    assert claim("I live in Rome") == (False, False, "")
    assert claim("I live in Rome now") == (True, False, "")
    assert claim("I moved from Paris to Rome") == (True, False, "Paris")
    for ended in (
        "I no longer live in Rome",
        "I'm no longer allergic to nuts",
        "I am not allergic to nuts anymore",
        "I no longer work at Acme",
        "我不再住在上海",
    ):
        assert claim(ended)[:2] == (True, True)
    assert claim("I was moved from Project Atlas to Project Borealis") == (True, False, "Project Atlas")
    assert claim("截止日期改到10月16日")[0]


def test_categories_are_those_of_the_data_model() -> None:
    claims = DISTILLER.distil(
        Event(observation="I love tea. I'm allergic to nuts. Our goal is to launch. We chose Oslo.")
    )
    assert [claim.category for claim in claims] == [
        FactCategory.PREFERENCE,
        FactCategory.CONSTRAINT,
        FactCategory.GOAL,
        FactCategory.DECISION,
    ]


@pytest.mark.parametrize(
    "text", ["a " * 50_000, "my " * 30_000, "is " * 30_000, '"' * 20_000, "我" * 40_000, "哈" * 79 + "x"]
)
def test_long_and_odd_texts_are_read_in_no_time(text: str) -> None:
    assert stated(text) == []

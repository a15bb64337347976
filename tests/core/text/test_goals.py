import pytest

from prism_core.text import StatedGoal, stated_goal


@pytest.mark.parametrize(
    ("text", "overall", "goal"),
    [
        ("Our goal is to publish a survey.", True, "publish a survey"),
        ("I want you to book a flight to Oslo", True, "book a flight to Oslo"),
        ("Hi! Can you fix the importer?", True, "fix the importer"),
        ("Please write a report.", True, "write a report"),
        ("Next, let's compare the two papers.", False, "compare the two papers"),
        ("First I'll collect the data", False, "collect the data"),
        ("Step 2: clean the table", False, "clean the table"),
        ("Let me check the logs.", False, "check the logs"),
        ("请帮我撰写一份季度报告。", True, "撰写一份季度报告"),
        ("接下来分析数据。", False, "分析数据"),
    ],
)
def test_goals_and_next_steps_are_found(text: str, overall: bool, goal: str) -> None:
    assert stated_goal(text) == StatedGoal(overall, goal)


@pytest.mark.parametrize("text", ["It rains in Oslo.", "", "The goalkeeper was great", "ok", "a" * 100_000, "谢谢"])
def test_other_texts_state_none(text: str) -> None:
    assert stated_goal(text) is None

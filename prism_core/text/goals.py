"""Goals in a text: what somebody wants to reach, and what comes next on the way there, in English and Chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

LOOKED_AT = 600
"""Characters of a text that are searched: what it is for is said at its beginning."""
LONGEST = 160


class StatedGoal(NamedTuple):
    """A goal as stated.

    Attributes:
        overall: whether it is what everything serves, and no step on the way.
        text: what is to be done, in the text's own words.
    """

    overall: bool
    text: str


_REST = r"(?P<what>[^.!?。！？；\n]{3,400})"
_OVERALL = re.compile(
    r"\b(?:my|our|the|your)(?: overall| main| final| ultimate)? (?:goal|objective|aim|task|mission|job)(?: here"
    r"| now| today)?"
    rf"(?: is(?: to)?|:)\s+{_REST}"
    rf"|\b(?:i|we)(?: now| also)?(?:'d like| would like| want| need)(?: you)? to {_REST.replace('what', 'wish')}"
    r"|(?:^|[.!?]\s+|, )(?:(?:hi|hello|hey|now|ok|okay|so|then)[,!]? )?(?:please|can you|could you|would you"
    r"|help me(?: to)?)"
    rf"(?: please| help me(?: to)?)? {_REST.replace('what', 'request')}"
    rf"|(?:我的|我们的|总)?(?:目标|任务)(?:是|：|:){_REST.replace('what', 'zh')}"
    rf"|(?:请(?:你)?(?:帮我)?|帮我|我想要?|我需要){_REST.replace('what', 'zh2')}",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|great|good|alright|thanks|now|next|then|first(?:ly)?|second(?:ly)?|third(?:ly)?|finally"
    r"|lastly|after that"
    r"|step \d+|\d+[.)])\b[,:.)]?\s*)+"
    r"(?:(?:let's|let us|let me|i(?:'ll| will| need to| should|'m going to)|we(?:'ll| will| need to| should"
    r"| can))\s+)?"
    rf"{_REST}"
    r"|(?:^|[.!?]\s+)(?:let's|let us|let me|i(?:'ll| will| need to|'m going to)|we(?:'ll| will| need to| should))"
    rf"(?: now| next| first| then)? {_REST.replace('what', 'will')}"
    rf"|^\W*(?:首先|第一步|接下来|然后|现在|下一步|最后)[，,:：]?(?:我们?|让我们?|要|需要|来)*"
    rf"{_REST.replace('what', 'zh')}",
    re.IGNORECASE,
)


def stated_goal(text: str) -> StatedGoal | None:
    """The goal or next step that a text states; None where it states none.

    >>> stated_goal("Our goal is to publish a survey of graph memories.")
    StatedGoal(overall=True, text='publish a survey of graph memories')
    >>> stated_goal("Next, let's compare the two papers.")
    StatedGoal(overall=False, text='compare the two papers')
    """
    shown = text[:LOOKED_AT].replace("’", "'")
    for overall, pattern in ((False, _NEXT), (True, _OVERALL)):
        match = pattern.search(shown)
        if match is not None:
            said = next(group for group in match.groups() if group)
            return StatedGoal(overall, said.strip(" ,:：，")[:LONGEST])
    return None

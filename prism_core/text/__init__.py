"""Text as the memory sees it: equality, index terms, dates, identifiers and token counts.

Nothing here knows about units or stores. `analyze` is used for what is indexed and for what is asked, so that both
sides always speak the same terms.
"""

from prism_core.text.actions import action_arguments, action_name, same_form
from prism_core.text.dates import CalendarDate, date_terms, dates
from prism_core.text.goals import StatedGoal, stated_goal
from prism_core.text.identifiers import identifiers, literal_form, rough_form, whole_identifiers
from prism_core.text.measures import date_form, quantity_form
from prism_core.text.moments import asks_time, holds_time, relative_dates
from prism_core.text.normal import name_form, normalize
from prism_core.text.terms import FUNCTION_CHARACTERS, STOP_WORDS, analyze, word_terms
from prism_core.text.tokens import O200kCounter
from prism_core.text.visible import BLANK, is_visible
from prism_core.text.wording import wording

__all__ = [
    "BLANK",
    "FUNCTION_CHARACTERS",
    "STOP_WORDS",
    "CalendarDate",
    "O200kCounter",
    "StatedGoal",
    "action_arguments",
    "action_name",
    "analyze",
    "asks_time",
    "date_form",
    "date_terms",
    "dates",
    "holds_time",
    "identifiers",
    "is_visible",
    "literal_form",
    "name_form",
    "normalize",
    "quantity_form",
    "relative_dates",
    "rough_form",
    "same_form",
    "stated_goal",
    "whole_identifiers",
    "word_terms",
    "wording",
]

"""The times of a log in which only some messages have one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

_APART = timedelta(seconds=1)


def filled(times: Sequence[datetime | None]) -> list[datetime | None]:
    """Give messages without a time one that keeps them in their place: a second a message after the dated one before.

    Those before the first dated one are set before it. Where the next dated one is too near for whole seconds, those
    in between share the time there is.

    Args:
        times: n instants, in the order of the log; None where a message has none.

    Returns:
        n instants; all None when none was given.
    """
    dated = [(place, time) for place, time in enumerate(times) if time is not None]
    if not dated:
        return list(times)
    first, start = dated[0]
    full: list[datetime | None] = [_moved(start, place - first, _APART) for place in range(first)]
    for (place, time), (end, until) in zip(dated, [*dated[1:], (len(times), None)], strict=True):
        apart = _step(time, until, end - place)
        full += [_moved(time, number, apart) for number in range(end - place)]
    return full


def _step(time: datetime, until: datetime | None, places: int) -> timedelta:
    # A next one that is dated earlier leaves no room to keep.
    return _APART if until is None or until < time else min(_APART, (until - time) / places)


def _moved(time: datetime, places: int, apart: timedelta) -> datetime:
    try:
        return time + places * apart
    except OverflowError:  # the calendar ends: a zero time stands for "unknown" in some logs
        return time

"""Peers register themselves beside the memory's own systems; other tests must not see them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_core.evaluation.qa import SYSTEMS


@pytest.fixture(autouse=True)
def own_systems_only() -> Iterator[None]:
    before = dict(SYSTEMS)
    yield
    SYSTEMS.clear()
    SYSTEMS.update(before)

"""The weight table: how much every signal counts, by objective.

Chosen on five long conversations (LoCoMo) and the airline tasks of tau-bench, and kept to round figures: weights
fitted more closely to some of the conversations did not beat them on those left out (`prism eval weights`).
"""

from __future__ import annotations

from collections.abc import Mapping

Weights = Mapping[str, Mapping[str, float]]
"""Weight of every signal, grouped by objective."""

CONVERSATION: Weights = {
    "lexical": {"lexical": 1.0, "entity": 0.1, "date": 1.1, "time": 0.1, "time asked for": 0.4},
    "dense": {"dense": 0.6, "dense lead": 0.3, "intent": 0.01},
    "context": {
        "lexical before": 0.1,
        "lexical after": 0.1,
        "dense after": 0.2,
        "lexical around": 0.4,
        "answer lexical": 0.4,
        "answer dense": 0.2,
        "session lexical": 0.5,
        "session dense": 0.4,
        "linked": 0.3,
        "speaker": 0.4,
        "substance": 0.3,
        "asks": -0.3,
    },
    "cost": {"length": -0.5},
}
"""Weights of a question without an agent at work."""

MID_TASK: Weights = {
    "relevance": {"lexical": 0.02, "dense": 0.02},
    "coherence": {"coherence": 0.1, "shared identifiers": 0.02},
    "supply": {"supply": 2.0},
}
"""Weights while an agent is about to take an action."""

TOLD_INTENTS = 0.3
"""Weight of the intents where more than the question's words tells them; see `python -m benchmarks.intents`."""

COHERENT_CHAT = 0.3
"""Weight of coherence where there is an active set but no action to be taken."""

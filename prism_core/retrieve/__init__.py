"""From a question to an ordered list of memories: recall, objectives, fronts, order."""

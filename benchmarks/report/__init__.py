"""`docs/evaluation.md`: every suite measured, kept as JSON, and put on one page with pictures."""

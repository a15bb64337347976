"""Where memories are kept: the ledger, which is the truth, and the projections built from it."""

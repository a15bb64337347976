"""LangChain parts over prism-memory."""

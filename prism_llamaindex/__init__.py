"""LlamaIndex parts over prism-memory."""

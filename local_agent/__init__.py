"""local-agent: a full-screen terminal agent for local models that never loses a conversation."""

__version__ = "0.1.0"

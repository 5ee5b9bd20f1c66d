"""The full-screen front end: the only layer that knows Textual."""

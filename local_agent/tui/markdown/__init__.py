"""Markdown as lines of styled text that fit a width: typesetting without widgets."""

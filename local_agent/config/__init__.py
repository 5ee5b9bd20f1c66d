"""Paths, settings and launch options."""

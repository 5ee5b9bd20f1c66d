"""A project folder to run in."""

from tests.cli.conftest import project

__all__ = ["project"]

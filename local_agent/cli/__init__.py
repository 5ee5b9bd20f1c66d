"""Start-up and commands."""

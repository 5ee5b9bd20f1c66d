"""The shell: real commands, real processes."""

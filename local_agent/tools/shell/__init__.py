"""The shell: commands under a watcher, jobs in the background, and the sandbox they may run in."""

"""The terminal and the desktop that the program runs on."""

"""The files of the folder that the program works in: found, ranked, and read within bounds."""

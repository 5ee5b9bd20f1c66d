"""What is being written: completion, pictures, recall, what waits, and the draft that keeps it."""

"""What is on screen of a conversation: its turns and history, finding, copying, opening another one."""

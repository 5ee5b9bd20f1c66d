"""What the person sees of tools: cards, diffs, questions, the list of what is to be done."""

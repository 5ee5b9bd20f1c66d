"""Tools that change files: what they would do is shown first, and exactly that is done or nothing."""

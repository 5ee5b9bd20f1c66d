"""Files by the digest of what is in them, and what is checked before one is taken in."""

"""What the screens know and do about models."""

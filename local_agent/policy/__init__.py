"""Who may do what: commands understood, modes held to, answers remembered."""

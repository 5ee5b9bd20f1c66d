"""Pure values and rules; imports only the standard library."""

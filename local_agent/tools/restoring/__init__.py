"""Puts files back to what they held: looks, orders the steps, and takes each of them whole or not at all."""

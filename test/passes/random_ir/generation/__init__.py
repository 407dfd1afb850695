"""Draws random programs."""

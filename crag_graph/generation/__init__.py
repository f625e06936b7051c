"""Turning evidence into a cited answer."""

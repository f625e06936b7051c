"""Models that run on this machine's processor, with weights from a package."""

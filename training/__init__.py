"""How the committed fits are made. Not part of the wheel."""

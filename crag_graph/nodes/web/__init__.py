"""The parts of the web step: its queries, a person’s approval, the searches, the gate."""

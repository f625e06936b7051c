"""What all tests share."""

import hypothesis

# No test is timed, and the same run finds the same examples.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True, max_examples=150)
hypothesis.settings.load_profile("project")

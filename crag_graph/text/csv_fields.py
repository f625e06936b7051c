"""CSV fields of any length: the csv module refuses those of more than 131,072 characters."""

import csv

LONGEST_FIELD = 2**31 - 1
"""Characters: what the csv module can count to everywhere. Files are limited, not their fields."""


def allow_long_fields() -> None:
    """Let this process read CSV fields that are as long as their file.

    The limit belongs to the module and not to a reader; a greater one is left as it is.
    """
    if csv.field_size_limit() < LONGEST_FIELD:
        csv.field_size_limit(LONGEST_FIELD)

"""Names that become files: of collections, of profiles."""

import re

RULE = (
    "a name has 1 to 100 letters, digits, `_`, `-` or `.`, and begins with a letter, a digit or `_`"
)
"""What `is_name` asks for, in words."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
# What Windows takes for a device, whatever the suffix.
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def is_name(value: object) -> bool:
    """Return whether `value` can be the name of a file on any system, and leads out of no folder.

    It is 1–100 of ASCII letters, digits, `_`, `-` and `.`, the first a letter, digit or `_`; it
    neither ends in a dot nor names a device of Windows.
    """
    return (
        isinstance(value, str)
        and _NAME.fullmatch(value) is not None
        and not value.endswith(".")
        and _DEVICES.match(value) is None
    )

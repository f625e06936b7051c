"""Turns of a conversation that a passage forges in the marks of chat templates.

A mark alone is no order: documentation of models names such marks, and `fencing` makes them
harmless wherever they stand. A mark that opens a turn of some role, with words after it, is an
order in disguise; between quotation marks or backticks it is documentation again.
"""

_ROLE = r"(?:system|user|assistant|developer|tool|model|human)"
_UNQUOTED = r"(?<![\"'“‘`«(])"

TURNS = (
    rf"{_UNQUOTED}<[|\uff5c](?:im_start|start|start_header_id|header_start)[|\uff5c]>\s*{_ROLE}\b",
    rf"{_UNQUOTED}<[|\uff5c]{_ROLE}[|\uff5c]>(?=[^`\"']*\w)",
    rf"{_UNQUOTED}<start_of_turn>\s*{_ROLE}\b",
    rf"{_UNQUOTED}(?<!\w)\[/?inst\](?=\s+\w)",
    rf"{_UNQUOTED}<<sys>>(?=\s*\w)",
    rf"{_UNQUOTED}\[/?system_prompt\](?=\s*\w)",
    r"^### ?(?:instruction|human|user):\s[^#]*\s### ?(?:response|assistant|answer):",
)
"""Patterns over lower-case text in multi-line mode."""

TURN_STEMS = ("|>", "\uff5c>", "_of_turn", "inst]", "<<sys", "system_prompt", "###")
"""Each match of `TURNS` holds one of these."""

"""An estimate of how many tokens a text takes, for budgets that no tokenizer is loaded for."""

_CHARS_PER_TOKEN = 4  # of English prose with the byte-pair vocabularies of current models


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` takes, rarely too few.

    Four ASCII characters make a token; every other character counts as one, which is about right
    for Chinese and too many for accented Latin.
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    return -(-ascii_only // _CHARS_PER_TOKEN) + len(text) - ascii_only

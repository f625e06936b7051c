"""Keeping credentials out of everything that is shown, logged, stored or raised."""

import re

MASK = "***"

# Key shapes as the providers document them (OpenAI sk-, Tavily tvly-, Brave BSA, Hugging Face hf_,
# GitHub gh*_, Groq gsk_, LangSmith lsv2_, Google AIza, AWS AKIA, Slack xox*-), then JSON Web
# Tokens.
_TOKEN = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{6,}|tvly-[A-Za-z0-9_-]{6,}|BSA[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{10,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{10,}|lsv2_[a-z]{2}_[A-Za-z0-9_]{10,}"
    r"|AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,}|xox[abprs]-[A-Za-z0-9-]{8,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
_USERINFO = re.compile(r"(?<=://)[^/\s?#\"'<>]+(?=@)")
_HEADER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_FIELD = re.compile(
    r"(?i)((?:api[_ -]?key|token|secret|password|passwd|pwd)\b"
    r"(?: provided)?[\"']?\s*[:=]\s*)"
    r"(?!\*\*\*|[\"']\*\*\*[\"'])(\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[^\s\"'&,;}\]]{4,})"
)

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# A country code and at least seven more digits; three groups as in North America; an area code with
# a leading nought in front of a group.
_PHONE = re.compile(
    r"(?<![\w+])(?<!\d[ .])(?:\+\d{1,3}(?:[\s./()-]{0,2}\d){7,12}"
    r"|(?:\(\d{3}\)\s?|\d{3}[-. ])\d{3}[-. ]\d{4}"
    r"|\(?0\d{2,5}\)?[\s/-]\d{3,}(?:[\s-]?\d{2,}){0,3})(?!\w)"
)
# Letters mixed with digits in one long word, a UUID, or so many hexadecimal digits.
_SECRET = re.compile(
    r"(?<![\w-])(?:(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9_]{20,}={0,2}"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32,})(?![\w-])"
)


def redact(text: str) -> str:
    """Return `text` with credentials replaced by `***`.

    Covers the key shapes of the services that this package talks to, user names and passwords in
    URLs, Authorization values, and `key=value` or `"key": "value"` pairs whose name says that
    the value is secret. Everything else is left as it is.
    """
    text = _USERINFO.sub(MASK, text)
    text = _HEADER.sub(lambda match: f"{match.group(1)} {MASK}", text)
    text = _FIELD.sub(_masked_field, text)
    return _TOKEN.sub(MASK, text)


def redact_query(text: str) -> str:
    """Return the query `text` without what is nobody's business outside.

    Taken out are e-mail addresses, phone numbers (with a country code, or written in groups as
    phone numbers are), whatever `redact` masks, and what looks like a secret: a UUID, a word of 20
    letters and digits or more, 32 hexadecimal digits. Years, dates, ranges and part numbers stay.
    Empty when nothing else is left.
    """
    text = redact(text).replace(MASK, " ")
    for pattern in (_EMAIL, _PHONE, _SECRET):
        text = pattern.sub(" ", text)
    return " ".join(text.split())


def _masked_field(match: re.Match[str]) -> str:
    name, value = match.groups()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{quote}{MASK}{quote}"

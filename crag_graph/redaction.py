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


def _masked_field(match: re.Match[str]) -> str:
    name, value = match.groups()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{quote}{MASK}{quote}"

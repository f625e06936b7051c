"""URLs of web results: what may be shown and cited, and which of them are the same page."""

import ipaddress
from collections.abc import Sequence
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

_MOST_CHARACTERS = 2048  # longer ones are traps or session state, and no browser of old took them
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Parameters that say where a visitor came from and never what the page is.
_TRACKING_PREFIXES = ("utm_", "mtm_", "pk_", "hsa_", "vero_", "oly_")
_TRACKING = frozenset(
    {
        "dclid",
        "fbclid",
        "gad_source",
        "gbraid",
        "gclid",
        "gclsrc",
        "igsh",
        "igshid",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "msclkid",
        "srsltid",
        "twclid",
        "wbraid",
        "yclid",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
    }
)
_SAFE_PATH = "/%:@!$&'*+,;=~-._"
_SAFE_QUERY = "/?%:@!$'*,;~-._[]"


def web_url(url: object) -> str | None:
    """Return `url` as it may be shown and cited; None unless it is an http or https URL.

    Scheme and host are in lower case; user name and password, default port, tracking parameters and
    the fragment are gone (but for `#!…` and `#/…`, which name a page); what would break out of a
    link is percent-encoded.
    """
    if not isinstance(url, str) or len(url) > _MOST_CHARACTERS:
        return None
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a broken IPv6 address, or a port that is no number
        return None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS or not host or not host.isprintable() or " " in host:
        return None
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        netloc += f":{port}"
    fragment = parts.fragment if parts.fragment.startswith(("!", "/")) else ""
    return urlunsplit(
        (
            scheme,
            netloc,
            quote(parts.path, safe=_SAFE_PATH) or "/",
            quote(_without_tracking(parts.query), safe=_SAFE_QUERY + "&=+"),
            quote(fragment, safe=_SAFE_QUERY + "&=+"),
        )
    )


def page_key(url: str) -> str:
    """Return what tells pages apart: the same key, the same page.

    Of a cleaned URL (`web_url`), without scheme, `www.`, the mobile host of Wikipedia, a trailing
    slash, and the order of parameters.
    """
    parts = urlsplit(url)
    host = parts.netloc.lower().removeprefix("www.")
    host = host.replace(".m.wikipedia.org", ".wikipedia.org")
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{host}{unquote(parts.path).rstrip('/')}?{query}{fragment}"


def in_domains(url: str, domains: Sequence[str]) -> bool:
    """Return whether the host of `url` is one of `domains` or below one of them."""
    host = (urlsplit(url).hostname or "").lower().rstrip(".")
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def is_private(url: str) -> bool:
    """Return whether `url` names this machine or a private network: no page of the open web."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def _without_tracking(query: str) -> str:
    if not query:
        return ""
    kept = [
        pair
        for pair in query.split("&")
        if (name := pair.partition("=")[0].lower()) not in _TRACKING
        and not name.startswith(_TRACKING_PREFIXES)
    ]
    return "&".join(kept)

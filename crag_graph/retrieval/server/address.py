"""Where a Qdrant server is, and whether a key may be sent there."""

import dataclasses
import ipaddress
import os
from typing import Self
from urllib.parse import unquote, urlsplit

from crag_graph.errors import ConfigurationError

_VARIABLE = "CRAG_QDRANT_PLAIN_HTTP"
_DEFAULT_PORT = 6333  # as the client's, whatever the scheme


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """A server's address. Only `shown` is meant for messages.

    Attributes:
        scheme: `http` or `https`.
        host: Name or number, an IPv6 one without brackets.
        port: By default 6333.
        path: Before the API's own paths; empty or `/…`.
        user: User name and password of the URL, which are sent as basic authentication.
    """

    scheme: str
    host: str
    port: int = _DEFAULT_PORT
    path: str = ""
    user: tuple[str, str] | None = dataclasses.field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address that `url` stands for; without a scheme it is http.

        Raises:
            ConfigurationError: It is not an address of a server, or carries a query.
        """
        text = url.strip()
        try:
            split = urlsplit(text if "://" in text else f"http://{text}")
            host, port = split.hostname, split.port
        except ValueError:
            raise _not_an_address() from None
        if split.scheme not in ("http", "https") or not host:
            raise _not_an_address()
        if split.query or split.fragment:
            raise ConfigurationError(
                "QDRANT_URL must not carry a query: write the key into QDRANT_API_KEY"
            )
        user = None
        if split.username is not None:
            user = (unquote(split.username), unquote(split.password or ""))
        return cls(
            scheme=split.scheme,
            host=host,
            port=port or _DEFAULT_PORT,
            path=split.path.rstrip("/"),
            user=user,
        )

    @property
    def shown(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, so that nothing sent to it travels."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def require_safe(self, api_key: str | None) -> None:
        """Refuse to send a key or a password unencrypted over a network.

        A name such as `qdrant` says nothing of the network between, so it is no exception: whoever
        knows that the network is their own says so in `CRAG_QDRANT_PLAIN_HTTP`.

        Raises:
            ConfigurationError: It would be, and the environment does not allow it.
        """
        secret = api_key or self.user
        if not secret or self.scheme != "http" or self.is_loopback:
            return
        if os.environ.get(_VARIABLE, "").strip().lower() != "allow":
            raise ConfigurationError(
                f"the key for {self.shown} would travel unencrypted: use https in QDRANT_URL, or "
                f"set {_VARIABLE}=allow where the network between is your own"
            )


def _not_an_address() -> ConfigurationError:
    return ConfigurationError(
        "QDRANT_URL is not the address of a server: write it as https://host:6333"
    )

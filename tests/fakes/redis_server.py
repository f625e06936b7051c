"""A loopback server that speaks enough of Redis' protocol (RESP 2) for a cache."""

import socketserver
import threading
from typing import Self


class RedisServer:
    """The server, in threads of its own between `__enter__` and `__exit__`.

    Attributes:
        data: Key → value, as the client sent them.
        expiries: Key → seconds that it was to be kept.
        commands: The names of all commands, in the order of arrival.
        password: Asked of clients, where it is set.
    """

    def __init__(self, *, password: str = "", broken: bool = False) -> None:
        self.data: dict[bytes, bytes] = {}
        self.expiries: dict[bytes, int] = {}
        self.commands: list[str] = []
        self.password = password
        self.broken = broken
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while (command := self._command()) is not None:
                    outer.commands.append(command[0].decode().upper())
                    self.wfile.write(outer.answer(command))

            def _command(self) -> list[bytes] | None:
                head = self.rfile.readline()
                if not head.startswith(b"*"):
                    return None
                parts = []
                for _ in range(int(head[1:])):
                    size = int(self.rfile.readline()[1:])
                    parts.append(self.rfile.read(size + 2)[:-2])
                return parts

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The address for a client."""
        secret = f":{self.password}@" if self.password else ""
        return f"redis://{secret}127.0.0.1:{self._server.server_address[1]}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, command: list[bytes]) -> bytes:
        """Return the reply to `command`."""
        name, *arguments = command
        match name.upper():
            case b"AUTH" if arguments[-1].decode() != self.password:
                return b"-WRONGPASS invalid username-password pair\r\n"
            case b"PING":
                return b"+PONG\r\n"
            case b"MGET" if self.broken:
                return b"-ERR the disk is full\r\n"
            case b"MGET":
                values = [self.data.get(key) for key in arguments]
                return b"*%d\r\n" % len(values) + b"".join(map(_bulk, values))
            case b"SET":
                self.data[arguments[0]] = arguments[1]
                if b"EX" in arguments:
                    self.expiries[arguments[0]] = int(arguments[arguments.index(b"EX") + 1])
        return b"+OK\r\n"


def _bulk(value: bytes | None) -> bytes:
    return b"$-1\r\n" if value is None else b"$%d\r\n%b\r\n" % (len(value), value)

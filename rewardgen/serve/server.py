"""The server on 127.0.0.1, for readers with the link that the command printed, and its read-only pages of runs.

Other pages in the same browser must learn nothing and do nothing here. So every request must name this server as its
host, and carry a secret: once in the link, then in a cookie that no other site can send and no script can read. A
browser keeps cookies by host, not by port, but sends one only below its path: a random one, which is no other server's.
"""

from __future__ import annotations

import hmac
import html
import re
import secrets
import threading
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import read_plain
from rewardgen.film.film_index import films_of
from rewardgen.report.rendering import render_page
from rewardgen.serve.site import RunSite, state_line
from rewardgen.store.run_folder import RunFolder

_HOST = "127.0.0.1"
_LOOK_S, _BEAT_S = 1.0, 15.0
"""Time between two looks at a run, and between two signs of life [s]."""
MOST_FILM_BYTES = 64 << 20
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_ENTRY = '<!doctype html><title>rewardgen</title><meta http-equiv="refresh" content="0; url={}/">'
"""Not a redirect: after one, a browser that came from another site withholds the cookie."""
_ALWAYS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Response(NamedTuple):
    """An HTTP response."""

    status: HTTPStatus
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = {}


class Server(ThreadingHTTPServer):
    """Serves requests on a port of this machine; 0 for any free one.

    Raises:
        UsageError: The port is taken.
    """

    daemon_threads = True

    def __init__(self, handler: Callable[..., PageHandler], port: int = 0) -> None:
        try:
            super().__init__((_HOST, port), handler)
        except OSError as error:
            message = f"cannot serve on port {port}: {error.strerror}"
            raise UsageError(message, "leave out the port, or name another one") from error
        self.token = secrets.token_urlsafe(24)
        port = self.server_address[1]
        self.hosts = {f"{_HOST}:{port}", f"localhost:{port}"}
        self.cookie, self.place = f"rewardgen-{port}", f"/{secrets.token_urlsafe(12)}"
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        """The link with the token."""
        return f"http://{_HOST}:{self.server_address[1]}/?token={self.token}"

    def shutdown(self) -> None:
        """See `BaseServer.shutdown`."""
        self.ended.set()
        super().shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore readers that leave."""


class PageHandler(BaseHTTPRequestHandler):
    """Answers requests that carry the secret; subclasses have the pages."""

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rewardgen", ""
    error_message_format, error_content_type = "%(code)d\n", "text/plain"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal quiet."""

    def do_GET(self) -> None:
        """Answer a request for a page."""
        answer = self.refusal() or self.page([unquote(part) for part in self.path_below.split("/")])
        if answer is not None:
            self.send(answer)

    @property
    def path_below(self) -> str:
        """The path of the address below the secret one."""
        return urlsplit(self.path).path.removeprefix(self.server.place)

    def page(self, parts: list[str]) -> Response | None:
        """Return the response to the parts of a path, the first one empty; None if it was sent already."""
        raise NotImplementedError

    def refusal(self) -> Response | None:
        """Refuse a request without the secret; set the cookie for one with the token."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            return Response(HTTPStatus.FORBIDDEN, b"use the link that the server printed\n")
        address = urlsplit(self.path)
        if tokens := parse_qs(address.query).get("token"):
            if not hmac.compare_digest(tokens[0].encode(), self.server.token.encode()):
                return Response(HTTPStatus.FORBIDDEN, b"the token belongs to another server\n")
            cookie = f"{self.server.cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path={self.server.place}/"
            entry = _ENTRY.format(self.server.place).encode()
            return Response(HTTPStatus.OK, entry, "text/html; charset=utf-8", {"Set-Cookie": cookie})
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:  # of another server on this host
            cookie = None
        if not hmac.compare_digest((cookie.value if cookie else "").encode(), self.server.token.encode()):
            return Response(HTTPStatus.FORBIDDEN, b"open the link that `rewardgen` printed\n")
        return None

    def send(self, answer: Response) -> None:
        """Send a response."""
        self._head(answer.status, answer.kind, {**answer.headers, "Content-Length": str(len(answer.body))})
        self.wfile.write(answer.body)

    def _head(self, status: HTTPStatus, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
        for name, value in {"Content-Type": kind, **_ALWAYS, **policy, **headers}.items():
            self.send_header(name, value)
        if headers.get("Connection") == "close":
            self.close_connection = True
        self.end_headers()


class RunHandler(PageHandler):
    """Pages of runs; runs and films are looked up among those that exist."""

    def __init__(self, site: RunSite, *arguments: Any) -> None:
        self._site = site
        super().__init__(*arguments)

    def page(self, parts: list[str]) -> Response | None:
        """See `PageHandler.page`."""
        site, place = self._site, self.server.place
        match parts:
            case ["", ""] if site.only:
                return Response(HTTPStatus.SEE_OTHER, headers={"Location": f"{place}/runs/{site.only.id}/"})
            case ["", ""]:
                return page_response(site.page, place)
            case ["", "compare"]:
                return page_response(
                    partial(site.comparison, parse_qs(urlsplit(self.path).query).get("run", [])), place
                )
            case ["", "events"]:
                return self._stream(site.state)
            case ["", "runs", id, *rest] if run := site.run(id):
                match rest:
                    case [""]:
                        answer = page_response(run.page, place)
                        if answer.status != HTTPStatus.OK:
                            site.forget()
                        return answer
                    case ["events"]:
                        return self._stream(run.state)
                    case ["films", name]:
                        return self._still(run.folder, name)
        return Response(HTTPStatus.NOT_FOUND, b"not found\n")

    def _stream(self, look: Callable[[], dict[str, Any]]) -> None:
        """Send a page every change until it closes."""
        self._head(HTTPStatus.OK, "text/event-stream", {"Connection": "close"})
        last, beat = "", time.monotonic()
        while True:
            if (line := state_line(look)) != last or time.monotonic() - beat > _BEAT_S:
                last, beat = line, time.monotonic()
                self.wfile.write(f"data: {line}\n\n".encode())
            if self.server.ended.wait(_LOOK_S):
                return

    def _still(self, folder: RunFolder, name: str) -> Response:
        """Return the picture of a film for the list of runs; a run's own page holds its films."""
        stills = {film.still.name: film.still for film in films_of(folder)}
        try:
            return Response(HTTPStatus.OK, read_plain(stills[name], MOST_FILM_BYTES), "image/png")
        except (KeyError, OSError):
            return Response(HTTPStatus.NOT_FOUND, b"no such film\n")


def page_response(make: Callable[[], str], place: str) -> Response:
    """Return a page; its content security policy stands in the text and in a header."""
    try:
        text, status = make(), HTTPStatus.OK
    except RewardgenError as error:
        status = HTTPStatus.BAD_REQUEST if isinstance(error, UsageError) else HTTPStatus.INTERNAL_SERVER_ERROR
        text = render_page("fault", {}, (), message=error.message, hint=error.hint, home=f"{place}/")
    match = _POLICY.search(text)
    policy = html.unescape(match[1]) if match else "default-src 'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    return Response(status, text.encode(), "text/html; charset=utf-8", headers)

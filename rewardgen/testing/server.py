"""A local server that speaks OpenAI's chat protocol and returns prepared answers, faults included."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rewardgen.store.messages import Usage

COUNTED = object()
"""The honest counts of tokens."""


@dataclass(frozen=True)
class Answer:
    """The server's answer to one request.

    Args:
        text: The reply; None for a reply without content.
        status: HTTP status; from 400 on, `text` is the error's message.
        code: Type and code of an error.
        headers: Further HTTP headers.
        body: Sent as it is instead of a well-formed answer.
        usage: Sent as it is instead of the counts of tokens.
        cut_after: Bytes of the answer after which the connection is closed; all are sent if not given.
        delay_s: Waits before it answers, or until the server is closed [s].
        prompt_tokens: Tokens that it counts for the prompt.
        completion_tokens: Tokens that it counts for the reply.
        finish_reason: Why the reply ends: `length` at the limit of tokens.
    """

    text: str | None = "hello"
    status: int = 200
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    usage: Any = COUNTED
    cut_after: int | None = None
    delay_s: float = 0.0
    prompt_tokens: int = 100
    completion_tokens: int = 50
    finish_reason: str = "stop"


class ChatServer:
    """Serves on 127.0.0.1 from `__enter__` to `__exit__`, each request in a thread of its own.

    Args:
        answer: What to answer: always the same, or a function of the number of the request, from 0, and its JSON body.
        models: Names that `GET /v1/models` lists.
    """

    def __init__(
        self, answer: Answer | Callable[[int, dict[str, Any]], Answer] | None = None, models: tuple[str, ...] = ()
    ) -> None:
        self._answer = answer or Answer()
        self.models = models
        self.bodies: list[dict[str, Any]] = []
        """The JSON of every chat request, in order of arrival."""
        self.keys: list[str] = []
        """The `Authorization` header of every chat request."""
        self.served = Usage()
        """Tokens of all well-formed answers, the empty ones included."""
        self.most_at_once = 0
        self.closing = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def api_base(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def begin(self, body: dict[str, Any], key: str) -> Answer:
        """Take in a request and choose its answer."""
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.keys.append(key)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return self._answer(number, body) if callable(self._answer) else self._answer

    def end(self, answer: Answer) -> None:
        """Count an answer that is about to be sent."""
        counts = answer.status == 200 and answer.body is None
        usage = Usage(prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens, calls=1)
        with self._lock:
            self._at_once -= 1
            self.served = self.served + usage if counts else self.served


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: tests have their own output."""

        def do_GET(self) -> None:
            if self.path != "/v1/models":
                return self._send(404, b'{"detail": "Not Found"}')
            self._send(200, json.dumps({"object": "list", "data": [{"id": name} for name in server.models]}).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.partition("?")[0] != "/v1/chat/completions":
                return self._send(404, b'{"detail": "Not Found"}')
            answer = server.begin(body, self.headers.get("Authorization", ""))
            if answer.delay_s:
                server.closing.wait(answer.delay_s)
            server.end(answer)
            content = json.dumps(_content(answer, body)).encode() if answer.body is None else answer.body
            self._send(answer.status, content, answer.headers, answer.cut_after)

        def _send(
            self, status: int, content: bytes, headers: dict[str, str] | None = None, cut_after: int | None = None
        ) -> None:
            try:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[:cut_after])
                self.close_connection = self.close_connection or cut_after is not None
            except OSError:
                self.close_connection = True

    return Handler


def _content(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    if answer.status >= 400:
        return {"error": {"message": answer.text, "type": answer.code or "error", "code": answer.code}}
    counted = {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }
    message = {"role": "assistant", "content": answer.text}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        "usage": counted if answer.usage is COUNTED else answer.usage,
    }

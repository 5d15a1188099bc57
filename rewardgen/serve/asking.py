"""The page of the judge `human`: two films of the open question, and what the run does in between.

Importing this module registers the judge: it is above the search, which only waits for answers.
"""

from __future__ import annotations

import re
import threading
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from rewardgen.core.errors import UsageError
from rewardgen.core.files import read_plain
from rewardgen.core.schema import Frozen
from rewardgen.core.text import visible
from rewardgen.report.answer import opening_words
from rewardgen.report.page import REPORT
from rewardgen.report.rendering import render_page
from rewardgen.search.teachers.human import HumanTeacher
from rewardgen.search.teachers.protocol import TEACHERS, TeacherSetup
from rewardgen.serve.server import MOST_FILM_BYTES, PageHandler, Response, Server, page_response
from rewardgen.serve.site import ServedRun, state_line
from rewardgen.store.comparisons import MOST_WORDS, Answer

_SIDES = ("left", "right")
_MOST_BODY_BYTES = 16_384


class _Posted(Frozen):
    turn: int
    """Number of the showing, as in `Showing.turn`."""
    answer: Answer | Literal["undo"]
    why: Annotated[str, Field(max_length=MOST_WORDS)] = ""


_SERVING: list[Server] = []
"""The page of this process's latest judge."""


class AskingHandler(PageHandler):
    """Shows the open question of a teacher and takes answers."""

    def __init__(self, teacher: HumanTeacher, run: ServedRun, *arguments: Any) -> None:
        self._teacher, self._run = teacher, run
        super().__init__(*arguments)

    def page(self, parts: list[str]) -> Response | None:
        """See `PageHandler.page`."""
        match parts:
            case ["", ""]:
                return page_response(self._page, self.server.place)
            case ["", "state"]:
                return Response(HTTPStatus.OK, state_line(self._state).encode(), "application/json")
            case ["", "films" | "curves" as kind, turn, side] if side in _SIDES:
                return self._clip(kind, turn, _SIDES.index(side))
        return Response(HTTPStatus.NOT_FOUND, b"not found\n")

    def do_POST(self) -> None:  # noqa: N802
        """Take an answer, from this server's own page only."""
        answer = self.refusal() or self._posted()
        self.send(answer._replace(headers={**answer.headers, "Connection": "close"}))  # the body may be unread

    def _posted(self) -> Response:
        length = self.headers.get("Content-Length", "")
        if self.headers.get_all("Origin") not in [[f"http://{host}"] for host in self.server.hosts]:
            return Response(HTTPStatus.FORBIDDEN, b"answer on the page that this server sent\n")
        if self.path_below != "/answer":
            return Response(HTTPStatus.NOT_FOUND, b"not found\n")
        if not re.fullmatch("[0-9]{1,5}", length) or int(length) > _MOST_BODY_BYTES:
            return Response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"the answer is too long\n")
        try:
            posted = _Posted.model_validate_json(self.rfile.read(int(length)))
        except (ValidationError, UsageError):
            return Response(HTTPStatus.BAD_REQUEST, b"this is no answer\n")
        if posted.answer == "undo":
            taken = self._teacher.undo(posted.turn)
        else:
            taken = self._teacher.take(posted.turn, posted.answer, " ".join(visible(posted.why).split()))
        return Response(HTTPStatus.NO_CONTENT) if taken else Response(HTTPStatus.CONFLICT, b"this question is over\n")

    def _clip(self, kind: str, turn: str, side: int) -> Response:
        shown = self._teacher.shown
        if shown is None or turn != str(shown.turn):
            return Response(HTTPStatus.NOT_FOUND, b"this question is over\n")
        film = shown.films[side]
        file, media = (film.video, "video/mp4") if kind == "films" else (film.curves, "application/json")
        try:
            return Response(HTTPStatus.OK, read_plain(file, MOST_FILM_BYTES), media)
        except OSError:
            return Response(HTTPStatus.NOT_FOUND, b"no such film\n")

    def _state(self) -> dict[str, Any]:
        teacher, history, run = self._teacher, self._teacher.history, self._run.state()
        over = bool(history.stop_reason or history.summary)
        shown = teacher.shown  # read last: once the search is over, no question is open
        return {
            "turn": shown.turn if shown else None,
            "again": bool(shown and shown.again),
            "undo": teacher.can_undo,
            "progress": teacher.progress,
            "over": over,
            "report": str(self._run.folder.path.resolve() / REPORT) if over else "",
            "text": "making the films of the next question" if teacher.is_filming else run["text"],
            "done": None if teacher.is_filming else run["done"],
        }

    def _page(self) -> str:
        history, folder = self._teacher.history, self._run.folder
        card, goal = history.card, history.config.goal
        asked = goal or opening_words(card.description)
        data = {"task": card.name, "resume": f"rewardgen resume {folder.word}"}
        values = {"task": card.name, "asked": asked, "description": card.description.strip(), "most": MOST_WORDS}
        return render_page("asking", data, ("asking.js",), served="live", **values)


def _make(setup: TeacherSetup) -> HumanTeacher:
    argument = setup.argument or "0"
    if not (argument.isascii() and argument.isdecimal() and len(argument) < 6 and int(argument) < 1 << 16):
        message = f"`--judge human:{argument}`: after the colon stands the port of the page"
        raise UsageError(message, "leave it out for any free port, or write one such as `--judge human:8700`")

    def serve(teacher: HumanTeacher) -> str:
        for earlier in _SERVING:  # of another run in this process, or before the race of settings
            earlier.shutdown()
            earlier.server_close()
        _SERVING.clear()
        server = Server(partial(AskingHandler, teacher, ServedRun(setup.folder)), int(argument))
        # It tells the end of the run, too, and ends with this process.
        threading.Thread(target=server.serve_forever, name="page of the judge", daemon=True).start()
        _SERVING.append(server)
        return server.url

    return HumanTeacher(setup, serve)


TEACHERS.register("human", _make)

"""A run that asks a person on a page, with drawn films in place of a simulator's."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, suppress

import av
import numpy as np

from rewardgen.film.clips import ClipFilm
from rewardgen.search.teachers import human
from rewardgen.serve import asking
from rewardgen.store.run_folder import RunFolder
from tests.search.parts import Crew, Listener, a_search

SECONDS = (1.0, 1.6)
"""Lengths of the film on the left and on the right."""


def drawn(path, seconds, shade):
    """Write an MP4 of a square that crosses the picture."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=20)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for frame in range(round(20 * seconds)):
            picture = np.full((180, 320, 3), shade, np.uint8)
            place = 8 * frame % 280
            picture[70:110, place : place + 40] = (200, 80, 60)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())


def risen(seconds):
    """Curves of an episode: `way` rises to its length, `gap` has no number at first, `turn` swings."""
    times = [round(0.05 * step, 3) for step in range(1, round(20 * seconds) + 1)]
    turn = [round(np.sin(6 * time), 3) for time in times]
    return {"times_s": times, "values": {"way [m]": times, "gap": [None, *times[1:]], "turn x [rad]": turn}}


class Stopped(Exception):
    """Ends a run at the end of its test."""


class Noting(Listener):
    """Keeps the notes of a run."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def note(self, text):
        self.notes.append(text)


class Asked:
    """A run in a thread that waits for answers."""

    def __init__(self, folder, search, history, listener):
        self.folder, self.history, self._listener = folder, history, listener
        self.summary, self._search = None, search
        self.thread = threading.Thread(target=self._work, daemon=True)

    def _work(self):
        with self.folder.locked(), suppress(Stopped):
            self.summary = self._search()

    @property
    def url(self):
        """Address of the page, once the first question is open."""
        return until(lambda: [note for note in self._listener.notes if "http" in note])[-1].split()[-1]


def until(look, within_s=20.0):
    """Wait for a look to find something, and return it."""
    end = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return found


@contextmanager
def asking_run(place, monkeypatch, crew=None, **config):
    """A run that waits for answers, with drawn films."""
    films = [ClipFilm(place / f"{side}.mp4", place / f"{side}.json", (), ()) for side in ("left", "right")]
    for film, seconds, shade in zip(films, SECONDS, (235, 215), strict=True):
        drawn(film.video, seconds, shade)
        film.curves.write_text(json.dumps(risen(seconds)))
    teachers, stopping = [], threading.Event()

    def filmed(folder, history, question, note):
        if stopping.is_set():
            raise Stopped
        return tuple(films)

    def teacher(*arguments):
        teachers.append(human.HumanTeacher(*arguments))
        return teachers[-1]

    monkeypatch.setattr(human, "film_clips", filmed)
    monkeypatch.setattr(asking, "HumanTeacher", teacher)
    listener, folder = Noting(), RunFolder(place / "run")
    options = {"judge": "human", "generations": 1, "answers": 3} | config
    search, history = a_search(folder.path, crew or Crew(), listener, **options)
    asked = Asked(folder, search, history, listener)
    asked.thread.start()
    yield asked
    stopping.set()
    while asked.thread.is_alive():
        if shown := teachers[0].shown:
            teachers[0].take(shown.turn, "unclear", "")
        asked.thread.join(0.05)

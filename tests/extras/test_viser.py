"""`rewardgen play --web`: real episodes of a real policy on a page, in a real browser."""

import re
import sys
import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest

from rewardgen.core.errors import UsageError
from rewardgen.film.film import plan_of
from rewardgen.film.shooting import recorded, takes_beside
from rewardgen.film.viewers import VIEWERS
from tests.film.test_films import CHOSEN, make_run

SHAPES = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body><freejoint/>
      <geom type="sphere" size="0.1"/>
      <geom type="capsule" size="0.1 0.3" pos="1 0 0"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3" pos="2 0 0"/>
      <geom type="cylinder" size="0.1 0.3" pos="3 0 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="4 0 0"/>
      <geom type="mesh" mesh="wedge" pos="5 0 0"/>
      <geom type="sphere" size="0.1" group="3"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_without_viser_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(UsageError, match="viser") as refused:
        VIEWERS.get("web")("rewardgen film latest")
    assert refused.value.hint == "pip install -e '.[viser]'"


class Shown:
    """Episodes that are shown by a thread until the end of a test."""

    def __init__(self, model, episodes, capsys):
        pytest.importorskip("viser", reason="needs viser: pip install -e '.[viser]'")
        self._stop = threading.Event()
        viewer = VIEWERS.get("web")("rewardgen film latest")
        self._thread = threading.Thread(target=viewer.show, args=("Candidate", model, episodes, self._stop.is_set))
        self._thread.start()
        self._capsys = capsys

    def __enter__(self):
        printed = ""
        while not (address := re.search(r"http://127\.0\.0\.1:\d+", printed)):
            assert self._thread.is_alive()
            printed += self._capsys.readouterr().out
        return address[0]

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


def widths(episode, frame, most):
    """Widths of the bars [%]."""
    return [round(50 * abs(values[frame]) / most, 1) for values in episode.components.values()]


def shown(page, episode, frame, most):
    """Wait until the page shows a frame, and return its picture."""
    page.get_by_text(
        f"step {episode.steps[frame]}, {episode.steps[frame] * episode.step_s:.2f} s", exact=True
    ).wait_for()
    bars = page.locator(".pay").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    assert bars == pytest.approx(widths(episode, frame, most), abs=0.11)
    page.wait_for_timeout(500)  # the picture follows
    return page.locator("canvas").first.screenshot()


def listening(port):
    """Addresses at which a port is open, in hexadecimal."""
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {line[1].split(":")[0] for line in lines if line[3] == "0A" and int(line[1].split(":")[1], 16) == port}


def test_a_policy_moves_in_the_browser_beside_the_pay_of_its_components(chromium, tmp_path, capsys):
    folder, history = make_run(tmp_path)
    take = plan_of(folder, history, CHOSEN).take
    takes = takes_beside(folder, history, take)
    assert takes[0] == take
    assert len({one.slice.seed for one in takes}) == len(takes) > 1
    with recorded(folder, history, takes[:2], 2.0, priced=True) as (model, episodes):
        # The policies are the same file: what the page shows of the second must be its own.
        pays = {name: [0.5 * value for value in values] for name, values in episodes[1].components.items()}
        first, second = episodes = [episodes[0], episodes[1]._replace(components=pays)]
        most = max(abs(value) for values in first.components.values() for value in values)
        with Shown(model, episodes, capsys) as url:
            assert listening(int(url.rpartition(":")[2])) == {"0100007F"}
            page = chromium.new_context(viewport={"width": 900, "height": 500}).new_page()
            page.set_default_timeout(90_000)  # WebGL is drawn by the processor
            left = []
            page.on("request", lambda asked: left.append(asked.url) if asked.url.startswith("http") else None)
            page.goto(url)
            play = page.get_by_label("play")
            play.dispatch_event("click")  # it plays at first
            frame = page.locator("input[inputmode]").first
            frame.fill("20")
            frame.press("Enter")
            later = shown(page, first, 20, most)
            frame.fill("3")
            frame.press("Enter")
            assert shown(page, first, 3, most) != later
            page.get_by_role("combobox", name="policy").click()
            page.get_by_role("option", name=second.label).click()
            shown(page, second, 0, most)
            play.dispatch_event("click")
            page.wait_for_function("!document.body.innerText.includes('step 0, ')")
            assert [asked for asked in left if not asked.startswith(url)] == []


def test_every_shape_has_the_size_and_the_place_that_it_has_in_the_model(tmp_path):
    viser = pytest.importorskip("viser", reason="needs viser")
    from rewardgen.extras.viser.viewer import _Scene

    model = mujoco.MjModel.from_xml_string(SHAPES)
    mujoco.mj_saveModel(model, str(tmp_path / "model.mjb"))
    server = viser.ViserServer(host="127.0.0.1", verbose=False)
    try:
        handles = _Scene(server, tmp_path / "model.mjb")._handles
        assert list(handles) == [*range(7)]  # not the one of a hidden group
        for geom in range(1, 7):
            corners = model.geom_aabb[geom, :3] - model.geom_aabb[geom, 3:], model.geom_aabb[geom].reshape(2, 3).sum(0)
            vertices = handles[geom].vertices
            assert np.allclose((vertices.min(0), vertices.max(0)), corners, atol=2e-3)
    finally:
        server.stop()

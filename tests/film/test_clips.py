"""Clips: what teachers see of two episodes is what the clean evaluation measured, and tells nothing else."""

import json

import av
import numpy as np
import pytest
from PIL import Image

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.film import shooting
from rewardgen.film.clips import CLIPS, FRAMES, _curves, clip_texts, film_clips
from rewardgen.film.shooting import Played
from rewardgen.store.records import VariableCard
from tests.film.judged_run import make_run, question

START = 5


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def films(run):
    try:
        return film_clips(*run, question("g00-k0", "g00-k2", START))
    except UsageError as error:
        assert error.message == shooting.NO_OPENGL
        pytest.skip(f"{shooting.NO_OPENGL}; {shooting.INSTALL_OPENGL}")


def outcome(history, id, start):
    return history.trained["search", id, 0].outcomes[start]


def test_an_episode_played_again_ends_as_it_was_measured_also_of_a_policy_that_sees_stages(run):
    folder, history = run
    lengths = set()
    for start in (0, START, 15):
        notes = []
        for pair in (("g00-k0", "g00-k1"), ("g00-k2", "g00-k0")):
            texts = clip_texts(folder, history, question(*pair, start), note=notes.append)
            for id, text in zip(pair, texts, strict=True):
                measured = outcome(history, id, start)
                assert text.startswith(f"{measured.steps} of 40 steps") and f"ended by {measured.ending}" in text
                lengths.add(measured.steps)
        assert notes == []
    assert len(lengths) > 2, "episodes of one length would show nothing"


def test_an_episode_that_goes_otherwise_than_measured_is_told(run):
    folder, history = run
    key = "search", "g00-k1", 0
    changed = tuple(each.model_copy(update={"steps": 3}) for each in history.trained[key].outcomes)
    before = history.trained[key]
    history.trained[key] = before.model_copy(update={"outcomes": changed})
    notes = []
    clip_texts(folder, history, question("g00-k0", "g00-k1", START), note=notes.append)
    history.trained[key] = before
    assert len(notes) == 1 and "g00-k1: start 5 of seed 0 goes otherwise" in notes[0]


def test_a_text_shows_the_variables_and_neither_fitness_nor_candidate(run):
    folder, history = run
    text, other = clip_texts(folder, history, question("g00-k0", "g00-k1", START))
    assert text != other and "x [m]" in text and "mean size" in text
    assert not [word for word in ("fitness", "success", "g00", "seed") if word in text]


def test_a_film_shows_the_whole_episode_and_its_pictures_are_spread_over_it(run, films):
    _, history = run
    for id, film in zip(("g00-k0", "g00-k2"), films, strict=True):
        steps = outcome(history, id, START).steps
        with av.open(str(film.video)) as video:
            shown = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
            assert not [value for value in video.metadata.values() if "g00" in value]
        assert len(film.frames) == len(film.times_s) == min(FRAMES, len(shown)) > 5
        assert film.times_s[0] == 0.0 and film.times_s[-1] == pytest.approx(steps * 0.01, abs=1e-3)
        assert np.diff(film.times_s).max() < 2.0 * film.times_s[-1] / (len(film.frames) - 1)
        pictures = [np.asarray(Image.open(path).convert("RGB")).astype(int) for path in film.frames]
        assert pictures[0].shape == (180, 320, 3) and np.abs(pictures[0] - pictures[-1]).mean() > 0.5
        assert np.ptp(shown[0][:4].mean((1, 2))) < 10.0, "no caption stands over the sky"
        assert Image.open(film.frames[0]).info == {}


def test_curves_hold_the_tasks_variables_at_the_filmed_steps_and_nothing_else(run, films):
    _, history = run
    for id, film in zip(("g00-k0", "g00-k2"), films, strict=True):
        curves = json.loads(film.curves.read_text())
        times, measured = curves["times_s"], outcome(history, id, START)
        assert list(curves["values"]) == ["x [m]"] and len(curves["values"]["x [m]"]) == len(times) > 5
        assert 0.0 < times[0] < 0.05 and times[-1] == pytest.approx(measured.steps * 0.01)
        assert [abs(x) > 0.2 for x in curves["values"]["x [m]"]] == [False] * (len(times) - 1) + [
            measured.ending == "left"
        ]


def test_a_long_film_has_curves_of_few_numbers(run, tmp_path):
    names = {"gap [m]": (), "place [m]": ("x", "y"), "forces [N]": tuple(f"f{number}" for number in range(40))}
    variables = [
        VariableCard(name=name.split()[0], unit=name.split("[")[1][:-1], meaning="", parts=parts)
        for name, parts in names.items()
    ]
    card, played = run[1].card.model_copy(update={"variables": tuple(variables)}), Played(name="a", steps=range(401))
    grows = np.arange(1.0, 401.0, dtype=np.float32)
    grows[0] = np.nan
    forces, file = np.ones((400, 40), np.float32), tmp_path / "steps.npz"
    np.savez(file, gap=grows, place=np.stack([grows, -grows], 1), forces=forces)
    curves = _curves(file, played, card)
    times, values = curves["times_s"], curves["values"]
    assert len(times) <= 150 and times[-1] == 400
    assert list(values) == ["gap [m]", "place x [m]", "place y [m]", "|forces| [N]"]
    assert times[0] == 1 and values["gap [m]"][:2] == [None, 4.0]
    assert values["place y [m]"][-1] == -400 and values["|forces| [N]"][0] == 6.325


def test_both_clips_of_a_question_have_one_camera(films):
    first, second = (np.asarray(Image.open(film.frames[0]).convert("RGB")).astype(int) for film in films)
    assert np.abs(first - second).max() <= 2, "they start alike"


def test_pictures_alone_are_those_of_the_film_and_the_video_is_made_once_it_is_asked_for(run, films):
    folder, history = run
    asked = question("g00-k1", "g00-k0", START)
    alone, _ = film_clips(folder, history, asked, videos=False)
    before = [path.read_bytes() for path in alone.frames]
    assert not alone.video.exists() and len(set(before)) > 2
    whole, _ = film_clips(folder, history, asked)
    assert whole == alone and whole.video.exists()
    assert [path.read_bytes() for path in whole.frames] == before


def test_a_question_asked_again_with_exchanged_sides_shows_the_same_films(run, films):
    folder, history = run
    before = films[0].video.stat().st_mtime_ns
    right, left = film_clips(folder, history, question("g00-k2", "g00-k0", START))
    assert (left, right) == films and left.video.stat().st_mtime_ns == before
    assert not [path for path in (folder.path / CLIPS).rglob("*") if path.suffix == ".tmp"]


def test_a_policy_that_cannot_be_read_is_an_error_with_a_way_on(run):
    folder, history = run
    path = folder.policies / "search" / "g00-k1-s0.npz"
    content = path.read_bytes()
    path.write_bytes(b"no policy")
    with pytest.raises(RunFolderError, match="g00-k1 cannot be shown") as error:
        clip_texts(folder, history, question("g00-k0", "g00-k1", START))
    path.write_bytes(content)
    assert "name another candidate" in error.value.hint

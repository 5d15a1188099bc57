"""Films of runs: real policies played, rewards priced, pictures made, in real workers."""

import json
import shutil
from pathlib import Path

import av
import mujoco
import numpy as np
import pytest
import torch
from PIL import Image

from rewardgen.core.errors import RunFolderError, TaskError, UsageError
from rewardgen.film import film_jobs, shooting
from rewardgen.film.film import at_pace, make_films, plan_of, plans_for
from rewardgen.film.film_index import FILMS, INDEX, films_of
from rewardgen.film.scene import choose_cameras, dressed, outlines, visible_geoms
from rewardgen.film.shooting import Plan, renderer, require_films, require_trust, shoot, take_of
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import expert_file, shipped_tasks
from rewardgen.training.mlp_policy import MlpPolicy
from tests.cli.conftest import rewardgen, write_run  # noqa: F401
from tests.tasks.test_gym_task import OWN, PUSHED
from tests.ui.story import events

CHOSEN = "g01-k5"
HOSTILE = '<script>alert(1)</script> [red]x[/red] \x1b[31m \u202e{{7*7}} "quoted" ' + "long " * 80


def make_run(place, *, own=True, **config):
    """The story's run, with a policy that really hops in place of each that it trained."""
    told = [
        Event.model_validate_json(each.model_dump_json().replace("forward_velocity", "x_velocity")) for each in events()
    ]
    told[0].data["config"] |= config
    folder = RunFolder(write_run(place / "runs", told, own=own))
    history = History.load(folder)
    for (phase, _, _), each in history.trained.items():
        if each.policy:
            (folder.policies / phase).mkdir(parents=True, exist_ok=True)
            shutil.copy(expert_file(shipped_tasks()["hopper"]), folder.policies / phase / each.policy)
    return folder, history


def pictures(film):
    return [frame.to_ndarray(format="rgb24").astype(int) for frame in av.open(str(film.video)).decode(video=0)]


def content(film):
    return [path.read_bytes() for path in (film.video, film.picture, film.still)]


def require_a_robot(film):
    """It stands out in the middle of the picture, and moves."""
    shown = pictures(film)
    first, later = shown[0], shown[len(shown) // 2]
    middle = slice(first.shape[1] // 4, 3 * first.shape[1] // 4)
    rows = slice(first.shape[0] - 360, first.shape[0] - 160)
    warm = later[rows, middle, 0] - later[rows, middle, 2] > 60  # the hopper is brown, sky and floor are bluish grey
    assert 0.01 < warm.mean() < 0.5
    assert np.abs(first - later)[rows].mean() > 1.0


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """A run with a film beside a file that is no policy."""
    folder, history = make_run(tmp_path_factory.mktemp("filmed"), goal=HOSTILE)
    broken, notes = take_of(folder, history, "human"), []
    (folder.policies / broken.phase / str(broken.slice.policy)).write_bytes(b"no policy")
    plans = [Plan(broken, "broken"), plan_of(folder, history, CHOSEN)._replace(beside=broken)]
    try:
        (film,) = shoot(folder, history, plans, seconds=0.4, speed=0.5, note=notes.append)
    except UsageError as error:
        assert error.message == shooting.NO_OPENGL
        pytest.skip(f"{shooting.NO_OPENGL}; {shooting.INSTALL_OPENGL}")
    return folder, history, film, notes


def test_a_film_shows_the_robot_and_its_index_says_which_policy(filmed):
    folder, history, film, _ = filmed
    assert (film.id, film.beside, film.phase) == (CHOSEN, None, "final")
    assert films_of(folder) == [film]
    assert film.seed in history.final_seeds and film.seconds == pytest.approx(0.4)
    assert "middle fitness of 5" in film.caption and "fresh seed" in film.caption
    require_a_robot(film)
    with Image.open(film.picture) as picture, Image.open(film.still) as still:
        assert picture.n_frames > 8 and still.size == pictures(film)[0].shape[1::-1]
    assert film.video.stat().st_size < 400_000


def test_a_file_that_is_no_policy_costs_its_own_film_alone(filmed):
    _, _, film, notes = filmed
    assert film.beside is None and len(notes) == 1 and "human-final-s5001 cannot be shown" in notes[0]


@pytest.mark.slow
def test_two_policies_are_shown_beside_each_other(tmp_path, filmed):
    folder, history = make_run(tmp_path)
    final = [each for each in plans_for(folder, history) if each.take.phase == "final"]
    assert [(each.take.id, each.beside and each.beside.id) for each in final] == [(CHOSEN, "human"), (CHOSEN, None)]
    notes = []
    pair, alone = shoot(folder, history, final, seconds=0.6, note=notes.append)
    assert notes[0].startswith("making 2 films") and notes[1:] == ["film 1 of 2", "film 2 of 2"]
    assert pair.beside == "human"
    assert pictures(pair)[0].shape[1] == 2 * pictures(alone)[0].shape[1]
    require_a_robot(alone)


def test_a_run_is_told_by_the_best_of_its_generations_and_the_chosen_reward_as_far_as_policies_are_there(tmp_path):
    folder, history = make_run(tmp_path)
    plans = plans_for(folder, history)
    told = [(each.take.id, each.take.phase, each.beside.id if each.beside else None) for each in plans]
    assert told == [
        ("g00-k2", "search", None),
        (CHOSEN, "search", None),
        (CHOSEN, "final", "human"),
        (CHOSEN, "final", None),
    ]
    shutil.rmtree(folder.policies / "search")
    assert plans_for(folder, history) == plans[2:]
    shutil.rmtree(folder.policies / "final")
    assert plans_for(folder, history) == [] and make_films(folder, history) == []


def test_films_of_another_length_are_made_beside_those_that_exist(filmed, monkeypatch):
    folder, history, film, _ = filmed
    planned = []
    monkeypatch.setattr("rewardgen.film.film.shoot", lambda folder, history, plans, **_: planned.append(plans))
    make_films(folder, history)
    make_films(folder, history, seconds=3.0)
    usual, short = planned
    assert film.name not in {plan.name for plan in usual}
    assert [plan.name for plan in short] == [f"{plan.name}-3s-x1" for plan in plans_for(folder, history)]
    assert at_pace(usual[0], 3.0, 0.5).title == f"{usual[0].title}, 3 s at 0.5 times its speed"


def test_the_training_with_the_middle_fitness_is_shown_unless_a_seed_is_given(tmp_path):
    folder, history = make_run(tmp_path)
    fitness = {seed: history.trained["final", CHOSEN, seed].final_fitness for seed in (5000, 5001, 5002)}
    middle = sorted(fitness, key=fitness.__getitem__)[1]
    assert take_of(folder, history, CHOSEN).slice.seed == middle
    assert take_of(folder, history, CHOSEN, seed=5002).slice.seed == 5002
    later = tuple(seed for seed in fitness if seed != middle)
    history.extra_seeds["final", CHOSEN] = later  # as after further finals
    assert take_of(folder, history, CHOSEN).slice.seed in later


@pytest.mark.parametrize(
    ("id", "seed", "kind", "words"),
    [
        (CHOSEN, 77, UsageError, "not trained with seed 77"),
        ("g00-k4", None, UsageError, "was not trained: the reply holds no code"),
        ("human", None, RunFolderError, "policies of human are gone"),
    ],
)
def test_a_policy_that_is_not_there_is_told_with_a_way_on(tmp_path, id, seed, kind, words):
    folder, history = make_run(tmp_path)
    if id == "human":
        shutil.rmtree(folder.policies)
    with pytest.raises(kind, match=words) as error:
        take_of(folder, history, id, seed=seed)
    assert error.value.hint


def test_without_opengl_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shooting, "_RENDERERS", ("no_such_library",))
    (tmp_path / "rollout").mkdir()
    with pytest.raises(UsageError, match="OpenGL renders nothing here") as error:
        shooting.render_all([{"name": "film"}], tmp_path, False, print)
    assert "apt install" in error.value.hint and renderer() is None


def test_the_task_file_of_a_run_from_elsewhere_runs_only_after_a_yes(tmp_path):
    _, history = make_run(tmp_path, own=False, task=str(tmp_path / "theirs.py"))
    with pytest.raises(UsageError, match="would run as your own code"):
        require_trust(history, agreed=False)
    require_trust(history, agreed=True)
    _, shipped_task = make_run(tmp_path / "other", own=False)
    require_trust(shipped_task, agreed=False)


@pytest.mark.parametrize(
    "change",
    [
        lambda shot: shot | {"name": "../../outside"},
        lambda shot: shot | {"more": 1},
        lambda shot: shot | {"name": "missing"},
        lambda shot: "no film",
    ],
)
def test_an_index_that_somebody_else_wrote_leads_nowhere(tmp_path, filmed, change):
    _, _, film, _ = filmed
    folder = RunFolder(tmp_path)
    shutil.copytree(film.folder, tmp_path / FILMS)
    for suffix in (".mp4", ".webp", ".png"):
        (tmp_path / f"outside{suffix}").write_bytes(b"x")
    index = json.loads((tmp_path / FILMS / INDEX).read_text())
    assert len(films_of(folder)) == 1
    (tmp_path / FILMS / INDEX).write_text(json.dumps({"films": [change(each) for each in index["films"]]}))
    assert films_of(folder) == []


def test_a_run_without_a_chosen_reward_is_filmed_as_far_as_it_is(rewardgen, tmp_path, filmed):  # noqa: F811
    began = write_run(tmp_path / "runs", events()[:2], own=True)
    done = rewardgen("film", "latest")
    assert done.returncode == 1 and "no policy has been trained" in done.stderr
    kept = [each for each in events() if each.kind not in ("finals-started", "finished", "judged")]
    (began / "events.jsonl").write_text("\n".join(each.model_dump_json() for each in kept) + "\n")
    shutil.copytree(filmed[2].folder, began / FILMS)
    done = rewardgen("film", "latest")
    assert done.returncode == 0 and f"play {began.name}:{CHOSEN}" in done.stderr


def test_the_commands_film_the_same_again_and_say_so_and_play_needs_a_display(rewardgen, tmp_path, filmed):  # noqa: F811
    folder = RunFolder(shutil.copytree(filmed[0].path, tmp_path / "runs" / filmed[0].id))
    done = rewardgen("film", f"latest:{CHOSEN}", "--seconds", "0.4", "--speed", "0.5", "--json")
    (told,) = json.loads(done.stdout)["films"]
    assert done.returncode == 0 and told["id"] == CHOSEN and told["video"].endswith(".mp4")
    before, film = films_of(folder)
    assert film.video.as_posix().endswith(told["video"]) and content(film) == content(before)
    assert "0.5 times its speed" in film.title and film.name.endswith("-0.4s-x0.5"), "the run's own film stays"
    assert len(pictures(film)) == 21 + 30  # 0.4 s at half the speed, 25 frames a second, and the last one held
    refused = rewardgen("play", "latest", DISPLAY="", WAYLAND_DISPLAY="")
    assert refused.returncode == 2 and "no display" in refused.stderr and "rewardgen film" in refused.stderr


def test_what_train_has_trained_is_filmed_in_its_own_folder(rewardgen, tmp_path, filmed):  # noqa: F811
    done = rewardgen("train", "cartpole", "--steps", "2000", "--seeds", "1", "--folder", "mine")
    assert done.returncode == 0 and "film mine" in done.stderr
    done = rewardgen("film", "mine", "--seconds", "0.4", "--json")
    (told,) = json.loads(done.stdout)["films"]
    assert told["title"] == "The task's own human reward, 0.4 s" and told["phase"] == "final"
    assert Path(told["video"]).parent.resolve() == tmp_path / "mine" / FILMS
    done = rewardgen("eval", "mine", "--film", "--episodes", "2", "--json")
    (video,) = json.loads(done.stdout)["films"]
    assert Path(video).is_file() and video != told["video"]
    refused = rewardgen("play", "mine", DISPLAY="", WAYLAND_DISPLAY="")
    assert refused.returncode == 2 and f"rewardgen film {tmp_path / 'mine'}" in refused.stderr


def test_what_is_filmed_has_its_goals_where_they_were():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
        <body name="robot"><joint type="slide"/><geom size=".1" mass="1"/></body>
        <body name="mark" mocap="true"><geom size=".1"/></body></worldbody></mujoco>""")
    motion = np.array([[0.5, *place, 1.0, 0.0, 0.0, 0.0] for place in ((0.0, 0.0, 2.0), (0.0, 3.0, 0.0))])
    found = outlines(model, motion, visible_geoms(model, moving=True)).reshape(2, 2, 8, 3).mean(2)
    assert np.allclose(found[:, 0], (0.0, 0.0, 0.5))
    assert np.allclose(found[:, 1], motion[:, 1:4])


def camera_on_a_rail(place, alpha=1.0, way=2.0):
    """A cart of 20 cm that travels along a rail, and a place on it that only a site of the world marks [m]."""
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>
        <site pos="{place} 0 0" size=".05" rgba="0 1 0 {alpha}"/>
        <body><joint type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody></mujoco>""")
    (camera,) = choose_cameras(model, [np.linspace(0.0, way, 50)[:, None]], 0.04, 1.5)
    return camera


def width_shown(camera):
    return 2.0 * 1.5 * camera.distance * np.tan(np.deg2rad(35.0 / 2.0))


def test_a_place_that_only_a_site_marks_stays_in_the_picture():
    camera = camera_on_a_rail(place=0.8, way=0.9)
    assert np.ptp(camera.target, axis=0).max() == 0.0, "it stands"
    beside = camera_on_a_rail(place=-0.4, way=0.2)
    assert np.abs(beside.target[:, 0] + 0.4).max() < width_shown(beside) / 2.0


@pytest.mark.parametrize("far", [{"place": 0.8, "way": 20.0}, {"place": 40.0}, {"place": 0.8, "alpha": 0.0}])
def test_what_travels_far_or_has_no_mark_nearby_is_followed(far):
    camera = camera_on_a_rail(**far)
    assert np.ptp(camera.target[:, 0]) > 1.0 and width_shown(camera) < 4.0


def test_what_moves_steadily_is_in_the_middle_from_the_first_picture_to_the_last():
    places = camera_on_a_rail(place=0.0, way=9.0).target[:, 0]
    assert np.allclose(places, np.linspace(places[0], places[-1], 50)) and np.isclose(np.ptp(places), 9.0)


def test_a_film_shows_the_model_as_the_task_edits_it(tmp_path):
    (tmp_path / "model.xml").write_text("""<mujoco><worldbody><body name="ball"><joint/><geom size=".1"/></body>
        <body name="mark"/></worldbody></mujoco>""")
    filmed = dressed(tmp_path / "model.xml", 0.0, edit=lambda spec: spec.delete(spec.body("mark")))
    assert [filmed.body(number).name for number in range(filmed.nbody)] == ["world", "ball"]


RENDERS = """
    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        import os

        if os.environ["MUJOCO_GL"] == "egl":
            raise RuntimeError("there is no EGL")
        picture = np.full((40, 60, 3), 255, np.uint8)
        picture[18:22, 28:32] = (200, 0, 0)
        picture[:4, : 1 + int(10 * abs(self.place))] = (0, 0, 200)
        return picture
"""


def make_gym_run(place, further):
    """The story's run on an environment of Gymnasium that is pushed with all force."""
    place.mkdir(exist_ok=True)
    box = "spaces.Box(-1.0, 1.0, (1,))"
    (place / "slide.py").write_text(OWN.replace("ACTIONS", box).replace("PUSH", PUSHED[box]) + further)
    folder, history = make_run(place, task=str(place / "slide.py"))
    layers = ((torch.zeros(1, 2), torch.ones(1)),)
    moments = {"mean": torch.zeros(2).double(), "variance": torch.ones(2).double()}
    ends = {"action_low": -torch.ones(1), "action_high": torch.ones(1)}
    policy = MlpPolicy(layers=layers, activation="tanh", squash="clip", choices=(), **moments, **ends)
    for path in folder.policies.glob("*/*.npz"):
        policy.save(path)
    return folder, history


def test_an_environment_of_gymnasium_is_filmed_by_the_pictures_it_makes(rewardgen, tmp_path):  # noqa: F811
    folder, history = make_gym_run(tmp_path, RENDERS)
    plans = [each for each in plans_for(folder, history) if each.take.phase == "final"]
    notes = []
    pair, alone = shoot(folder, history, plans, seconds=8.0, note=notes.append)
    assert not any("cannot" in each for each in notes)
    assert pair.pictured and "the environment's own end after" in alone.caption
    shown = pictures(alone)
    width = shown[0].shape[1]
    red = shown[0][..., 0] - shown[0][..., 2] > 100
    assert red[:, width // 2].any() and not red[:, : width // 4].any()
    blue = [int((each[..., 2] - each[..., 0] > 100).sum()) for each in shown]
    assert max(blue) > blue[0] > 0
    shutil.rmtree(folder.policies)
    done = rewardgen("film", "latest")
    assert done.returncode == 0 and alone.caption in done.stdout and "in a window" not in done.stderr


GAME = """

class Shown(Chase):
    def __init__(self, render_mode=None):
        super().__init__()

    def render(self):
        return np.zeros((40, 60, 3), np.uint8)


Hunt.env = Shown
"""


def test_of_a_game_as_many_starts_are_played_as_of_any_other_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (*film_jobs._HEADLESS, "MUJOCO_GL"):
        monkeypatch.setenv(name, "")  # so that it is put back
    (tmp_path / "hunt.py").write_text((Path(__file__).parents[1] / "extras/parallel.py").read_text() + GAME)
    moments = {"mean": torch.zeros(5).double(), "variance": torch.ones(5).double()}
    ends = {"action_low": -torch.ones(2), "action_high": torch.ones(2)}
    layers = ((torch.zeros(2, 5), torch.ones(2)),)
    MlpPolicy(layers=layers, activation="tanh", squash="clip", choices=(), **moments, **ends).save(tmp_path / "p.npz")
    payload = {"task": "hunt.py", "folder": ".", "policies": ["p"], "own": [], "seconds": 2.0, "speed": 1.0}
    payload["starts"] = shooting.FILM_STARTS._asdict()
    (played,) = film_jobs.rollout_job(payload | {"kinds": {}, "renderer": "egl"}, lambda told: None)["played"]
    assert played["start"] == 3


def test_whether_a_run_can_be_filmed_is_known_before_it_has_policies(tmp_path):
    require_films(*make_gym_run(tmp_path / "pictured", RENDERS))
    with pytest.raises(TaskError, match="not available here") as refused:
        require_films(*make_gym_run(tmp_path / "blind", ""))
    assert "rgb_array" in refused.value.hint

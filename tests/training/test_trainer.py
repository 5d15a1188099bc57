import os
import signal
import subprocess
import sys
import threading

import pytest

from rewardgen.core.errors import MachineError, TaskError
from rewardgen.sandbox.process import Limits, WorkerCancelled
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.process_trainer import Compiled, ProcessTrainer, split
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.trainers import TRAIN, ppo_trainer
from tests.e2e.command import workers_of
from tests.training.builders import NAN_WHEN_FAST, TINY, UPRIGHT, leaver

HANG = """
def compute_reward(pole_upright):
    wide = torch.ones(1000, 1000)
    for _ in range(900):
        wide = (wide @ wide).clamp(0.0, 1.0)
    return {"upright": pole_upright}
"""


class Heard:
    """What the trainer told."""

    def __init__(self):
        self.results = {}
        self.progress = []
        self.threads = set()

    def slice(self, result):
        self.results[result.candidate_id, result.seed] = result
        self.threads.add(threading.current_thread())

    def message(self, fields):
        self.progress.append(fields)
        self.threads.add(threading.current_thread())


def train(
    folder,
    sources,
    seeds=(0,),
    task="cartpole",
    workers=1,
    wall_s=60.0,
    settings=TINY,
    heard=None,
    make=ppo_trainer,
    **options,
):
    heard = heard or Heard()
    make(TrainerSetup(task, settings, workers, folder / "scratch", Limits(wall_s=wall_s))).train(
        [RewardSpec(candidate_id=id, source=source) for id, source in sources.items()],
        [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds],
        folder=folder / "policies",
        on_progress=heard.message,
        on_slice=heard.slice,
        **options,
    )
    return heard


def test_every_slice_is_handed_over_with_a_clean_fitness_or_a_failure(tmp_path):
    heard = train(tmp_path, {"a": UPRIGHT, "b": NAN_WHEN_FAST}, seeds=(0, 1))
    assert set(heard.results) == {("a", 0), ("a", 1), ("b", 0), ("b", 1)}
    for (id, seed), result in heard.results.items():
        assert (result.final_fitness is None) == (result.final_success_rate is None) == (id == "b")
        assert (result.failure is None) == (id == "a")
        assert (len(result.outcomes), len(result.ranges) > 3) == ((32, True) if id == "a" else (0, False))
        assert (tmp_path / "policies" / f"{id}-s{seed}.npz").exists() == (id == "a")
    assert heard.threads == {threading.current_thread()}
    assert [each["env_steps"] for each in heard.progress if each["candidate_id"] == "a"] == [1024, 1024, 2048, 2048]
    assert not list((tmp_path / "scratch").iterdir())


def test_slices_for_which_a_device_has_no_room_at_a_time_are_trained_one_batch_after_another(tmp_path):
    def one_batch_on_a_device_for_two(setup):
        return ProcessTrainer(setup, TRAIN, compiled=lambda: Compiled(tmp_path, 2), batches=1)

    sources = {"a": UPRIGHT, "b": UPRIGHT.replace("upright'", "again'")}
    heard = train(tmp_path, sources, seeds=(0, 1), make=one_batch_on_a_device_for_two)
    assert [message["env_steps"] for message in heard.progress] == [1024, 1024, 2048, 2048] * 2


LONGER = TINY.model_copy(update={"env_steps": 8192})


class Killer(Heard):
    """Kills the first workers that report, each once."""

    def __init__(self, folder, kills):
        super().__init__()
        self._folder, self._kills, self.killed = RunFolder(folder), kills, set()

    def message(self, fields):
        super().message(fields)
        new = {*workers_of(self._folder)} - self.killed
        if len(self.killed) < self._kills and new:
            self.killed |= new
            for pid in new:
                os.kill(pid, signal.SIGKILL)


def test_what_something_outside_kills_is_trained_anew_each_candidate_alone(tmp_path):
    ids = "ab"
    sources = {id: UPRIGHT.replace("upright'", f"{id}'") for id in ids}
    heard = train(tmp_path, sources, settings=LONGER, heard=Killer(tmp_path, 1))
    assert heard.killed
    assert [each["candidate_id"] for each in heard.progress[-2 * len(ids) :]] == [id for id in ids for _ in range(2)]
    assert [result.failure for result in heard.results.values()] == [None, None]


def test_a_candidate_alone_that_is_killed_again_ends_the_run_and_is_not_blamed(tmp_path):
    heard = Killer(tmp_path, 3)
    with pytest.raises(MachineError, match="SIGKILL") as caught:
        train(tmp_path, {"a": UPRIGHT, "b": UPRIGHT}, settings=LONGER, heard=heard)
    assert len(heard.killed) == 3 and not heard.results and "memory" in caught.value.hint
    assert not list((tmp_path / "scratch").iterdir())


def test_a_crash_while_measuring_costs_no_training(tmp_path):
    # Measuring a third policy ends the process; those of one slice do not, and neither does training.
    third = "vars(self).setdefault('seen', []).append(0) or len(self.seen) > 2"
    leave = f"__import__('os')._exit(3) if len(episode.lengths) > 15 and ({third}) else episode.lengths.float()"
    leaver(tmp_path, leave)
    still = "def compute_reward(x):\n    return {'still': -x.abs()}\n"
    heard = train(tmp_path, {"a": still, "b": still}, task=str(tmp_path / "leaver.py"))
    assert all(result.failure is None and result.final_fitness for result in heard.results.values())
    assert len(heard.progress) == 4  # two slices, two evaluations: none was trained twice


@pytest.mark.parametrize("refused", ["torch.empty(1 << 60)", "bytearray(1 << 62)"])
def test_short_memory_while_measuring_ends_the_run_and_rejects_nothing(tmp_path, refused):
    leaver(tmp_path, f"{refused} if len(episode.lengths) > 15 else episode.lengths.float()")
    heard, still = Heard(), "def compute_reward(x):\n    return {'still': -x.abs()}\n"
    with pytest.raises(MachineError, match="no memory to measure a policy"):
        train(tmp_path, {"a": still, "b": still}, task=str(tmp_path / "leaver.py"), heard=heard)
    assert not heard.results


def test_a_task_that_cannot_be_simulated_is_an_error_for_the_user(tmp_path):
    task = tmp_path / "broken.py"
    task.write_text("import no_such_module\n")
    with pytest.raises(TaskError, match="no_such_module"):
        train(tmp_path, {"a": UPRIGHT}, task=str(task))


def test_training_can_be_cancelled(tmp_path):
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    with pytest.raises(WorkerCancelled):
        train(tmp_path, {"a": HANG}, cancel=cancel)
    assert not list((tmp_path / "scratch").iterdir())


def test_results_depend_neither_on_the_number_of_workers_nor_on_what_is_left_to_train(tmp_path):
    sources = {"a": UPRIGHT, "b": UPRIGHT.replace("pole_upright}", "pole_upright.exp()}"), "nan": NAN_WHEN_FAST}
    cases = [(1, sources), (3, sources), (2, {"a": UPRIGHT})]
    one, several, missing = (
        train(tmp_path / str(number), asked, workers=workers).results for number, (workers, asked) in enumerate(cases)
    )
    dumps = [{key: run.model_dump(exclude={"wall_s"}) for key, run in runs.items()} for runs in (one, several, missing)]
    assert dumps[0] == dumps[1] and len(one) == 3
    assert dumps[2] == {("a", 0): dumps[0]["a", 0]}


def slices(candidates, seeds):
    return [SliceSpec(candidate_id=f"k{number}", seed=seed) for number in range(candidates) for seed in range(seeds)]


def sizes(parts):
    return sorted(len(part) for part in parts)


def test_seeds_of_a_candidate_stay_together_where_that_costs_no_balance():
    parts = split(slices(6, 2), 2)
    assert sizes(parts) == [6, 6]
    assert not {each.candidate_id for each in parts[0]} & {each.candidate_id for each in parts[1]}


def test_one_candidate_uses_all_cores():
    assert sizes(split(slices(1, 4), 2)) == [2, 2]
    assert sizes(split(slices(3, 2), 2)) == [3, 3]


def test_the_trainer_loads_no_torch():
    code = "import sys, rewardgen.training.setup; assert not {'torch', 'mujoco', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

"""A small judged run whose policies are really trained: three points that may leave the middle, one with stages."""

from rewardgen.sandbox.process import Limits
from rewardgen.store.comparisons import Clip, Question
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.loading import lasting_reference
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import TrainerSetup
from rewardgen.training.trainers import ppo_trainer
from tests.search.parts import Crew, a_search
from tests.training.builders import TINY, leaver

FASTER = "def compute_reward(x, prev_x):\n    return {'faster': 1e3 * (x - prev_x).abs()}\n"
STILL = "def compute_reward(x, prev_x):\n    return {'still': -1e3 * (x - prev_x).abs()}\n"
STAGED = """
STAGES = ("near", "far")


def next_stage(stage, x):
    return torch.where(x.abs() > 0.1, 1, 0)


def compute_reward(stage, x):
    return {"back": -x.abs() - stage}
"""
SOURCES = {"g00-k0": FASTER, "g00-k1": STILL, "g00-k2": STAGED}


class TrainingCrew(Crew):
    """Designs the sources above, and trains for real."""

    def __init__(self, trainer):
        super().__init__()
        self.trainer = trainer

    async def design(self, request):
        return (await super().design(request)).model_copy(update={"source": SOURCES[request.candidate_id]})

    def train(self, rewards, slices, **options):
        self.trainer.train(rewards, slices, **options)


def make_run(place, **options):
    """A finished run of one generation, its folder and history."""
    leaver(place, "episode.lengths / episode.max_steps")
    task = str(place / "leaver.py")
    settings = TINY.model_copy(update={"env_steps": 1024, "evaluation_phases": 1})
    trainer = ppo_trainer(TrainerSetup(task, settings, 2, place / "scratch", Limits(wall_s=60.0)))
    options = {"generations": 1, "candidates": 3, "seeds": 1, "final_seeds": 1, "baselines": {}} | options
    search, history = a_search(place / "run", TrainingCrew(trainer), task=task, **options)
    search()
    history.card = get_or_measure(lasting_reference(task)).card
    return RunFolder(place / "run"), history


def question(left, right, start):
    """A question on two candidates."""
    return Question(
        left=Clip(candidate_id=left, seed=0, start=start), right=Clip(candidate_id=right, seed=0, start=start)
    )

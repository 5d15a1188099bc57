"""All attacks on the full system: the road of every candidate, past the critic, and a host that can be looked at."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from rewardgen.critic.critic import Critic
from rewardgen.critic.sandboxed import SandboxedReviewer
from rewardgen.extras.rsl_rl.settings import RslRlSettings
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import Candidate, RewardSpec, SliceResult, SliceSpec, TrainerSettings, Verdict
from rewardgen.training.cache import get_or_record_transitions
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.sac.settings import SacSettings
from rewardgen.training.sb3.settings import Sb3PpoSettings, Sb3SacSettings
from tests.sandbox.confined import World
from tests.security.corpus import ATTACKS
from tests.security.harness import Seen, in_worker, placed
from tests.training.builders import TINY, UPRIGHT

HONEST = "honest"
_TASK = "cartpole"
_LIMITS = Limits(wall_s=60.0)
_ONCE = {"evaluation_envs": 1, "evaluation_phases": 1, "epochs": 1, "minibatches": 1}
SHORT = TINY.model_copy(update={"env_steps": 256, "num_envs": 4, "rollout_steps": 16, **_ONCE})
_LIKE_TINY = TINY.model_dump(include={"env_steps", "num_envs", "evaluation_phases", "evaluation_envs", "hidden"})
_TINY_SB3 = Sb3PpoSettings(**_LIKE_TINY, options={"n_steps": TINY.rollout_steps, "batch_size": 256, "n_epochs": 1})
_SHORTER = {"env_steps": 256, "num_envs": 4, "evaluation_envs": 1}
_SHORT_SB3 = _TINY_SB3.model_copy(update=_SHORTER)
_TINY_SAC = SacSettings(**_LIKE_TINY, batch=32, random_steps=128)
_SHORT_SAC = _TINY_SAC.model_copy(update=_SHORTER)
_TINY_SB3_SAC = Sb3SacSettings(**_LIKE_TINY, options={"learning_starts": 64, "train_freq": 16, "batch_size": 32})
_WARP = {"device": "cuda" if torch.cuda.is_available() else "warp-cpu"}
_TINY_RSL_RL = RslRlSettings(
    **TINY.model_dump(include={"env_steps", "num_envs", "evaluation_phases", "evaluation_envs"})
)
SETTINGS = {
    "ppo": (TINY, SHORT),
    "sb3-ppo": (_TINY_SB3, _SHORT_SB3),
    "sac": (_TINY_SAC, _SHORT_SAC),
    "sb3-sac": (_TINY_SB3_SAC, _TINY_SB3_SAC.model_copy(update=_SHORTER)),
    "rsl-rl": (_TINY_RSL_RL, _TINY_RSL_RL.model_copy(update=_SHORTER)),
    "ppo on Warp": (TINY.model_copy(update=_WARP), SHORT.model_copy(update=_WARP)),
}
"""Of a training beside others, and of one that nobody has reviewed, by trainer."""
STAGES = ("source", "probe", "training", "none")


class Pipeline(NamedTuple):
    """What became of the attacks, by their name."""

    world: World
    before: Any
    """What it was before."""
    verdicts: dict[str, Verdict]
    trained: dict[str, SliceResult]
    """Of those that the critic accepted, and of an honest reward that trained in the same process."""
    undisturbed: SliceResult
    """The honest reward, trained beside as many others that are honest too."""
    unreviewed: dict[str, SliceResult]
    """Of those that were trained although no critic had seen them."""
    played: Seen
    """A plain trainer that compiles rewards as the real one does, with what it says of each."""
    on_a_gpu: bool
    """Where they trained."""

    def __repr__(self) -> str:
        """Short, since it is shown with every test that fails."""
        return f"{type(self).__name__}()"

    def stage(self, name: str) -> str:
        """What refused an attack."""
        rejections = self.verdicts[name].rejections
        if rejections:
            return "source" if rejections[0].gate in ("parse", "language", "signature", "static") else "probe"
        return "training" if self.trained[name].failure else "none"

    def seen(self, name: str) -> Seen:
        """What is seen of one attack; of those that never end, whether they were refused."""
        told = self.played.told.get(name, {})
        words = f"{self.verdicts[name]} {self.trained.get(name)} {self.unreviewed.get(name)} {told}"
        failure = "" if self.stage(name) == "none" else "refused"
        return self.played._replace(told=told, failure=failure, words=words)


def run_all(world: World, folder: Path, names: Sequence[str], trainer: str, before: Any) -> Pipeline:
    """Run attacks together; `world` is what they are after."""
    settings, short = SETTINGS[trainer]
    sources = {name: placed(ATTACKS[name].source, world) for name in names}
    verdicts = _review(sources, folder)
    accepted = {name: source for name, source in sources.items() if verdicts[name].accepted}
    ending = {name: source for name, source in sources.items() if ATTACKS[name].kind != "hang"}
    honest = {HONEST: UPRIGHT, **dict.fromkeys(accepted, UPRIGHT)}
    return Pipeline(
        world,
        before,
        verdicts,
        _train({HONEST: UPRIGHT, **accepted}, folder / "accepted", trainer, settings),
        _train(honest, folder / "undisturbed", trainer, settings)[HONEST],
        _train(ending, folder / "unreviewed", trainer, short),
        _play(ending, world),
        "cuda" in settings.model_dump().values(),
    )


def _review(sources: dict[str, str], folder: Path) -> dict[str, Verdict]:
    bank = folder / "bank.npz"
    card = get_or_record_transitions(_TASK, bank, _LIMITS).card
    drafts = [
        Candidate(id=_id(number), generation=0, operator="draft", source=source)
        for number, source in enumerate(sources.values())
    ]
    critic = Critic(SandboxedReviewer(bank, Limits(wall_s=600.0), folder / "review"), compares=False)
    verdicts = critic.review(drafts, card).verdicts
    return {name: verdicts[_id(number)] for number, name in enumerate(sources)}


def _id(number: int) -> str:
    return f"g00-k{number}"


def _train(sources: dict[str, str], folder: Path, trainer: str, settings: TrainerSettings) -> dict[str, SliceResult]:
    names = {_id(number): name for number, name in enumerate(sources)}
    found: dict[str, SliceResult] = {}
    progress: list[Any] = []
    setup = TrainerSetup(_TASK, settings, 1, folder / "scratch", Limits(wall_s=60.0))
    TRAINERS.get(trainer.partition(" ")[0]).make(setup).train(
        [RewardSpec(candidate_id=id, source=sources[name]) for id, name in names.items()],
        [SliceSpec(candidate_id=id, seed=0) for id in names],
        folder=folder / "policies",
        on_progress=progress.append,
        on_slice=lambda result: found.update({names[result.candidate_id]: result}),
        cancel=threading.Event(),
    )
    return found


def _play(sources: dict[str, str], world: World) -> Seen:
    attacks = {name: (source, ATTACKS[name].calls) for name, source in sources.items()}
    return in_worker("play_all_in_language", (attacks,), world, Limits(wall_s=300.0))

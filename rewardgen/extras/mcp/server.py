"""The tools of `rewardgen mcp`: each starts a command of the command line, and returns what the command prints.

So an agent meets the messages, hints and questions that a person at a terminal meets. The server itself runs no task
and no reward, and calls no model. A command that lasts longer than a call of a tool goes on as a job.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM, signal
from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Image, MCPServer, Resolve
from mcp_types import ToolAnnotations
from PIL.WebPImagePlugin import WebPImageFile
from pydantic import BaseModel, Field, WithJsonSchema

from rewardgen import __version__
from rewardgen.cli.robots import ROBOT, Calls
from rewardgen.core.config import BUILTIN, RunConfig, checked_config
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.schema import validated
from rewardgen.extras.mcp.session import START_S, WAIT_S, Session, readable
from rewardgen.film.film_index import Film, films_of
from rewardgen.store.records import BASELINES
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.view.reference import find_reference

_FRAME = 480, 480
"""Largest size of a frame [pixels]."""
_MOST_BYTES = 32 << 20
_INSTRUCTIONS = """\
rewardgen designs reward functions for reinforcement learning, checks them, trains policies on them, and measures these.
Begin with `list_tasks`, or with `list_robots` and `new_task`. Messages are those of the command line: `--max-cost 2` is
the argument `max_cost`, `rewardgen runs show` is the tool `show_run`. What lasts longer than a call goes on as a job:
call `watch`. Where a tool asks for the user's agreement, show the user the question, and call `confirm` with their
answer."""

Task = Annotated[str, Field(description="A name in `list_tasks`, the path of a task file, or a Gymnasium id.")]
Robot = Annotated[str, Field(description=ROBOT)]
Run = Annotated[str, Field(description="`latest`, a run's id or a part of it, or the path of its folder.")]
Rewarded = Annotated[str, Field(description="A run, for its chosen reward; or `RUN:CANDIDATE`, or `RUN:human`.")]
Code = Annotated[str, Field(description="Path of a Python file with a `compute_reward`, or its text.")]
Model = Annotated[str, Field(description="`builtin`, a LiteLLM model such as `openai/gpt-5.1`, or `mailbox:DIR`.")]
JobNumber = Annotated[int, Field(description="Number that a tool returned.")]
Seconds = Annotated[float, Field(ge=0, le=600, description="Longest wait [s], below your client's time limit.")]
Frames = Annotated[int, Field(ge=1, le=20, description="Number of pictures.")]
_OPTIONS = RunConfig.model_json_schema()
_FIELDS = {name: each for name, each in _OPTIONS["properties"].items() if name != "task"}
_OPTIONS |= {"required": [], "properties": _FIELDS}
RunOptions = Annotated[dict[str, Any] | None, WithJsonSchema(_OPTIONS)]
CallOptions = Annotated[dict[str, Any] | None, WithJsonSchema(Calls.model_json_schema())]


class Agreement(BaseModel):
    """Answer of the user to a question."""

    agree: bool = Field(description="Go on?")


async def ask(question: int, agree: bool, ctx: Context[Session]) -> Elicit[Agreement] | Agreement:
    """Ask the user through the client; where it cannot ask, the agent's report of the user's answer counts."""
    text = ctx.request_context.lifespan_context.question(question).text
    can_ask = ctx.client_capabilities is not None and ctx.client_capabilities.elicitation is not None
    return Elicit(text, Agreement) if can_ask else Agreement(agree=agree)


def make_server() -> MCPServer[Session]:
    """Make the server with all tools. It interrupts its jobs when the client leaves; runs can be resumed."""

    def end(*_: object) -> None:
        session.leave()
        os._exit(0)  # reading stdin cannot be interrupted

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncIterator[Session]:
        for number in (SIGINT, SIGTERM, SIGHUP):  # by which some clients leave
            signal(number, end)
        try:
            yield session
        finally:
            session.leave()

    session = Session()
    tools = Tools(session)
    server = MCPServer(
        "rewardgen", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING", lifespan=lifespan
    )
    reading = [tools.list_tasks, tools.show_task, tools.list_robots, tools.show_robot, tools.list_runs, tools.show_run]
    reading += [tools.compare, tools.watch]
    working = [tools.check_task, tools.new_task, tools.check_reward, tools.train_reward, tools.evaluate, tools.run]
    working += [tools.resume, tools.feedback, tools.film, tools.stop]
    for tool in (*reading, *working, tools.confirm):
        hints = ToolAnnotations(read_only_hint=tool in reading, destructive_hint=tool == tools.confirm)
        server.add_tool(tool, annotations=hints, structured_output=False)
    return server


class Tools:
    """The tools; their names, arguments and docstrings are what an agent reads."""

    def __init__(self, session: Session) -> None:
        self._session, self._call = session, session.call

    async def list_tasks(self) -> str:
        """List the shipped tasks and those of installed packages."""
        return await self._call("tasks list")

    async def show_task(self, task: Task) -> str:
        """Show a task as the designer of rewards sees it: variables with units and ranges, times, endings, success."""
        return await self._call("tasks show", task)

    async def check_task(self, task: Task) -> str:
        """Check a task file, and list its problems with their fixes."""
        return await self._call("tasks check", task)

    async def list_robots(self) -> str:
        """List the robots that are installed here; a model file of your own works as well."""
        return await self._call("robots list")

    async def show_robot(self, robot: Robot) -> str:
        """Show the variables that a robot's model offers to tasks and rewards."""
        return await self._call("robots show", robot)

    async def new_task(
        self, robot: Robot, words: str = "", model: Model = BUILTIN, file: str | None = None, calls: CallOptions = None
    ) -> str:
        """Write a task file for a robot.

        With words and a model, the model drafts the task, other calls test its metric on sketched episodes, and the
        user confirms the draft. To change a draft, call again with other words. With the model `builtin`, the file
        declares every variable of the robot, and the metric is yours to write.
        """
        with readable():
            checked = validated(Calls, calls or {}, "the calls", "the tool's schema lists them")
        options = {"robot": robot, "model": model, "output": file, **checked.model_dump(exclude_unset=True)}
        return await self._call("new", words, options=options, seconds=WAIT_S if model == BUILTIN else START_S)

    async def check_reward(self, task: Task, reward: Code) -> str:
        """Check a reward without training: form, inputs, and values on recorded transitions."""
        return await self._call("check", task, reward_file(reward))

    async def train_reward(
        self, target: str, reward: Code | None = None, seeds: int = 3, steps: int | None = None
    ) -> str:
        """Train a reward with several seeds, and measure fitness and success of the policies.

        The target is a task, or a run or `RUN:CANDIDATE`, which is trained as in the run. Without a reward, a task's
        human reward is trained. Trained seeds are kept: ask for more seeds to add the missing ones.
        """
        file = reward if reward in (None, *BASELINES) else reward_file(reward)
        return await self._call("train", target, options={"reward": file, "seeds": seeds, "steps": steps})

    async def evaluate(self, target: Rewarded = "latest", episodes: int = 100) -> str:
        """Measure policies on fresh episodes: of a run or its candidate, or in a folder that `train_reward` named."""
        return await self._call("eval", target, options={"episodes": episodes})

    async def run(self, task: Task, options: RunOptions = None, dry_run: bool = False) -> str:
        """Search for a reward, as a job: `watch` it. The result is in the run's folder.

        A dry run tells minutes, calls and price first, and starts nothing. The model `builtin` needs no key. With
        `mailbox:DIR` whoever writes files into that folder is the model: you, for example.
        """
        with readable():
            checked_config({**(options or {}), "task": task}, None)
        return await self._call(
            "run", task, options={**(options or {}), "dry_run": dry_run or None}, seconds=WAIT_S if dry_run else START_S
        )

    async def resume(
        self,
        run: Run = "latest",
        generations: int | None = None,
        model: Model | None = None,
        api_base: str | None = None,
        max_cost: float | None = None,
    ) -> str:
        """Continue an interrupted run, or add generations to a finished one, as a job."""
        options = {"generations": generations, "model": model, "api_base": api_base, "max_cost": max_cost}
        return await self._call("resume", run, options=options, seconds=START_S)

    async def feedback(self, run: Run, words: str) -> str:
        """Keep the user's words for the designer of the next generations."""
        return await self._call("feedback", run, words)

    async def list_runs(self) -> str:
        """List all runs in the working folder, oldest first."""
        return await self._call("runs list")

    async def show_run(self, run: Run = "latest", candidate: str | None = None) -> str:
        """Show a run, also one that goes on; or a candidate's code, origin and evidence, by its id or `human`."""
        return await self._call("runs show", run, *filter(None, [candidate]))

    async def compare(self, one: Rewarded, other: Rewarded, rewards: bool = False) -> str:
        """Compare two runs or candidates; with `rewards`, measure the distance between their rewards."""
        return await self._call("runs compare", one, other, options={"rewards": rewards or None})

    async def film(self, target: Rewarded = "latest", frames: Frames = 6) -> list[str | Image]:
        """Film a policy, and return frames from start to end as pictures, with the path of the film.

        If filming goes on as a job, call again when the job has ended.
        """
        with readable():
            reference = find_reference(target, DEFAULT_RUNS_DIR)
            folder, id, said = reference.folder, reference.candidate, ""
            if not _films(folder, id):
                said = await self._call("film", f"{folder.path}:{id}")
            for film in _films(folder, id)[-1:]:
                return [f"{film.title}: {film.caption}\n{film.video}", *film_frames(film, frames)]
            return [said]

    async def watch(self, job: JobNumber, seconds: Seconds = WAIT_S) -> str:
        """Wait for a job's end or for some seconds, and return what it printed since the last call."""
        with readable():
            return await self._session.news(job, seconds)

    async def stop(self, job: JobNumber) -> str:
        """Interrupt a job. A run keeps what is finished: `resume` continues it."""
        with readable():
            return await self._session.stop(job)

    async def confirm(
        self,
        question: Annotated[int, Field(description="Number of the question that a tool returned.")],
        users_words: Annotated[str, Field(min_length=1, description="The user's answer, in their own words.")],
        agree: Annotated[bool, Field(description="True if the user agrees without a change.")],
        answer: Annotated[ElicitationResult[Agreement], Resolve(ask)],
    ) -> str:
        """Go on with what a tool asked the user's agreement for, once the user has read the question and agreed.

        A client that can ask the user shows them the question. Never answer for the user.
        """
        return await self._session.answered(question, isinstance(answer, AcceptedElicitation) and answer.data.agree)


def _films(folder: RunFolder, id: str) -> list[Film]:
    """Return the films of a candidate alone."""
    return [film for film in films_of(folder) if film.id == id and not film.beside]


def film_frames(film: Film, count: int) -> list[Image]:
    """Return evenly spaced frames of a film, the first and the last included."""
    images = []
    with WebPImageFile(BytesIO(read_plain(film.picture, _MOST_BYTES))) as moving:
        last = moving.n_frames - 1
        for index in sorted({round(last * part / max(1, count - 1)) for part in range(count)}):
            moving.seek(index)
            frame, data = moving.convert("RGB"), BytesIO()
            frame.thumbnail(_FRAME)
            frame.save(data, "JPEG", quality=85)
            images.append(Image(data=data.getvalue(), format="jpeg"))
    return images


def reward_file(reward: str) -> str:
    """Return the path of a reward; a text is kept in `rewards/`."""
    if "\n" not in reward and "def " not in reward:
        return reward
    path = Path("rewards", f"reward-{hashlib.sha256(reward.encode()).hexdigest()[:8]}.py")
    with readable():
        write_atomic(path, reward)
    return str(path)

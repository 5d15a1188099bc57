"""Chains: a child's policy is trained from its parent's, and the finals train the winner's whole chain."""

from collections import Counter

import pytest

from rewardgen.core.config import MOST_LINKS, RunConfig
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.export.exporting import export
from rewardgen.llm.analysis_text import origin_text
from rewardgen.report.run_files import write_best
from rewardgen.search import lifecycle
from rewardgen.search.chains import begun
from rewardgen.search.context import Context
from rewardgen.search.evaluating import train
from rewardgen.search.forecast import forecast, remaining
from rewardgen.search.requests import design_request
from rewardgen.store.history import Generation, History
from rewardgen.store.journal import SilentListener
from rewardgen.store.records import Candidate, SliceSpec, Slot
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.artifacts import policy_names, start_name
from tests.search.parts import Crew, Listener, a_search
from tests.tasks.files import POINT

STAGED = """
STAGES = ("first", "second")

def next_stage(stage, speed):
    return torch.where(speed > 1.0, 1, stage)

def compute_reward(speed, stage):
    return {"speed": speed * stage}
"""


class Climber(Crew):
    """Its policies are text: the rewards that trained them, in order, and the seed of the first."""

    def __init__(self, staged=(), broken=(), **troubles):
        super().__init__(**troubles)
        self.staged, self.broken, self.times, self.policies = staged, broken, 1, {}

    async def design(self, request):
        candidate = await super().design(request)
        return candidate.model_copy(update={"source": STAGED}) if candidate.id in self.staged else candidate

    def longer(self, times):
        longer = Climber(broken=self.broken, fitness=self.fitness, failing=self.failing)
        longer.calls, longer.policies, longer.times = self.calls, self.policies, times
        return longer, None

    def train(self, rewards, slices, *, folder, on_slice, **options):
        for spec in slices:
            self.calls.append((f"train {folder.name}", f"{spec.candidate_id}/{spec.seed}"))
            before = (folder / start_name(spec)).read_text() if spec.start else f"{spec.seed}:"
            result = self._slice(spec.candidate_id, spec.seed)
            if (folder.name, spec.candidate_id) in self.broken:
                result = Crew(failing=[spec.candidate_id])._slice(spec.candidate_id, spec.seed)
            elif not result.failure:
                folder.mkdir(parents=True, exist_ok=True)
                name = policy_names(spec)[0]
                policy = f"{before} {spec.candidate_id}" + f" x{self.times}" * (self.times > 1)
                (folder / name).write_text(policy)
                self.policies[folder.name, spec.candidate_id, spec.seed] = policy
                result = result.model_copy(update={"policy": name, "env_steps": 1000 * self.times})
            on_slice(result.model_copy(update={"start": spec.start}))


def coevolved(path, crew, listener=None, **options):
    return a_search(path, crew, listener, strategy="coevolve", **{"candidates": 2, "seeds": 2} | options)


def test_a_child_begins_from_its_parents_policy_of_the_same_seed(tmp_path):
    search, history = coevolved(tmp_path, crew := Climber(), generations=2)
    search()
    parent = history.record("g01-k0").candidate.parents[0]
    assert [crew.policies["search", "g01-k0", seed] for seed in (0, 1)] == [f"{s}: {parent} g01-k0" for s in (0, 1)]
    assert crew.policies["search", "g00-k1", 0] == "0: g00-k1", "drafts begin from random policies"
    assert history.record("g01-k0").chain == (parent,) and history.record("g00-k1").chain is None
    assert origin_text(history.record("g01-k0")) == f"trained on from the policy of {parent}: 2,000 steps in all"
    assert not origin_text(history.record("g00-k1"))


def test_a_seed_that_the_parent_lacks_begins_from_the_parents_best_seed(tmp_path):
    def fitness(id):  # leaders within noise get further seeds; the first generation is far behind and gets none later
        return 0.0 if id.startswith("g00") else 5.0

    search, history = coevolved(tmp_path, crew := Climber(fitness=fitness), generations=2, leaders=2, candidates=4)
    search()
    lacking = {
        (id, seed): result.start
        for (phase, id, seed), result in history.trained.items()
        if phase == "search" and result.start and (phase, result.start[0], seed) not in history.trained
    }
    assert lacking
    for (id, seed), (parent, of) in lacking.items():
        assert of == max(history.seeds("search", parent)), "the fitness rises with the seed"
        assert crew.policies["search", id, seed] == f"{of}: {parent} {id}"


def test_a_further_seed_that_parent_and_child_get_together_is_trained_by_the_parent_first(tmp_path):
    search, history = coevolved(tmp_path, Climber(), generations=2)
    search()
    (parent,) = history.chain("g01-k0")
    history.extra_seeds |= {("search", id): (7,) for id in (parent, "g01-k0")}
    train(Context(*search.args), "search", {id: history.record(id).candidate.source for id in ("g01-k0", parent)})
    assert history.trained["search", "g01-k0", 7].start == (parent, 7)


class Level(Climber):
    """All its trainings reach the same fitness, and end in the order that is asked for or backwards."""

    step = 1

    def train(self, rewards, slices, **options):
        super().train(rewards, slices[:: self.step], **options)

    def _slice(self, id, seed):
        return super()._slice(id, seed).model_copy(update={"final_fitness": 1.0})


def test_the_order_in_which_trainings_end_decides_nothing(tmp_path):
    starts = []
    for step in (1, -1):
        crew = Level()
        crew.step = step
        search, history = coevolved(tmp_path / f"order{step}", crew, generations=1, seeds=3, final_seeds=1)
        search()
        slot = Slot(candidate_id="g01-k0", operator="edit", parents=("g00-k0",), inherits=True)
        history.generations.append(Generation(index=1, slots=(slot,)))
        source = history.record("g00-k0").candidate.source
        history.designed["g01-k0", 0] = Candidate(
            id="g01-k0", generation=1, operator="edit", parents=("g00-k0",), source=source
        )
        starts.append(begun(Context(*search.args), "search", SliceSpec(candidate_id="g01-k0", seed=7)).start)
    assert starts == [("g00-k0", 0)] * 2


def test_designers_hear_from_which_policy_training_goes_on(tmp_path):
    search, history = coevolved(tmp_path, Climber(), generations=MOST_LINKS + 1, candidates=1, final_seeds=1)
    search()

    def told(operator, parent):
        slot = Slot(candidate_id="g09-k0", operator=operator, parents=(parent,), inherits=True)
        return design_request(Context(*search.args), MOST_LINKS + 1, slot).inherits

    assert told("edit", "g00-k0") == "g00-k0"
    assert told("edit", "g03-k0") == history.chain("g03-k0")[-1], "the last reward of a full chain is replaced"
    assert told("observe", "g00-k0") == told("stage", "g00-k0") == "", "such a child is trained from scratch"


def test_the_last_reward_of_a_full_chain_is_replaced(tmp_path):
    search, history = coevolved(tmp_path, Climber(), generations=MOST_LINKS + 2, candidates=1, final_seeds=1)
    search()
    chains = [(*history.chain(id), id) for id in history.ids()]
    assert [len(chain) for chain in chains] == [1, 2, 3, 4, 4, 4]
    assert chains[4] == (*chains[3][:3], "g04-k0") and chains[5] == (*chains[3][:3], "g05-k0")


def test_a_child_with_other_stages_is_trained_from_scratch_and_says_so(tmp_path):
    search, history = coevolved(tmp_path, crew := Climber(staged=["g01-k0"]), generations=2)
    search()
    assert crew.policies["search", "g01-k0", 0] == "0: g01-k0"
    assert history.record("g01-k0").chain == ()
    assert "from scratch" in origin_text(history.record("g01-k0"))


def test_finals_train_the_whole_chain_on_each_fresh_seed_and_the_other_rewards_for_as_many_steps(tmp_path):
    search, history = coevolved(tmp_path, crew := Climber())
    summary = search()
    chain = (*history.chain(summary.chosen), summary.chosen)
    assert len(chain) == 3
    finals = {key: text for key, text in crew.policies.items() if key[0] == "final"}
    for seed in history.final_seeds:
        assert finals["final", summary.chosen, seed] == f"{seed}: {' '.join(chain)}"
        assert finals["final", "human", seed] == f"{seed}: human x3"
    assert {result.env_steps for key, result in history.trained.items() if key[:2] == ("final", "sparse")} == {3000}
    assert f"a chain of rewards, {', then '.join(chain)}, for 1,000 steps each" in summary.conclusion
    assert "train from scratch, for 3,000 steps" in summary.conclusion


def test_the_users_own_reward_trains_for_as_many_steps_though_it_begins_the_chain(tmp_path):
    crew = Climber(fitness=lambda id: 3.0 * int(id[1:3]))
    search, history = coevolved(
        tmp_path, crew, given="def compute_reward(speed):\n    return {'mine': speed}\n", candidates=1
    )
    chain = history.chain(search().chosen)
    assert chain[0] == "g00-k0" == history.init_id
    assert crew.policies["chain", "g00-k0", 5000] == "5000: g00-k0"
    assert crew.policies["final", "g00-k0", 5000] == "5000: g00-k0 x3"


def test_a_chain_that_breaks_fails_its_winner_and_the_next_is_compared_for_its_own_steps(tmp_path):
    def fitness(id):
        return {"g02-k0": 9.0, "g00-k1": 8.0}.get(id, 1.0)

    crew = Climber(fitness=fitness, broken=[("chain", "g00-k1")])
    search, history = coevolved(tmp_path, crew)
    summary = search()
    assert history.chain("g02-k0")[:1] == ("g00-k1",)
    failure = history.result("final", "g02-k0").failure
    assert failure and "g00-k1, whose policy it takes over, failed" in failure.message
    assert summary.chosen == "g00-k1" and "g02-k0 led the search but failed" in summary.conclusion
    assert crew.policies["final", "human", 5000] == "5000: human", "trained again, for the steps of one reward"
    assert "chain" not in summary.conclusion
    assert History.load(RunFolder(tmp_path)).result("final", "human") == history.result("final", "human")


def test_other_rewards_train_again_where_the_next_winner_has_a_longer_chain(tmp_path):
    crew = Climber(fitness=lambda id: {"g00-k1": 9.0, "g02-k0": 8.0}.get(id, 1.0), broken=[("final", "g00-k1")])
    search, history = coevolved(tmp_path, crew)
    summary = search()
    links = 1 + len(history.chain("g02-k0"))
    assert summary.chosen == "g02-k0" and links > 1
    assert crew.policies["final", "human", 5000] == f"5000: human x{links}"
    assert history.result("final", "human").slices[0].env_steps == 1000 * links


@pytest.mark.parametrize("stop", range(17, 80, 9))
def test_a_run_that_was_killed_anywhere_ends_with_the_same_policies_and_trains_nothing_twice(tmp_path, stop):
    # Leaders are within noise, two winners' chains break, and the third winner's chain is shorter.
    options = {"fitness": lambda id: 1.0 + 0.0004 * int(id[1:3]), "broken": [("chain", "g01-k0")]}
    settings = {"leaders": 4, "leader_seeds": 4}
    whole = Climber(**options)
    expected = coevolved(tmp_path / "whole", whole, **settings)[0]()
    crew = Climber(**options)
    with pytest.raises(KeyboardInterrupt):
        coevolved(tmp_path / "run", crew, Listener(stop), **settings)[0]()
    assert coevolved(tmp_path / "run", crew, **settings)[0]() == expected
    assert expected.chosen == "g01-k0" and "g02-k1, g02-k0 led" in expected.conclusion
    assert crew.policies == whole.policies
    again = Counter(call for call in crew.calls if call[0].startswith("train")) - Counter(whole.calls)
    assert not again


def test_a_missing_policy_to_begin_from_is_an_error_that_names_it(tmp_path):
    search, _ = coevolved(tmp_path, Climber(), Listener(18), generations=2)
    with pytest.raises(KeyboardInterrupt):
        search()
    for path in (tmp_path / "policies" / "search").glob("g00*.npz"):
        path.unlink()
    with pytest.raises(RunFolderError, match="cannot be read"):
        coevolved(tmp_path, Climber(), generations=2)[0]()


def test_no_run_trains_more_than_is_foreseen(tmp_path):
    search, history = coevolved(tmp_path, Climber())
    search()
    found = forecast(history.config.model_copy(update={"task": str(POINT)}), measured=False)
    steps = sum(result.env_steps for result in history.trained.values()) / 1000
    assert found.trainings.low <= steps <= found.trainings.high
    alike = history.config.model_copy(update={"task": str(POINT), "strategy": "evolve"})
    without = forecast(alike, measured=False).trainings
    assert (found.trainings.low, found.trainings.high) == (without.low, without.high + 2 * 9)


def test_what_is_left_counts_the_links_of_the_chain_and_the_longer_trainings(tmp_path):
    search, history = coevolved(tmp_path, Climber())
    search()
    history.summary = None
    history.trained = {key: result for key, result in history.trained.items() if key[0] == "search"}
    share, _ = remaining(history, {}, 0.0)
    assert share == len(history.trained) / (len(history.trained) + 3 * 9)


def test_best_and_exports_hold_the_whole_chain(tmp_path):
    search, history = coevolved(tmp_path / "run", Climber(), generations=2)
    chosen, folder = search().chosen, RunFolder(tmp_path / "run")
    write_best(folder, history)
    files = sorted((folder.best / "chain").iterdir())
    assert [path.name for path in files] == ["1.py", "2.py"]
    first, last = (path.read_text() for path in files)
    assert first.startswith(f"# Reward 1 of 2, {history.chain(chosen)[0]}: 1,000 steps, from a random policy\n")
    assert last.endswith((folder.best / "reward.py").read_text())
    assert "`chain/`" in (folder.best / "card.md").read_text()
    target = tmp_path / "out"
    export(folder, history, chosen, target)
    assert (target / "chain" / "1.py").read_text() == first
    export(folder, history, "g00-k0", tmp_path / "alone")
    assert not (tmp_path / "alone" / "chain").exists()


def test_trainers_and_executors_that_cannot_train_on_are_refused(tmp_path):
    with pytest.raises(UsageError, match="on this machine"):
        RunConfig(task="cartpole", strategy="coevolve", executor="ray")
    config = RunConfig(task=str(POINT), strategy="coevolve", trainer="sac")
    with pytest.raises(UsageError, match="`sac` does not support `--strategy coevolve`") as caught:
        lifecycle.start(config, tmp_path, SilentListener(), lifecycle.agreed)
    assert "--trainer ppo" in caught.value.hint

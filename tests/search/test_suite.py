"""What a suite's file asks for, and its table."""

import pytest
import tomli_w

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError
from rewardgen.search.suite import ALL_TASKS, Cell, CellResult, plan, read_suite, suite_table
from tests.cli.conftest import write_run

TWO = {"evolve": {}, "best-of-n": {}}


def cells(tmp_path, **told):
    """The cells of a suite's file."""
    file = tmp_path / "suite.toml"
    file.write_text(tomli_w.dumps({"tasks": ["cartpole"], **told}))
    return plan(read_suite(file), tmp_path / "suite")


def test_a_suite_of_a_task_alone_is_one_run_with_the_default_strategy_and_designer(tmp_path):
    (cell,) = cells(tmp_path)
    assert (cell.strategy, cell.designer, cell.config.seed) == ("evolve", "builtin", 0)
    assert (cell.config.strategy, cell.config.model) == ("evolve", "builtin")


def test_the_first_seed_of_everything_comes_before_the_second(tmp_path):
    found = cells(tmp_path, tasks=["cartpole", "hopper"], seeds=[3, 7], strategies=TWO)
    assert [(each.config.seed, each.task, each.strategy) for each in found] == [
        (seed, task, strategy) for seed in (3, 7) for task in ("cartpole", "hopper") for strategy in TWO
    ]


def test_any_field_of_a_run_may_stand_in_a_table_and_the_narrower_table_wins(tmp_path):
    told = {"run": {"candidates": 4, "generations": 2}, "designers": {"builtin": {"candidates": 5}}}
    found = cells(tmp_path, **told, strategies={"evolve": {"candidates": 6}, "plain": {"strategy": "best-of-n"}})
    assert [(each.config.strategy, each.config.candidates) for each in found] == [("evolve", 6), ("best-of-n", 5)]
    assert {each.config.generations for each in found} == {2}


def test_no_plateau_ends_a_run_before_its_budget_is_spent_unless_the_file_says_so(tmp_path):
    found = cells(tmp_path, run={"generations": 9}, strategies={"evolve": {}, "early": TWO["evolve"] | EARLY})
    assert [each.config.patience for each in found] == [9, 2]


def test_each_run_may_have_a_mailbox_of_its_own(tmp_path):
    told = {"designers": {"people": {"model": "mailbox:mail/{task}-{strategy}-{seed}"}}, "strategies": TWO}
    found = cells(tmp_path, tasks=["cartpole", "hopper"], seeds=[4], **told)
    assert [each.config.model.rpartition("/")[2] for each in found] == [
        f"{task}-{strategy}-4" for task in ("cartpole", "hopper") for strategy in TWO
    ]


def test_a_recorded_run_is_found_by_its_id_in_the_default_folder_of_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = write_run(tmp_path / "runs")
    with pytest.raises(RewardgenError, match=f"no recorded calls in {run}"):
        cells(tmp_path, designers={"replay:latest": {}})


EARLY = {"strategy": "evolve", "patience": 2}
WRONG = {
    "unknown key": ({"task": ["hopper"]}, "unknown key `task`", "did you mean `tasks`?"),
    "unknown key of a run": ({"run": {"candidate": 4}}, "unknown key `candidate`", "did you mean `candidates`?"),
    "what an axis says": ({"run": {"seed": 1}}, "`seed` is in a table", "the list `seeds`"),
    "value out of range": ({"run": {"candidates": 0}}, "`candidates` of evolve with builtin", "run --help"),
    "unknown task": ({"tasks": ["hoper"]}, "unknown task `hoper`", "did you mean `hopper`?"),
    "unknown strategy": ({"strategies": {"evolv": {}}}, "unknown strategy `evolv`", "did you mean `evolve`?"),
    "missing key": ({"designers": {"openai/gpt-5.1": {}}}, "needs an API key", "export OPENAI_API_KEY="),
    "missing reward": ({"run": {"init": "gone.py"}}, "gone.py", ""),
    "the same run twice": ({"seeds": [1, 1]}, "the same run twice: cartpole, evolve, builtin, seed 1", "remove one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_run_could_start_with_is_an_error_before_any_starts(name, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    told, message, hint = WRONG[name]
    with pytest.raises(RewardgenError) as caught:
        cells(tmp_path, **told)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert not (tmp_path / "suite").exists()


def result(strategy, seed, winner, human=(0.5, 0.5), sparse=(0.1, 0.1), task="hopper", **told):
    """A run's result; its finals are on seeds of its own."""
    fitness = {
        name: {100 * seed + number: value for number, value in enumerate(values)}
        for name, values in (("winner", winner), ("human", human), ("sparse", sparse))
    }
    costs = {"candidates": 6, "search_steps": 1000, "calls": 6, "tokens": 600, "cost_usd": 0.5, "minutes": 2.0} | told
    return CellResult(
        task=task,
        strategy=strategy,
        designer="m",
        seed=seed,
        run_id=f"{strategy}{seed}",
        winner="g00-k0" if winner else None,
        fitness=fitness,
        costs=costs,
    )


def table_of(results):
    """The table of a suite that planned these runs."""
    config = RunConfig(task="hopper")
    planned = (config.model_copy(update={"seed": each.seed}) for each in results)
    found = [Cell(each.task, each.strategy, "m", config) for each, config in zip(results, planned, strict=True)]
    return found, suite_table(found, results)


def by_name(results):
    return {(row.task, row.strategy): row for row in table_of(results)[1].rows}


def test_a_row_is_the_interquartile_mean_over_runs_on_the_scale_of_human_and_sparse():
    found = by_name([result("evolve", seed, (0.8 + seed / 10, 0.8 + seed / 10)) for seed in range(3)])
    row = found["hopper", "evolve"]
    assert row.fitness.value == pytest.approx(0.9)
    assert row.fitness.low < 0.9 < row.fitness.high
    assert row.human_normalised.value == pytest.approx((0.9 - 0.1) / 0.4)
    assert row.human_normalised.low == pytest.approx((row.fitness.low - 0.1) / 0.4)
    assert [row.costs[name] for name in ("search_steps", "tokens", "minutes")] == [1000, 600, 2.0]


def test_a_single_run_has_the_interval_of_its_fresh_seeds():
    row = by_name([result("evolve", 0, (0.2, 0.4, 0.6, 0.8))])["hopper", "evolve"]
    assert row.fitness.low < row.fitness.value < row.fitness.high


def test_a_run_without_a_winner_has_no_fitness_and_does_worse_than_any_that_has_one():
    good = [result("evolve", seed, (-5.0, -5.0)) for seed in range(2)]
    found = by_name([*good, result("other", 0, ()), result("other", 1, (-4.0, -4.0))])
    row = found["hopper", "other"]
    assert (row.runs, row.won, row.fitness.value) == (2, 1, -4.0)
    assert row.improvement.value == 0.5
    assert found["hopper", "evolve"].improvement is None


def test_the_own_rewards_of_a_task_are_counted_once_for_all_runs_of_a_seed():
    runs = [result(strategy, seed, (0.9,), human=(0.5, 0.7)) for seed in range(2) for strategy in ("evolve", "other")]
    row = by_name(runs)["hopper", "human"]
    assert (row.runs, row.fitness.value) == (2, pytest.approx(0.6))
    assert row.improvement.value == 0.0
    assert row.costs == {}


def test_without_a_scale_nothing_is_normalised_and_without_own_rewards_they_have_no_rows():
    found = by_name([result("evolve", 0, (0.9, 0.9), human=(0.5, 0.1), sparse=(0.1, 0.5))])
    assert found["hopper", "evolve"].human_normalised is None
    assert ("hopper", "human") not in by_name([result("evolve", 0, (0.9,), human=(), sparse=())])


def test_an_unknown_price_of_one_run_leaves_the_mean_unknown():
    runs = [result("evolve", 0, (0.9,)), result("evolve", 1, (0.9,), cost_usd=None)]
    assert by_name(runs)["hopper", "evolve"].costs["cost_usd"] is None


def test_what_every_task_has_is_compared_over_all_tasks():
    runs = [result(name, 0, (each,), task=task) for task in ("a", "b") for name, each in (("x", 0.1), ("y", 0.9))]
    found = by_name([*runs, result("late", 0, (0.5,), task="a")])
    assert found[ALL_TASKS, "y"].improvement.value == 1.0
    assert found[ALL_TASKS, "y"].improvement.low > found["a", "y"].improvement.low
    assert (ALL_TASKS, "late") not in found and (ALL_TASKS, "x") not in found


def test_the_reference_stays_the_same_where_its_run_failed_and_missing_runs_are_named():
    runs = [result(name, 0, (each,), task=task) for task in ("a", "b") for name, each in (("x", 0.1), ("y", 0.9))]
    planned, whole = table_of([*runs, *(result("z", 0, (0.5,), task=task) for task in ("a", "b"))])
    assert whole.notes == ()
    without = suite_table(planned, [each for each in whole.runs if (each.task, each.strategy) != ("b", "x")])
    rows = {(row.task, row.strategy): row.improvement for row in without.rows}
    assert rows["a", "z"].value == 1.0 and rows["b", "z"] is None and rows["b", "y"] is None
    assert [*without.notes] == ["Without 1 of 6 runs: b, x, m, seed 0."]
    assert all(task != ALL_TASKS for task, _ in rows)


@pytest.mark.parametrize(
    ("told", "planned", "said"),
    [
        ({}, 6, []),
        ({"patience": 1}, 6, []),
        ({"max_tokens": 5}, 6, ["`max_tokens`"]),
        ({"seeds": 3}, 7, ["`seeds`, the number of candidates"]),
    ],
)
def test_budgets_that_are_not_equal_are_told(tmp_path, told, planned, said):
    told = {"strategies": {"evolve": {}, "other": {"strategy": "best-of-n", **told}}}
    found = cells(tmp_path, tasks=["hopper"], designers={"m": {"model": "builtin"}}, **told)
    results = [result("evolve", 0, (0.5,)), result("other", 0, (0.5,), candidates=planned)]
    assert [*suite_table(found, results).notes] == [
        f"The budgets are not equal: rows differ in {each}." for each in said
    ]


def test_a_task_on_which_no_run_found_a_reward_is_named_as_its_ties_say_nothing():
    runs = [result(name, 0, each, task=task) for task, each in (("a", ()), ("b", (0.5,))) for name in ("x", "y")]
    assert [note for note in table_of(runs)[1].notes if "`better`" in note] == [
        "No run found a reward on a: `better` says nothing there, and less over all tasks."
    ]


def test_own_rewards_of_runs_that_train_differently_are_told_to_be_mixed(tmp_path):
    told = {"strategies": {"evolve": {}, "soft": {"strategy": "evolve", "trainer": "sac"}}}
    found = cells(tmp_path, tasks=["hopper"], designers={"m": {"model": "builtin"}}, **told)
    results = [result("evolve", 0, (0.5,)), result("soft", 0, (0.5,))]
    assert [*suite_table(found, results).notes] == [
        "`human` and `sparse` mix runs that trained them differently: rows differ in `trainer`."
    ]

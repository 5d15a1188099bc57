"""What `--isolate` changes: with layer 1 passed, attacks in processes of their own, and beside an honest candidate."""

import sys

import pytest

from rewardgen.reward.program import RewardError, compile_reward
from tests.security.alone import OTHERS, train
from tests.security.attack import reward
from tests.security.corpus import ATTACKS
from tests.training.builders import UPRIGHT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason=f"what is attacked is Linux, this is {sys.platform}")

OF_CORPUS = [
    "state mutation: storage",
    "global state: function of torch",
    "result forging: answer written to the pipe",
    "result forging: end before the answer",
]
"""Some of each class of which layer 2 stops little in a process, and which are not aimed at the tests' own trainer."""
SOURCES = {f"others: {name}": reward(body) for name, body in OTHERS.items()}
SOURCES |= {name: ATTACKS[name].source for name in OF_CORPUS}
CALLS = {name: ATTACKS[name].calls if name in ATTACKS else 1 for name in SOURCES}
FATAL = "result forging: end before the answer"


@pytest.fixture(scope="module")
def isolated(tmp_path_factory):
    """All of them and two honest candidates, the first of which trains when no attack has begun."""
    sources = {"before": UPRIGHT, **SOURCES, "beside": UPRIGHT}
    return train(tmp_path_factory.mktemp("isolated") / "run", sources, CALLS, isolate=True)


def together(folder, name, source):
    """An honest candidate and an attack in one process."""
    return train(folder / "run", {"honest": UPRIGHT, name: source}, {name: 1}, isolate=False)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """An honest candidate in one process with an attack that does nothing."""
    return together(tmp_path_factory.mktemp("undisturbed"), "nothing", reward("pass"))


def test_an_honest_candidate_is_the_same_among_isolated_attacks(isolated):
    failure, fitness, _, policy = isolated.of("before")
    assert failure is None and fitness is not None and policy
    assert isolated.of("beside") == isolated.of("before")


@pytest.mark.parametrize("name", SOURCES)
def test_an_isolated_attack_spoils_its_own_training_and_forges_no_fitness(name, isolated):
    result = isolated.results[name]
    assert result.failure or 0.0 <= result.final_fitness <= 1.0


@pytest.mark.parametrize("name", [name for name in SOURCES if name.startswith("others: ")])
def test_in_one_process_it_spoils_the_honest_candidate_too(name, tmp_path, undisturbed):
    """Otherwise the tests above show nothing; and why the page says that only layer 1 separates there."""
    shared = together(tmp_path, name, SOURCES[name])
    assert shared.results["honest"].failure is None and undisturbed.results["honest"].failure is None
    assert shared.policies["honest"] != undisturbed.policies["honest"]


def test_one_that_takes_the_process_down_is_found_and_the_honest_one_is_trained_again(tmp_path, isolated):
    shared = together(tmp_path, FATAL, SOURCES[FATAL])
    assert shared.results[FATAL].failure and shared.of("honest") == isolated.of("before")


@pytest.mark.parametrize("name", SOURCES)
def test_the_language_lets_none_of_them_begin(name):
    with pytest.raises(RewardError):
        compile_reward(SOURCES[name])

from rewardgen.store.measurements import IdleReading
from tests.analyzer.flagged import fires, flags
from tests.analyzer.trained import curve

SHORTENS = curve(steps=(80.0, 100.0, 90.0, 60.0, 40.0, 30.0))
EARLY = {"left the track": 0.75, "time limit": 0.25}


def test_episodes_that_shorten_while_the_reward_rises():
    fires(flags(curves=SHORTENS), "early-ending-pays", "Episodes became shorter (100 to 30 steps)")


def test_shorter_episodes_are_the_aim_where_success_ends_them():
    assert flags(success_terminates=True, curves=SHORTENS) == ()


def test_shorter_episodes_are_no_fault_where_an_end_may_be_wanted():
    assert flags(benign_terminations=True, curves=SHORTENS) == ()


def test_episodes_that_end_early():
    fires(flags(terminations=EARLY), "ends-early", "75 % of the episodes still end by `left the track`, after 100")


def test_negative_reward_that_ends_episodes_early():
    costly = curve(ret=(-50.0, -40.0, -30.0, -20.0, -15.0, -10.0))
    fires(flags(curves=costly, terminations=EARLY), "early-ending-pays", "ending them stops the cost")


def test_negative_reward_that_episodes_bear_to_the_end_is_no_fault():
    assert flags(curves=curve(ret=(-50.0, -40.0, -30.0, -20.0, -15.0, -10.0))) == ()


def test_episodes_that_end_sooner_than_by_doing_nothing():
    idle = IdleReading(episode_return=20.0, episode_steps=200, fitness=0.1)
    fires(flags(terminations=EARLY, idle=idle), "early-ending-pays", "sooner than if nothing were done")


# Where success ends the episode.

from __future__ import annotations

import pytest

from rewardgen.core.errors import UsageError, nearest
from rewardgen.core.registry import Registry


def fruit() -> Registry[str]:
    registry = Registry[str]("fruit")
    registry.register("pear", "green")
    registry.register("apple", "red")
    return registry


def test_entries_are_found_by_name_and_listed_in_the_order_of_registration():
    registry = fruit()
    assert registry.get("apple") == "red"
    assert registry.names() == ("pear", "apple")
    assert list(registry) == ["green", "red"]
    assert "pear" in registry and "plum" not in registry


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(UsageError, match="unknown fruit `aple`") as refused:
        fruit().get("aple")
    assert "did you mean `apple`?" in refused.value.hint
    assert refused.value.__notes__ == [f"hint: {refused.value.hint}"], "a traceback in Python has it too"


def test_a_name_is_given_once():
    registry = fruit()
    with pytest.raises(UsageError, match="the fruit `pear` exists already"):
        registry.register("pear", "yellow")
    assert registry.register("pear", registry.get("pear")) == "green"


@pytest.mark.parametrize(
    ("unknown", "valid", "closest"),
    [
        ("height", ["weight", "torso_height"], "torso_height"),
        ("cheetah jump", ["cheetah_run", "half_cheetah", "jump_of_the_cheetah"], "jump_of_the_cheetah"),
        ("hopper jump", ["hopper", "hopper_hop"], "hopper"),
        ("Torso-Heigt", ["torso", "torso_height"], "torso_height"),
        ("foot_speed", ["x_velocity", "foot_height"], "foot_height"),
        ("-", ["x"], None),
    ],
)
def test_a_name_with_the_same_words_is_meant_before_one_with_similar_letters(unknown, valid, closest):
    assert nearest(unknown, valid) == closest

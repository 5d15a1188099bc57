"""Meta-World's button-press-v3."""

from rewardgen import MetaWorldTask


class ButtonPress(MetaWorldTask):
    """A robot arm before a button on a wall. Press the button, which is the object, away from the robot (+y)."""

    env_options = {"name": "button-press-v3"}
    slow = True

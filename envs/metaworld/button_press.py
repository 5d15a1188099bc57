"""Meta-World's button-press-v3. Its scripted policy solves it; whether its reward does in these steps was not tried."""

from rewardgen.extras.metaworld.task import MetaWorldTask


class ButtonPress(MetaWorldTask):
    """A robot arm before a button on a wall. Press the button, which is the object, away from the robot (+y)."""

    env_options = {"name": "button-press-v3"}
    slow = True

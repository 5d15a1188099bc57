"""Meta-World's door-close-v3. Its scripted policy solves it; whether its reward does in these steps was not tried."""

from rewardgen.extras.metaworld.task import MetaWorldTask


class DoorClose(MetaWorldTask):
    """A robot arm before a safe whose door stands open. Push the door shut; its handle is the object."""

    env_options = {"name": "door-close-v3"}
    slow = True

"""Meta-World's sweep-into-v3. Its scripted policy solves it; whether its reward does in these steps was not tried."""

from rewardgen.extras.metaworld.task import MetaWorldTask


class SweepInto(MetaWorldTask):
    """A robot arm and a puck, the object, on a table. Sweep the puck into the hole, which is the goal."""

    env_options = {"name": "sweep-into-v3"}
    slow = True

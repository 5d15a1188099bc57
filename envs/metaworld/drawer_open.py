"""Meta-World's drawer-open-v3. Its scripted policy solves it; whether its reward does in these steps was not tried."""

from rewardgen.extras.metaworld.task import MetaWorldTask


class DrawerOpen(MetaWorldTask):
    """A robot arm before a closed drawer. Pull it open by its handle, which is the object, towards the robot (-y)."""

    env_options = {"name": "drawer-open-v3"}
    slow = True

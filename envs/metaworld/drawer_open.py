"""Meta-World's drawer-open-v3."""

from rewardgen import MetaWorldTask


class DrawerOpen(MetaWorldTask):
    """A robot arm before a closed drawer. Pull it open by its handle, which is the object, towards the robot (-y)."""

    env_options = {"name": "drawer-open-v3"}
    slow = True

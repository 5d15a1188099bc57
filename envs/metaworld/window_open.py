"""Meta-World's window-open-v3. Its scripted policy solves it; whether its reward does in these steps was not tried."""

from rewardgen.extras.metaworld.task import MetaWorldTask


class WindowOpen(MetaWorldTask):
    """A robot arm before a sliding window. Push the window open by its handle, which is the object, along +x."""

    env_options = {"name": "window-open-v3"}
    slow = True

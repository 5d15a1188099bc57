"""A drafted task, with changes."""

BACKFLIP = '''
class Backflip(MujocoTask):
    """A one-legged planar robot. It should do one backflip and land standing.

    It moves in the x-z plane only.
    """

    episode_steps = 150
    start_noise = 0.005

    height = Body("torso").height
    pitch = Hinge("rooty").angle  # accumulated, so that it tells turns
    z_velocity = Slide("rootz").velocity
    on_floor = Touching("foot", "floor")

    ends = {"fell": Outside("height", low=0.3)}
    pairs = (Pair("high beats low", better={"height": 1.2}, worse={"height": 0.5}),)

    @staticmethod
    def metric(pitch, height, lived, *, standing: float = 1.0, rest_steps: float = 25.0):
        """How much of one backflip it did, and whether it stands at the end; 0 to 1.

        A full turn backwards, then standing for half a second.
        """
        turned = (-pitch.amin(1) / (2.0 * math.pi)).clamp(0.0, 1.0)
        once = tolerance(pitch[:, -1], lower=-7.0, upper=-5.6, margin=2.0)
        stands = (lived[:, -25:] * tolerance(height[:, -25:], lower=standing, upper=2.0, margin=0.3)).mean(1)
        fitness = 0.4 * turned + 0.6 * once * stands
        return {"turned": turned, "stands": stands, "fitness": fitness, "success": (once > 0.9) & (stands > 0.9)}
'''


def draft(*changes, prose="QUESTIONS: How exact? Must it rest?\nMISSES: Where it lands.\n"):
    """A model's reply with a drafted task, each change a pair of old and new text."""
    text = BACKFLIP
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return f"{prose}\n```python{text}```\n"

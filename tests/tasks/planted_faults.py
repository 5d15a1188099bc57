"""Faults planted in recorded metrics: case and name of the fault to pairs of old and new text."""

ALWAYS, NEVER = '"success": lived[:, 0] > 0.0', '"success": lived[:, 0] < 0.0'

# Of 30 that were tried, one more was not found: a flip whose landing does not count, since no author drew one.
PLANTED = {
    "flip-D1": {
        "the wrong way round": [("back = -turns", "back = turns")],
        "more turns count too": [
            ("upper=1.0 + slack", "upper=9.0"),
            ("< 1.0 + slack", "< 9.0"),
            ("over = tolerance(back.amax(1), upper=1.25", "over = tolerance(back.amax(1), upper=9.0"),
        ],
        "constant": [('"fitness": fitness', '"fitness": 0.5 + 0.0 * fitness')],
        "negated": [('"fitness": fitness', '"fitness": 1.0 - fitness')],
        "always a success": [('"success": success', ALWAYS)],
    },
    "hop-D2": {
        "the wrong way": [("dx = torch.diff(", "dx = -torch.diff(")],
        "back and forth pays": [("gained = torch.where(dx > 0.0, dx * up, dx)", "gained = dx.abs()")],
        "falling is no matter": [
            ("up = ((upright > tipped) * (height > collapsed) * (torso_down < 0.5) * lived)", "up = (lived)"),
            ("hops = (", "hops = 1.0 + 0.0 * ("),
        ],
        "far too slow is enough": [
            ("(pace >= 0.995) & (going >= 0.999) & (hops >= 0.999)", "(pace >= 0.1)"),
            ("& (busy[:, -1] > 0.5) & stood", ""),
        ],
        "constant": [('"fitness": 0.8 * progress', '"fitness": 0.5 + 0.0 * progress'), ("+ 0.2 * success.float()", "")],
        "never a success": [('"success": success', NEVER)],
    },
    "lift-D1": {
        "a little is high enough": [("high: float = 0.335", "high: float = 0.09")],
        "for a moment is long enough": [
            ("there = (ball_height >= high).float()", "there = (ball_height >= high).float().cummax(1).values"),
            ("* (ball_down < 0.5).float() * lived\n        held_now", "\n        held_now"),
        ],
        "thrown counts as held": [
            ("share(there * touch, 100)", "share(there, 5)"),
            ("share(there, 100) > 0.999", "share(there, 5) > 0.5"),
        ],
        "the lower the better": [
            ("rise = ((ball_height - start)", "rise = ((start - ball_height)"),
            ("ball_height >= high", "ball_height < high"),
        ],
        "negated": [('"fitness": fitness', '"fitness": 1.0 - fitness')],
        "success without fitness": [('"success": success', '"success": reached > 0.9')],
    },
    "turn-D2": {
        "to the right": [("tail = turns", "turns = -turns\n        tail = turns")],
        "any number of turns": [
            ("off = ((tail - 1.0).abs() - exact)", "off = ((1.0 - tail) - exact)"),
            ("(tail - 1.0).abs().amax(1) <= exact", "(tail > 0.9).all(1)"),
            (
                "too_far = tolerance(most, lower=-10.0, upper=1.0 + excess",
                "too_far = tolerance(most, lower=-10.0, upper=90.0",
            ),
            ("& (most <= 1.0 + excess)", ""),
            ("& (stands >= stands_share)", ""),
        ],
        "anywhere": [
            ("on_spot = tolerance(strayed, upper=spot", "on_spot = tolerance(strayed, upper=99.0"),
            ("& (strayed <= spot)", ""),
        ],
        "at any time": [
            ("tail = turns[:, -100:]", "tail = turns.cummax(1).values[:, -100:]"),
            ("* too_far * too_right", ""),
            ("& (most <= 1.0 + excess)", "& (most >= 1.0 - exact)"),
            ("(tail - 1.0).abs().amax(1) <= exact", "tail.amax(1) > 0.9"),
            ("& (stands >= stands_share)", ""),
            ("& (up[:, -1] > 0.5)", ""),
        ],
        "constant": [
            ('"fitness": 0.75 * progress', '"fitness": 0.5 + 0.0 * progress'),
            ("+ 0.25 * success.float()", ""),
        ],
        "always a success": [('"success": success', ALWAYS)],
    },
    "table-D2": {
        "the wrong box": [("far = (red[..., :2]", "far = (blue[..., :2]")],
        "the hand instead of the box": [("far = (red[..., :2]", "far = (hand[..., :2]"), ("& (began_away > 0.5)", "")],
        "blue is no matter": [("& spared", ""), ("* care", "")],
        "passing over it is enough": [
            ("brought[:, -50:].mean(1)", "brought.amax(1)"),
            ("lies[:, -50:].mean(1)", "lies.amax(1)"),
            ("* tolerance(speed, upper=rest_speed, margin=0.1)", ""),
            ("& (speed <= rest_speed_most)", ""),
            ("stays.float()[:, -50:].amin(1)", "stays.float().amax(1)"),
        ],
        "negated": [('"fitness": progress * care + 0.3 * success.float()', '"fitness": 1.0 - progress * care')],
        "never a success": [('"success": success', NEVER)],
    },
}

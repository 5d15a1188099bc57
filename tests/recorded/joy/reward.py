"""A reward, designed with rewardgen: import it, all it needs is torch.

`compute_reward` is the reward itself: from variables, tensors (N,) or (N, k), to its weighted components, whose sum is
the reward. `reward_and_components` at the end calls it by the names of its inputs and adds them up, as trainings did.
Where the inputs are not on the CPU, call `torch.set_default_device` before importing it.
"""

from __future__ import annotations

import torch

def make_tolerance__():
    # `tolerance` is in scope of every reward.
    import math
    from collections.abc import Callable
    import torch
    from torch import Tensor

    BOTH_BOUNDS = "tolerance: both bounds are given as one argument"

    def tolerance(
        x: Tensor,
        lower: float | Tensor = 0.0,
        upper: float | Tensor = 0.0,
        margin: float | Tensor = 0.0,
        sigmoid: str = "gaussian",
        value_at_margin: float = 0.1,
    ) -> Tensor:
        """1 inside [lower, upper], falling to `value_at_margin` at a distance of `margin` outside.

        Same meaning as `dm_control.utils.rewards.tolerance` (Tassa et al. 2018, arXiv:1801.00690), whose `bounds` are
        `lower` and `upper` here.

        Args:
            x: Any shape.
            lower: Lower bound, in the unit of x.
            upper: Upper bound, in the unit of x.
            margin: Distance at which the value is `value_at_margin`, in the unit of x; 0 for a hard edge.
            sigmoid: `gaussian`, `linear`, `hyperbolic`, `long_tail`, `reciprocal`, `cosine`, `quadratic`, `tanh_squared`.
            value_at_margin: Between 0 and 1; 0 is allowed for `linear`, `cosine` and `quadratic`.

        Returns:
            Values in [0, 1], the shape of x.

        Raises:
            TypeError: Both bounds in one argument, as dm_control has them.
            ValueError: Bounds in the wrong order, a negative margin, an unknown sigmoid, or `value_at_margin` out of range.
        """
        if isinstance(lower, tuple | list):
            raise TypeError(BOTH_BOUNDS)
        _check(lower, upper, margin, sigmoid, value_at_margin)
        below, above = lower - x, x - upper
        outside = torch.clamp(torch.maximum(below, above), min=0.0)
        inside = outside <= 0.0
        if isinstance(margin, Tensor):
            soft = _SIGMOIDS[sigmoid](outside / margin.clamp(min=torch.finfo(margin.dtype).tiny), value_at_margin)
            soft = torch.where(margin > 0.0, soft, torch.zeros_like(soft))
        elif margin > 0.0:
            soft = _SIGMOIDS[sigmoid](outside / margin, value_at_margin)
        else:
            soft = torch.zeros_like(outside)
        return torch.where(inside, torch.ones_like(soft), soft)

    def _check(
        lower: float | Tensor, upper: float | Tensor, margin: float | Tensor, sigmoid: str, value_at_margin: float
    ) -> None:
        if not isinstance(lower, Tensor) and not isinstance(upper, Tensor) and lower > upper:
            raise ValueError(f"tolerance: lower ({lower}) is above upper ({upper})")
        if not isinstance(margin, Tensor) and margin < 0.0:
            raise ValueError(f"tolerance: margin ({margin}) is negative")
        if sigmoid not in _SIGMOIDS:
            raise ValueError(f"tolerance: unknown sigmoid `{sigmoid}`; it is one of {', '.join(_SIGMOIDS)}")
        lowest_allowed = value_at_margin >= 0.0 if sigmoid in _REACHES_ZERO else value_at_margin > 0.0
        if not (lowest_allowed and value_at_margin < 1.0):
            raise ValueError(f"tolerance: value_at_margin ({value_at_margin}) is out of range for `{sigmoid}`")

    _SIGMOIDS: dict[str, Callable[[Tensor, float], Tensor]] = {
        "gaussian": lambda d, value: torch.exp(math.log(value) * d.square()),
        "linear": lambda d, value: torch.clamp(1.0 - d * (1.0 - value), min=0.0),
        "hyperbolic": lambda d, value: 1.0 / torch.cosh(d * math.acosh(1.0 / value)),
        "long_tail": lambda d, value: 1.0 / (d.square() * (1.0 / value - 1.0) + 1.0),
        "reciprocal": lambda d, value: 1.0 / (d.abs() * (1.0 / value - 1.0) + 1.0),
        "cosine": lambda d, value: _cosine(d * (math.acos(2.0 * value - 1.0) / math.pi)),
        "quadratic": lambda d, value: torch.clamp(1.0 - d.square() * (1.0 - value), min=0.0),
        "tanh_squared": lambda d, value: 1.0 - torch.tanh(d * math.atanh(math.sqrt(1.0 - value))).square(),
    }

    """Name to a function of the distance [margins] and the value at distance 1."""

    _REACHES_ZERO = ("cosine", "linear", "quadratic")

    def _cosine(scaled: Tensor) -> Tensor:
        return torch.where(scaled.abs() < 1.0, (1.0 + torch.cos(math.pi * scaled)) / 2.0, 0.0)

    return tolerance

tolerance = make_tolerance__()

# --- The reward, as it was designed. ---

def compute_reward(com, com_velocity, prev_com_velocity, upright, hip, knee, foot_touch, prev_foot_touch,
                   pitch, action, prev_action, *,
                   stand_weight: float = 0.1, takeoff_weight: float = 0.3, liftoff_weight: float = 1.0,
                   flight_weight: float = 1.0, flight_floor: float = 0.6, flight_scale: float = 0.4,
                   open_share: float = 0.3, landing_weight: float = 0.4, soft_step: float = 0.6,
                   slam_width: float = 0.7, place_free: float = 0.2, place_margin: float = 0.8,
                   effort_weight: float = 0.015):
    """Reach take-off, go far beyond it, touch down softly."""
    x = com[:, 0]
    z = com[:, 2]
    vz = com_velocity[:, 2]
    prev_vz = prev_com_velocity[:, 2]
    stance = (foot_touch > 0.5).float()
    air = 1.0 - stance
    left_floor = (prev_foot_touch > 0.5).float() * air

    tall = tolerance(upright, lower=0.9, upper=1.1, margin=0.6)
    place = tolerance(x, lower=-place_free, upper=place_free, margin=place_margin)
    gate = tall * (0.2 + 0.8 * place)

    held = tolerance(z, lower=0.48, upper=10.0, margin=0.2)
    stand = stand_weight * gate * held

    # On the way to take-off: rising on the floor, and the height promised at lift-off.
    straight = tolerance(hip, lower=-0.2, upper=0.2, margin=1.2) * tolerance(knee, lower=-0.25, upper=0.2, margin=1.5)
    up = vz.clamp(min=0.0, max=6.0)
    rising = torch.tanh(up / 2.0) * (0.4 + 0.6 * straight)
    promised = torch.tanh(up.square() / 19.62 / 0.5)
    takeoff = gate * (takeoff_weight * stance * rising + liftoff_weight * left_floor * promised)

    # Beyond: height of the centre of mass above standing, in the air.
    beyond = (z - flight_floor).clamp(min=0.0) / flight_scale
    vertical = tolerance(pitch, lower=-0.2, upper=0.2, margin=0.9)
    form = (1.0 - open_share) + open_share * straight * vertical
    flight = flight_weight * gate * air * form * torch.tanh(0.5 * beyond + 0.25 * beyond.square())

    # Second waypoint: the foot takes the fall over many steps (0.6 m/s per step is about four weights).
    fall_speed = (-prev_vz - 0.4).clamp(min=0.0)
    lost = vz - prev_vz
    gentle = 1.0 - 2.0 * ((lost - soft_step) / slam_width).clamp(min=0.0, max=1.0)
    braking = (lost > 0.0).float()
    landing = landing_weight * gate * stance * braking * torch.tanh(fall_speed) * gentle

    jitter = (action - prev_action).square().mean(-1)
    effort = -effort_weight * (action.square().mean(-1) + 0.5 * jitter)
    return {"stand": stand, "takeoff": takeoff, "flight": flight, "landing": landing, "effort": effort}

# --- End of the reward. ---

INPUTS = ("com", "com_velocity", "prev_com_velocity", "upright", "hip", "knee", "foot_touch", "prev_foot_touch", "pitch", "action", "prev_action")


def reward_and_components(inputs, **constants):
    """Return the reward of N steps, (N,) float32, and its weighted components by name, (N,) each.

    Args:
        inputs: Name to tensor, (N,) or (N, k) float32, at least those of `INPUTS`. `action` is the applied one, in
            its range; `prev_x` is x one step earlier, and x itself on an episode's first step.
        **constants: Values for the keyword-only parameters of `compute_reward`.
    """
    arguments = [inputs[name].clone() for name in INPUTS]

    def per_step(value):
        if not isinstance(value, torch.Tensor):
            return torch.full_like(arguments[0].reshape(len(arguments[0]), -1)[:, 0], float(value), dtype=torch.float32)
        return value.to(torch.float32).expand(len(arguments[0]))

    returned = compute_reward(*arguments, **constants)
    total, parts = returned if isinstance(returned, tuple) else (None, returned)
    parts = {name: per_step(value) for name, value in parts.items()}
    added = sum(parts.values())
    if total is None:
        return added, parts
    total = per_step(total)
    residual = total - added
    if residual.dot(residual) <= 1e-6 * total.dot(total):
        residual = torch.where(residual.abs() <= 1e-5 * torch.stack(list(parts.values())).abs().amax(0), 0.0, residual)
    return total, {**parts, "residual": residual}

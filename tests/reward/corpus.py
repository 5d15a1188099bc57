"""Honest rewards in the styles in which language models write them, all on one set of inputs."""

import torch

from tests.reward.corpus_numpy import HONEST_NUMPY
from tests.reward.corpus_torch import HONEST_TORCH

INPUTS = (
    *("x_velocity", "height", "pitch", "joint_velocity", "position", "target", "orientation", "contact", "action"),
    *("prev_height", "prev_action", "prev_position"),
)


def inputs(envs: int = 64) -> dict[str, torch.Tensor]:
    """Plausible values of all inputs."""
    generator = torch.Generator().manual_seed(7)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    orientation = normal(envs, 4)
    return {
        "x_velocity": normal(envs),
        "height": 1.2 + 0.2 * normal(envs),
        "pitch": 0.3 * normal(envs),
        "joint_velocity": normal(envs, 3),
        "position": normal(envs, 3),
        "target": normal(envs, 3),
        "orientation": orientation / orientation.norm(dim=1, keepdim=True),
        "contact": (normal(envs) > 0.0).float(),
        "action": normal(envs, 3).clamp(-1.0, 1.0),
        "prev_height": 1.2 + 0.2 * normal(envs),
        "prev_action": normal(envs, 3).clamp(-1.0, 1.0),
        "prev_position": normal(envs, 3),
    }


HONEST = {
    "design page": '''
def compute_reward(x_velocity, height, action, *, speed_weight: float = 1.0, upright_temperature: float = 0.2):
    """What it encourages and why, in a line or two."""
    speed = speed_weight * x_velocity.clamp(-1.0, 4.0)
    upright = torch.exp(-(height - 1.25) ** 2 / upright_temperature)
    effort = -0.001 * action.square().sum(-1)
    return {"speed": speed, "upright": upright, "effort": effort}
''',
    "eureka tuple": """
import torch
from torch import Tensor
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(position: Tensor, target: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    distance = torch.norm(position - target, p=2, dim=-1)
    distance_temp: float = 5.0
    distance_reward = torch.exp(-distance * distance_temp)
    action_penalty = torch.sum(action ** 2, dim=-1) * 0.01
    total_reward = distance_reward - action_penalty
    reward_components = {
        "distance_reward": distance_reward,
        "action_penalty": -action_penalty,
    }
    return total_reward, reward_components
""",
    "text2reward stages": """
def compute_reward(position, target, contact, height):
    # Stage 1: reach
    dist = torch.linalg.norm(position - target, dim=-1)
    reach = 1 - torch.tanh(5.0 * dist)
    # Stage 2: lift, once it is held
    held = contact > 0.5
    lift = torch.where(held, torch.clamp(height - 1.0, 0.0, 0.5) * 2.0, torch.zeros_like(height))
    success = (dist < 0.05) & held
    return {"reach": reach, "lift": lift, "success": 5.0 * success.float()}
""",
    "dm_control tolerance": """
def compute_reward(height, x_velocity, pitch, action):
    standing = tolerance(height, lower=1.1, upper=float("inf"), margin=0.6)
    upright = tolerance(torch.cos(pitch), lower=0.9, upper=1.0, margin=1.9, sigmoid="linear", value_at_margin=0.0)
    control = tolerance(action, margin=1.0, value_at_margin=0.0, sigmoid="quadratic").mean(-1)
    move = tolerance(x_velocity, 2.0, math.inf, margin=2.0, sigmoid="linear", value_at_margin=0.5)
    gate = standing * upright
    return {"stand": gate, "move": gate * (5.0 * move + 1.0) / 6.0, "control": 0.1 * control}
""",
    "helpers and constants": '''
import math

TARGET_HEIGHT = 1.25
WEIGHTS = {"speed": 1.0, "upright": 0.5}
JOINTS = ("thigh", "leg", "foot")


def _gaussian(x: torch.Tensor, width: float = 0.3) -> torch.Tensor:
    """Bell curve."""
    return torch.exp(-0.5 * (x / width) ** 2)


def smooth_step(x, low, high):
    t = ((x - low) / (high - low)).clamp(0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def compute_reward(x_velocity, height, joint_velocity):
    speed = WEIGHTS["speed"] * smooth_step(x_velocity, 0.0, 3.0)
    upright = WEIGHTS["upright"] * _gaussian(height - TARGET_HEIGHT)
    quiet = -0.01 * joint_velocity.abs().sum(dim=-1) / len(JOINTS)
    return dict(speed=speed, upright=upright, quiet=quiet, turn=0.0 * speed + math.sin(math.pi / 6) * upright)
''',
    "previous values": """
def compute_reward(position, prev_position, target, action, prev_action, height, prev_height, *, progress_weight=10.0):
    before = (prev_position - target).norm(dim=-1)
    now = (position - target).norm(dim=-1)
    progress = progress_weight * (before - now)
    smooth = -0.05 * (action - prev_action).pow(2).mean(dim=-1)
    rising = torch.relu(height - prev_height)
    return {"progress": progress, "smooth": smooth, "rising": rising}
""",
    "functional": """
import torch
import torch.nn.functional as F

def compute_reward(x_velocity, height, action):
    speed = F.softplus(x_velocity) - F.softplus(-x_velocity)
    low = -F.relu(0.8 - height)
    huber = -F.smooth_l1_loss(height, torch.full_like(height, 1.25), reduction="none")
    effort = -0.01 * F.normalize(action, dim=-1).abs().sum(dim=-1)
    soft = F.leaky_relu(x_velocity, 0.1) * 0.01
    return {"speed": speed, "low": low, "huber": huber, "effort": effort, "soft": soft}
""",
    "annotated locals": """
from __future__ import annotations
from typing import Any

def compute_reward(
    x_velocity: torch.Tensor,
    pitch: "torch.Tensor",
    *,
    speed_scale: float = 1.0,
    pitch_scale: float = -0.5,
) -> dict[str, torch.Tensor]:
    components: dict[str, torch.Tensor] = {}
    speed: torch.Tensor = speed_scale * torch.tanh(x_velocity)
    components["speed"] = speed
    components["pitch"] = pitch_scale * pitch.abs()
    return components
""",
    "loop over joints": """
def compute_reward(joint_velocity, action):
    components = {}
    names = ["thigh", "leg", "foot"]
    for i, name in enumerate(names):
        components[f"{name}_quiet"] = -0.01 * joint_velocity[:, i] ** 2
    cost = 0.0
    for j in range(3):
        cost = cost + action[:, j].abs()
    components["effort"] = -0.1 * cost
    return components
""",
    "augmented assignment": """
def compute_reward(x_velocity, height, action):
    bonus = torch.zeros_like(height)
    bonus[height > 1.2] = 1.0
    bonus[x_velocity > 0.5] += 0.5
    effort = action.square().sum(-1)
    effort *= -0.001
    height -= 1.0
    return {"bonus": bonus, "effort": effort, "height": height.clamp(min=0.0)}
""",
    "slices with names": """
LEGS = {"front": slice(0, 2), "back": slice(2, None)}
ALL = slice(None)


def compute_reward(joint_velocity, action):
    components = {f"calm_{name}": -0.01 * joint_velocity[:, leg].abs().sum(-1) for name, leg in LEGS.items()}
    return components | {"effort": -0.1 * action[ALL].square().sum(-1)}
""",
    "lambda": """
def compute_reward(height, pitch):
    bell = lambda x, width: torch.exp(-(x / width) ** 2)
    return {"height": bell(height - 1.25, 0.3), "pitch": bell(pitch, 0.2)}
""",
    "comprehension": """
def compute_reward(x_velocity, height, pitch):
    terms = {"speed": x_velocity, "height": -(height - 1.25).abs(), "pitch": -pitch.abs()}
    weights = {"speed": 1.0, "height": 0.5, "pitch": 0.1}
    return {name: weights[name] * value for name, value in terms.items()}
""",
    "nested helper": """
def compute_reward(position, target, *, near: float = 0.1, far: float = 2.0):
    def distance(a, b):
        return torch.sqrt(torch.sum((a - b) ** 2, dim=-1) + 1e-8)

    d = distance(position, target)
    reach = torch.where(d < near, torch.ones_like(d), 1.0 - (d / far).clamp(max=1.0))
    return {"reach": reach}
""",
    "quaternion": """
def quat_conjugate(q):
    return torch.cat([q[:, :1], -q[:, 1:]], dim=-1)

def quat_multiply(a, b):
    w1, x1, y1, z1 = a.unbind(-1)
    w2, x2, y2, z2 = b.unbind(-1)
    return torch.stack([
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
    ], dim=-1)

def compute_reward(orientation):
    goal = torch.tensor([1.0, 0.0, 0.0, 0.0], device=orientation.device).expand_as(orientation)
    error = quat_multiply(orientation, quat_conjugate(goal))
    angle = 2.0 * torch.asin(torch.clamp(error[:, 1:].norm(p=2, dim=-1), max=1.0))
    return {"rotation": 1.0 / (angle.abs() + 0.1)}
""",
    "conditional constants": """
USE_EFFORT = True

def compute_reward(x_velocity, action, *, target_speed: float = 2.0, effort_weight: float = -1e-3):
    speed = 1.0 - torch.abs(x_velocity - target_speed) / max(target_speed, 1e-6)
    if USE_EFFORT:
        effort = effort_weight * (action * action).sum(dim=-1)
    elif target_speed > 3.0:
        effort = torch.zeros_like(x_velocity)
    else:
        effort = 0.0 * x_velocity
    return {"speed": speed.clamp(-1, 1), "effort": effort}
""",
    "ternary and chained methods": """
def compute_reward(height, x_velocity, *, sign: float = 1.0):
    direction = x_velocity if sign > 0 else -x_velocity
    forward = direction.clamp(min=0.0).sqrt().mul(2.0).sub(0.1)
    up = height.sub(1.25).abs().neg().exp()
    return {"forward": forward, "up": up}
""",
    "logical operators": """
def compute_reward(height, pitch, contact):
    healthy = torch.logical_and(height > 0.8, torch.abs(pitch) < 0.5)
    flying = ~contact.bool() & (height > 1.3)
    return {"healthy": healthy.float(), "flying": 0.5 * flying.float(), "either": (healthy | flying).float() * 0.1}
""",
    "stack and list": """
def compute_reward(x_velocity, height, pitch):
    parts = []
    parts.append(torch.tanh(x_velocity))
    parts.append(-pitch.abs())
    stacked = torch.stack(parts, dim=0)
    best, _ = stacked.max(dim=0)
    return {"sum": stacked.sum(dim=0), "best": best, "worst": torch.min(stacked, dim=0).values, "height": height * 0.1}
""",
    "python scalar component": """
def compute_reward(x_velocity, action):
    return {"forward": x_velocity, "survive": 1.0, "control": -1e-3 * action.square().sum(-1)}
""",
    "scoped imports": """
def compute_reward(position, target):
    import math
    import torch
    distance = torch.cdist(position.unsqueeze(1), target.unsqueeze(1)).squeeze(-1).squeeze(-1)
    return {"near": torch.exp(-distance / math.sqrt(2.0)), "close": torch.lt(distance, 0.1).float()}
""",
    "other aliases": """
import torch as th
from torch.nn import functional as fn
from math import pi, exp

def compute_reward(pitch, height):
    wrapped = th.remainder(pitch + pi, 2 * pi) - pi
    return {"level": th.cos(wrapped), "height": fn.elu(height - 1.0) * exp(-1.0)}
""",
    "windows and tabs": "def compute_reward(height):\r\n\tup = height.clamp(0.0, 2.0)\r\n\treturn {'up': up}\r\n",
    "force named F": """
def compute_reward(action, x_velocity):
    F = 10.0 * action.norm(dim=-1)
    power = F * x_velocity.abs()
    return {"power": -0.001 * power}
""",
    "tunable exponent": """
def compute_reward(height, action, *, power: float = 1.5, width: float = 0.4):
    error = (height - 1.25).abs()
    shaped = 1.0 - (error / width).clamp(0.0, 1.0) ** power
    return {"shaped": shaped, "effort": -0.01 * (action ** 2.0).sum(-1)}
""",
    "docstring with odd signs": '''
"""Rewards 100% of {speed}; see __notes__."""

def compute_reward(x_velocity):
    """Reward = 50% speed, {and} __more__.

    Long text. """ + "" if False else None
    return {"speed": x_velocity}
'''.replace(' + "" if False else None', ""),
    "nan guards": """
def compute_reward(x_velocity, height):
    ratio = x_velocity / (height.abs() + 1e-6)
    safe = torch.nan_to_num(ratio, nan=0.0, posinf=1.0, neginf=-1.0)
    eps = torch.finfo(torch.float32).eps
    return {"ratio": torch.tanh(safe), "log": 0.1 * torch.log(height.clamp(min=eps))}
""",
    "dtype arguments": """
def compute_reward(height, contact, x_velocity):
    step = (contact > 0.5).to(dtype=torch.float32)
    base = torch.ones(height.shape[0], dtype=torch.float32, device=height.device)
    scale = torch.tensor(0.5, dtype=height.dtype, device=height.device)
    return {"step": step * base, "height": height * scale, "fast": (x_velocity > 1).type_as(height)}
""",
    **HONEST_TORCH,
    **HONEST_NUMPY,
}

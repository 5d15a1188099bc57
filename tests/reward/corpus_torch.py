"""Honest rewards in the styles of published systems and of everyday chat, written with torch."""

# Lines as long as models write them.
# ruff: noqa: E501

HONEST_TORCH = {
    "eureka shadow hand": """
import torch
from typing import Tuple, Dict

@torch.jit.script
def quat_mul(a, b):
    x1, y1, z1, w1 = a[:, 0], a[:, 1], a[:, 2], a[:, 3]
    x2, y2, z2, w2 = b[:, 0], b[:, 1], b[:, 2], b[:, 3]
    ww = (z1 + x1) * (x2 + y2)
    yy = (w1 - y1) * (w2 + z2)
    zz = (w1 + y1) * (w2 - z2)
    xx = ww + yy + zz
    qq = 0.5 * (xx + (z1 - x1) * (x2 - y2))
    w = qq - ww + (z1 - y1) * (y2 - z2)
    x = qq - xx + (x1 + w1) * (x2 + w2)
    y = qq - yy + (w1 - x1) * (y2 + z2)
    z = qq - zz + (z1 + y1) * (w2 - x2)
    return torch.stack([x, y, z, w], dim=-1)


@torch.jit.script
def quat_conjugate(a):
    shape = a.shape
    a = a.reshape(-1, 4)
    return torch.cat((-a[:, :3], a[:, -1:]), dim=-1).view(shape)


def compute_reward(orientation: torch.Tensor, position: torch.Tensor, target: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    goal_rot = torch.zeros_like(orientation)
    goal_rot[:, 3] = 1.0
    quat_diff = quat_mul(orientation, quat_conjugate(goal_rot))
    rot_dist = 2.0 * torch.asin(torch.clamp(torch.norm(quat_diff[:, 0:3], p=2, dim=-1), max=1.0))

    rotation_temperature = 0.2
    rotation_reward = torch.exp(-rot_dist * rotation_temperature)
    dist_reward = -torch.norm(position - target, p=2, dim=-1)
    action_penalty = torch.sum(action ** 2, dim=-1)
    success_bonus = torch.where(rot_dist <= 0.1, torch.full_like(rot_dist, 250.0), torch.zeros_like(rot_dist))

    reward = rotation_reward + 0.1 * dist_reward - 0.0002 * action_penalty + success_bonus
    return reward, {
        "rotation_reward": rotation_reward,
        "dist_reward": 0.1 * dist_reward,
        "action_penalty": -0.0002 * action_penalty,
        "success_bonus": success_bonus,
    }
""",
    "dreureka quadruped": """
import torch

def compute_reward(x_velocity, height, pitch, joint_velocity, action, prev_action, contact):
    # Velocity tracking
    velocity_error = torch.square(x_velocity - 2.0)
    velocity_reward = 3.0 * torch.exp(-velocity_error / 0.25)
    # Stability
    height_reward = 1.0 * torch.exp(-torch.abs(height - 1.2) / 0.1)
    orientation_reward = 0.5 * torch.exp(-torch.abs(pitch) / 0.2)
    # Smoothness
    action_rate = -0.01 * torch.sum(torch.square(action - prev_action), dim=1)
    dof_vel = -0.0005 * torch.sum(torch.square(joint_velocity), dim=1)
    # Limits
    out_of_limits = -(joint_velocity - 2.0).clip(min=0.)
    out_of_limits += (joint_velocity + 2.0).clip(max=0.)
    limits = 0.1 * torch.sum(out_of_limits, dim=1)
    feet = 0.1 * (contact > 0.5).float()
    return {
        "velocity": velocity_reward,
        "height": height_reward,
        "orientation": orientation_reward,
        "action_rate": action_rate,
        "dof_vel": dof_vel,
        "limits": limits,
        "feet": feet,
    }
""",
    "revolve driving": """
from typing import Dict, Tuple
import math
import torch

def compute_reward(x_velocity: torch.Tensor, pitch: torch.Tensor, action: torch.Tensor, position: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    MIN_SPEED, MAX_SPEED = 0.5, 2.5
    speed_ok = (x_velocity >= MIN_SPEED) & (x_velocity <= MAX_SPEED)
    speed_reward = torch.where(speed_ok, 1.0 - torch.abs(x_velocity - (MIN_SPEED + MAX_SPEED) / 2) / (MAX_SPEED - MIN_SPEED), torch.tensor(-0.5))
    heading_reward = torch.cos(pitch.clamp(-math.pi / 2, math.pi / 2))
    smoothness = torch.exp(-action.std(dim=-1))
    lane = torch.exp(-0.5 * (position[..., 1] / 0.8) ** 2)
    components = {"speed": 0.4 * speed_reward, "heading": 0.2 * heading_reward, "smooth": 0.1 * smoothness, "lane": 0.3 * lane}
    total = sum(components.values())
    return total, components
""",
    "potential based shaping": '''
GAMMA = 0.99

def potential(position, target):
    """Negative distance to the goal."""
    return -torch.linalg.vector_norm(position - target, dim=-1)

def compute_reward(position, prev_position, target, *, scale: float = 10.0):
    shaping = GAMMA * potential(position, target) - potential(prev_position, target)
    reached = (potential(position, target) > -0.1).to(position.dtype)
    return {"shaping": scale * shaping, "reached": 50.0 * reached}
''',
    "maniskill staged assignment": """
def compute_reward(position, target, contact, height, joint_velocity):
    tcp_to_obj_dist = torch.linalg.norm(target - position, dim=1)
    reward = 1 - torch.tanh(5 * tcp_to_obj_dist)
    is_grasped = contact.bool()
    reward[is_grasped] += 1.0
    obj_to_goal = torch.abs(height - 1.4)
    place = 1 - torch.tanh(5 * obj_to_goal)
    reward += place * is_grasped
    qvel = torch.linalg.norm(joint_velocity, dim=1)
    static = 1 - torch.tanh(5 * qvel)
    reward += static * (obj_to_goal < 0.1)
    reward[(obj_to_goal < 0.05) & is_grasped] = 5
    return {"normalized": reward / 5}
""",
    "dm_control own sigmoid": """
def _sigmoids(x, value_at_1, sigmoid):
    if sigmoid == 'gaussian':
        scale = math.sqrt(-2 * math.log(value_at_1))
        return torch.exp(-0.5 * (x * scale) ** 2)
    elif sigmoid == 'long_tail':
        scale = math.sqrt(1 / value_at_1 - 1)
        return 1 / ((x * scale) ** 2 + 1)
    else:
        return torch.clamp(1 - x * (1 - value_at_1), min=0)


def bounded(x, bounds=(0.0, 0.0), margin=0.0, sigmoid='gaussian', value_at_margin=0.1):
    lower, upper = bounds
    in_bounds = torch.logical_and(lower <= x, x <= upper)
    if margin == 0:
        return torch.where(in_bounds, 1.0, 0.0)
    d = torch.where(x < lower, lower - x, x - upper) / margin
    return torch.where(in_bounds, torch.ones_like(x), _sigmoids(d, value_at_margin, sigmoid))


def compute_reward(height, x_velocity, pitch):
    stand = bounded(height, bounds=(1.1, 1.4), margin=0.4)
    fast = bounded(x_velocity, (1.0, 100.0), margin=1.0, sigmoid='linear', value_at_margin=0.0)
    level = bounded(pitch, bounds=(-0.2, 0.2))
    tail = bounded(x_velocity, bounds=(1.0, 2.0), margin=0.5, sigmoid="long_tail")
    return {"stand": stand, "fast": stand * fast, "level": 0.1 * level, "tail": 0.1 * tail}
""",
    "fingers in a loop": """
FINGERS = ["thumb", "index", "middle"]
WEIGHTS = [0.5, 0.3, 0.2]

def compute_reward(position, target, joint_velocity):
    reward_components = {}
    total_distance = torch.zeros(position.shape[0], device=position.device)
    for i, (finger, weight) in enumerate(zip(FINGERS, WEIGHTS)):
        distance = (position[:, i] - target[:, i]).abs()
        reward_components[f"{finger}_reach"] = weight * torch.exp(-3.0 * distance)
        total_distance += distance
    reward_components["all_close"] = (total_distance < 1.0).float()
    reward_components["still"] = -0.01 * sum(joint_velocity[:, j] ** 2 for j in range(3))
    return reward_components
""",
    "geometry helpers": '''
def quat_to_up(q: torch.Tensor) -> torch.Tensor:
    """z axis of the body in the world frame."""
    w, x, y, z = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    return torch.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), dim=-1)


def normalize(v, eps: float = 1e-9):
    return v / v.norm(p=2, dim=-1, keepdim=True).clamp(min=eps)


def compute_reward(orientation, position, target):
    up = quat_to_up(orientation)
    to_target = normalize(target - position)
    heading = normalize(torch.cross(up, to_target, dim=-1))
    alignment = (up * to_target).sum(dim=-1)
    return {"up": up[:, 2], "alignment": 0.5 * alignment, "heading": 0.1 * heading[:, 0]}
''',
    "rotation matrix": """
def rotation_matrix(q):
    w, x, y, z = q.unbind(-1)
    row0 = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], dim=-1)
    row1 = torch.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], dim=-1)
    row2 = torch.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], dim=-1)
    return torch.stack([row0, row1, row2], dim=1)


def compute_reward(orientation, position, target):
    r = rotation_matrix(orientation)
    local = torch.bmm(r.transpose(1, 2), (target - position).unsqueeze(-1)).squeeze(-1)
    trace = r[:, 0, 0] + r[:, 1, 1] + r[:, 2, 2]
    angle = torch.acos(((trace - 1.0) / 2.0).clamp(-1.0 + 1e-6, 1.0 - 1e-6))
    return {"ahead": torch.tanh(local[:, 0]), "aside": -0.1 * local[:, 1:].abs().sum(-1), "turned": -0.2 * angle}
""",
    "curriculum of thresholds": """
THRESHOLDS = (0.25, 0.5, 1.0, 2.0)

def compute_reward(position, target):
    distance = (position - target).norm(dim=-1)
    bonus = torch.zeros_like(distance)
    for threshold in THRESHOLDS:
        bonus = bonus + 0.25 * (distance < threshold).float()
    for k, t in enumerate(sorted(THRESHOLDS, reverse=True)):
        bonus = bonus + 0.01 * (k + 1) * (distance < t).float()
    return {"distance": -0.1 * distance, "bonus": bonus}
""",
    "nested config": """
CONFIG = {
    "height": {"target": 1.25, "width": 0.3, "weight": 1.0},
    "pitch": {"target": 0.0, "width": 0.2, "weight": 0.5},
}

def compute_reward(height, pitch):
    signals = {"height": height, "pitch": pitch}
    components = {}
    for key, cfg in CONFIG.items():
        error = (signals[key] - cfg["target"]) / cfg["width"]
        components[key] = cfg["weight"] * torch.exp(-error ** 2)
    return components
""",
    "f-strings and asserts": '''
JOINT_NAMES = ("hip", "knee", "ankle")

def compute_reward(joint_velocity, action, prev_action):
    """Penalise jerky joints."""
    assert joint_velocity.shape[-1] == len(JOINT_NAMES), f"expected {len(JOINT_NAMES)} joints, got {joint_velocity.shape[-1]}"
    n_joints = joint_velocity.shape[1]
    assert n_joints == 3
    jerk = (action - prev_action).abs()
    out = {f"{name}_jerk": -0.1 * jerk[:, i] for i, name in enumerate(JOINT_NAMES)}
    out.update({f"{name}_speed": -0.01 * joint_velocity[:, i].square() / n_joints for i, name in enumerate(JOINT_NAMES)})
    return out
''',
    "early return helper": """
def shaped(x, kind, scale=1.0):
    if kind == "exp":
        return torch.exp(-x / scale)
    if kind == "inverse":
        return 1.0 / (1.0 + x / scale)
    return -x * scale

def compute_reward(position, target, height):
    d = (position - target).norm(dim=-1)
    e = (height - 1.25).abs()
    return {"near": shaped(d, "exp", 0.5), "far": shaped(d, "inverse"), "height": shaped(e, kind="linear", scale=0.1)}
""",
    "typed constants and union annotations": """
from __future__ import annotations
from typing import Dict, Optional, List

EPS: float = 1e-6
GAINS: List[float] = [1.0, 0.1]
NAME: Optional[str] = None

def compute_reward(
    x_velocity: torch.Tensor, action: torch.Tensor, prev_action: torch.Tensor | None, *, gain: float = 1.0
) -> Dict[str, torch.Tensor]:
    speed: torch.Tensor = gain * GAINS[0] * x_velocity / (x_velocity.abs() + EPS)
    rate: torch.Tensor = -GAINS[1] * (action - prev_action).pow(2).mean(-1)
    return {"speed": speed, "rate": rate}
""",
    "shapes spelled out": """
def compute_reward(position, height):
    num_envs = position.shape[0]
    device, dtype = position.device, position.dtype
    ones = torch.ones(num_envs, device=device, dtype=dtype)
    zeros = torch.zeros((num_envs,), device=device)
    goal = torch.tensor([0.0, 0.0, 1.0], device=device, dtype=dtype).repeat(num_envs, 1)
    offset = position - goal
    d = torch.sqrt(torch.sum(offset * offset, dim=-1))
    bonus = torch.where(d < 1.0, ones, zeros)
    return {"d": -0.1 * d, "bonus": bonus, "flat": height.view(num_envs, -1).squeeze(-1) * 0.1}
""",
    "masks and counts": """
def compute_reward(joint_velocity, contact, action):
    slow = (joint_velocity.abs() < 0.5)
    share = slow.float().mean(dim=-1)
    all_slow = slow.all(dim=-1)
    any_fast = torch.any(~slow, dim=-1)
    saturated = (action.abs() > 0.99).sum(dim=-1)
    return {
        "share": share,
        "all_slow": 0.5 * all_slow.float(),
        "any_fast": -0.1 * any_fast.float(),
        "saturated": -0.05 * saturated,
        "contact": 0.1 * contact * all_slow,
    }
""",
}

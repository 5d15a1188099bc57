"""Honest rewards as those write them who think in numpy."""

# Lines as long as models write them.
# ruff: noqa: E501

HONEST_NUMPY = {
    "text2reward numpy": """
import numpy as np

def compute_reward(position, target, contact, height, action):
    # stage 1: approach
    dist = np.linalg.norm(position - target, axis=-1)
    reaching_reward = 1 - np.tanh(10.0 * dist)
    # stage 2: grasp
    grasp_reward = np.where(contact > 0.5, 1.0, 0.0)
    # stage 3: lift
    lift_reward = np.clip((height - 1.0) / 0.4, 0.0, 1.0) * grasp_reward
    # regularisation
    action_reg = -0.01 * np.sum(np.square(action), axis=-1)
    return {"reach": reaching_reward, "grasp": 0.5 * grasp_reward, "lift": 2.0 * lift_reward, "reg": action_reg}
""",
    "metaworld tolerance": '''
import numpy as np

def hamacher_product(a, b):
    """The hamacher (t-norm) product of a and b."""
    denominator = a + b - (a * b)
    return np.where(denominator > 0, (a * b) / np.maximum(denominator, 1e-8), 0.0)

def long_tail(x, margin, value_at_margin=0.1):
    scale = np.sqrt(1.0 / value_at_margin - 1.0)
    return 1.0 / ((x / margin * scale) ** 2 + 1.0)

def compute_reward(position, target, height):
    tcp_to_obj = np.linalg.norm(position - target, axis=1)
    in_place = long_tail(np.maximum(tcp_to_obj - 0.05, 0.0), margin=1.0)
    lifted = long_tail(np.abs(height - 1.3), 0.3)
    return {"product": 10.0 * hamacher_product(in_place, lifted), "in_place": in_place}
''',
    "hopper numpy": """
import numpy as np

def compute_reward(x_velocity, height, pitch, action, *, healthy_reward: float = 1.0):
    forward = x_velocity
    min_z, max_z = 0.7, np.inf
    is_healthy = np.logical_and(min_z < height, height < max_z)
    is_healthy = np.logical_and(is_healthy, np.abs(pitch) < 0.2)
    ctrl_cost = 1e-3 * np.sum(np.square(action), axis=-1)
    return {"forward": forward, "healthy": healthy_reward * is_healthy, "ctrl": -ctrl_cost}
""",
    "reacher numpy": """
import numpy as np

def compute_reward(position, target, action):
    vec = position - target
    reward_dist = -np.linalg.norm(vec, axis=-1)
    reward_ctrl = -np.square(action).sum(axis=-1)
    return {"reward_dist": reward_dist, "reward_ctrl": 0.1 * reward_ctrl}
""",
    "pendulum numpy": """
import numpy as np

def angle_normalize(x):
    return ((x + np.pi) % (2 * np.pi)) - np.pi

def compute_reward(pitch, joint_velocity, action):
    th = angle_normalize(pitch)
    costs = th**2 + 0.1 * joint_velocity[:, 0]**2 + 0.001 * (action[:, 0]**2)
    return {"cost": -costs}
""",
    "numpy gaussians": """
import numpy as np

TARGET = 1.25
SIGMAS = np.array([0.1, 0.2, 0.4])
WEIGHTS = np.array([0.5, 0.3, 0.2])

def compute_reward(height, joint_velocity):
    bells = np.stack([np.exp(-0.5 * ((height - TARGET) / s) ** 2) for s in (0.1, 0.2, 0.4)], axis=-1)
    mixed = np.sum(bells * WEIGHTS, axis=-1)
    quiet = -0.01 * np.mean(np.abs(joint_velocity) / SIGMAS, axis=-1)
    return {"mixed": mixed, "quiet": quiet}
""",
    "numpy astype": """
import numpy as np

def compute_reward(height, contact, x_velocity):
    upright = (height > 1.0).astype(np.float32)
    on_ground = (contact > 0.5).astype(float)
    fast = np.asarray(x_velocity > 1.0, dtype=np.float32)
    return {"upright": upright, "ground": 0.1 * on_ground, "fast": 0.5 * fast * upright}
""",
    "numpy quaternion": """
import numpy as np

def quat_to_euler(q):
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw

def compute_reward(orientation):
    roll, pitch, yaw = quat_to_euler(orientation)
    upright = np.cos(roll) * np.cos(pitch)
    facing = np.exp(-np.square(yaw) / np.deg2rad(45.0))
    return {"upright": upright, "facing": 0.5 * facing, "degrees": -1e-3 * np.abs(np.degrees(roll))}
""",
    "numpy progress": """
import numpy as np

def compute_reward(position, prev_position, target, height, prev_height):
    before = np.linalg.norm(prev_position - target, axis=-1)
    after = np.linalg.norm(position - target, axis=-1)
    progress = np.clip(before - after, -1.0, 1.0)
    climbed = np.maximum(0.0, height - prev_height)
    return {"progress": progress, "climbed": climbed, "close": np.float32(2.0) * (after < 0.5)}
""",
    "numpy robust": """
import numpy as np

def compute_reward(x_velocity, action):
    ratio = x_velocity / (np.linalg.norm(action, axis=-1) + 1e-8)
    ratio = np.nan_to_num(ratio, nan=0.0, posinf=0.0, neginf=0.0)
    finite = np.isfinite(ratio)
    return {"efficiency": np.where(finite, np.tanh(ratio), 0.0), "sign": 0.1 * np.sign(x_velocity)}
""",
    "numpy select and interp": """
import numpy as np

def compute_reward(x_velocity, height):
    zones = np.select([height < 0.8, height < 1.1], [-1.0, 0.0], default=1.0)
    profile = np.interp(x_velocity, [-1.0, 0.0, 1.0, 3.0], [-0.5, 0.0, 0.7, 1.0])
    return {"zones": 0.2 * zones, "profile": profile}
""",
    "numpy parts": """
import numpy as np

def compute_reward(position, target, joint_velocity, action):
    error = np.abs(position - target)
    worst = np.max(error, axis=-1)
    spread = error.std(axis=-1)
    middle = np.median(error, axis=-1)
    flat = np.concatenate([joint_velocity, action], axis=-1)
    near = np.all(error < 0.5, axis=-1)
    far = np.any(error > 2.0, axis=1)
    index = np.argmax(error, axis=-1)
    return {
        "worst": -worst,
        "spread": -0.1 * spread,
        "middle": -0.1 * middle,
        "flat": -0.01 * np.mean(flat ** 2, axis=-1),
        "near": 1.0 * near,
        "far": -1.0 * far,
        "first": 0.1 * (index == 0),
    }
""",
    "numpy and torch together": """
import numpy as np
import torch

HALF_WIDTH = np.sqrt(2.0) / 2

def compute_reward(height, pitch, x_velocity):
    scale = float(np.exp(-1.0))
    limit = np.deg2rad(30)
    upright = torch.exp(-(pitch / limit) ** 2)
    tall = torch.clamp(height / HALF_WIDTH, max=2.0)
    return {"upright": upright, "tall": scale * tall, "speed": torch.tanh(x_velocity) * np.pi / 4}
""",
    "numpy copies and masks": """
import numpy as np

def compute_reward(height, action, contact):
    clipped = action.copy()
    clipped[np.abs(clipped) < 0.1] = 0.0
    bonus = np.zeros_like(height)
    bonus[height > 1.2] = 1.0
    bonus[(contact > 0.5) & (height > 1.0)] += 0.5
    effort = np.sum(clipped ** 2, axis=1)
    return {"bonus": bonus, "effort": -0.02 * effort}
""",
    "numpy tuple return": '''
import numpy as np
from typing import Dict, Tuple

def compute_reward(x_velocity: np.ndarray, height: np.ndarray, action: np.ndarray) -> Tuple[np.ndarray, Dict[str, np.ndarray]]:
    """Classic numpy reward with the total first."""
    velocity_reward = np.minimum(x_velocity, 3.0) / 3.0
    height_reward = np.power(np.maximum(height, 0.0), 0.5)
    energy = np.mean(np.abs(action), axis=-1)
    total = velocity_reward + 0.5 * height_reward - 0.05 * energy
    return total, {"velocity": velocity_reward, "height": 0.5 * height_reward, "energy": -0.05 * energy}
''',
    "numpy sum of terms": """
import numpy as np

def compute_reward(x_velocity, height, pitch):
    terms = [np.tanh(x_velocity), -np.abs(height - 1.25), -np.abs(pitch)]
    weights = [1.0, 0.5, 0.2]
    weighted = np.sum([w * t for w, t in zip(weights, terms)], axis=0)
    hardest = np.min(terms, axis=0)
    normaliser = np.sum(weights)
    return {"weighted": weighted / normaliser, "hardest": 0.1 * hardest}
""",
    "numpy geometry": """
import numpy as np

UP = np.array([0.0, 0.0, 1.0])

def unit(v):
    return v / (np.linalg.norm(v, axis=-1, keepdims=True) + 1e-8)

def compute_reward(position, target, prev_position):
    forward = unit(target - position)
    moved = unit(position - prev_position)
    alignment = np.sum(forward * moved, axis=-1)
    side = np.cross(forward, UP)
    climb = np.dot(moved, UP)
    return {"alignment": alignment, "side": -0.1 * np.abs(side[:, 1]), "climb": 0.05 * climb}
""",
    "numpy without import": """
def compute_reward(height, action):
    upright = np.exp(-np.square(height - 1.25) / 0.1)
    return {"upright": upright, "effort": -0.01 * np.square(action).sum(-1)}
""",
    "numpy from import": """
from numpy import exp, sqrt, pi
from numpy.linalg import norm

def compute_reward(position, target, pitch):
    d = norm(position - target, axis=-1)
    return {"near": exp(-d / sqrt(2.0)), "level": 1.0 - abs(pitch) / pi}
""",
}

"""Honest rewards as those write them who think in numpy."""

# Lines as long as models write them.

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
    "numpy robust": """
import numpy as np

def compute_reward(x_velocity, action):
    ratio = x_velocity / (np.linalg.norm(action, axis=-1) + 1e-8)
    ratio = np.nan_to_num(ratio, nan=0.0, posinf=0.0, neginf=0.0)
    finite = np.isfinite(ratio)
    return {"efficiency": np.where(finite, np.tanh(ratio), 0.0), "sign": 0.1 * np.sign(x_velocity)}
""",
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

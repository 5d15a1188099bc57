"""Honest rewards for the shipped tasks, in styles that the other corpora do not have: task to style to source.

In-place chains on tensors of the reward's own, sizes of the batch handed on, lookup tables, buckets and one-hot gaits,
rotations by quaternion and matrix, contact logic, potentials with `prev_`, numpy as it is written for one env.
"""

# Lines as long as models write them.
# ruff: noqa: E501

HONEST_FOR: dict[str, dict[str, str]] = {
    "cartpole": {
        "in-place chain": """
def compute_reward(pole_upright, cart_position, action):
    up = pole_upright.clone().add_(1.0).mul_(0.5).clamp_(0.0, 1.0)
    centre = cart_position.abs().neg_().exp_()
    return {"up": up, "centre": 0.3 * centre, "effort": action.square().sum(-1).mul_(-0.01)}
""",
        "buffer filled by masks": """
def compute_reward(pole_angle, pole_upright, cart_position):
    n = pole_upright.shape[0]
    reward = torch.zeros(n, device=pole_upright.device, dtype=pole_upright.dtype)
    reward += 0.5 * (pole_upright + 1.0)
    near = cart_position.abs() < 0.5
    high = pole_upright > 0.8
    reward[near] += 0.2
    reward[near & high] += 0.5
    reward[~near] -= 0.1 * cart_position[~near].abs()
    return {"reward": reward}
""",
        "buckets": """
STAGES = [-0.5, 0.0, 0.5, 0.9]
PAY = torch.tensor([0.0, 0.2, 0.5, 0.8, 1.0])

def compute_reward(pole_upright, cart_position):
    stage = torch.bucketize(pole_upright, torch.tensor(STAGES, device=pole_upright.device))
    stepped = PAY.to(pole_upright.device)[stage]
    return {"stage": stepped, "smooth": 0.5 * pole_upright, "centre": -0.1 * cart_position ** 2}
""",
        "energy as a matrix product": """
def compute_reward(cart_position, cart_velocity, pole_angle, pole_velocity, action):
    state = torch.stack([cart_position, cart_velocity, torch.sin(pole_angle), 1.0 - torch.cos(pole_angle), pole_velocity], dim=-1)
    Q = torch.diag(torch.tensor([0.1, 0.01, 0.5, 2.0, 0.02], device=state.device))
    cost = torch.einsum("bi,ij,bj->b", state, Q, state)
    return {"lqr": -cost, "control": -0.01 * (action ** 2).sum(dim=-1)}
""",
        "numpy of one env": """
import numpy as np

def compute_reward(pole_angle, pole_velocity, cart_position, action):
    up = np.cos(pole_angle)
    state = np.array([cart_position, pole_velocity, up])
    x, w, c = state
    centred = np.exp(-np.square(x) / 0.5)
    slow = np.where(c > 0.9, np.exp(-np.abs(w) / 2.0), 0.0)
    a = np.asarray(action)
    return float(0.5) * (c + 1) + 0.2 * centred + 0.3 * slow, {"up": 0.5 * (c + 1), "centred": 0.2 * centred, "slow": 0.3 * slow}
""",
        "potential with a helper": """
GAMMA = 0.99

def phi(upright, x):
    height = (1.0 + upright) / 2.0
    rail = torch.clamp(1.0 - x.abs() / 1.8, min=0.0)
    return height * (0.5 + 0.5 * rail)

def compute_reward(pole_upright, cart_position, prev_pole_upright, prev_cart_position):
    now = phi(pole_upright, cart_position)
    before = phi(prev_pole_upright, prev_cart_position)
    return {"shaping": 5.0 * (GAMMA * now - before), "state": 0.5 * now}
""",
        "early return for a shape": """
def compute_reward(pole_upright, cart_position, action):
    if action.ndim == 1:
        effort = action ** 2
    else:
        effort = action.pow(2).sum(dim=tuple(range(1, action.dim())))
    terms = [("up", 1.0, pole_upright), ("centre", -0.2, cart_position.square()), ("effort", -0.01, effort)]
    return {name: weight * value for name, weight, value in terms}
""",
        "log-sum-exp of goals": """
def compute_reward(pole_angle, cart_position, *, sharpness: float = 4.0):
    wrapped = torch.atan2(torch.sin(pole_angle), torch.cos(pole_angle))
    errors = torch.stack((wrapped.abs() / math.pi, cart_position.abs() / 1.8), dim=0)
    worst = torch.logsumexp(sharpness * errors, dim=0) / sharpness
    return {"worst_error": -worst, "angle": 1.0 - errors[0]}
""",
    },
    "hopper": {
        "eureka with temperatures": """
import torch
from typing import Tuple, Dict

@torch.jit.script
def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, pitch: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    device = x_velocity.device
    speed_temp = torch.tensor(0.5, device=device)
    pitch_temp = torch.tensor(0.1, device=device)
    forward = torch.tanh(speed_temp * x_velocity)
    upright = torch.exp(-pitch ** 2 / pitch_temp)
    tall = torch.sigmoid((height - 1.0) * 10.0)
    energy = torch.sum(action * action, dim=-1)
    total = 2.0 * forward + 0.5 * upright + 0.3 * tall - 0.01 * energy
    return total, {"forward": 2.0 * forward, "upright": 0.5 * upright, "tall": 0.3 * tall, "energy": -0.01 * energy}
""",
        "foot contact by an exponential": """
def compute_reward(x_velocity, foot_clearance, healthy, z_velocity):
    contact = (foot_clearance < 0.01).float()
    soft_contact = torch.exp(-10.0 * foot_clearance) * contact
    push = soft_contact * z_velocity.clamp(min=0.0)
    return {"speed": x_velocity, "push": 0.1 * push, "alive": 0.5 * healthy}
""",
        "flight phase logic": """
def compute_reward(x_velocity, foot_clearance, prev_foot_clearance, healthy):
    airborne = foot_clearance > 0.02
    was_airborne = prev_foot_clearance > 0.02
    landing = torch.logical_and(was_airborne, torch.logical_not(airborne))
    takeoff = torch.logical_and(airborne, ~was_airborne)
    hop = takeoff.to(x_velocity.dtype) - 0.0 * landing.to(x_velocity.dtype)
    return {"speed": 1.5 * x_velocity * healthy, "hop": 0.05 * hop, "healthy": healthy}
""",
        "joint limits by a table": """
LIMITS = {"thigh": (-2.6, 0.0), "leg": (-2.6, 0.0), "foot": (-0.78, 0.78)}

def compute_reward(x_velocity, joint_position, healthy):
    low = torch.tensor([pair[0] for pair in LIMITS.values()], device=joint_position.device)
    high = torch.tensor([pair[1] for pair in LIMITS.values()], device=joint_position.device)
    margin = torch.minimum(joint_position - low, high - joint_position)
    near = (0.1 - margin).clamp(min=0.0).div(0.1).mean(dim=-1)
    return {"forward": x_velocity, "limits": -0.2 * near, "alive": healthy}
""",
        "sizes handed on": """
def compute_reward(x_velocity, joint_velocity, action, healthy):
    num_envs, num_joints = joint_velocity.shape
    weights = torch.ones((num_envs, num_joints), device=joint_velocity.device)
    weights[:, -1] = 0.5
    power = (weights * (action * joint_velocity).abs()).view(num_envs, -1).sum(dim=-1) / num_joints
    gate = healthy.reshape(num_envs)
    return {"speed": gate * x_velocity, "power": -0.005 * power, "alive": torch.full((num_envs,), 0.1, device=gate.device) * gate}
""",
        "stacked and weighted": """
def compute_reward(x_velocity, height, pitch, action):
    terms = torch.stack((
        x_velocity.clamp(-1.0, 3.0),
        -(height - 1.25).abs(),
        -pitch.abs(),
        -action.norm(dim=-1),
    ), dim=1)
    weights = terms.new_tensor([1.0, 0.5, 0.5, 0.05])
    weighted = terms * weights
    names = ("speed", "height", "pitch", "effort")
    return {name: weighted[:, i] for i, name in enumerate(names)}
""",
        "numpy select": """
import numpy as np

def compute_reward(x_velocity, height, pitch, action):
    bonus = np.select([x_velocity > 2.0, x_velocity > 1.0, x_velocity > 0.0], [1.0, 0.6, 0.2], default=0.0)
    posture = np.interp(height, [0.7, 1.1, 1.25], [0.0, 0.8, 1.0]) * np.cos(np.clip(pitch, -1.0, 1.0))
    effort = np.linalg.norm(action, axis=-1)
    return {"bonus": bonus, "speed": 0.5 * np.tanh(x_velocity), "posture": posture, "effort": -0.05 * effort}
""",
        "nested helpers with defaults": """
def bell(x, centre=0.0, width=1.0):
    return torch.exp(-0.5 * ((x - centre) / width) ** 2)

def gate(*, x, low, high):
    return ((x - low) / (high - low)).clamp(0, 1)

def posture(height, pitch, width=0.2):
    return bell(pitch, width=width) * gate(x=height, low=0.8, high=1.2)

def compute_reward(x_velocity, height, pitch, action):
    p = posture(height, pitch)
    run = p * bell(x_velocity, centre=2.0, width=1.5)
    return {"posture": 0.5 * p, "run": 2.0 * run, "effort": -1e-3 * action.pow(2).sum(1)}
""",
        "with torch.no_grad": '''
def compute_reward(x_velocity, height, healthy, action, prev_action):
    """Hop forward; be smooth."""
    with torch.no_grad():
        jerk = (action - prev_action).square().mean(dim=-1)
        forward = torch.where(healthy > 0.5, x_velocity, torch.zeros_like(x_velocity))
    assert forward.shape == x_velocity.shape, "one per env"
    return dict(forward=forward, jerk=-0.05 * jerk, tall=0.2 * F.softplus(height - 1.0))
''',
        "accumulated dict": """
def compute_reward(x_velocity, pitch, pitch_velocity, action, healthy):
    rew = {}
    rew["lin_vel"] = torch.clip(x_velocity, max=2.5)
    rew["ang"] = -0.3 * torch.square(pitch)
    rew["ang"] = rew["ang"] - 0.01 * torch.square(pitch_velocity)
    rew["act"] = -0.002 * torch.sum(torch.square(action), dim=-1)
    rew.update(alive=healthy * 0.8)
    for key in list(rew.keys()):
        rew[key] = torch.nan_to_num(rew[key], nan=0.0)
    return rew
""",
    },
    "walker2d": {
        "foot contact table": """
def compute_reward(x_velocity, foot_clearance, healthy):
    left, right = foot_clearance.unbind(dim=-1)
    on_left, on_right = left < 0.01, right < 0.01
    single = on_left ^ on_right
    both = on_left & on_right
    contact = torch.where(single, 1.0, torch.where(both, 0.5, 0.0))
    return {"speed": x_velocity * healthy, "gait": 0.1 * contact, "alive": healthy}
""",
        "phase by one_hot": """
def compute_reward(x_velocity, foot_clearance, foot_position, healthy):
    stance = (foot_clearance < 0.02).long()
    phase = stance[:, 0] + 2 * stance[:, 1]
    gait = F.one_hot(phase, num_classes=4).float()
    pay = gait @ torch.tensor([0.0, 1.0, 1.0, 0.3], device=gait.device)
    stride = (foot_position[:, 0] - foot_position[:, 1]).abs().clamp(max=0.8)
    return {"speed": x_velocity, "gait": 0.1 * pay, "stride": 0.2 * stride, "alive": healthy}
""",
        "pairs of joints": """
NAMES = ["thigh", "leg", "foot"]

def compute_reward(x_velocity, joint_position, joint_velocity, action, healthy):
    legs = joint_velocity.view(-1, 2, 3)
    speed_difference = (legs[:, 0] - legs[:, 1]).abs().mean(-1)
    angles = joint_position.reshape(joint_position.shape[0], 2, len(NAMES))
    spread = (angles[:, 0, 0] - angles[:, 1, 0]).abs()
    return {"speed": x_velocity, "alternate": 0.02 * speed_difference.clamp(max=5.0), "spread": 0.1 * spread.tanh(), "effort": -0.01 * action.square().mean(-1), "alive": healthy}
""",
        "potential of distance": """
def compute_reward(x_position, prev_x_position, height, prev_height, healthy):
    def potential(x, z):
        return x + 0.5 * torch.clamp(z, max=1.3)
    gain = potential(x_position, height) - potential(prev_x_position, prev_height)
    return {"progress": 100.0 * gain, "alive": 0.5 * healthy}
""",
        "tolerances multiplied": """
def compute_reward(x_velocity, height, pitch, action):
    stand = tolerance(height, 1.1, math.inf, margin=0.4)
    upright = tolerance(pitch, lower=-0.3, upper=0.3, margin=0.7, sigmoid="cosine", value_at_margin=0.0)
    move = tolerance(x_velocity, lower=1.0, upper=float("inf"), margin=1.0, value_at_margin=0.5, sigmoid="linear")
    parts = [stand, upright, (5 * move + 1) / 6]
    product = torch.ones_like(stand)
    for part in parts:
        product = product * part
    return {"product": product, "control": -0.01 * action.abs().mean(-1)}
""",
        "smooth blends": """
def smoothstep(x, lo, hi):
    t = torch.clamp((x - lo) / (hi - lo), 0.0, 1.0)
    return t * t * (3 - 2 * t)

def compute_reward(x_velocity, height, pitch, healthy, action):
    ready = smoothstep(height, 0.8, 1.2) * smoothstep(-pitch.abs(), -1.0, -0.2)
    walk = torch.lerp(torch.zeros_like(x_velocity), x_velocity.clamp(-1, 3), ready)
    return {"ready": 0.5 * ready, "walk": walk, "effort": -0.005 * torch.linalg.vector_norm(action, dim=-1), "alive": 0.3 * healthy}
""",
        "numpy eureka tuple": """
import numpy as np
from typing import Dict, Tuple

def compute_reward(x_velocity: np.ndarray, height: np.ndarray, pitch: np.ndarray, joint_velocity: np.ndarray, action: np.ndarray) -> Tuple[np.ndarray, Dict[str, np.ndarray]]:
    forward_reward = np.clip(x_velocity, -1.0, 4.0)
    height_reward = np.exp(-np.abs(height - 1.25) / 0.2)
    pitch_penalty = np.square(pitch)
    energy_penalty = np.mean(np.abs(action * joint_velocity), axis=-1)
    total = forward_reward + 0.5 * height_reward - 0.2 * pitch_penalty - 0.01 * energy_penalty
    components = {
        "forward": forward_reward,
        "height": 0.5 * height_reward,
        "pitch": -0.2 * pitch_penalty,
        "energy": -0.01 * energy_penalty,
    }
    return total, components
""",
        "buffer and in-place": """
def compute_reward(x_velocity, joint_velocity, foot_clearance, healthy):
    rew = torch.zeros_like(x_velocity)
    rew.add_(x_velocity).mul_(healthy)
    drag = torch.zeros(len(x_velocity), device=x_velocity.device)
    for i in range(foot_clearance.shape[1]):
        drag = drag.add_(torch.exp(-foot_clearance[:, i].clamp(min=0.0) / 0.02))
    swing = joint_velocity.abs().amax(dim=-1)
    return {"speed": rew, "drag": -0.02 * drag, "swing": -0.001 * swing, "alive": healthy}
""",
        "worst joint": """
def compute_reward(x_velocity, joint_velocity, action, prev_action, healthy):
    rate = (action - prev_action).abs()
    worst, which = rate.max(dim=-1)
    knees = (which % 3 == 1).float()
    fastest = torch.topk(joint_velocity.abs(), k=2, dim=-1).values.mean(-1)
    return {"speed": x_velocity, "rate": -0.1 * worst, "knees": -0.01 * knees * worst, "fast": -0.002 * fastest, "alive": healthy}
""",
    },
    "half_cheetah": {
        "weights by gather": """
def compute_reward(x_velocity, joint_velocity, action):
    order = torch.argsort(joint_velocity.abs(), dim=-1)
    sorted_effort = torch.gather(action.abs(), 1, order)
    ranks = torch.linspace(1.0, 0.0, action.shape[-1], device=action.device)
    return {"run": x_velocity, "effort": -0.05 * (sorted_effort * ranks).sum(dim=-1)}
""",
        "two legs in a loop": """
LEGS = {"back": slice(0, 3), "front": slice(3, 6)}

def compute_reward(x_velocity, joint_velocity, action, upright):
    out = {"run": 1.2 * x_velocity, "upright": 0.2 * upright}
    for leg, (a, b) in {"back": (0, 3), "front": (3, 6)}.items():
        out[f"{leg}_power"] = -0.002 * (action[:, a:b] * joint_velocity[:, a:b]).abs().sum(dim=-1)
    return out
""",
        "contact with where": """
def compute_reward(x_velocity, foot_clearance, z_velocity, upright, action):
    touching = torch.where(foot_clearance <= 0.0, torch.ones_like(foot_clearance), torch.zeros_like(foot_clearance))
    duty = touching.mean(dim=-1)
    bounce = -(z_velocity ** 2) * 0.05
    return {"run": x_velocity, "duty": 0.1 * (1.0 - (duty - 0.5).abs()), "bounce": bounce, "ctrl": -0.1 * (action ** 2).sum(-1), "up": 0.1 * upright}
""",
        "numpy stack": """
import numpy as np

def compute_reward(x_velocity, pitch, pitch_velocity, joint_velocity, action):
    c, s = np.cos(pitch), np.sin(pitch)
    heading = np.stack([c, s], axis=-1)
    wanted = np.array([1.0, 0.0])
    align = np.sum(heading * wanted, axis=-1)
    smooth = np.exp(-np.abs(pitch_velocity) / 5.0)
    ctrl = np.einsum("ij,ij->i", action, action) if False else np.sum(action * action, axis=-1)
    return {"run": x_velocity, "align": 0.3 * align, "smooth": 0.1 * smooth, "ctrl": -0.05 * ctrl}
""".replace('np.einsum("ij,ij->i", action, action) if False else ', ""),
        "quantised speed levels": """
LEVELS = torch.arange(0.0, 6.0, 0.5)

def compute_reward(x_velocity, action):
    passed = (x_velocity.unsqueeze(-1) > LEVELS.to(x_velocity.device)).float()
    ladder = passed.mean(dim=-1)
    fine = x_velocity.clamp(0.0, 6.0) / 6.0
    return {"ladder": ladder, "fine": fine, "ctrl": -0.05 * action.square().sum(-1)}
""",
        "dm ratio": """
_RUN_SPEED = 8.0

def compute_reward(x_velocity, action):
    move = tolerance(x_velocity, lower=_RUN_SPEED, upper=float('inf'), margin=_RUN_SPEED, value_at_margin=0, sigmoid='linear')
    small = tolerance(action, margin=1, value_at_margin=0, sigmoid='quadratic').mean(dim=-1)
    return {'move': move, 'small_control': 0.1 * small}
""",
        "running sum over joints": """
def compute_reward(x_velocity, joint_velocity, action, *, weight: float = 0.01):
    total_power = 0.0
    for torque, velocity in zip(action.unbind(-1), joint_velocity.unbind(-1)):
        total_power = total_power + torch.abs(torque * velocity)
    return {"velocity": x_velocity, "power": -weight * total_power, "change": 0.0 * x_velocity + 0.05 * torch.sigmoid(x_velocity)}
""",
        "integral of a table": """
SPEEDS = (0.0, 1.0, 3.0, 6.0)
VALUES = (0.0, 1.0, 2.0, 2.5)

def piecewise(x, xs, ys):
    out = torch.full_like(x, ys[0])
    for (x0, y0), (x1, y1) in zip(zip(xs[:-1], ys[:-1]), zip(xs[1:], ys[1:])):
        part = ((x - x0) / (x1 - x0)).clamp(0.0, 1.0) * (y1 - y0)
        out = out + part
    return out

def compute_reward(x_velocity, upright, action):
    return {"speed": piecewise(x_velocity, SPEEDS, VALUES), "back": -0.5 * F.relu(-x_velocity), "up": 0.2 * upright, "ctrl": -0.03 * action.pow(2).sum(-1)}
""",
    },
    "ant": {
        "rotation by heading": """
def compute_reward(x_velocity, y_velocity, heading, upright, action, healthy):
    c, s = torch.cos(heading), torch.sin(heading)
    rotation = torch.stack([torch.stack([c, s], dim=-1), torch.stack([-s, c], dim=-1)], dim=-2)
    velocity = torch.stack([x_velocity, y_velocity], dim=-1).unsqueeze(-1)
    body = torch.matmul(rotation, velocity).squeeze(-1)
    return {"forward": x_velocity, "sideways": -0.05 * body[:, 1].abs(), "upright": 0.2 * upright, "ctrl": -0.05 * action.square().mean(-1), "alive": healthy}
""",
        "quaternion of the heading": """
def quat_mul(a, b):
    w1, x1, y1, z1 = a.unbind(-1)
    w2, x2, y2, z2 = b.unbind(-1)
    return torch.stack([
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
    ], dim=-1)

def yaw_quat(angle):
    zero = torch.zeros_like(angle)
    return torch.stack([torch.cos(angle / 2), zero, zero, torch.sin(angle / 2)], dim=-1)

def compute_reward(x_velocity, heading, upright, healthy):
    target = torch.tensor([1.0, 0.0, 0.0, 0.0], device=heading.device).expand(heading.shape[0], 4)
    error = quat_mul(target, yaw_quat(-heading))
    turned = 2.0 * torch.atan2(error[:, 1:].norm(dim=-1), error[:, 0].abs())
    return {"forward": x_velocity, "turned": -0.1 * turned, "upright": 0.3 * upright, "alive": 0.5 * healthy}
""",
        "feet on the ground": """
def compute_reward(x_velocity, foot_force, contact_load, healthy, action):
    on_ground = foot_force > 1e-3
    count = on_ground.sum(dim=-1)
    diagonal = (on_ground[:, 0] & on_ground[:, 2]) | (on_ground[:, 1] & on_ground[:, 3])
    support = torch.where(count >= 2, 1.0, 0.0)
    return {"forward": x_velocity, "support": 0.05 * support, "trot": 0.05 * diagonal.float(), "load": -0.01 * torch.log1p(contact_load), "ctrl": -0.02 * action.square().sum(-1), "alive": 0.5 * healthy}
""",
        "legs reshaped": """
def compute_reward(x_velocity, joint_position, joint_velocity, action, healthy):
    n = joint_position.size(0)
    hips, ankles = joint_position.view(n, 4, 2).unbind(dim=-1)
    even = hips.std(dim=1)
    bent = ankles.abs().mean(dim=1)
    power = (action.reshape(n, 4, 2) * joint_velocity.reshape(n, 4, 2)).abs().sum(dim=(1, 2))
    return {"forward": x_velocity, "even": -0.05 * even, "bent": -0.05 * bent, "power": -0.002 * power, "alive": healthy}
""",
        "batched product of many axes": """
def compute_reward(x_velocity, joint_velocity, action, upright, healthy):
    legs = joint_velocity.view(-1, 4, 1, 2)
    efforts = action.view(-1, 4, 2, 1)
    power = torch.matmul(legs, efforts).flatten(1).abs().sum(-1)
    return {"forward": x_velocity, "power": -0.01 * power, "upright": 0.2 * upright, "alive": 0.5 * healthy}
""",
        "numpy asarray of all": """
import numpy as np

def compute_reward(x_velocity, y_velocity, joint_velocity, foot_force, action, healthy):
    velocity = np.asarray(joint_velocity)
    force = np.asarray(foot_force, dtype=np.float32)
    speed = np.array([x_velocity, y_velocity, x_velocity, y_velocity])
    drift = np.abs(speed[1])
    smooth = np.mean(np.square(velocity), axis=1)
    return {"forward": speed[0], "drift": -0.1 * drift, "smooth": -0.001 * smooth, "force": -0.0005 * np.sum(np.minimum(force, 100.0), axis=1), "alive": healthy * 0.5}
""",
        "progress to a far goal": """
GOAL = (1000.0, 0.0)

def distance(x, y):
    goal = torch.tensor(GOAL, device=x.device)
    here = torch.stack((x, y), dim=-1)
    return torch.linalg.norm(here - goal, dim=-1)

def compute_reward(x_position, y_position, prev_x_position, prev_y_position, action, healthy):
    progress = (distance(prev_x_position, prev_y_position) - distance(x_position, y_position)) / 0.05
    return {"progress": progress, "ctrl": -0.02 * action.square().sum(-1), "alive": 0.3 * healthy}
""",
        "as_tensor and meshed weights": """
def compute_reward(x_velocity, joint_velocity, angular_velocity, action, healthy):
    v = torch.as_tensor(joint_velocity)
    w = torch.as_tensor([1.0, 0.5] * 4, device=v.device)
    spin = torch.linalg.norm(angular_velocity, dim=-1)
    return {"forward": x_velocity, "joints": -0.001 * (w * v.pow(2)).sum(-1), "spin": -0.02 * spin, "ctrl": -0.01 * action.abs().sum(-1), "alive": healthy}
""",
        "lambda terms": """
square_sum = lambda x: x.square().sum(dim=-1)
decay = lambda x, k: torch.exp(-k * x.abs())

def compute_reward(x_velocity, y_velocity, z_velocity, angular_velocity, action, healthy):
    straight = decay(y_velocity, 2.0) * decay(z_velocity, 1.0)
    calm = decay(square_sum(angular_velocity), 0.05)
    return {"forward": x_velocity.clamp(max=5.0), "straight": 0.2 * straight, "calm": 0.1 * calm, "ctrl": -0.02 * square_sum(action), "alive": 0.5 * healthy}
""",
    },
    "humanoid": {
        "standing and walking": """
STAND, WALK = 1.4, 1.0

def compute_reward(height, upright, x_velocity, action):
    standing = tolerance(height, lower=STAND - 0.2, upper=math.inf, margin=0.4)
    straight = tolerance(upright, lower=0.9, upper=math.inf, sigmoid="linear", margin=1.9, value_at_margin=0)
    stand = standing * straight
    control = (4 + tolerance(action, margin=1.0, value_at_margin=0, sigmoid="quadratic").mean(dim=-1)) / 5
    speed = tolerance(x_velocity, lower=WALK, upper=math.inf, margin=WALK, value_at_margin=0, sigmoid="linear")
    return {"walk": stand * control * (5 * speed + 1) / 6, "stand": 0.2 * stand}
""",
        "groups of joints": """
GROUPS = {"abdomen": [0, 1, 2], "right_leg": [3, 4, 5, 6], "left_leg": [7, 8, 9, 10], "arms": [11, 12, 13, 14, 15, 16]}
COST = {"abdomen": 0.02, "right_leg": 0.005, "left_leg": 0.005, "arms": 0.01}

def compute_reward(x_velocity, joint_velocity, action, healthy, height):
    out = {"forward": 1.25 * x_velocity, "alive": 2.0 * healthy, "height": 0.5 * torch.clamp(height - 1.0, 0.0, 0.4)}
    for name, index in GROUPS.items():
        out[name] = -COST[name] * joint_velocity[:, index].square().mean(dim=-1).sqrt()
    return out
""",
        "gait by cases": """
def compute_reward(x_velocity, foot_force, foot_position, foot_clearance, healthy):
    left, right = foot_force[..., 0] > 1.0, foot_force[..., 1] > 1.0
    swing_clearance = torch.where(left & ~right, foot_clearance[..., 1], torch.where(right & ~left, foot_clearance[..., 0], 0.0))
    step = torch.abs(foot_position[..., 0] - foot_position[..., 1])
    return {"forward": x_velocity, "swing": 0.5 * swing_clearance.clamp(0.0, 0.2), "step": 0.2 * step.clamp(max=0.5), "alive": healthy}
""",
        "normalised weights": """
WEIGHTS = dict(forward=4.0, upright=1.0, height=1.0, alive=2.0, effort=0.5)

def compute_reward(x_velocity, upright, height, healthy, action):
    norm = sum(WEIGHTS.values())
    raw = {
        "forward": torch.tanh(x_velocity),
        "upright": upright,
        "height": 1.0 - torch.clamp((height - 1.3).abs(), max=1.0),
        "alive": healthy,
        "effort": -action.square().mean(dim=-1),
    }
    return {key: value * (WEIGHTS[key] / norm) for key, value in raw.items()}
""",
        "numpy loops over parts": """
import numpy as np

def compute_reward(x_velocity, height, joint_velocity, action, healthy):
    effort = np.zeros_like(x_velocity)
    for j in range(action.shape[1]):
        effort = effort + action[:, j] ** 2 / action.shape[1]
    fast = np.max(np.abs(joint_velocity), axis=1)
    tall = np.where(height > 1.2, 1.0, height / 1.2)
    return {"run": np.minimum(x_velocity, 3.0), "tall": tall, "effort": -0.5 * effort, "fast": -0.005 * fast, "alive": healthy}
""",
        "masked stages": """
def compute_reward(height, upright, x_velocity, action):
    reward = 0.3 * torch.clamp(height, 0.0, 1.4)
    standing = (height > 1.1) & (upright > 0.8)
    bonus = torch.zeros_like(reward)
    bonus[standing] = 0.5 + 0.5 * x_velocity[standing].clamp(-1.0, 2.0)
    legs = action[:, 3:11]
    return {"height": reward, "walking": bonus, "legs": -0.01 * legs.square().sum(dim=-1) / legs.shape[1]}
""",
        "diag weights": """
def compute_reward(x_velocity, angular_velocity, upright, action, healthy):
    weights = torch.diag(torch.tensor([1.0, 1.0, 0.3], device=angular_velocity.device))
    wobble = ((angular_velocity @ weights) * angular_velocity).sum(dim=-1)
    damp = torch.eye(3, device=angular_velocity.device).repeat(angular_velocity.shape[0], 1, 1)
    rotated = torch.bmm(damp, angular_velocity.unsqueeze(-1)).squeeze(-1)
    return {"forward": x_velocity, "wobble": -0.01 * wobble, "spin": -0.01 * rotated[:, 2].abs(), "upright": upright, "ctrl": -0.1 * action.square().mean(-1), "alive": 2.0 * healthy}
""",
        "shaped by before and after": """
def score(height, upright, speed):
    return 2.0 * torch.sigmoid(4.0 * (height - 1.0)) + upright + 0.5 * speed

def compute_reward(height, upright, x_velocity, prev_height, prev_upright, prev_x_velocity, action, healthy):
    now = score(height, upright, x_velocity)
    before = score(prev_height, prev_upright, prev_x_velocity)
    return {"improvement": 2.0 * (0.99 * now - before), "level": 0.5 * now, "alive": healthy, "ctrl": -0.05 * action.square().mean(-1)}
""",
    },
}

# task: walker2d
# style: potential
# row: 16
# defect: works in millimetres per second: thousands per step
# severity: warn
MM = 1000.0
DT = 0.008


def compute_reward(x_position, prev_x_position, height, pitch, healthy, action):
    """Progress in mm/s, posture costs in the same unit."""
    progress = MM * (x_position - prev_x_position) / DT
    crouch = -2.0 * MM * (1.1 - height).clamp(min=0.0)
    tilt = -500.0 * pitch.square()
    return {"progress": progress, "crouch": crouch, "tilt": tilt, "alive": 500.0 * healthy, "control": -2.0 * action.square().sum(-1)}

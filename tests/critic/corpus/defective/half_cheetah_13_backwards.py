# task: half_cheetah
# style: prev_inputs
# row: 18
# defect: progress is prev minus current: the cheetah is paid for running backwards
# severity: reject
def compute_reward(x_position, prev_x_position, upright, pitch_velocity, action):
    """Progress along the track, posture and control."""
    dt = 0.05
    progress = (prev_x_position - x_position) / dt
    return {
        "progress": progress,
        "upright": 0.5 * upright,
        "rock": -0.02 * pitch_velocity.abs(),
        "control": -0.05 * action.square().sum(-1),
    }

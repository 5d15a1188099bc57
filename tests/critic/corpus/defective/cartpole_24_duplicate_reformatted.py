# task: cartpole
# style: compact
# row: 45
# defect: sound/cartpole_04_compact with another layout, docstring and order of statements: the same code but for that
# severity: warn
# duplicate_of: sound/cartpole_04_compact.py
def compute_reward(
    cart_position,
    pole_upright,
    pole_velocity,
    action,
    *,
    up: float = 1.0,
    centre: float = 0.2,
    spin: float = 0.01,
    effort: float = 0.01,
):
    """Swing the pole up, and keep it up without leaving the middle."""
    components = {}
    components["up"] = up * pole_upright
    components["centre"] = -centre * cart_position.square()
    components["spin"] = -spin * pole_velocity.square() * (pole_upright > 0.7)
    components["effort"] = -effort * action.square().sum(-1)
    return components

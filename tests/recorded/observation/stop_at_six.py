"""A cheetah that has to stop at a place that it does not see."""

import torch

from rewardgen import Body, Hinge, MujocoTask, PpoSettings, Slide


class StopAtSix(MujocoTask):
    """A planar cheetah with one back and one front leg. Run forward to 6 m from the origin, and stand still there.

    It moves in the x-z plane only; episodes begin at x = 0. Anything from 5.5 m to 6.5 m is there. Running past it and
    coming back is allowed, but late.
    """

    model = "gymnasium:half_cheetah.xml"
    frame_skip = 5
    episode_steps = 200
    training = {"ppo": PpoSettings.dense(env_steps=300_000)}
    start_noise = 0.05

    x_position = Slide("rootx").position.told("position of the torso along +x; episodes begin at 0")
    x_velocity = Slide("rootx").velocity.told("velocity of the torso along +x")
    z_velocity = Slide("rootz").velocity.told("vertical velocity of the torso, positive upwards")
    height = Body("torso").height
    pitch = Hinge("rooty").angle.told("pitch of the torso from horizontal, positive nose down; not wrapped")
    pitch_velocity = Hinge("rooty").velocity.told("angular velocity of the pitch, positive when the nose goes down")

    def observe(self, sim, variables):
        """All positions but the one along x, and all velocities."""
        return torch.cat((sim.qpos[:, 1:], sim.qvel.clamp(-10.0, 10.0)), 1)

    def fitness(self, episode):
        """Nearness to 6 m in the last 3 s, 1 within half a metre and 0 from 6 m away, less for what moves there."""
        off = ((episode.last(episode["x_position"], seconds=3.0) - 6.0).abs() - 0.5).clamp(min=0.0)
        fast = episode.last(episode["x_velocity"].abs(), seconds=3.0)
        return (1.0 - off / 5.5).clamp(min=0.0) * torch.exp(-fast)

    def success(self, episode):
        """Within half a metre of 6 m, and slower than 0.3 m/s, as a mean over the last 3 s."""
        near = (episode.last(episode["x_position"], seconds=3.0) - 6.0).abs() < 0.5
        return near & (episode.last(episode["x_velocity"].abs(), seconds=3.0) < 0.3)

    @staticmethod
    def human_reward(x_position, x_velocity, action):
        """Nearer to 6 m, and slower the nearer."""
        off = (x_position - 6.0).abs()
        near = torch.exp(-(off / 2.0).square())
        return {"way": 1.0 - (off / 6.0).clamp(max=1.0), "rest": near * torch.exp(-x_velocity.square()), "effort": -0.05 * action.square().sum(-1)}

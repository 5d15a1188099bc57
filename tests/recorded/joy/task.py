"""Drafted by a language model for: 'hop in place as high as it can, like somebody full of joy, and land softly'. Nobody has read it: it was accepted by `--yes`.

It has no metric: people or models compare films of its episodes.
"""

from __future__ import annotations

from rewardgen import Body, CentreOfMass, ContactForce, Effort, Hinge, MujocoTask, Outside, Pair, Slide, Touching


class JoyfulHop(MujocoTask):
    """A one-legged hopper that moves only in the vertical x-z plane: a torso on top, then a thigh, a leg (shin) and one
    long foot, joined by hip, knee and ankle. It begins straight and upright, its foot a few centimetres above the floor.
    It should hop in place, again and again for the whole ten seconds, as high as it can, like somebody full of joy, and
    land softly each time.

    Frame: x is forward (the toes point to +x), z is up, the floor is z = 0, and the place to hop at is x = 0.
    Lengths in m, angles in rad, forces in N. Standing straight on the floor its torso's frame is about 1.2 m and its
    centre of mass about 0.56 m above the floor. It weighs about 155 N. The foot's frame is near z = 0 at the start and a
    few centimetres lower when the foot stands flat, so its height is not the exact gap below the sole.

    What makes a film of it look right:
    - High: in every hop the whole body rises, with the foot well clear of the floor. What counts is how high the centre
      of mass gets at the top and how far the foot leaves the floor; lifting the foot by bending the leg alone is no hop,
      and neither is stretching on the toes.
    - Joyful: a short springy dip, a brisk push until hip and knee are straight, the body tall and open at the top with
      the trunk near upright, a landing that flows into the next dip, and soon the next hop. A lively, steady rhythm, as
      of somebody who jumps for joy. Tucking the leg a little in the air is fine if it is stretched again before landing.
    - Soft: it comes down on its foot, about flat or toes first, with the leg not locked; hip, knee and ankle give way
      and slow the body over a good part of a bend. The force under the foot stays low and rises gradually: about two to
      four times the weight is soft, ten times is a slam. Pushing off may take as much force as it needs; it is the
      force of touching down (centre of mass moving down) that should be small.
    - In place: take-off and landing near x = 0, within about 0.2 m, with little horizontal speed; if it has drifted, it
      hops back.

    What spoils it: standing still or only trembling on the toes, many tiny hops, one great leap after which it falls,
    travelling forwards or backwards, stiff crashing landings, sinking to the knee or sitting down, torso on the floor,
    somersaults, turning over in the air, and jittery joints. A hop that cannot be landed is worth less than a lower one
    that is landed softly and followed by the next.

    The body bends one way only: hip and knee angles are 0 when straight and negative when bent, which swings the lower
    part back towards -x. To keep its balance in a crouch the trunk therefore has to lean back somewhat (pitch below 0).
    That lean is part of a good dip and of a soft landing; it should be upright again at the push-off and in the air.
    The tilt of the foot is pitch - hip - knee - ankle, 0 when it is flat, positive when its toes point down.
    """

    model = "gymnasium:hopper.xml"
    frame_skip = 10
    fitness = None

    episode_steps = 500
    start_noise = 0.01
    sees_place = True

    com = CentreOfMass("torso").position  # height of the hop, which bending the leg in the air cannot fake
    com_velocity = CentreOfMass("torso").velocity  # take-off speed, drift, and whether it is rising or coming down
    torso_height = Body("torso").height  # standing tall, crouched or fallen
    x = Slide("rootx").position  # in place means near 0
    upright = Body("torso").upright  # trunk upright in the air, not toppled
    pitch = Hinge("rooty").angle  # lean of the trunk, signed
    pitch_rate = Hinge("rooty").velocity  # not to tumble in the air
    foot = Body("foot").position  # clearance of the foot and where it lands
    foot_velocity = Body("foot").velocity  # how gently the foot meets the floor, and that it does not slide
    foot_touch = Touching("foot", "floor")  # tells flight from stance, so take-off and landing
    foot_force = ContactForce("foot", "floor")  # softness of the landing
    hip = Hinge("thigh_joint").angle  # straight at push-off, giving way at landing
    knee = Hinge("leg_joint").angle  # straight at push-off, giving way at landing
    ankle = Hinge("foot_joint").angle  # foot flat or toes first at landing
    hip_velocity = Hinge("thigh_joint").velocity  # brisk push, no jitter
    knee_velocity = Hinge("leg_joint").velocity  # brisk push, no jitter
    ankle_velocity = Hinge("foot_joint").velocity  # brisk push, no jitter
    torso_touch = Touching("torso", "floor")  # it has fallen
    leg_touch = Touching("leg", "floor")  # it has sunk to its knee
    hip_effort = Effort("thigh_joint")  # smooth rather than jerky control
    knee_effort = Effort("leg_joint")  # smooth rather than jerky control
    ankle_effort = Effort("foot_joint")  # smooth rather than jerky control

    ends = {
        "torso on the floor": Outside("torso_touch", high=0.5),
        "toppled over": Outside("upright", low=0.0),
    }
    pairs = (
        Pair(
            "high above its place beats equally high but far away",
            better={"x": 0.0, "com": (0.02, 0.0, 0.9), "foot": (0.13, 0.0, 0.3), "torso_height": 1.55,
                    "foot_touch": 0.0, "foot_force": 0.0},
            worse={"x": 3.0, "com": (3.02, 0.0, 0.9), "foot": (3.13, 0.0, 0.3), "torso_height": 1.55,
                   "foot_touch": 0.0, "foot_force": 0.0},
        ),
        Pair(
            "upright in the air beats lying on the floor",
            better={"upright": 1.0, "pitch": 0.0, "torso_height": 1.55, "com": (0.02, 0.0, 0.9),
                    "foot": (0.13, 0.0, 0.3), "torso_touch": 0.0, "foot_touch": 0.0, "foot_force": 0.0},
            worse={"upright": 0.0, "pitch": -1.57, "torso_height": 0.2, "com": (-0.5, 0.0, 0.25),
                   "foot": (0.13, 0.0, 0.0), "torso_touch": 1.0, "foot_touch": 0.0, "foot_force": 0.0},
        ),
    )

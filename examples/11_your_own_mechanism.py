"""Your own mechanism in 40 lines: a trebuchet as data, and its throw as a strip of frames.

The same can be written as TOML, see multibody/mechanisms.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from hodograph.multibody import Angle, Bar, Mechanism, Particle, PlanarBody, Point, Stepper, build, energy_j

mpl.use("Agg")
import matplotlib.pyplot as plt

trebuchet = Mechanism(
    schema=1,
    name="trebuchet",
    space="planar",
    gravity_mps2=(0.0, -9.81),
    points={
        "axle": Point((0.0, 4.0), fixed=True),
        "tip": Point((-4.0, 1.0)),
        "heel": Point((1.0, 4.75)),
        "weight": Point((1.0, 3.25)),
        "stone": Point((-1.0, 0.3)),
    },
    bodies={
        "beam": PlanarBody(("axle", "tip", "heel"), mass_kg=60.0, cg_m=(1.9, 0.0), inertia_kgm2=160.0),
        "hanger": Bar(("heel", "weight"), mass_kg=10.0),
        "counterweight": Particle("weight", 900.0),
        "sling": Bar(("tip", "stone"), mass_kg=1.0),
        "shot": Particle("stone", 10.0),
    },
    angles={"beam_angle": Angle("axle>tip")},
    degrees_of_freedom=3,
)

model = build(trebuchet)
stepper = Stepper(model)
start = stepper.start()
run = stepper.run(start, h_s=1e-3, steps=1080, every=180)
lost_j = sum(energy_j(model, run.last)) - sum(energy_j(model, start))
print(f"{model.n} coordinates, {model.constraints} constraints, {model.degrees_of_freedom} degrees of freedom")
print(f"worst constraint {run.cost.residual:.1e}, energy error {lost_j:.2f} J")

figure, axes = plt.subplots(1, 6, figsize=(15, 2.9), sharey=True, layout="constrained")
for axis, t_s, q in zip(axes, run.t_s, run.q, strict=True):
    at = {name: model.position_m(name, q) for name in trebuchet.points}
    for line, style in ((("tip", "axle", "heel"), "k-"), (("heel", "weight"), "C0-"), (("tip", "stone"), "C1-")):
        axis.plot([at[p][0] for p in line], [at[p][1] for p in line], style, lw=2)
    axis.plot(*at["weight"], "C0s", ms=14)
    axis.plot(*at["stone"], "C1o", ms=6)
    axis.plot(*at["axle"], "k^", ms=10)
    axis.set(xlim=(-8.5, 8.5), ylim=(-2.5, 13), aspect="equal", title=f"{t_s:.2f} s", xlabel="m")
out = Path("examples_out")
out.mkdir(exist_ok=True)
figure.savefig(out / "trebuchet.png", dpi=80)
print(f"drawn: {out / 'trebuchet.png'}")

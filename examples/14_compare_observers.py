"""Several observers on one mechanism that is not quite what they believe: a table, and a picture of their errors."""

from dataclasses import replace
from pathlib import Path

from hodograph.multibody import build, shipped_mechanism
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, unknown_point_forces
from hodograph.replay.evaluate import Contender, evaluate
from hodograph.replay.motion import simulate
from hodograph.sensors import Gyroscope, Quality

fourbar = shipped_mechanism("fourbar")
believed = build(replace(fourbar, gravity_mps2=(0.0, -8.81)))  # gravity a tenth too weak
pushed = Uncertainty(1e-4, 0.09, 0.09, unknown_point_forces(believed, 1.2e-5, 0.038))
gyro = Gyroscope("gyro", "coupler", Quality(0.0175, rate_hz=100.0))

truth = simulate(build(fourbar), seconds=10.0)
observers = {"dekf": "dekf", "ukf_tr": "ukf_tr", "force_ekf": Contender("force_ekf", pushed)}
result = evaluate(truth, observers, [gyro], model=believed, uncertainty=Uncertainty(0.09, 0.09, 0.09))
print(result)
axes = result.plot("theta_rad")

Path("examples_out").mkdir(exist_ok=True)
axes.figure.savefig("examples_out/observers.png", dpi=110)

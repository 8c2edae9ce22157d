"""Your own car: start from a shipped one, move a hard point, and see what it does to the wheel.

The same change in a copy of vehicles/xbw.toml is one line; `hodograph doctor my_car.toml` then tells the rest.
"""

from __future__ import annotations

from dataclasses import replace
from math import degrees

import numpy as np

from hodograph.multibody.car import CornerKinematics, read_vehicle, static_loads

car = read_vehicle("xbw")
loads = static_loads(car)
print(f"{car.name}: {loads.total_kg:.0f} kg, {100 * loads.front_share:.1f} % in front")
print("wheel loads N:", {corner: round(force) for corner, force in loads.wheel_n.items()})

x, y, z = car.front.suspension.link_inner_m
raised = replace(car.front.suspension, link_inner_m=(x, y, z + 0.010))  # the rack 10 mm higher
other = replace(car, front=replace(car.front, suspension=raised))

print("\nfront left wheel, bump steer: as shipped, and with the rack 10 mm higher")
bump_m = np.linspace(-0.06, 0.06, 7)
for before, after in zip(
    CornerKinematics.of(car, "fl").sweep(bump_m), CornerKinematics.of(other, "fl").sweep(bump_m), strict=True
):
    print(f"{1e3 * before.bump_m:+5.0f} mm   toe-in {degrees(before.toe_rad):+.3f}° → {degrees(after.toe_rad):+.3f}°")

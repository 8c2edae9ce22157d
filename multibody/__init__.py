"""Bodies, joints, forces, formulations and integrators; linkages and the car."""

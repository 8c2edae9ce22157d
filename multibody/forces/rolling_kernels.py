"""Wheels on a road and what acts through them: tyres, brakes, driven axles, and the air.

Every wheel is a thin disc that touches the road in one point C of its plane. The forces there act on the carrier's
point and side vectors and on the spin: with C = W − r (α a + β b) carried by the knuckle, Q_W = F, Q_a = −rα F,
Q_b = −rβ F, Q_spin = −r_D F_x. Tyre deflections and the wind-up of the brakes are states of a step: they start from
what the last step left, and the law of the tyre solves them analytically up to the moment asked for: see
`tyre_kernels`.
"""

from __future__ import annotations

from hodograph.core.frames import Array
from hodograph.multibody.forces.columns import (
    TYRE_DAMPING,
    TYRE_DYNAMIC_SHARE,
    TYRE_KIND,
    TYRE_RADIUS,
    TYRE_ROLLING_RESISTANCE,
    TYRE_STIFFNESS,
)
from hodograph.multibody.forces.driveline_kernels import (
    ROLLING_SPEED_MPS,
    aero_force,
    brake_torque,
    differential,
    rolling_resistance,
)
from hodograph.multibody.forces.road_kernels import road_at
from hodograph.multibody.forces.tyre_kernels import tyre_force
from hodograph.multibody.model.tables import Rolling, Tables, Work
from hodograph.numerics.compiling import inlined_inner, inner, njit

# Columns of Work.wheels. The first three are states at the start of a step (deflections, wind-up of the brake), the
# next three the same at the moment of the last evaluation.
X0, Y0, WIND0, X1, Y1, WIND1 = 0, 1, 2, 3, 4, 5
FZ, FX, FY, MZ, VX, VY, ROLL, CAMBER, RADIUS, BRAKE, DRIVE, DRAG, BRAKE_SLOPE = range(6, 19)
NO_TYRE = -1.0
PROBE_MPS = 1e-4
SAME_STEP = 1e-6
"""Share of a step by which its length may be off when it is told by two times."""
TOUCH_M = 2e-3
"""Over this depth the damping of a tyre comes in: at once, the load of a wheel that touches down would jump, and no
implicit step could end there."""


@inlined_inner
def footprint(
    road: Array, radius_m: float, w: int, y: int, q: Array
) -> tuple[float, float, float, float, float, float, float, float, float, float]:
    """Forward axis (3), road normal (3), wheel's own upward axis (3) and the loaded radius.

    Seen from the wheel centre the road is a plane; where it is curved it is looked up a second time below the contact.
    """
    px, py = q[w], q[w + 1]
    ex = ey = ez = nx = ny = nz = ux = uy = uz = r = 0.0
    for _ in range(2):
        height, nx, ny, nz = road_at(road, px, py)
        ex = q[y + 1] * nz - q[y + 2] * ny
        ey = q[y + 2] * nx - q[y] * nz
        ez = q[y] * ny - q[y + 1] * nx
        length = (ex * ex + ey * ey + ez * ez) ** 0.5
        if not length > 1e-6:  # the wheel lies flat on the road: no forward direction, no contact
            return 1.0, 0.0, 0.0, nx, ny, nz, 0.0, 0.0, 1.0, 10.0 * radius_m
        ex, ey, ez = ex / length, ey / length, ez / length
        ux = ey * q[y + 2] - ez * q[y + 1]
        uy = ez * q[y] - ex * q[y + 2]
        uz = ex * q[y + 1] - ey * q[y]
        above = (q[w] - px) * nx + (q[w + 1] - py) * ny + (q[w + 2] - height) * nz
        r = above / max(ux * nx + uy * ny + uz * nz, 1e-3)
        if len(road) == 0:
            break
        px, py = q[w] - r * ux, q[w + 1] - r * uy
    return ex, ey, ez, nx, ny, nz, ux, uy, uz, r


@inlined_inner
def dot3(x: Array, i: int, a: float, b: float, c: float) -> float:
    """Scalar product of three coordinates with a vector."""
    return float(x[i] * a + x[i + 1] * b + x[i + 2] * c)


@inlined_inner
def push3(out: Array, i: int, factor: float, a: float, b: float, c: float) -> None:
    """out[i : i + 3] += factor · (a, b, c)."""
    out[i] += factor * a
    out[i + 1] += factor * b
    out[i + 2] += factor * c


@inlined_inner
def turn(out: Array, q: Array, a: int, b: int, torque: float) -> None:
    """A torque about the axis of a triad (axis, a, b): ½ (b · ȧ − a · ḃ) is the rate of turn about the axis."""
    push3(out, a, 0.5 * torque, q[b], q[b + 1], q[b + 2])
    push3(out, b, -0.5 * torque, q[a], q[a + 1], q[a + 2])


@inlined_inner
def twist(out: Array, q: Array, i: int, tx: float, ty: float, tz: float) -> None:
    """One vector's share of a torque (tx, ty, tz) on its orthonormal triad: ½ torque × vector."""
    x, y, z = q[i], q[i + 1], q[i + 2]
    push3(out, i, 0.5, ty * z - tz * y, tz * x - tx * z, tx * y - ty * x)


@inlined_inner
def belt_share(roll_mps: float) -> float:
    """0 at rest, 1 when rolling."""
    return roll_mps * roll_mps / (roll_mps * roll_mps + ROLLING_SPEED_MPS * ROLLING_SPEED_MPS)


@inner
def tyre_forces(
    rolling: Rolling, k: int, road: Array, tau_s: float, q: Array, qd: Array, row: Array, out: Array
) -> None:
    """Contact force, aligning moment and rolling resistance of wheel k; `row` of Work.wheels is filled."""
    par = rolling.tyre[k]
    wheel = rolling.wheel[k]
    w, y, a, b, spin = wheel[0], wheel[1], wheel[2], wheel[3], wheel[4]
    ex, ey, ez, nx, ny, nz, ux, uy, uz, r = footprint(road, par[TYRE_RADIUS], w, y, q)
    tx, ty, tz = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
    alpha, beta = dot3(q, a, ux, uy, uz), dot3(q, b, ux, uy, uz)
    vx3 = qd[w] - r * (alpha * qd[a] + beta * qd[b])
    vy3 = qd[w + 1] - r * (alpha * qd[a + 1] + beta * qd[b + 1])
    vz3 = qd[w + 2] - r * (alpha * qd[a + 2] + beta * qd[b + 2])
    depth = par[TYRE_RADIUS] - r
    sinking = -(vx3 * nx + vy3 * ny + vz3 * nz) / max(ux * nx + uy * ny + uz * nz, 1e-3)
    fz = 0.0
    if depth > 0.0:
        fz = max(0.0, par[TYRE_STIFFNESS] * depth + par[TYRE_DAMPING] * min(1.0, depth / TOUCH_M) * sinking)
    vx, vy = vx3 * ex + vy3 * ey + vz3 * ez, vx3 * tx + vy3 * ty + vz3 * tz
    rolling_m = par[TYRE_RADIUS] - (1.0 - par[TYRE_DYNAMIC_SHARE]) * max(depth, 0.0)
    roll = rolling_m * qd[spin]
    # The axis points left: leaning its outer end down turns the top of the wheel to the left (positive camber angle).
    camber = -dot3(q, y, nx, ny, nz)
    fx, fy, mz, x1, y1 = tyre_force(par, fz, vx, vy, roll, camber, row[X0], row[Y0], tau_s)
    row[X1], row[Y1] = x1, y1
    row[FZ], row[FX], row[FY], row[MZ] = fz, fx, fy, mz
    row[VX], row[VY], row[ROLL], row[CAMBER], row[RADIUS] = vx, vy, roll, camber, r
    drag = 0.0
    if fz > 0.0:
        drag, _ = rolling_resistance(par[TYRE_ROLLING_RESISTANCE], fz, r, qd[spin])
        gx, gy, gz = fz * nx + fx * ex + fy * tx, fz * ny + fx * ey + fy * ty, fz * nz + fx * ez + fy * tz
        push3(out, w, 1.0, gx, gy, gz)
        push3(out, a, -r * alpha, gx, gy, gz)
        push3(out, b, -r * beta, gx, gy, gz)
        # The belt carries the force round the wheel at the rolling radius: with the loaded one alone a driven wheel
        # would give more power to the road than it takes from the shaft. At rest no belt moves.
        back = drag + (rolling_m - r) * fx * belt_share(roll)
        out[spin] -= r * fx + back - mz * dot3(q, y, nx, ny, nz)
        turn(out, q, a, b, -back)
        for i in (y, a, b):
            twist(out, q, i, mz * nx, mz * ny, mz * nz)
    row[DRAG] = drag


@inner
def brake_and_drive(
    rolling: Rolling, wheels: Array, inputs: Array, tau_s: float, q: Array, qd: Array, out: Array
) -> None:
    """Brakes act between knuckle and wheel; a driven axle turns its wheels and pushes back on the body it hangs on."""
    for k in range(len(wheels)):
        wheels[k, BRAKE] = 0.0
        wheels[k, BRAKE_SLOPE] = 0.0
        wheels[k, DRIVE] = 0.0
    for j in range(len(rolling.brake)):
        k = rolling.brake[j, 0]
        spin = rolling.wheel[k, 4]
        torque, wind, slope = brake_torque(
            rolling.brake_par[j], inputs[rolling.brake[j, 1], 0], qd[spin], wheels[k, WIND0], tau_s
        )
        wheels[k, WIND1], wheels[k, BRAKE], wheels[k, BRAKE_SLOPE] = wind, torque, slope
        out[spin] -= torque
    for j in range(len(rolling.drive)):
        axle = rolling.drive[j]
        left, right = axle[0], axle[1]
        torque = inputs[axle[2], 0]
        spin_left, spin_right = rolling.wheel[left, 4], rolling.wheel[right, 4]
        if left == right:
            to_left, to_right = torque, 0.0
        else:
            to_left, to_right, _ = differential(rolling.drive_par[j], torque, qd[spin_left], qd[spin_right])
        drive_wheel(rolling, wheels, left, to_left, q, out)
        react(out, q, axle[3], axle[4], rolling.wheel[left, 1], to_left)
        if left != right:
            drive_wheel(rolling, wheels, right, to_right, q, out)
            react(out, q, axle[3], axle[4], rolling.wheel[right, 1], to_right)


@inlined_inner
def drive_wheel(rolling: Rolling, wheels: Array, k: int, torque: float, q: Array, out: Array) -> None:
    """A torque from outside on wheel k: it turns the spin and, being no torque of the knuckle, the carrier as well."""
    wheels[k, DRIVE] += torque
    out[rolling.wheel[k, 4]] += torque
    turn(out, q, rolling.wheel[k, 2], rolling.wheel[k, 3], torque)


@inlined_inner
def react(out: Array, q: Array, a: int, b: int, axis: int, torque: float) -> None:
    """The opposite torque on the body with side vectors a and b: about the wheel's own axis, as a shaft brings it.

    Action and reaction have to be one vector: with a reaction about the body's axis, cambered wheels would turn a car
    in the air. With n = a × b the rates of turn of the body are n · db/dt about a and −n · da/dt about b.
    """
    if a == b:
        return
    x, y, z = torque * q[axis], torque * q[axis + 1], torque * q[axis + 2]
    nx, ny, nz = (
        q[a + 1] * q[b + 2] - q[a + 2] * q[b + 1],
        q[a + 2] * q[b] - q[a] * q[b + 2],
        q[a] * q[b + 1] - q[a + 1] * q[b],
    )
    turn(out, q, a, b, -(x * nx + y * ny + z * nz))
    push3(out, b, -dot3(q, a, x, y, z), nx, ny, nz)
    push3(out, a, dot3(q, b, x, y, z), nx, ny, nz)


@inlined_inner
def push_place(rolling: Rolling, place: int, x: float, y: float, z: float, out: Array) -> None:
    """A force in ground axes at a place on a body."""
    for t in range(rolling.aero_start[place], rolling.aero_start[place + 1]):
        axis = rolling.aero_term[t, 1]
        force = x if axis == 0 else (y if axis == 1 else z)
        out[rolling.aero_term[t, 0]] += rolling.aero_val[t] * force


@inner
def air(rolling: Rolling, q: Array, qd: Array, out: Array) -> None:
    """Drag against the motion of a place on the body, lift at two more."""
    for j in range(len(rolling.aero_par)):
        vx = vy = vz = 0.0
        for t in range(rolling.aero_start[3 * j], rolling.aero_start[3 * j + 1]):
            axis, v = rolling.aero_term[t, 1], rolling.aero_val[t] * qd[rolling.aero_term[t, 0]]
            if axis == 0:
                vx += v
            elif axis == 1:
                vy += v
            else:
                vz += v
        f, s, u = rolling.aero_axis[j, 0], rolling.aero_axis[j, 1], rolling.aero_axis[j, 2]
        fx, fy, front, rear = aero_force(rolling.aero_par[j], dot3(q, f, vx, vy, vz), dot3(q, s, vx, vy, vz))
        push_place(
            rolling, 3 * j, fx * q[f] + fy * q[s], fx * q[f + 1] + fy * q[s + 1], fx * q[f + 2] + fy * q[s + 2], out
        )
        push_place(rolling, 3 * j + 1, front * q[u], front * q[u + 1], front * q[u + 2], out)
        push_place(rolling, 3 * j + 2, rear * q[u], rear * q[u + 1], rear * q[u + 2], out)


@njit
def rolling_forces(
    rolling: Rolling, wheels: Array, road: Array, inputs: Array, tau_s: float, q: Array, qd: Array, out: Array
) -> None:
    """out += forces of tyres, brakes, drive and air, `tau_s` after the deflections in `wheels` were true."""
    for k in range(len(rolling.wheel)):
        if rolling.tyre[k, TYRE_KIND] > NO_TYRE:
            tyre_forces(rolling, k, road, tau_s, q, qd, wheels[k], out)
    brake_and_drive(rolling, wheels, inputs, tau_s, q, qd, out)
    air(rolling, q, qd, out)


@inner
def tyre_tangent(
    rolling: Rolling, k: int, road: Array, tau_s: float, q: Array, of_position: float, of_velocity: float, row: Array,
    w: Array,
) -> None:  # fmt: skip
    """w += tangent of the contact force of wheel k, symmetric and positive, from the state that `row` holds.

    The slope of the tangential forces to the velocity of the contact is taken by differences, so it is right in every
    regime of the tyre: rolling, sticking at standstill, sliding.
    """
    par = rolling.tyre[k]
    wheel = rolling.wheel[k]
    a, b, centre = wheel[2], wheel[3], wheel[0]
    ex, ey, ez, nx, ny, nz, ux, uy, uz, r = footprint(road, par[TYRE_RADIUS], centre, wheel[1], q)
    tx, ty, tz = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
    vx, vy, fz, roll, camber = row[VX], row[VY], row[FZ], row[ROLL], row[CAMBER]
    fx, fy = row[FX], row[FY]
    fx1, fy1, _, _, _ = tyre_force(par, fz, vx + PROBE_MPS, vy, roll, camber, row[X0], row[Y0], tau_s)
    fx2, fy2, _, _, _ = tyre_force(par, fz, vx, vy + PROBE_MPS, roll, camber, row[X0], row[Y0], tau_s)
    scale = of_velocity / PROBE_MPS
    dxx, dyy = max(0.0, (fx - fx1) * scale), max(0.0, (fy - fy2) * scale)
    dxy = 0.5 * scale * ((fy - fy1) + (fx - fx2))
    bound = 0.9 * (dxx * dyy) ** 0.5
    dxy = min(max(dxy, -bound), bound)
    touch = min(1.0, (par[TYRE_RADIUS] - r) / TOUCH_M)
    dzz = of_position * par[TYRE_STIFFNESS] + of_velocity * par[TYRE_DAMPING] * touch
    if 0.0 < touch < 1.0:
        dzz += of_position * max(0.0, fz / (touch * TOUCH_M) - par[TYRE_STIFFNESS])
    # D = dxx e eᵀ + dyy t tᵀ + dxy (e tᵀ + t eᵀ) + dzz n nᵀ in ground axes, and g = D e
    d00 = dxx * ex * ex + dyy * tx * tx + 2.0 * dxy * ex * tx + dzz * nx * nx
    d11 = dxx * ey * ey + dyy * ty * ty + 2.0 * dxy * ey * ty + dzz * ny * ny
    d22 = dxx * ez * ez + dyy * tz * tz + 2.0 * dxy * ez * tz + dzz * nz * nz
    d01 = dxx * ex * ey + dyy * tx * ty + dxy * (ex * ty + tx * ey) + dzz * nx * ny
    d02 = dxx * ex * ez + dyy * tx * tz + dxy * (ex * tz + tx * ez) + dzz * nx * nz
    d12 = dxx * ey * ez + dyy * ty * tz + dxy * (ey * tz + ty * ez) + dzz * ny * nz
    gx, gy, gz = dxx * ex + dxy * tx, dxx * ey + dxy * ty, dxx * ez + dxy * tz
    ca, cb = -r * dot3(q, a, ux, uy, uz), -r * dot3(q, b, ux, uy, uz)
    rolling_m = par[TYRE_RADIUS] - (1.0 - par[TYRE_DYNAMIC_SHARE]) * max(par[TYRE_RADIUS] - r, 0.0)
    dest = rolling.dest[k]
    for block in range(6):  # pairs of (W, a, b): WW, Wa, Wb, aa, ab, bb
        left = 1.0 if block < 3 else (ca if block < 5 else cb)
        right = 1.0 if block == 0 else (ca if block == 1 or block == 3 else cb)
        c = left * right
        at = 9 * block
        w[dest[at]] += c * d00
        w[dest[at + 4]] += c * d11
        w[dest[at + 8]] += c * d22
        w[dest[at + 1]] += c * d01
        w[dest[at + 2]] += c * d02
        w[dest[at + 5]] += c * d12
        if block != 0 and block != 3 and block != 5:
            w[dest[at + 3]] += c * d01
            w[dest[at + 6]] += c * d02
            w[dest[at + 7]] += c * d12
    for part in range(3):
        c = -rolling_m * (1.0 if part == 0 else (ca if part == 1 else cb))
        w[dest[54 + 3 * part]] += c * gx
        w[dest[55 + 3 * part]] += c * gy
        w[dest[56 + 3 * part]] += c * gz
    w[dest[63]] += rolling_m * rolling_m * dxx


@njit
def rolling_tangents(
    rolling: Rolling, wheels: Array, road: Array, inputs: Array, tau_s: float, q: Array, qd: Array,
    of_position: float, of_velocity: float, w: Array,
) -> None:  # fmt: skip
    """w += of_position · K + of_velocity · C of tyres, brakes and differentials; after `rolling_forces` there."""
    for k in range(len(rolling.wheel)):
        if rolling.tyre[k, TYRE_KIND] > NO_TYRE and wheels[k, FZ] > 0.0:
            tyre_tangent(rolling, k, road, tau_s, q, of_position, of_velocity, wheels[k], w)
        w[rolling.dest[k, 63]] += of_velocity * wheels[k, BRAKE_SLOPE]
    for j in range(len(rolling.drive)):
        left, right = rolling.drive[j, 0], rolling.drive[j, 1]
        if left != right:
            spin_left, spin_right = rolling.wheel[left, 4], rolling.wheel[right, 4]
            _, _, slope = differential(
                rolling.drive_par[j], inputs[rolling.drive[j, 2], 0], qd[spin_left], qd[spin_right]
            )
            w[rolling.dest[left, 63]] += of_velocity * slope
            w[rolling.dest[right, 63]] += of_velocity * slope
            w[rolling.drive[j, 5]] -= of_velocity * slope


@inner
def rolling_change(
    tables: Tables, work: Work, tau_s: float, q: Array, qd: Array, dq: Array, dqd: Array, out: Array
) -> None:
    """out += change of the rolling forces along (dq, dqd), by central differences."""
    if len(tables.rolling.wheel) + len(tables.rolling.aero_par) == 0:
        return
    step, n = 1e-6, len(q)
    ahead, back, x, y = work.probe[0], work.probe[1], work.probe[2], work.probe[3]
    for i in range(n):
        ahead[i], back[i] = 0.0, 0.0
        x[i], y[i] = q[i] + step * dq[i], qd[i] + step * dqd[i]
    rolling_forces(tables.rolling, work.wheels, work.road, work.inputs, tau_s, x, y, ahead)
    for i in range(n):
        x[i], y[i] = q[i] - step * dq[i], qd[i] - step * dqd[i]
    rolling_forces(tables.rolling, work.wheels, work.road, work.inputs, tau_s, x, y, back)
    for i in range(n):
        out[i] += (ahead[i] - back[i]) / (2.0 * step)


@inner
def carry_states(wheels: Array) -> None:
    """What the last evaluation left becomes the start of the next step."""
    for k in range(len(wheels)):
        wheels[k, X0], wheels[k, Y0], wheels[k, WIND0] = wheels[k, X1], wheels[k, Y1], wheels[k, WIND1]


@njit
def commit(tables: Tables, work: Work, t_s: float, h: float, q: Array, qd: Array) -> None:
    """A step of h has ended at t: its deflections and wind-ups become the start of the next; fills the telemetry.

    The difference of two times is only as good as their last digit, and that depends on who counts them.
    """
    wheels = work.wheels
    if len(wheels) > 0:
        tau_s = t_s - work.clock[0]
        if abs(tau_s - h) < SAME_STEP * h:
            tau_s = h
        spare = work.probe[0]
        for i in range(len(q)):
            spare[i] = 0.0
        rolling_forces(tables.rolling, wheels, work.road, work.inputs, tau_s, q, qd, spare)
        carry_states(wheels)
    work.clock[0] = t_s

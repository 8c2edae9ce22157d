"""Two loggers, two clocks: find the offset between them from the motion that both felt.

On the command line: hodograph info both.drive --align gnss imu
"""

import numpy as np

from hodograph.acquisition.align import align_streams
from hodograph.core import Channel, StreamData, StreamSchema
from hodograph.twin.lap import synthetic_lap

TRUE_OFFSET_S = 2.35  # the second logger was switched on later: its clock is behind by that much

rng = np.random.default_rng(5)
lap = synthetic_lap()
duration_s = float(lap.t_s[-1])
t_gnss_s = np.arange(0.0, 3 * duration_s, 0.1)
t_imu_s = np.arange(TRUE_OFFSET_S, 3 * duration_s, 0.01)
# A driver is no machine: each lap is driven a little differently, or a lag of one lap would look as good as the truth.
pace = 1.0 + 0.15 * np.sin(2 * np.pi * t_imu_s / 17.0)
pace_gnss = 1.0 + 0.15 * np.sin(2 * np.pi * t_gnss_s / 17.0)

gnss = StreamData(
    StreamSchema("gnss", (Channel("yaw_rate_radps", "rad/s"),)),
    np.rint(t_gnss_s * 1e9).astype(np.int64),
    {"yaw_rate_radps": lap.at(t_gnss_s % duration_s).yaw_rate_radps * pace_gnss},
)
imu = StreamData(
    StreamSchema("imu", (Channel("gyro_z_radps", "rad/s"),)),
    np.rint((t_imu_s - TRUE_OFFSET_S) * 1e9).astype(np.int64),
    {"gyro_z_radps": lap.at(t_imu_s % duration_s).yaw_rate_radps * pace + rng.normal(0.0, 0.02, t_imu_s.shape)},
)

found = align_streams(gnss, imu, max_offset_s=10.0)
print(found.explanation)
print(f"the truth: {TRUE_OFFSET_S} s")

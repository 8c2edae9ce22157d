"""Tables through mappings: layouts, times, values, and everything that can be wrong with a file or a mapping."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hodograph.acquisition.importers.imported import Imported, ImportOptions
from hodograph.acquisition.importers.tables import import_tables
from hodograph.acquisition.leap_seconds import gpst_to_utc_ns
from hodograph.core import NO_SENSOR_TIME_NS, Frame, HodographError, ImportFormatError, SettingsError

MAPPING = """
schema = 1
[[table]]
files = "*.csv"
{layout}
time = {time}
[[table.stream]]
name = "imu"
{stream}
[table.stream.channels]
{channels}
"""
DAY_2025_NS = 1_751_932_800 * 10**9  # 2025-07-08
T_COLUMN = '{ column = "t", unit = "s" }'
ACC = 'acc_x_mps2 = { column = "ax", unit = "g", sign = -1, frame = "body" }'


class Bench:
    """A folder with a mapping and files to import."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mapping(self, *, layout: str = "", time: str = T_COLUMN, stream: str = "", channels: str = ACC) -> Path:
        path = self.folder / "mapping.toml"
        path.write_text(MAPPING.format(layout=layout, time=time, stream=stream, channels=channels))
        return path

    def take(
        self, text: str | bytes, mapping: Path | None = None, *, fix: bool = False, name: str = "a.csv"
    ) -> Imported:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return import_tables([path], ImportOptions(mapping=mapping or self.mapping(), fix=fix))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_units_signs_and_frames(bench: Bench) -> None:
    result = bench.take("t,ax\n0.5,1\n0.51,-2\n")
    stream = result.streams[0]
    assert stream.schema.channels[0].frame is Frame.BODY
    assert stream.schema.channels[0].unit == "m/s^2"
    np.testing.assert_allclose(stream["acc_x_mps2"], [-9.80665, 2 * 9.80665])
    assert stream.t_ns.tolist() == [500_000_000, 510_000_000]
    assert result.report == {"tables": {"a.csv": {"rows": 2, "fixed": {}}}}


def test_scale_offset_and_float32(bench: Bench) -> None:
    channels = 'brake_pressure_pa = { column = "ax", unit = "bar", scale = 50, offset = -25 }'
    stream = bench.take("t,ax\n0,0.5\n1,4.5\n", bench.mapping(stream='dtype = "float32"', channels=channels)).streams[0]
    assert stream["brake_pressure_pa"].dtype == np.float32
    np.testing.assert_allclose(stream["brake_pressure_pa"], [0.0, 200e5])


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ('delimiter = ";"\ndecimal = ","', "t;ax\n0,0;1,5\n1,0;2,5\n"),
        ('delimiter = "whitespace"\ncomment = "%"', "%  t    ax\n 0.0   1.5\n% note\n\t1.0 2.5\n"),
        ('delimiter = "whitespace"\ndecimal = ","', "t ax\n0,0  1,5\n1,0  2,5\n"),
        ('delimiter = "\\t"\nskip_rows = 2', "made by\nsomebody\nt\tax\n0.0\t1.5\n1.0\t2.5"),
        ('comment = "#"', "#t, ax\r\n0.0, 1.5\r\n\r\n1.0, +2.5\r\n"),
        ('encoding = "utf-16"', "t,ax\n0.0,1.5\n1.0,2.5\n".encode("utf-16")),
        ('encoding = "latin-1"', "t,ax,°C\n0.0,1.5,3\n1.0,2.5,4\n".encode("latin-1")),
        ("", "\ufefft,ax\n0.0,1.5\n1.0,2.5\n"),
        ("", '"t","ax","note"\n"0.0","1.5","a, b"\n1.0,2.5,c\n'),
        ("header_rows = 2", "t,ax\ns,g\n0.0,1.5\n1.0,2.5\n"),
        ("trusted_columns = 2", "t,ax,nonsense,more\n0.0,1.5,9\n1.0,2.5,9\n"),
        ("", "t,ax\n0.0,1.5e0\n1.0,.25E1\n"),
    ],
)
def test_layouts(bench: Bench, layout: str, text: str | bytes) -> None:
    stream = bench.take(text, bench.mapping(layout=layout)).streams[0]
    np.testing.assert_allclose(stream["acc_x_mps2"], [-1.5 * 9.80665, -2.5 * 9.80665])
    assert stream.t_ns.tolist() == [0, 10**9]


def test_columns_by_number_and_by_source_row(bench: Bench) -> None:
    channels = 'a_mps = { column = "speed", where = "obd", unit = "km/h" }\nb_mps = { column = 2, unit = "m/s" }'
    text = "t,speed,speed\ns,m/s,km/h\n,gps,obd\n0,1,3.6\n"
    stream = bench.take(text, bench.mapping(layout="header_rows = 3", channels=channels)).streams[0]
    assert (stream["a_mps"][0], stream["b_mps"][0]) == (1.0, 1.0)
    with pytest.raises(ImportFormatError, match=r"2 columns are named 'speed' \(columns 2, 3\)"):
        bench.take(text, bench.mapping(layout="header_rows = 3", channels='a_mps = { column = "speed", unit = "m/s" }'))


@pytest.mark.parametrize(
    ("time", "stamp", "expected_ns"),
    [
        ('{ column = "t", unit = "ms" }', "261906", 261_906_000_000),
        ('{ column = "t", unit = "us" }', "1.5", 1_500),
        ('{ column = "t", unit = "ns" }', "1752003513363393851", 1_752_003_513_363_393_851),
        ('{ column = "t", unit = "min" }', "1.5", 90_000_000_000),
        ('{ column = "t", clock = "utc" }', "1767150797.441", 1_767_150_797_441_000_000),
        ('{ column = "t", clock = "utc" }', "1.4999000e+02", 149_990_000_000),
        ('{ column = "t" }', "-0.123456789012345", -123_456_789),
        ('{ column = "t", clock = "utc", date = "2025-07-08" }', "41310.962", 1_751_974_110_962_000_000),
        ('{ column = "t", clock = "gpst", date = "2025-07-08" }', "18", 1_751_932_800_000_000_000),
        (
            '{ column = "t", format = "%d/%m/%Y %H:%M:%S.%f", clock = "utc" }',
            "08/07/2025 00:00:00.25",
            1_751_932_800_250_000_000,
        ),
        ('{ column = "t", unit = "h" }', "490000.0000000001", 1_764_000_000_000_000_360),
        ('{ column = "t", clock = "utc" }', "1.7671507974412345678e+09", 1_767_150_797_441_234_567),
        ('{ column = "t" }', "1e-999999", 0),
        (
            '{ column = "t", format = "%H:%M:%S.%f", clock = "utc", date = "2025-07-08" }',
            "00:00:01.5",
            DAY_2025_NS + 1_500_000_000,
        ),
        ("{ rate_hz = 8 }", "whatever", 0),
    ],
)
def test_times(bench: Bench, time: str, stamp: str, expected_ns: int) -> None:
    assert bench.take(f"t,ax\n{stamp},0\n", bench.mapping(time=time)).streams[0].t_ns.tolist() == [expected_ns]


def test_digits_beyond_nanoseconds_are_cut_and_cost_the_other_rows_nothing(bench: Bench) -> None:
    text = "t,ax\n1767150797.123456789,0\n1767150797.1234567899999,0\n+1767150797.2,0\n1.767150798e9,0\n,0\n"
    stream = bench.take(text, bench.mapping(time='{ column = "t", clock = "utc" }'), fix=True).streams[0]
    start_ns = 1_767_150_797 * 10**9
    assert (stream.t_ns - start_ns).tolist() == [123_456_789, 123_456_789, 200_000_000, 10**9]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("time", "stamp"),
    [
        ('{ column = "t", unit = "min" }', "999999999"),
        ('{ column = "t", unit = "h" }', "-99999999999999999999999999999"),
        ('{ column = "t", unit = "s" }', "1e300"),
        ('{ column = "t", unit = "ns" }', "9223372036854775807"),
        ('{ column = "t", clock = "utc", date = "2025-07-08" }', "4600000000"),
        ('{ column = "t", format = "%Y-%m-%d", clock = "utc" }', "3000-01-01"),
        ('{ column = "t", format = "%Y-%m-%d", clock = "utc" }', "1678-01-01"),
        ('{ column = "t", format = "%Y-%m-%d", clock = "gpst" }', "9999-12-31"),
    ],
)
def test_times_beyond_what_nanoseconds_hold_are_refused(bench: Bench, time: str, stamp: str) -> None:
    with pytest.raises(ImportFormatError, match=f"line 2, .*'{stamp}'? is not a time.* 146 years"):
        bench.take(f"t,ax\n{stamp},0\n", bench.mapping(time=time))


def test_rows_at_a_rate_that_would_never_end_are_refused(bench: Bench) -> None:
    with pytest.raises(ImportFormatError, match=r"a\.csv: 3 rows at 1e-12 Hz last over 146 years"):
        bench.take(GOOD, bench.mapping(time="{ rate_hz = 1e-12 }"))


@pytest.mark.parametrize(
    ("time", "stamps"),
    [
        ('{ column = "t", clock = "utc", date = "2025-07-08" }', ("86399", "0.5", "1")),
        ('{ column = "t", clock = "gpst", date = "2025-07-08" }', ("86399", "0.5", "1")),
        (
            '{ column = "t", format = "%H:%M:%S.%f", clock = "utc", date = "2025-07-08" }',
            ("23:59:59.0", "00:00:00.5", "00:00:01.0"),
        ),
    ],
)
@pytest.mark.parametrize("fix", [False, True])
def test_time_of_day_runs_on_past_midnight(bench: Bench, time: str, stamps: tuple[str, ...], fix: bool) -> None:
    text = "t,ax\n" + "".join(f"{stamp},{row}\n" for row, stamp in enumerate(stamps))
    result = bench.take(text, bench.mapping(time=time), fix=fix)
    midnight_ns = DAY_2025_NS + (86_400 - (18 if "gpst" in time else 0)) * 10**9
    assert (result.streams[0].t_ns - midnight_ns).tolist() == [-(10**9), 5 * 10**8, 10**9]
    assert (result.streams[0]["acc_x_mps2"] / -9.80665).round(9).tolist() == [0, 1, 2]
    assert result.report == {"tables": {"a.csv": {"rows": 3, "fixed": {}}}}


def test_one_wrong_row_is_no_midnight(bench: Bench) -> None:
    time = '{ column = "t", clock = "utc", date = "2025-07-08" }'
    with pytest.raises(ImportFormatError, match="line 4: time runs backwards by 36399 s"):
        bench.take("t,ax\n50000,0\n0,0\n50001,0\n", bench.mapping(time=time))
    pause = bench.take("t,ax\n10000,0\n80000,0\n", bench.mapping(time=time)).streams[0]
    assert int(pause.t_ns[1] - pause.t_ns[0]) == 70_000 * 10**9


def test_a_midnight_on_a_clock_without_date_is_explained(bench: Bench) -> None:
    with pytest.raises(ImportFormatError, match='counts from midnight, say so: clock = "utc"') as caught:
        bench.take("t,ax\n86399,0\n0,0\n")
    assert "--fix" not in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("stream", "channel", "value", "complaint"),
    [
        (
            'dtype = "float32"',
            'p_pa = { column = "ax", unit = "Pa" }',
            "1e39",
            'p_pa as float32: say dtype = "float64"',
        ),
        ('dtype = "float32"', 'p_pa = { column = "ax", unit = "bar" }', "-1e34", 'say dtype = "float64"'),
        ("", 'p_pa = { column = "ax", unit = "bar" }', "1e306", "p_pa as float64: check its `scale` and `offset`"),
    ],
)
def test_values_too_large_for_their_type(bench: Bench, stream: str, channel: str, value: str, complaint: str) -> None:
    with pytest.raises(ImportFormatError, match=rf"line 3, column 2 \(ax\): '{value}' is too large for .*{complaint}"):
        bench.take(f"t,ax\n0,1\n1,{value}\n", bench.mapping(stream=stream, channels=channel))


def test_date_and_time_in_two_columns_and_a_fixed_rate(bench: Bench) -> None:
    time = '{ column = ["d", "t"], format = "%Y/%m/%d %H:%M:%S.%f", clock = "gpst" }'
    stream = bench.take("d,t,ax\n2025/07/08,19:34:18.499,0\n", bench.mapping(time=time)).streams[0]
    assert np.datetime64(int(stream.t_ns[0]), "ns") == np.datetime64("2025-07-08T19:34:00.499", "ns")
    stream = bench.take("ax\n1\n2\n3\n", bench.mapping(time="{ rate_hz = 300 }")).streams[0]
    assert stream.t_ns.tolist() == [0, 3_333_333, 6_666_667]


def test_leap_seconds_follow_the_date() -> None:
    dates = [
        "1979-01-01",
        "1980-01-06",
        "2016-12-31T23:59:59",
        "2017-01-01T00:00:17",
        "2017-01-01T00:00:18",
        "2025-07-08",
    ]
    gpst_ns = np.array(dates, dtype="datetime64[ns]").astype(np.int64)
    ahead_s = (gpst_ns - gpst_to_utc_ns(gpst_ns)) // 10**9
    assert ahead_s.tolist() == [0, 0, 17, 17, 18, 18]


def test_values_map_numbers_and_texts(bench: Bench) -> None:
    channels = 'quality = { column = "ax", unit = "1", values = { 1 = 4, 2 = 5 } }'
    assert bench.take("t,ax\n0,1.000\n1,2\n2,\n", bench.mapping(channels=channels)).streams[0]["quality"][
        :2
    ].tolist() == [4, 5]
    with pytest.raises(ImportFormatError, match=r"line 3, column 2 \(ax\): '7' is not in `values` of quality"):
        bench.take("t,ax\n0,1\n1,7\n", bench.mapping(channels=channels))
    channels = 'brake = { column = "ax", unit = "1", values = { ON = 1, off = 0 } }'
    assert bench.take("t,ax\n0,ON\n1,off\n", bench.mapping(channels=channels)).streams[0]["brake"].tolist() == [1, 0]


def test_several_streams_and_held_values(bench: Bench) -> None:
    mapping = bench.mapping()
    with mapping.open("a") as file:
        file.write(
            '[[table.stream]]\nname = "gnss"\nchanged = ["lat", "fix"]\n'
            'sensor_time = { column = "fix", unit = "s" }\n'
            '[table.stream.channels]\nlatitude_rad = { column = "lat", unit = "deg", frame = "geodetic" }\n'
        )
    text = "t,ax,lat,fix\n0,0,50,7\n1,0,50,7\n2,0,50,8\n3,0,51,\n4,0,51,\n"
    imu, gnss = bench.take(text, mapping).streams
    assert len(imu) == 5
    assert gnss.t_ns.tolist() == [0, 2 * 10**9, 3 * 10**9]
    assert gnss.t_sensor_ns is not None
    assert gnss.t_sensor_ns.tolist() == [7 * 10**9, 8 * 10**9, NO_SENSOR_TIME_NS]


def test_blank_and_missing_fields(bench: Bench) -> None:
    text = "t,ax\n0,1\n1,\n2,n/a\n3,2\n"
    stream = bench.take(text, bench.mapping(layout='missing = ["n/a"]')).streams[0]
    assert np.isnan(stream["acc_x_mps2"]).tolist() == [False, True, True, False]
    stream = bench.take(text, bench.mapping(layout='missing = ["n/a"]\nblank = "unchanged"')).streams[0]
    assert np.isnan(stream["acc_x_mps2"]).tolist() == [False, False, True, False]


GOOD = "t,ax\n0,1\n1,2\n2,3\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a.csv: the file is empty"),
        ("\n \n", "a.csv: the file is empty"),
        ("t,ax\n", "a.csv: no rows of data"),
        (b"\x00\x01MDF\x00" * 30, "zero bytes"),
        (b"MDF\xff\xfe\x80" * 30, "not utf-8 text"),
        (GOOD + "3", r"line 5 \(the last one: the file seems cut short\): 1 fields, other rows have 2"),
        ("t,ax\n0,1\n1\n2,3,4\n3,4\n", r"line 3 \(2 such lines\)"),
        ("t,ax\n0,1\n2,1\n1,1\n", "line 4: time runs backwards by 1 s"),
        ("t,ax\n0,1\nnan,1\n", r"line 3, column 1 \(t\): 'nan' is not a time"),
        ("t,ax\n0,1\n,1\n", r"line 3, column 1 \(t\): '\(nothing\)' is not a time"),
        ("t,ax\n0,1\n1,nan\n", r"line 3, column 2 \(ax\): 'nan' is not a number"),
        ("t,ax\n0,1\n1,inf\n", "'inf' is not a number"),
        ("t,ax\n0,1\n\n1,twelve\n", r"line 4, column 2 \(ax\): 'twelve' is not a number"),
        ("t,ay\n0,1\n", "no column 'ax'; the header has t, ay"),
        ("t,ax,az\n0,1\n1,2\n", "the header names 3 columns, rows have 2 fields"),
        ("t,ax\n99999999999999,1\n", "is not a time"),
    ],
)
def test_bad_files_are_refused_in_one_line(bench: Bench, text: str | bytes, complaint: str) -> None:
    with pytest.raises(ImportFormatError, match=complaint) as caught:
        bench.take(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "t_s", "fixed"),
    [
        (GOOD + "3", [0, 1, 2], {"torn rows dropped": 1}),
        ("t,ax\n0,1\n2,1\n1,1\n", [0, 1, 2], {"backward time steps sorted": 1}),
        ("t,ax\n0,1\nnan,1\n1,1\n,1\n", [0, 1], {"rows without time dropped": 2}),
        ("t,ax\n0,1\n1,nan\n2,x\n", [0, 1, 2], {"unreadable values made NaN": 2}),
    ],
)
def test_fix_repairs_and_counts(bench: Bench, text: str, t_s: list[int], fixed: dict[str, int]) -> None:
    result = bench.take(text, fix=True)
    assert (result.streams[0].t_ns // 10**9).tolist() == t_s
    assert result.report["tables"] == {
        "a.csv": {"rows": len(result.streams[0]) + fixed.get("rows without time dropped", 0), "fixed": fixed}
    }
    for what, count in fixed.items():
        assert result.notes[f"fixed in a.csv: {what}"] == str(count)


def test_fix_sorts_values_along_with_time(bench: Bench) -> None:
    stream = bench.take("t,ax\n0,1\n2,3\n1,2\n", fix=True).streams[0]
    np.testing.assert_allclose(stream["acc_x_mps2"] / -9.80665, [1, 2, 3])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"channels": 'acc_x_mps2 = { column = "ax", unit = "furlong" }'}, "line 11: .*unknown unit 'furlong'"),
        ({"channels": 'acc_x_mps2 = { column = "ax", unit = "bar" }'}, "acc_x_mps2: a name in Pa ends in _pa"),
        ({"channels": 'acc_x_mps2 = { column = "ax", unit = "g", sgn = -1 }'}, "unknown key; did you mean sign"),
        ({"channels": 'acc_x_mps2 = { column = "ax", unit = "g", sign = 2 }'}, "want one of 1, -1, got 2"),
        ({"time": '{ column = "t", rate_hz = 5 }'}, "line 6: .*either `column` or `rate_hz`"),
        ({"time": "{ }"}, "either `column` or `rate_hz`"),
        ({"time": '{ column = "t", unit = "m" }'}, "'m' is no unit of time"),
        ({"time": '{ column = ["d", "t"] }'}, "several time columns need a `format`"),
        ({"time": '{ column = "t", format = "%H" }'}, 'needs clock = "utc" or "gpst"'),
        ({"time": '{ column = "t", clock = "utc", starts_with = "gnss" }'}, 'need clock = "boot"'),
        ({"time": '{ column = "t", clock = "utc", date = "8.7.2025" }'}, "Invalid isoformat"),
        ({"layout": 'delimiter = ",,"'}, "want one character"),
        ({"layout": 'decimal = ","'}, "delimiter and decimal are both"),
        ({"layout": 'encoding = "utf-9"'}, "'utf-9' is unknown"),
        ({"layout": "skip_rows = -1"}, "want 0 or more"),
        ({"layout": "trusted_columns = 0"}, "want 1 or more"),
        ({"stream": "rate_hz = -5"}, "want > 0"),
        ({"stream": "rate_hz = inf"}, "rate_hz: want a finite number, got inf"),
        ({"time": "{ rate_hz = inf }"}, "line 6: .*rate_hz: want a finite number, got inf"),
        ({"time": "{ rate_hz = nan }"}, "rate_hz: want a finite number, got nan"),
        ({"time": '{ column = "t", clock = "utc", format = "%Q" }'}, "line 6: .*'%Q' cannot be read by: 'Q' is a bad"),
        ({"time": '{ column = "t", clock = "utc", format = "%Y%" }'}, "line 6: .*stray %"),
        ({"time": '{ column = "t", clock = "utc", format = "%Y %Y" }'}, "line 6: .*cannot be read by"),
        ({"time": '{ column = "t", clock = "utc", format = "%H:%M" }'}, "has no year: give the day as `date`"),
        ({"time": '{ column = "t", clock = "utc", format = "%Y", date = "2025-07-08" }'}, "`date` must not be given"),
        (
            {"channels": 'acc_x_mps2 = { column = "ax", unit = "g", scale = nan }'},
            "line 11: .*scale: want a finite number, got nan",
        ),
        (
            {"channels": 'acc_x_mps2 = { column = "ax", unit = "g", scale = inf }'},
            "line 11: .*scale: want a finite number, got inf",
        ),
        (
            {"channels": 'acc_x_mps2 = { column = "ax", unit = "g", offset = nan }'},
            "line 11: .*offset: want a finite number, got nan",
        ),
        (
            {"channels": 'x = { column = "ax", unit = "1", values = { 1 = inf } }'},
            "line 11: .*values.1: want a finite number",
        ),
        ({"channels": 't_ns = { column = "ax", unit = "ns" }'}, "channel name 't_ns' is taken"),
        ({"channels": 't_sensor_ns = { column = "ax", unit = "ns" }'}, "channel name 't_sensor_ns' is taken"),
    ],
)
def test_bad_mappings_are_refused_with_their_line(bench: Bench, change: dict[str, str], complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        bench.take(GOOD, bench.mapping(**change))
    assert "mapping.toml, line " in str(caught.value)


def test_a_stream_declared_twice_is_named(bench: Bench) -> None:
    mapping = bench.mapping()
    text = mapping.read_text()
    mapping.write_text(text + text[text.index("[[table.stream]]") :])
    with pytest.raises(SettingsError, match=r"mapping\.toml, line 3: .*stream 'imu' is declared 2 times in one table"):
        bench.take(GOOD, mapping)


def test_files_that_no_table_takes(bench: Bench) -> None:
    assert len(bench.take(GOOD, name="renamed.txt").streams[0]) == 3  # there is one table only: it must be meant
    mapping = bench.folder / "two.toml"
    mapping.write_text(TWO_CLOCKS.replace("ANCHOR", ""))
    with pytest.raises(ImportFormatError, match=r"a\.txt: no table of .*two\.toml takes .*; it has g\.csv, i\.csv"):
        bench.take(GOOD, mapping, name="a.txt")
    (bench.folder / "empty").mkdir()
    with pytest.raises(ImportFormatError, match="no file that a table"):
        import_tables([bench.folder / "empty"], ImportOptions(mapping=mapping))
    with pytest.raises(ImportFormatError, match="cannot be read"):
        import_tables([bench.folder / "gone.csv"], ImportOptions(mapping=bench.mapping()))


def test_column_numbers_out_of_range(bench: Bench) -> None:
    with pytest.raises(ImportFormatError, match="no column 3: a row has 2 usable columns"):
        bench.take(GOOD, bench.mapping(channels='acc_x_mps2 = { column = 3, unit = "g" }'))
    with pytest.raises(ImportFormatError, match="asked for by name, but header_rows is 0"):
        bench.take("0,1\n", bench.mapping(layout="header_rows = 0"))


def test_same_stream_from_several_files_and_folders(bench: Bench) -> None:
    for name in ("run-1.csv", "Run 2.csv"):
        (bench.folder / name).write_text(GOOD)
    result = import_tables([bench.folder], ImportOptions(mapping=bench.mapping()))
    assert {stream.schema.name for stream in result.streams} == {"imu_run_1", "imu_run_2"}
    with pytest.raises(ImportFormatError, match=r"run-1\.csv: given twice: name each file once"):
        import_tables([bench.folder / "run-1.csv"] * 2, ImportOptions(mapping=bench.mapping()))
    (bench.folder / "Run_2.csv").write_text(GOOD)
    with pytest.raises(ImportFormatError, match=r"stream imu_run_2 comes twice, from .*Run 2\.csv and .*Run_2\.csv"):
        import_tables([bench.folder], ImportOptions(mapping=bench.mapping()))
    (bench.folder / "raw.csv").write_text(GOOD)
    with pytest.raises(ImportFormatError, match=r"raw\.csv: stream name 'imu_raw' is taken.*: rename the file"):
        import_tables([bench.folder / "raw.csv", bench.folder / "run-1.csv"], ImportOptions(mapping=bench.mapping()))


TWO_CLOCKS = """
schema = 1
[[table]]
files = "g.csv"
time = { column = "t", clock = "utc" }
[[table.stream]]
name = "gnss"
[table.stream.channels]
speed_mps = { column = "v", unit = "km/h" }
[[table]]
files = "i.csv"
time = { column = "t", unit = "ms" ANCHOR }
[[table.stream]]
name = "imu"
[table.stream.channels]
gyro_z_radps = { column = "v", unit = "deg/s" }
"""


def test_clocks_without_a_known_zero_need_an_anchor(bench: Bench) -> None:
    files = [bench.folder / "i.csv", bench.folder / "g.csv"]
    files[0].write_text("t,v\n500,1\n600,2\n")
    files[1].write_text("t,v\n1000000000,1\n1000000001,2\n")
    mapping = bench.folder / "m.toml"
    mapping.write_text(TWO_CLOCKS.replace("ANCHOR", ""))
    with pytest.raises(HodographError, match=r"i\.csv: its clock has a zero of its own.*starts_with"):
        import_tables(files, ImportOptions(mapping=mapping))
    mapping.write_text(TWO_CLOCKS.replace("ANCHOR", ', starts_with = "gnss"'))
    imu, gnss = import_tables(files, ImportOptions(mapping=mapping)).streams
    assert imu.t_ns.tolist() == [10**18, 10**18 + 10**8]
    assert gnss.t_ns[0] == 10**18


def test_vehicle_file_travels_along(bench: Bench) -> None:
    mapping = bench.mapping()
    mapping.write_text(mapping.read_text().replace("schema = 1", 'schema = 1\nvehicle = "car.toml"'))
    with pytest.raises(SettingsError, match=r"vehicle: .*car\.toml cannot be read"):
        bench.take(GOOD, mapping)
    (bench.folder / "car.toml").write_text("mass_kg = 982\n")
    assert bench.take(GOOD, mapping).vehicle_toml == "mass_kg = 982\n"


def test_progress_is_told(bench: Bench) -> None:
    path, told = bench.folder / "a.csv", []
    path.write_text(GOOD)
    import_tables(
        [path], ImportOptions(mapping=bench.mapping(), on_bytes=lambda done, total: told.append((done, total)))
    )
    assert told == [(len(GOOD), len(GOOD))]


OWN = "t_s,t_sensor_s,speed_mps,quality\ns,s,m/s,1\n0.0,1752003513.363393851,1.5,4\n0.1,,,5\n"


def test_own_csv_needs_no_mapping(bench: Bench) -> None:
    path = bench.folder / "2024 Run.csv"
    path.write_text(OWN)
    stream = import_tables([path], ImportOptions()).streams[0]
    assert stream.schema.name == "table_2024_run"
    assert stream.schema.names == ("speed_mps", "quality")
    assert stream["quality"].tolist() == [4, 5]
    assert np.isnan(stream["speed_mps"]).tolist() == [False, True]
    assert stream.t_ns.tolist() == [0, 10**8]
    assert stream.t_sensor_ns is not None
    assert stream.t_sensor_ns.tolist() == [1_752_003_513_363_393_851, NO_SENSOR_TIME_NS]


@pytest.mark.parametrize(("file", "stream"), [("events.csv", "events_table"), ("Nmea raw.csv", "nmea_raw_table")])
def test_own_csv_in_a_file_whose_name_logs_keep_for_themselves(bench: Bench, file: str, stream: str) -> None:
    (bench.folder / file).write_text(OWN)
    assert import_tables([bench.folder / file], ImportOptions()).streams[0].schema.name == stream


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD, "write a mapping and give it with --mapping"),
        ("", "the file is empty"),
        (b"\x89PNG\xff\xfe", "not a text table"),
        ("t_s,speed_kmh\ns,km/h\n0,1\n", "export in SI, or write a mapping"),
        ("t_s,speed_mps\ns,furlong\n0,1\n", "unknown unit"),
        ("t_s,speed_mps,speed_mps\ns,m/s,m/s\n0,1,2\n", "several columns are named speed_mps"),
        ("t_s,t_s\ns,s\n0,1\n", "several columns are named t_s"),
    ],
)
def test_other_files_without_mapping_are_refused(bench: Bench, text: str | bytes, complaint: str) -> None:
    path = bench.folder / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ImportFormatError, match=complaint):
        import_tables([path], ImportOptions())


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 200), st.binary(min_size=1, max_size=3)), max_size=6), st.booleans())
def test_damaged_bytes_never_do_worse_than_an_import_error(
    bench: Bench, damage: list[tuple[int, bytes]], fix: bool
) -> None:
    text = bytearray(b"t,ax,note\n" + b"".join(b'%d.5,-1.%d,"n,%d"\n' % (k, k, k) for k in range(10)))
    for at, junk in damage:
        text[at : at + len(junk)] = junk
    with contextlib.suppress(ImportFormatError):
        stream = bench.take(bytes(text), fix=fix).streams[0]
        assert (np.diff(stream.t_ns) >= 0).all()

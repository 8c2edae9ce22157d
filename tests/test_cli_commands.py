"""The command line's contract: JSON alone on stdout, one clear line on stderr, exit codes 0, 1 and 2."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hodograph.acquisition import importers
from hodograph.acquisition.geodesy import geodetic_from_degrees
from hodograph.acquisition.importers import ImportOptions, guess_format
from hodograph.acquisition.log import LogReader
from hodograph.cli import main
from hodograph.cli.console import print_json
from hodograph.core import ImportFormatError
from hodograph.replay import exporters
from hodograph.twin.instruments import GnssReceiver
from hodograph.twin.lap import synthetic_lap

Cli = Callable[..., tuple[int, str, str]]
START = datetime(2026, 6, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in this process: (exit code, stdout, stderr)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hodograph", *map(str, arguments)])
        code: Any = 0
        try:
            main.run()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return int(code or 0), captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def nmea_bytes() -> bytes:
    origin = geodetic_from_degrees(latitude_deg=43.3, longitude_deg=-8.4, height_m=72.0)
    sent = GnssReceiver(origin).send(synthetic_lap(), START, np.random.default_rng(1))
    return b"".join(item.chunk for item in sent).replace(b"GNGGA,093005.00", b"GNGGA,093006.00")


@pytest.fixture
def nmea_file(tmp_path: Path, nmea_bytes: bytes) -> Path:
    path = tmp_path / "receiver.txt"
    path.write_bytes(nmea_bytes)
    return path


@pytest.fixture
def log_path(cli: Cli, tmp_path: Path, nmea_file: Path) -> Path:
    path = tmp_path / "a.drive"
    assert cli("import", nmea_file, "-o", path)[0] == 0
    return path


def test_help_teaches_and_lists_only_what_is_built(cli: Cli) -> None:
    code, out, _ = cli("--help")
    assert code == 0
    assert {"demo", "record", "import", "export", "info", "vsa"} <= set(out.split())
    assert not {"drive", "simulate", "replay", "tune"} & set(out.split())
    for command in ("demo", "record", "vsa", "import", "export", "info"):
        code, out, _ = cli(command, "--help")
        assert code == 0
        assert "Usage: hodograph" in out
    assert "--align" in out
    assert cli("--version")[1].startswith("hodograph ")


def test_help_does_not_wait_for_libraries() -> None:
    heavy = "{'numpy', 'pyarrow', 'pandas', 'scipy', 'matplotlib', 'asammdf', 'pyproj'}"
    code = f"import sys, hodograph.cli.main; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_completion(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("_HODOGRAPH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "hodograph ex")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert cli()[1].strip() == "export"


def test_the_formats_offered_are_those_that_exist() -> None:
    assert set(main.ImportFormat) == set(importers.FORMATS)
    assert set(main.ExportFormat) == set(exporters.FORMATS)


def test_import_json(cli: Cli, tmp_path: Path, nmea_file: Path) -> None:
    code, out, err = cli("import", nmea_file, "--format", "nmea", "-o", tmp_path / "a.drive", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    nmea, gnss = document["nmea"], document["streams"]["gnss"]
    assert (nmea["sentences"], nmea["bad_checksum"], nmea["missing_checksum"]) == (714, 1, 0)
    assert nmea["talkers"] == ["GN"]
    assert nmea["gga_quality"] == {"4": 237}
    assert nmea["duration_s"] == pytest.approx(23.7)
    assert (gnss["rows"], gnss["gaps"]) == (238, 0)
    assert gnss["rate_hz"] == pytest.approx(10.0)


def test_info_json_and_table(cli: Cli, log_path: Path) -> None:
    code, out, err = cli("info", log_path, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["streams"]["gnss"]["rows"] == 238
    assert document["lost"] == {}
    code, out, err = cli("info", log_path)
    assert (code, err) == (0, "")
    assert "nothing lost" in out
    assert "never a value in heading_compass_rad" in out


def test_info_says_what_a_crash_cost(cli: Cli, log_path: Path) -> None:
    segment = log_path / "gnss.0000.arrow"
    segment.write_bytes(segment.read_bytes()[:-3000])
    document = json.loads(cli("info", log_path, "--json")[1])
    assert document["lost"]["gnss"]["reason"]
    assert 200 <= document["streams"]["gnss"]["rows"] < 238
    assert "lost from gnss" in cli("info", log_path)[1]


def test_info_align_of_streams_that_cannot_be(cli: Cli, log_path: Path) -> None:
    code, out, err = cli("info", log_path, "--align", "gnss", "imu", "--json")
    assert (code, out) == (1, "")
    assert err.startswith("hodograph: ")
    assert len(err.splitlines()) == 1
    assert cli("info", log_path, "--align", "gnss")[0] == 2


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_export(cli: Cli, log_path: Path, tmp_path: Path, to: str) -> None:
    target = tmp_path / f"x.{to}"
    code, out, err = cli("export", log_path, "--to", to, "-o", target, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "format": to,
        "files": [{"path": str(target), "rows": 238, "streams": ["gnss"]}],
    }
    code, out, err = cli("export", log_path, "--to", to, "-o", target)
    assert (code, out) == (1, "")
    assert "exists already" in err
    assert len(err.splitlines()) == 1
    code, out, _ = cli("export", log_path, "--to", to, "-o", target, "--force", "--channels", "speed_mps,height_m")
    assert code == 0
    assert "238 rows of gnss" in out


def test_an_export_of_ours_comes_back(cli: Cli, log_path: Path, tmp_path: Path) -> None:
    cli("export", log_path, "--to", "csv", "-o", tmp_path / "gnss.csv")
    code, _, err = cli("import", tmp_path / "gnss.csv", "-o", tmp_path / "back.drive")
    assert (code, err) == (0, "")
    before, after = LogReader(log_path).numpy("gnss"), LogReader(tmp_path / "back.drive").numpy("gnss")
    assert after.schema.names == before.schema.names
    for name in before.schema.names:
        assert np.array_equal(before[name], after[name], equal_nan=True), name


@pytest.mark.parametrize(
    "arguments",
    [
        ("import",),
        ("import", "x.nmea"),
        ("import", "x.nmea", "-o", "y.drive", "--format", "xrk"),
        ("export", "a.drive", "--to", "docx", "-o", "y"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--t-min", "5", "--t-max", "1"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--rate", "0"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--t-min", "nan"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--t-min", "1e300"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--t-max", "-inf"),
        ("export", "{log}", "--to", "csv", "-o", "y", "--channels", ""),
        ("export", "{log}", "--to", "mf4", "-o", "y", "--streams", " , "),
        ("record", "rig.toml"),
        ("fly",),
        ("info", "a.drive", "--frobnicate"),
    ],
)
def test_wrong_usage_is_exit_code_2(cli: Cli, log_path: Path, arguments: tuple[str, ...]) -> None:
    code, out, err = cli(*(argument.format(log=log_path) for argument in arguments))
    assert (code, out) == (2, "")
    assert err


@pytest.mark.parametrize(
    ("content", "format_"),
    [
        (None, None),
        (None, "nmea"),
        (b"", None),
        (b"", "nmea"),
        (b"", "csv"),
        (b"\n \n", None),
        (b"\x00\x01\x02 no format at all", None),
        (b"this is prose, not NMEA\n", "nmea"),
        (b"a,b\n1,2\n", "csv"),
        (b"t_s,speed_furlong\ns,furlong\n0,1\n", "csv"),
        (b"t_s,speed_mps\ns,m/s\n1,1\n0,1\n", "csv"),
        (b"t_s,speed_mps\ns,m/s\n", "csv"),
        (b"t_s,speed_mps\ns,m/s\n0,1\n1,2\n2", "csv"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_is_one_line_and_leaves_nothing(
    cli: Cli, tmp_path: Path, content: bytes | None, format_: str | None, as_json: bool
) -> None:
    path, folder = tmp_path / "input.xyz", tmp_path / "out"
    folder.mkdir()
    if content is not None:
        path.write_bytes(content)
    options = (["--format", format_] if format_ else []) + (["--json"] if as_json else [])
    code, out, err = cli("import", path, "-o", folder / "a.drive", *options)
    assert (code, out) == (1, "")
    assert err.startswith("hodograph: ")
    assert len(err.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_fix_says_what_it_repaired(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("t_s,speed_mps\ns,m/s\n0,1\n2,x\n1,3\n4\n5,y\n6")
    code, out, err = cli("import", path, "-o", tmp_path / "a.drive", "--fix")
    assert (code, err) == (0, "")
    assert out.splitlines()[-3:] == [
        "repaired run.csv: 2 torn rows dropped",
        "repaired run.csv: 1 backward time steps sorted",
        "repaired run.csv: 2 unreadable values made NaN",
    ]
    path.write_text("t_s,speed_mps\ns,m/s\n0,1\n1,2\n")
    assert cli("import", path, "-o", tmp_path / "b.drive", "--fix")[1].splitlines()[-1] == "nothing had to be repaired"
    assert cli("import", path, "-o", tmp_path / "c.drive")[1].splitlines()[-1] == "nothing lost"


@pytest.mark.parametrize(
    ("stream", "channel", "complaint"),
    [
        ("events", "speed_mps", "stream name 'events' is taken"),
        ("gnss_raw", "speed_mps", "stream name 'gnss_raw' is taken"),
        ("gnss", "t_ns", "channel name 't_ns' is taken"),
        ("gnss", "t_sensor_ns", "channel name 't_sensor_ns' is taken"),
    ],
)
def test_names_that_a_log_keeps_for_itself(cli: Cli, tmp_path: Path, stream: str, channel: str, complaint: str) -> None:
    (tmp_path / "run.csv").write_text("t,v\n0,1\n1,2\n")
    unit = "ns" if channel.endswith("ns") else "m/s"
    (tmp_path / "m.toml").write_text(
        'schema = 1\n[[table]]\nfiles = "*.csv"\ntime = { column = "t" }\n'
        f'[[table.stream]]\nname = "{stream}"\n[table.stream.channels]\n'
        f'{channel} = {{ column = "v", unit = "{unit}" }}\n'
    )
    folder = tmp_path / "out"
    folder.mkdir()
    code, out, err = cli("import", tmp_path / "run.csv", "--mapping", tmp_path / "m.toml", "-o", folder / "a.drive")
    assert (code, out) == (1, "")
    assert complaint in err
    assert len(err.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_export_checks_every_batch_and_says_what_is_lost(cli: Cli, log_path: Path, tmp_path: Path) -> None:
    segment = log_path / "gnss.0000.arrow"
    damaged = bytearray(segment.read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 8] = bytes(byte ^ 0xFF for byte in damaged[middle : middle + 8])
    segment.write_bytes(damaged)
    code, out, err = cli("export", log_path, "--to", "csv", "-o", tmp_path / "x.csv", "--json")
    assert code == 0
    assert 0 < json.loads(out)["files"][0]["rows"] < 238
    assert "lost from gnss" in err
    assert len(err.splitlines()) == 1


def test_places_that_cannot_be_used(cli: Cli, tmp_path: Path, nmea_file: Path) -> None:
    (tmp_path / "file").touch()
    for arguments in (
        ("import", nmea_file, "-o", tmp_path / "file"),
        ("import", nmea_file, "-o", tmp_path / "file" / "a.drive"),
        ("import", tmp_path, "-o", tmp_path / "a.drive"),
        ("info", tmp_path / "none.drive"),
        ("info", tmp_path / "file"),
        ("info", tmp_path),
        ("export", tmp_path / "none.drive", "--to", "csv", "-o", tmp_path / "x.csv"),
        ("record", tmp_path / "none.toml", "-o", tmp_path / "a.drive"),
        ("demo", "--out", tmp_path / "file"),
    ):
        code, out, err = cli(*arguments)
        assert (code, out) == (1, ""), arguments
        assert err.startswith("hodograph: "), err
        assert len(err.splitlines()) == 1, err
    assert not (tmp_path / "a.drive").exists()


def test_formats_are_told_by_content_then_name(tmp_path: Path, nmea_file: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n")
    options = ImportOptions()
    assert guess_format([nmea_file], options) == "nmea"
    assert guess_format([table], options) == "csv"
    assert guess_format([nmea_file], ImportOptions(mapping=tmp_path / "m.toml")) == "csv"
    with pytest.raises(ImportFormatError, match="look different"):
        guess_format([nmea_file, table], options)


def test_json_knows_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": math.inf, "b": [math.nan, 1.5], "c": {"d": -math.inf}, "e": "inf"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": {"d": None}, "e": "inf"}

"""Everything that can be wrong with the world, as one tree.

    HodographError                 catch this one at the edge of a program
    ├── SettingsError              a TOML file (mapping, rig, vehicle, mechanism) is wrong: file, line, reason
    ├── MechanismError             a mechanism cannot be built or assembled: the part, what is wrong with it
    ├── UnitError                  a unit nobody knows, or one of the wrong dimension
    ├── LogError                   a log cannot be opened, is not a log, or is damaged beyond its last batch
    │   └── LogWriteError          the disk is full, gone or read-only; what was written stays readable
    ├── ImportFormatError          a foreign file is not what it was said to be
    ├── ModelError                 a trained model cannot be read, is none, or is of another version
    ├── DataError                  a drive lacks what is asked of it: a channel, a plausible unit, excitation
    ├── TransportError             a port, bus or socket is missing, busy or gone
    └── MissingExtraError          an optional library is not installed; the message says what to install

A programmer's mistake is a `ValueError` instead. Bad *data* is neither: it gets a `Verdict`.
"""

from __future__ import annotations


class HodographError(Exception):
    """Root of the tree; its message is one line that says what, where and what to do."""


class SettingsError(HodographError):
    """A settings file is wrong, e.g. an unknown key, a missing unit, a number out of range."""

    def __init__(self, source: str, reason: str, line: int | None = None) -> None:
        super().__init__(f"{source}, line {line}: {reason}" if line else f"{source}: {reason}")


class MechanismError(HodographError):
    """A mechanism cannot work, e.g. a bar of zero length, constraints in conflict, a singular start."""


class UnitError(HodographError):
    """A unit is unknown or of the wrong dimension, e.g. `furlong`, or `bar` for a speed."""


class LogError(HodographError):
    """A log cannot be read, e.g. the folder has no meta.toml, or a segment is not Arrow."""


class LogWriteError(LogError):
    """A log cannot be written, e.g. the disk is full or the folder exists already."""


class ImportFormatError(HodographError):
    """A foreign file is not what it was said to be, e.g. empty, truncated, time running backwards."""


class ModelError(HodographError):
    """A trained model cannot be used, e.g. the file is no model, or one of another version."""


class DataError(HodographError):
    """A drive lacks what is asked of it, e.g. a channel is missing, ay is in g, nothing happens in it."""


class TransportError(HodographError):
    """A port cannot be opened or has gone, e.g. the receiver was unplugged."""


class MissingExtraError(HodographError):
    """An optional library is needed and absent."""

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'hodograph[{extra}]'")

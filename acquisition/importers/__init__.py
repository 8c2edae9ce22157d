"""Foreign files → streams of a log: NMEA text, tables with a mapping."""

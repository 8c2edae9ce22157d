"""From bytes and foreign files to a log: NMEA, geodesy, the `.drive` log format, importers."""

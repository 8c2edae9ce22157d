"""Working on finished logs: exports to the tools engineers use (later: observers over a log, reports)."""

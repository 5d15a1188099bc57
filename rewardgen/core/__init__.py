"""What everything else stands on: errors, configuration, files, statistics. No torch, no simulator."""

"""Numbers with their uncertainty and their warnings: change validation, windows, throughput, time, idle, quality."""

"""Rules that turn results into ranked findings, each with its evidence and what to try next."""

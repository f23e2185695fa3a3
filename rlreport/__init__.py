"""rlreport: an offline compiler from runs of asynchronous RL training to tuning reports."""

__version__ = "0.1.0"

from __future__ import annotations

import pytest
from support.verl_logs import VerlLog

from rlreport.collectors.console_facts import ErrorWatch, ProgressBar, named_error, read_resume, read_tail
from rlreport.run.raw import SourceFacts


def tail(text: str) -> SourceFacts:
    facts = SourceFacts()
    read_tail(text.encode(), 100, facts)
    return facts


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("QY_VERL_RUN_RC=0", 0),
        ("RC=137", 137),
        ("+ rc=1", 1),
        ("EXIT_CODE: 2", 2),
        ("exit_status=1", 1),
        ("exit code: 1", 1),
        ("exit code 0", 0),
        ("Process finished with exit code -9", -9),
        ("returncode: 0", 0),
        ("return code = 3", 3),
        ("Command exited with non-zero exit status 1", 1),
    ],
)
def test_exit_codes_as_careful_users_write_them(line: str, code: int) -> None:
    assert tail(f"something\n{line}\n").exit_code == code


@pytest.mark.parametrize(
    "line",
    [
        "(raylet) Worker exit type: SYSTEM_ERROR. Exit code: 1. The process receives a SIGTERM.",
        "(TaskRunner pid=1) exit code: 1",
        "\x1b[36m(TaskRunner pid=1)\x1b[0m RC=1",
        "the exit code of the worker is 1",
        "RC=",
        "source=1",
        "status: 200",
        "elapsed=1",
    ],
)
def test_no_exit_codes(line: str) -> None:
    assert tail(f"{line}\n").exit_code is None


def test_the_last_exit_code_counts() -> None:
    assert tail("RC=1\nagain\nRC=0\n").exit_code == 0


def test_an_error_without_a_name_at_the_end() -> None:
    text = "fine\n(TaskRunner pid=1) [ERROR] 2026-07-29-17:30:03 (PID:13158) ERR99999 UNKNOWN\n[ERROR] later\n"
    assert tail(text).first_error == (102, "[ERROR] 2026-07-29-17:30:03 (PID:13158) ERR99999 UNKNOWN")
    assert tail("slurmstepd: error: *** JOB 1 CANCELLED ***\n").first_error == (
        101,
        "slurmstepd: error: *** JOB 1 CANCELLED ***",
    )
    assert tail("[ERROR] first\nKilled\n").first_error == (102, "Killed")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ValueError: no", "ValueError: no"),
        (
            "ray.exceptions.RayTaskError(RuntimeError): \x1b[36mray::X.run()\x1b[39m",
            "ray.exceptions.RayTaskError(RuntimeError): ray::X.run()",
        ),
        ("(V pid=1) (Worker pid=2) ERROR 07-29 13:28:35 [core.py:932] RuntimeError: bad", "RuntimeError: bad"),
        ("Fatal Python error: Segmentation fault", "Fatal Python error: Segmentation fault"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("  'truncation': 'error',", None),
        ("/opt/a.py:2: UserWarning: RuntimeError: x", None),
        ("INFO 07-29 13:28:35 [core.py:932] no error", None),
        ("Errors: 0", None),
    ],
)
def test_lines_that_name_an_error(line: str, text: str | None) -> None:
    assert named_error(line.encode()) == text


def test_the_exception_that_ends_a_traceback_is_found_between_other_output() -> None:
    log = VerlLog()
    log.line("ERROR 07-29 13:28:35 [m.py:9] Traceback (most recent call last):", "Worker", 3)
    log.line('ERROR 07-29 13:28:35 [m.py:9]   File "/a.py", line 1, in f', "Worker", 3)
    log.line("ValueError: of another process", "Other", 4)
    log.line("ERROR 07-29 13:28:35 [m.py:9]     return g()", "Worker", 3)
    log.line("ERROR 07-29 13:28:36 [m.py:9] jinja2.exceptions.Stop: reason", "Worker", 3)
    data = log.data
    watch = ErrorWatch()
    watch.read_traceback(data, data.index(b"Traceback"), 0, 11)
    assert watch.first == (15, "jinja2.exceptions.Stop: reason")
    assert watch.tracebacks == 1


def test_a_traceback_that_breaks_off() -> None:
    data = VerlLog().line("Traceback (most recent call last):").line("  File 'a'").data
    watch = ErrorWatch()
    watch.read_traceback(data, data.index(b"Traceback"), 0, 1)
    assert watch.first is None
    assert watch.tracebacks == 1


def test_the_progress_bar_goes_on_over_restarts() -> None:
    bar = ProgressBar()
    log = VerlLog()
    for done, seconds in [(0, 0), (1, 100), (1, 130), (2, 210), (3, 330), (2, 0), (3, 90), (4, 4000)]:
        log.bar(done, 4, seconds)
    data = log.data
    position = data.find(b"Training Progress")
    while position >= 0:
        bar.read(data, position)
        position = data.find(b"Training Progress", position + 1)
    assert bar.state == (4, 4)
    assert bar.elapsed_s == {0: 0.0, 1: 100.0, 2: 210.0, 3: 420.0, 4: 4330.0}


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("Setting global step to 40", 40),
        ("Setting global step to 12, current_param_version to 3", 3),
        ("Resuming from checkpoints/a/b/global_step_40", 40),
        ("Resuming from scratch", None),
    ],
)
def test_resumes(text: str, step: int | None) -> None:
    assert read_resume(text.encode(), 0) == step

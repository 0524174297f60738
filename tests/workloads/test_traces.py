from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym.cli import main
from prema_gym.errors import ConfigError
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads import compile_scenario, sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.replay import replay_of, trace_cycles, trace_notes
from prema_gym.workloads.traces.requests import read_requests

AZURE = Path(__file__).parent / "data" / "azure_llm_code_400.csv"
# Six requests, two of them at once; [ms].
TIMES = ("0", "0.5", "0.75", "4", "4", "9.5")

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, name: str = "trace.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return written


def read_trace(path: Path) -> list[int]:
    """Arrivals since the first [ns]."""
    return list(read_requests(TraceLog(file=str(path))).times.tolist())


def csv_of(times: tuple[str, ...], start: str = "0", column: str = "arrival_ms") -> str:
    """A trace of our own format, on a clock that shows ``start`` at 0."""
    return "\n".join([column, *(str(Decimal(start) + Decimal(time)) for time in times), ""])


def replayed(path: Path, **changes: Any) -> Scenario:
    plain: dict[str, Any] = {
        "networks": ("alexnet",),
        "batch_sizes": (1,),
        "num_tasks": len(TIMES),
        "arrival": "trace",
        "trace": str(path),
    }
    return Scenario(**plain | changes)


def arrivals(path: Path, workloads: int = 1, **changes: Any) -> np.ndarray:
    """Arrivals [cycles] of the first workloads: (workloads, num_tasks)."""
    catalog = compile_scenario(replayed(path, **changes))
    return sample_batch(catalog, range(workloads)).arrival_cycles


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.small
@pytest.mark.parametrize(
    ("name", "text", "times"),
    [
        ("a.csv", "arrival_ms\n0\n0.5\n2\n", [0, 500_000, 2_000_000]),
        ("a.CSV", "arrival_s\n1\n1.000000001\n1e1", [0, 1, 9 * 10**9]),
        ("a.csv", '\ufefftask , "arrival_ms"\r\n\r\nfirst, 1\r\n"b,\r\nc",2\r\n', [0, 10**6]),
        # Seven digits are ticks of 100 ns; the second row is 1 tick after the first.
        (
            "azure.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
            "2023-11-16 18:17:03.9799600,4808,10\r\n"
            "2023-11-16 18:17:03.9799601,3180,8\r\n"
            "2023-11-16 18:17:04,1,1\r\n"
            "2023-11-17 00:00:00.5,1,1",
            [0, 100, 20_040_000, 20_576_520_040_000],  # 5 h 42 min 56.52004 s
        ),
        # 12:00 at UTC+2 is 10:00; half a second later, as UTC and without a zone.
        (
            "azure.csv",
            "TIMESTAMP\n2024-05-10T12:00:00+02:00\n2024-05-10 10:00:00.5Z\n2024-05-10 10:00:01\n",
            [0, 500_000_000, 1_000_000_000],
        ),
        # In order of arrival whatever that of the ends: 0.25 − 0.5 = −0.25, 3 − 2.5, 2 − 0.
        (
            "functions.csv",
            "app,func,end_timestamp,duration\na,f,3,2.5\na,f,0.25,0.5\na,f,2,0",
            [0, 750_000_000, 2_250_000_000],
        ),
        (
            "mooncake.jsonl",
            '{"timestamp": 27482, "hash_ids": [1, 2]}\r\n{"timestamp": 27482.5}\n\n',
            [0, 500_000],
        ),
        # The same word, in seconds: a row says so by what else it holds.
        (
            "bailian.jsonl",
            '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.114, "turn": 1, "hash_ids": []}\n'
            '{"chat_id": 2, "parent_chat_id": 1, "timestamp": 61.5, "turn": 2}',
            [0, 386_000_000],
        ),
        ("ours.jsonl", '{"arrival_ms": 1, "model": "a"}\n{"arrival_ms": 2.5}', [0, 1_500_000]),
        ("ours.jsonl", '{"arrival_s": 1}\n{"arrival_s": 2.5}', [0, 1_500_000_000]),
    ],
)
def test_each_format_is_read(write: Write, name: str, text: str, times: list[int]) -> None:
    assert read_trace(write(text, name)) == times


@pytest.mark.small
def test_rows_in_any_order_are_one_trace_if_it_is_said(write: Write) -> None:
    path = write("arrival_ms,batch\n4,1\n0,2\n9.5,3\n0.75,4\n4,5\n0.5,6\n")
    found = read_requests(TraceLog(file=str(path), sort=True))
    assert found.times.tolist() == [0, 500_000, 750_000, 4_000_000, 4_000_000, 9_500_000]
    assert found.asked["batch"].tolist() == [2, 6, 4, 1, 5, 3]
    assert found.lines.tolist() == [3, 7, 5, 2, 6, 4]
    with pytest.raises(ConfigError, match=r"line 3: arrives before the request in front .* sort ="):
        read_trace(path)


@pytest.mark.small
def test_digits_beyond_the_nanosecond_are_rounded_once(write: Write) -> None:
    # Floats of seconds since 1970 would be off by 100 ns; ties go to the even nanosecond.
    late = "1700000000.0000000015,1700000000.0000000025,1700000000.00000000250000000000000000001"
    path = write("\n".join(["arrival_s", "1700000000", *late.split(",")]))
    assert read_trace(path) == [0, 2, 2, 3]


def test_a_piece_of_the_azure_trace() -> None:
    times = read_trace(AZURE)
    assert len(times) == 400
    assert times[:3] == [0, 52_000_000, 98_189_000]
    assert times[-1] == 225_106_049_000  # 18:17:03.97996 to 18:20:49.086009
    assert AZURE.read_bytes().count(b"\r\n") == 400, "CRLF, and none at the end"


@pytest.mark.small
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "has no requests"),
        ("t.csv", "\n\n", "has no requests"),
        ("t.csv", "arrival_ms\n", "has no requests"),
        ("t.jsonl", "\n", "has no requests"),
        ("t.txt", "arrival_ms\n1\n", r"must end in \.csv, \.jsonl or \.parquet"),
        ("t.csv.gz", "arrival_ms\n1\n", r"must end in \.csv, \.jsonl or \.parquet"),
        # Counts per minute of nobody, counts with a clock: none tells when a request came.
        ("t.csv", "HashApp,Trigger,480,481\na,http,3,0\n", "line 1: needs the arrival of a req"),
        ("t.csv", "timestamp,value\n2014-04-10 00:04:00,94.0\n", r"or another one .*\[trace.colu"),
        ("t.csv", "end_timestamp\n1\n", "duration with end_timestamp"),
        ("t.csv", "arrival_ms,arrival_s\n1,1\n", "line 1: .*exactly one"),
        ("t.csv", "arrival_ms,arrival_ms\n1,1\n", "line 1: .*exactly one"),
        ("t.csv", "arrival_ms,TIMESTAMP\n1,1\n", "line 1: .*exactly one"),
        ("t.csv", "arrival_ms,slo_ms,deadline_ms\n1,1,1\n", "line 1: .*both a deadline and an SLO"),
        ("t.csv", "arrival_ms,priority\n1,0\n", "line 2: priority: '0' is not a whole number"),
        ("t.csv", "arrival_ms,priority\n1,1.5\n", "line 2: priority: '1.5' is not a whole number"),
        ("t.csv", "arrival_ms,batch\n1,\n", "line 2: batch: '' is not a number"),
        ("t.csv", "arrival_ms,input_length\n0,1\n1,-3\n", "line 3: input_length: '-3'"),
        ("t.csv", "arrival_ms,deadline_ms\n0,1\n5,4\n", "line 3: its deadline is before"),
        ("t.csv", "arrival_ms,slo_ms\n0,nan\n", "line 2: slo_ms: 'nan' is not a time"),
        ("t.csv", "arrival_ms,x\n1,2\n1\n", "line 3: 1 fields under 2 columns"),
        ("t.csv", "arrival_ms\n1,5\n", "line 2: 2 fields under 1 columns"),
        ("t.csv", "arrival_ms\n1\n\nsoon\n", "line 4: .*'soon' is not a number"),
        ("t.csv", 'arrival_ms,x\n,""\n', "line 2: .*'' is not a number"),
        ("t.csv", "arrival_ms\nNaN\n", "line 2: .*'NaN' is not a time from 0"),
        ("t.csv", "arrival_ms\ninf\n", "line 2: .*'inf' is not a time from 0"),
        ("t.csv", "arrival_ms\n-1\n", "line 2: .*'-1' is not a time from 0"),
        ("t.csv", "arrival_ms\n1e18\n", "line 2: .*'1e18' is not a time from 0"),
        ("t.csv", 'arrival_ms\n1\n"2\n3\n', "line 4: unexpected end of data"),
        ("t.csv", "end_timestamp,duration\n5,-1\n", "line 2: .*'-1' is not a time from 0"),
        ("t.csv", "TIMESTAMP\n1700000000\n", "line 2: .*'1700000000' is not a date and time"),
        ("t.csv", "TIMESTAMP\n2023-11-31 00:00:00\n", "line 2: "),
        ("t.csv", "TIMESTAMP\n2023-11-16 00:00:00 \n2023-11-16 24:00:00\n", "line 3: "),
        ("t.csv", "arrival_ms\n1_000\n", "line 2: .*'1_000' is not a number"),
        ("t.csv", "arrival_ms\n٣\n", "line 2: .*'٣' is not a number"),
        ("t.jsonl", '{"timestamp": 1}', "line 1: nothing tells whether timestamp is in ms"),
        ("t.jsonl", '{"timestamp": 1, "chat_id": 3}', "line 1: nothing tells whether"),
        ("t.jsonl", '{"arrival_ms": 1}\n{"arrival_s": 1}', "line 2: is of another format"),
        ("t.jsonl", '{"arrival_ms": 1, "arrival_s": 1}', "line 1: gives exactly one of"),
        (
            "t.jsonl",
            '{"timestamp": 1, "hash_ids": []}\n'
            '{"timestamp": 1, "chat_id": 1, "parent_chat_id": 0, "turn": 1}',
            "line 2: is of another format than the first line",
        ),
        ("t.jsonl", '{"arrival_ms": 1}\n{"time": 1}\n', r"line 2: has no arrival_ms"),
        ("t.jsonl", "[1]\n", "line 1: needs an object"),
        ("t.jsonl", '{"arrival_s": 1}\n{"timestamp": \n', "line 2: not valid JSON"),
        ("t.jsonl", '{"timestamp": NaN, "hash_ids": []}', "line 1: .*'NaN' is not a time"),
        ("t.jsonl", '{"timestamp": -2, "hash_ids": []}', "line 1: .*'-2' is not a time"),
        (
            "t.jsonl",
            '{"timestamp": true, "hash_ids": []}',
            "line 1: timestamp True is not a number",
        ),
        ("t.jsonl", '{"timestamp": "1", "hash_ids": []}', "line 1: timestamp '1' is not a number"),
        ("t.jsonl", '{"timestamp": 1e99999999999999999999}', "line 1: a number .* beyond"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(
    write: Write, name: str, text: str, message: str
) -> None:
    path = write(text, name)
    with pytest.raises(ConfigError, match=message) as caught:
        read_trace(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.small
def test_columns_that_are_passed_over_are_named(write: Write) -> None:
    def notes(path: Path) -> list[str]:
        return trace_notes(replayed(path, num_tasks=1))

    path = write("arrival_ms,model,priority,due\n0,a,1,5\n")
    assert notes(path) == [f"{path}: columns passed over: model, due"]
    assert notes(write("arrival_ms\n0\n")) == []
    path = write('{"arrival_s": 0, "model": "a"}\n{"arrival_s": 1, "user": 3}', "t.jsonl")
    assert notes(path) == [f"{path}: columns passed over: model, user"]
    assert notes(AZURE) == [f"{AZURE}: lengths passed over: no network here has a sequence"]


def test_commands_name_them_too(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    log = write("arrival_ms,user\n0,9\n1,1\n2,1\n", "log.csv")
    text = f'networks = ["alexnet"]\nnum_tasks = 2\narrival = "trace"\ntrace = "{log.name}"\n'
    scenario = write(text, "replay.toml")
    arguments = ["--scenario", str(scenario), "--workloads", "2", "--policies", "np-fcfs"]
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *arguments])
    assert caught.value.code == 0
    err = capsys.readouterr().err
    assert err.count("log.csv: columns passed over: user") == 1


def test_a_long_value_is_not_repeated_in_full(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        read_trace(write("arrival_ms\n" + "x" * 10_000))
    assert len(str(caught.value)) < 300


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "latin.csv").write_bytes(b"arrival_ms\n\xe9\n")
    for name, message in [
        ("none.csv", r"cannot read .*none\.csv.*No such file"),
        ("folder.csv", r"cannot read .*folder\.csv"),
        ("latin.csv", r"latin\.csv.* is not UTF-8 text"),
    ]:
        with pytest.raises(ConfigError, match=message):
            read_trace(tmp_path / name)


# --- arrivals --------------------------------------------------------------------------------


@pytest.mark.small
def test_real_time_by_hand(write: Write) -> None:
    path = write(csv_of(TIMES))
    played = arrivals(path, trace_speed=1)  # 700 000 cycles a millisecond
    assert played.tolist() == [[0, 350_000, 525_000, 2_800_000, 2_800_000, 6_650_000]]
    assert played.dtype == np.int64
    # The window plays no part.
    assert np.array_equal(arrivals(path, trace_speed=1, window_ms=0), played)


@pytest.mark.small
def test_scaled_to_the_window_by_hand(write: Write) -> None:
    # Mean gap 9.5 ms / 5 = 1.9 ms becomes 12 ms / 6 = 2 ms = 1 400 000 cycles: 0.5 ms is
    # 368 421.05 cycles, 0.75 ms 552 631.58, 4 ms 2 947 368.42, and 9.5 ms are 5 gaps.
    played = arrivals(write(csv_of(TIMES)), window_ms=12.0)
    assert played.tolist() == [[0, 368_421, 552_632, 2_947_368, 2_947_368, 7_000_000]]
    # With two tasks a workload a gap is 6 ms on average: from each start, times 3.
    pairs = arrivals(write(csv_of(TIMES)), 200, window_ms=12.0, num_tasks=2)[:, 1]
    # 1 105 263.16, 1 657 894.74, 8 842 105.26 (twice) and 21 000 000 from the first request.
    assert set(pairs.tolist()) == {1_105_263, 552_632, 7_184_210, 0, 12_157_895}


@pytest.mark.small
def test_a_time_is_rounded_to_its_nearest_cycle_and_errors_do_not_add_up(write: Write) -> None:
    # At 1 GHz and three million times the speed 1 ms is a third of a cycle; halves go up.
    path = write(csv_of(tuple(str(i) for i in range(3000))))
    fast = NPUConfig(clock_hz=1_000_000_000)
    third = arrivals(path, num_tasks=3000, hardware=fast, trace_speed=3e6)
    assert third.tolist() == [[(2 * i + 3) // 6 for i in range(3000)]]
    half = arrivals(path, num_tasks=3000, hardware=fast, trace_speed=2e6)
    assert half.tolist() == [[(i + 1) // 2 for i in range(3000)]]


@pytest.mark.small
def test_a_speed_means_its_decimals(write: Write) -> None:
    path = write("arrival_s\n0\n10000000\n")
    played = arrivals(path, num_tasks=2, trace_speed=0.1)  # as a binary fraction: 4 cycles less
    assert played.tolist() == [[0, 7 * 10**16]]


@pytest.mark.parametrize("speed", [None, 1.0, 0.3])
@pytest.mark.parametrize("start", ["1.7e15", "0.25", "1699999999999.9799600"])
def test_the_clock_a_trace_starts_at_changes_nothing(
    write: Write, speed: float | None, start: str
) -> None:
    since_start = arrivals(write(csv_of(TIMES)), 50, num_tasks=3, trace_speed=speed)
    wall_clock = write(csv_of(TIMES, start), "wall.csv")
    assert np.array_equal(arrivals(wall_clock, 50, num_tasks=3, trace_speed=speed), since_start)


def test_formats_of_one_trace_give_the_same_workloads(write: Write) -> None:
    ours = arrivals(write(csv_of(TIMES)), 20, num_tasks=3)
    seconds = ("0", "0.0005", "0.00075", "0.004", "0.004", "0.0095")
    lines = "".join(f'{{"timestamp": {time}, "hash_ids": []}}\n' for time in TIMES)
    ends = "".join(f"{Decimal(s) + 7},7\n" for s in seconds)
    stamps = "".join(f"2023-11-16 18:17:{Decimal(s) + 30:.7f},1\r\n" for s in seconds)
    for text, name in [
        (csv_of(seconds, column="arrival_s"), "seconds.csv"),
        (lines, "lines.jsonl"),
        (f"end_timestamp,duration\n{ends}", "functions.csv"),
        (f"TIMESTAMP,ContextTokens\r\n{stamps}", "llm.csv"),
    ]:
        assert np.array_equal(arrivals(write(text, name), 20, num_tasks=3), ours), name


def test_twice_the_speed_halves_the_gaps() -> None:
    one, two = (arrivals(AZURE, 300, num_tasks=8, trace_speed=speed) for speed in (1, 2))
    gaps_one, gaps_two = np.diff(one), np.diff(two)
    assert gaps_one.max() > 100 * 700_000_000, "the long gap of 218 s"
    # A gap is the difference of two rounded times: off by less than one cycle, halved by less
    # than half of one.
    assert np.abs(gaps_one / 2 - gaps_two).max() <= 1.5


@pytest.mark.parametrize("num_tasks", [2, 8, 50])
def test_the_mean_rate_is_num_tasks_per_window(num_tasks: int) -> None:
    """Of the trace as a whole, exactly; of the workloads, as far as its gaps are sampled evenly."""
    window = 7_000_000
    scenario = replayed(AZURE, num_tasks=num_tasks, window_ms=10.0)
    cycles = trace_cycles(scenario, replay_of(scenario).times, window)
    assert cycles[-1] / 399 == pytest.approx(window / num_tasks, abs=1 / 399)
    drawn = arrivals(AZURE, 20_000, num_tasks=num_tasks, window_ms=10.0)[:, -1]
    starts = cycles[num_tasks - 1 :] - cycles[: len(cycles) - num_tasks + 1]
    error = starts.std() / np.sqrt(20_000)
    assert drawn.mean() == pytest.approx(starts.mean(), abs=4 * error)
    # One gap is 218 of the 226 seconds: few gaps near the ends are missed by some starts.
    assert starts.mean() == pytest.approx(window * (num_tasks - 1) / num_tasks, rel=0.15)


def test_every_start_is_equally_likely(write: Write) -> None:
    # Gaps 1, 2, …, 12 ms: a workload's first gap tells where it starts. 13 requests, 4 tasks.
    squares = tuple(str(i * (i + 1) // 2) for i in range(13))
    drawn = arrivals(write(csv_of(squares)), 30_000, num_tasks=4, trace_speed=1)
    start = drawn[:, 1] // 700_000 - 1
    counts = np.bincount(start)
    assert len(counts) == 10
    assert ((counts - 3000) ** 2 / 3000).sum() < 27.88  # 0.1 % point, 9 degrees of freedom
    # And it is the first task's arrival number that decides.
    uniforms = [np.random.default_rng(seed).random() for seed in range(200)]
    assert start[:200].tolist() == [int(u * 10) for u in uniforms]


def test_as_many_tasks_as_requests_have_one_start(write: Write) -> None:
    drawn = arrivals(write(csv_of(TIMES)), 20)
    assert (drawn == drawn[0]).all()


def test_only_arrivals_and_deadlines_come_from_the_trace(write: Write) -> None:
    path = write(csv_of(TIMES))
    scenario = replace(replayed(path), networks=("alexnet", "rnn-sa"))
    trace = sample_batch(compile_scenario(scenario), range(30))
    # Periodic arrivals keep the order of drawing too.
    plain = replace(scenario, arrival="periodic", trace=None)
    periodic = sample_batch(compile_scenario(plain), range(30))
    for name in ("profile", "priority", "output_length", "estimated_cycles"):
        assert np.array_equal(getattr(trace, name), getattr(periodic, name)), name
    for batch in (trace, periodic):
        batch.deadline_cycles[...] -= batch.arrival_cycles
    assert np.array_equal(trace.deadline_cycles, periodic.deadline_cycles)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.small
def test_a_trace_shorter_than_a_workload_is_refused(write: Write) -> None:
    path = write(csv_of(TIMES))
    with pytest.raises(ConfigError, match=r"trace\.csv' has 6 requests, but num_tasks .* is 7"):
        arrivals(path, num_tasks=7)


@pytest.mark.small
def test_requests_all_at_once_have_no_rate_to_scale(write: Write) -> None:
    path = write("arrival_ms\n5\n5\n5\n")
    with pytest.raises(ConfigError, match=r"no mean rate .*: give trace_speed in scenario"):
        arrivals(path, num_tasks=2)
    assert not arrivals(path, 5, num_tasks=2, trace_speed=1).any()


@pytest.mark.small
def test_a_window_of_zero_lets_all_arrive_at_zero(write: Write) -> None:
    assert not arrivals(write(csv_of(TIMES)), 5, window_ms=0.0).any()


@pytest.mark.small
def test_times_beyond_64_bits_are_refused(write: Write) -> None:
    # 2⁶² cycles of 1 ns are 4 611 686 018.427387904 s.
    most = "4611686018.427387904"
    hertz = NPUConfig(clock_hz=1_000_000_000)
    at_most = write(f"arrival_s\n0\n{most}\n", "at_most.csv")
    assert arrivals(at_most, num_tasks=2, hardware=hertz, trace_speed=1).tolist() == [[0, 2**62]]
    beyond = write("arrival_s\n0\n4611686018.427387905\n", "beyond.csv")
    for path, speed in [(beyond, 1), (at_most, 0.5), (at_most, 1e-300)]:
        with pytest.raises(ConfigError, match=r"more than \d+ cycles as it is played") as caught:
            arrivals(path, num_tasks=2, hardware=hertz, trace_speed=speed)
        assert "\n" not in str(caught.value)


# --- compiling -------------------------------------------------------------------------------


def test_scenarios_without_a_trace_hold_an_empty_one() -> None:
    assert compile_scenario(Scenario(networks=("alexnet",))).arrays.trace_cycles.tolist() == [0]


def test_a_changed_file_is_read_again_and_a_catalog_keeps_what_it_read(write: Write) -> None:
    scenario = replayed(write(csv_of(TIMES)), trace_speed=1)
    first = compile_scenario(scenario)
    assert compile_scenario(scenario) is first
    path = write(csv_of(("0", "1", "2", "3", "4", "5")))
    os.utime(path, ns=(1, 1))  # another time than the first, however quick this test is
    second = compile_scenario(scenario)
    assert second.arrays.trace_cycles[-1] == 5 * 700_000
    assert first.arrays.trace_cycles[-1] == 6_650_000
    path.unlink()
    with pytest.raises(ConfigError, match="cannot read"):
        compile_scenario(scenario)


def test_plain_python_draws_the_same(write: Write) -> None:
    path = write(csv_of(TIMES))
    code = (
        "import sys; from prema_gym.workloads import *; s = Scenario(networks=('alexnet',),"
        "batch_sizes=(1,), num_tasks=4, arrival='trace', trace=sys.argv[1]);"
        "b = sample_batch(compile_scenario(s), range(40)); print([a.tolist() for a in b.arrays])"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "NUMBA_DISABLE_JIT": plain},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for plain in ("0", "1")
    ]
    assert found[0] == found[1]
    assert found[0].count("[") > 40


def test_the_unit_is_told_by_all_names_together(tmp_path: Path) -> None:
    """Names of both formats say two things: refused, as a line that says nothing is."""
    path = tmp_path / "t.jsonl"
    path.write_text('{"timestamp": 1, "chat_id": 3, "turn": 1, "hash_ids": [1]}\n')
    with pytest.raises(ConfigError, match="line 1: nothing tells whether timestamp is in ms"):
        read_trace(path)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"arrival_ms": 1, "arrival_ms": 2}\n')
    with pytest.raises(ConfigError, match="line 1: gives 'arrival_ms' twice"):
        read_trace(path)
    path.write_text(f'{{"arrival_ms": {"9" * 5000}}}\n')
    with pytest.raises(ConfigError, match="line 1: a number or a nesting beyond all measure"):
        read_trace(path)


def test_what_is_passed_over_is_named_in_one_short_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    more = [f"c{number}" for number in range(100)]
    path.write_text(f'arrival_ms,"a\nb",{"x" * 500},{",".join(more)}\n1{",2" * 102}\n')
    (note,) = trace_notes(replayed(path, num_tasks=1))
    assert "\n" not in note
    assert "passed over: 'a\\nb', …, c0" in note
    assert note.endswith(" and 62 more")

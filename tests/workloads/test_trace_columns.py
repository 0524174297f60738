"""What a trace says of its requests is what is played: in workloads and in long runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym.cli import main
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.views.listings import stream_rows
from prema_gym.workloads import compile_scenario, sample_batch
from prema_gym.workloads.changes import replaying
from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.rates import mean_isolated_cycles
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.source import Source, traffic_of
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.traces.formats import FORMATS
from prema_gym.workloads.traces.log import TraceColumns, TraceLog
from prema_gym.workloads.traces.replay import replay_of, scaled, trace_notes
from prema_gym.workloads.traces.requests import read_requests

HEAD = "arrival_ms,network,batch,priority,slo_ms,input_length,output_length\n"
ROWS = (
    "0,alexnet,1,7,20,1,1\n"
    "0.5,rnn-mt1,4,2,50.25,23,31\n"
    "2,rnn-mt1,1,123456,50,1000,1\n"
    "2,alexnet,4,1,0,5,5\n"
)
MS = 700_000  # cycles of the default machine

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, name: str = "log.csv") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def replayed(trace: Any, **changes: Any) -> Scenario:
    plain: dict[str, Any] = {
        "networks": ("alexnet", "rnn-mt1"),
        "batch_sizes": (1, 4),
        "arrival": "trace",
        "trace": trace if isinstance(trace, TraceLog) else str(trace),
        "trace_speed": 1.0,
        "num_tasks": 4,
    }
    return Scenario(**plain | changes)


def played(scenario: Scenario, count: int = 4) -> dict[str, list[int]]:
    """The tasks of a workload, or of a long run; the same by whichever way."""
    catalog = compile_scenario(scenario)
    if scenario.is_stream:
        arrays, _ = Source(traffic_of(catalog), 5).next(count)
    else:
        arrays = sample_batch(catalog, [3]).arrays
    found = {
        name: column[0].tolist() for name, column in arrays._asdict().items() if column.ndim > 1
    }
    found["input_length"] = catalog.arrays.input_length[arrays.profile[0]].tolist()
    return found


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl"])
def test_every_column_is_played(write: Write, tmp_path: Path, name: str, long: bool) -> None:
    path = write(HEAD + ROWS)
    if name != "log.csv":
        frame = pytest.importorskip("pandas").read_csv(path)
        path = tmp_path / name
        if name == "log.parquet":
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=True)
    scenario = replayed(path, **({"requests": 4, "warmup": 0} if long else {}))
    found = played(scenario)
    assert found["arrival_cycles"] == [0, MS // 2, 2 * MS, 2 * MS]
    assert found["network"] == [0, 1, 1, 0]
    assert found["batch_size"] == [1, 4, 1, 4]
    assert found["priority"] == [7, 2, 123_456, 1]
    assert found["deadline_cycles"] == [20 * MS, MS * 203 // 4, 52 * MS, 2 * MS]
    longest = compile_scenario(scenario).arrays.input_length.max()
    # The nearest that there is; 22 and 24 are as near to 23, and the longer counts.
    assert found["input_length"] == [1, 24, longest, 1]
    assert found["output_length"] == [1, 31, 1, 1]  # no output steps in AlexNet
    catalog = compile_scenario(scenario)
    for i in range(4):
        profile, steps = found["profile"][i], found["output_length"][i]
        assert found["isolated_cycles"][i] == catalog.isolated_cycles(profile, steps)
        assert found["estimated_cycles"][i] == catalog.arrays.estimated_cycles[profile]


def test_what_a_file_does_not_say_is_drawn_as_without_it(write: Write) -> None:
    bare = replayed(write("arrival_ms\n0\n1\n2\n3\n"))
    some = replayed(write("arrival_ms,priority\n0,5\n1,6\n2,7\n3,8\n", "some.csv"))
    for long in ({}, {"requests": 4, "warmup": 0}):
        one, two = (played(replayed(s.trace, **long)) for s in (bare, some))
        assert two.pop("priority") == [5, 6, 7, 8]
        assert set(one.pop("priority")) <= {1, 3, 9}
        assert one == two


def test_a_stretch_of_a_workload_has_its_own_columns(write: Write) -> None:
    rows = "".join(f"{i},{i + 1}\n" for i in range(50))
    scenario = replayed(write(f"arrival_ms,priority\n{rows}"), num_tasks=3)
    batch = sample_batch(compile_scenario(scenario), range(60))
    starts = set()
    for row in batch.priority:
        assert row.tolist() == [row[0], row[0] + 1, row[0] + 2]
        starts.add(int(row[0]))
    assert len(starts) > 20


def test_deadlines_are_on_the_clock_of_the_arrivals_and_keep_their_length(write: Write) -> None:
    path = write("arrival_s,deadline_s\n1700000000.5,1700000000.75\n1700000001,1700000003\n")
    for speed in (1.0, 10.0):
        found = played(replayed(path, trace_speed=speed, num_tasks=2))
        allowed = np.subtract(found["deadline_cycles"], found["arrival_cycles"])
        assert allowed.tolist() == [250 * MS, 2000 * MS]


def test_a_mapping_says_which_column_means_what(write: Write) -> None:
    path = write("who,when,model,due,deadline_ms\na,0.5,vision,3,9\nb,2,mt,4.5,9\n")
    columns = TraceColumns(arrival="when [s]", network="model", deadline="due [s]")
    log = TraceLog(file=str(path), columns=columns, networks={"vision": "alexnet", "mt": "rnn-mt1"})  # type: ignore[arg-type]
    scenario = replayed(log, num_tasks=2)
    found = played(scenario)
    assert found["arrival_cycles"] == [0, 1500 * MS]
    assert found["network"] == [0, 1]
    assert found["deadline_cycles"] == [2500 * MS, 4000 * MS]
    assert trace_notes(scenario) == [f"{path}: columns passed over: who, deadline_ms"]


@pytest.mark.parametrize(
    ("header", "times", "cycles"),
    [
        ("start [s]", ("0.5", "2"), 1500 * MS),
        ("start", ("0.5", "2"), 1500 * MS),
        ("start,start [s]", ("7,0.5", "8,2"), 1500 * MS),  # the name that is written comes first
    ],
)
def test_a_unit_may_stand_in_the_column_s_name(
    write: Write, header: str, times: tuple[str, str], cycles: int
) -> None:
    path = write("\n".join((header, *times)) + "\n")
    log = TraceLog(file=str(path), columns=TraceColumns(arrival="start [s]"))
    assert played(replayed(log, num_tasks=2))["arrival_cycles"] == [0, cycles]


def test_a_column_that_is_not_there_is_named_both_ways(write: Write) -> None:
    log = TraceLog(file=str(write("when\n1\n")), columns=TraceColumns(arrival="start [s]"))
    with pytest.raises(ConfigError, match=r"no column 'start' and no 'start \[s\]' for arrival"):
        compile_scenario(replayed(log, num_tasks=1))


def test_a_speed_beside_a_stream_without_a_rate_of_its_own_is_refused(write: Write) -> None:
    path = write("arrival_ms\n0\n1\n2\n4\n")
    traced = Stream(name="a", arrival="trace", trace=str(path), share=1.0)
    streams = (traced, Stream(name="camera", share=3.0))
    scenario = Scenario(networks=("alexnet",), batch_sizes=(1,), load=0.6, streams=streams)
    message = (
        r"--speed replays the trace in real time, in place of load = 0\.6, and stream 'camera' has "
        r"a share .* no rate of its own: .*--set streams\.camera\.rate_per_s="
    )
    with pytest.raises(ConfigError, match=message):
        replaying(scenario, None, None, 2.0)
    replaying(scenario, 1, 2, None)  # a stretch leaves the load as it is


def test_a_listing_shows_the_deadlines_that_are_played(write: Write) -> None:
    path = write("arrival_ms,slo_ms\n0,10\n1,20\n2,60\n")
    traced = Stream(name="a", arrival="trace", trace=str(path), share=1.0, slo_ms=5.0)
    drawn = Stream(name="b", share=1.0, slo_ms=7.0)
    scenario = Scenario(networks=("alexnet",), batch_sizes=(1,), load=0.5, streams=(traced, drawn))
    assert [row["deadline_ms"] for row in stream_rows(scenario)] == pytest.approx([30.0, 7.0])


def test_a_scenario_file_says_it(write: Write, tmp_path: Path) -> None:
    write("when,model\n0,vision\n1,mt\n")
    text = """
    networks = ["alexnet", "rnn-mt1"]
    num_tasks = 2
    arrival = "trace"
    trace_speed = 1.0
    [trace]
    file = "log.csv"
    [trace.columns]
    arrival = "when [s]"
    [trace.networks]
    vision = "alexnet"
    mt = "rnn-mt1"
    """
    text = text.replace('arrival = "when [s]"', 'arrival = "when [s]"\nnetwork = "model"')
    scenario = Scenario.from_toml(write(text, "s.toml"))
    assert played(scenario)["network"] == [0, 1]
    scenario.to_toml(tmp_path / "again.toml")
    assert Scenario.from_toml(tmp_path / "again.toml") == scenario
    assert hash(scenario) == hash(Scenario.from_dict(scenario.to_dict()))


@pytest.mark.small
@pytest.mark.parametrize(
    ("log", "kind", "message"),
    [
        ({"columns": {"arival": "t"}}, UnknownNameError, "'arival'.*did you mean 'arrival'"),
        ({"columns": {"arrival": "t"}}, ConfigError, r"needs a unit: write 't \[ms\]'"),
        ({"columns": {"arrival": "t [h]"}}, ConfigError, "ns, us, ms, s, date"),
        ({"columns": {"slo": "a [ms]", "deadline": "b [ms]"}}, ConfigError, "give only one"),
        ({"columns": {"end": "a [ms]"}}, ConfigError, "end and duration need each other"),
        ({"networks": {"a": "vgg-16"}}, UnknownNameError, r"'vgg-16' in \[trace.networks\] 'a'"),
        ({"networks": {"a": "alexnte"}}, UnknownNameError, "did you mean 'alexnet'"),
        ({"unknown": "drop"}, UnknownNameError, "known: refuse, skip"),
        ({"from": 3}, UnknownNameError, "unknown field 'from'"),
    ],
)
def test_a_wrong_table_is_refused(log: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Scenario.from_dict(
            {"networks": ["alexnet"], "arrival": "trace", "trace": {"file": "a.csv"} | log}
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "arrival_ms,network\n0,alexnet\n1,gpt\n",
            r"line 3: network 'gpt' is not .*: alexnet, rnn",
        ),
        ("arrival_ms,batch\n0,1\n\n1,3\n", r"line 4: batch size 3 is not among .*: 1, 4"),
    ],
)
def test_what_the_scenario_does_not_have_is_refused_or_skipped(
    write: Write, text: str, message: str
) -> None:
    path = write(text)
    with pytest.raises(ConfigError, match=message) as caught:
        compile_scenario(replayed(path, num_tasks=1))
    assert "\n" not in str(caught.value)
    scenario = replayed(TraceLog(file=str(path), unknown="skip"), num_tasks=1)
    assert played(scenario, 1)["arrival_cycles"] == [0]
    (note,) = trace_notes(scenario)
    assert "1 of 2 requests (50.00%) skipped" in note


def test_the_skipped_ones_leave_no_gap_in_the_columns(write: Write) -> None:
    path = write("arrival_ms,network,priority\n0,x,1\n1,alexnet,2\n2,x,3\n3,alexnet,4\n")
    scenario = replayed(TraceLog(file=str(path), unknown="skip"), num_tasks=2)
    found = played(scenario)
    assert found["priority"] == [2, 4]
    assert found["arrival_cycles"] == [0, 2 * MS]


def test_lengths_beyond_the_longest_are_told(write: Write) -> None:
    path = write("arrival_ms,network,input_length\n0,rnn-mt1,900\n1,rnn-mt1,20\n2,alexnet,900\n")
    (note,) = trace_notes(replayed(path, num_tasks=1))
    assert "1 of 3 requests (33.33%) played with the longest of input_lengths, 45" in note


@pytest.mark.parametrize("long", [False, True])
def test_a_stretch_and_a_speed_of_the_trace(write: Write, long: bool) -> None:
    rows = "".join(f"{i * i},{i + 1}\n" for i in range(10))
    path = write(f"arrival_ms,priority\n{rows}")
    scenario = replayed(path, num_tasks=3, **({"requests": 3, "warmup": 0} if long else {}))
    found = played(replaying(scenario, 4, 3, 0.5), 3)
    assert found["priority"] == [5, 6, 7]
    assert found["arrival_cycles"] == [0, 18 * MS, 40 * MS]  # 16, 25, 36 ms at half the speed
    with pytest.raises(ConfigError, match="10 requests to replay: none is left from 10"):
        compile_scenario(replaying(scenario, 10, None, None))
    with pytest.raises(ConfigError, match=r"--from, --limit is for recorded traces"):
        replaying(Scenario(), 1, 2, None)


def test_a_stretch_of_every_stream_that_has_a_trace(write: Write) -> None:
    path = write("arrival_ms\n0\n1\n2\n4\n")
    traced = Stream(name="a", arrival="trace", trace=str(path), share=1.0)
    scenario = Scenario(
        networks=("alexnet",),
        batch_sizes=(1,),
        load=0.5,
        streams=(traced, Stream(name="b", rate_per_s=2.0)),
    )
    found = replaying(scenario, 1, 2, 1.0)
    assert (found.streams[0].trace_from, found.streams[0].trace_limit) == (1, 2)
    assert (found.load, found.streams[0].share, found.streams[0].trace_speed) == (None, None, 1.0)
    assert found.streams[1] == scenario.streams[1]


@pytest.mark.parametrize("speed", ["1", "0.3", "7.77"])
def test_a_replay_is_exact_to_the_nanosecond(speed: str) -> None:
    times = np.sort(np.random.default_rng(1).integers(0, 10**14, 2000))
    scale = Fraction(700_000_000) / (10**9 * Fraction(speed))
    expected = [round(time * scale + Fraction(1, 10**30)) for time in times.tolist()]
    assert scaled(times, scale, "t").tolist() == expected


def test_load_is_that_of_what_the_trace_asks_for(write: Write) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{i},{('alexnet', 'rnn-mt1')[rng.integers(2)]},{(1, 4)[rng.integers(2)]},"
        f"{rng.integers(5, 60)}"
        for i in range(3000)
    ]
    path = write("arrival_ms,network,batch,input_length\n" + "\n".join(rows) + "\n")
    scenario = replayed(path, trace_speed=None, load=0.6, requests=2900, warmup=0)
    arrays, _ = Source(traffic_of(compile_scenario(scenario)), 1).next(3000)
    mean = mean_isolated_cycles(compile_scenario(scenario).arrays)
    # Only output lengths are drawn: their mean is all that differs.
    assert arrays.isolated_cycles.mean() == pytest.approx(mean, rel=0.02)
    asked = arrays.isolated_cycles.sum() / arrays.arrival_cycles[0, -1]
    assert asked == pytest.approx(0.6, rel=0.02)


def test_too_many_priorities_are_refused_for_long_runs(write: Write) -> None:
    rows = "".join(f"{i},{i + 1}\n" for i in range(200))
    scenario = replayed(write(f"arrival_ms,priority\n{rows}"), requests=100)
    with pytest.raises(ConfigError, match="at most 100 of them, and there are 200"):
        traffic_of(compile_scenario(scenario))


# --- files that count requests -----------------------------------------------------------------


def digest(values: IntArray) -> str:
    return hashlib.sha256(values.tobytes()).hexdigest()


def test_calls_of_a_minute_are_spread_over_it_by_the_seed(write: Write) -> None:
    path = write("HashOwner,HashFunction,1,2,10\no,f,3,0,2\no,g,0,1,0\n")
    found = read_requests(TraceLog(file=str(path), networks={"f": "alexnet", "g": "vgg-16"}))  # type: ignore[arg-type]
    assert found.format == "azure-functions-2019"
    again = read_requests(TraceLog(file=str(path), seed=1))
    assert not np.array_equal(found.times, again.times)
    assert [found.names[i] for i in found.asked["network"]] == ["f", "f", "f", "g", "f", "f"]
    assert found.lines.tolist() == [2, 2, 2, 3, 2, 2]
    two = read_requests(TraceLog(file=str(write("HashFunction,1,10\nf,1,1\n")))).times
    assert 8 * 60 * 10**9 < two[1] < 10 * 60 * 10**9
    assert "network" not in again.asked, "names of a public format need [trace.networks]"


def test_a_number_that_is_no_minute_is_passed_over_by_name(write: Write) -> None:
    found = read_requests(TraceLog(file=str(write(f"HashFunction,1,{9**30}\nf,1,2\n"))))
    assert len(found.times) == 1
    assert str(9**30) in found.passed_over


def test_many_calls_are_spread_evenly(write: Write) -> None:
    path = write("HashFunction,1\nf,60000\n")
    seconds = read_requests(TraceLog(file=str(path))).times // 10**9
    counts = np.bincount(seconds, minlength=60)[:60]
    assert ((counts - 1000) ** 2 / 1000).sum() < 98.3  # 0.1 % point, 59 degrees of freedom


def test_windows_have_the_requests_that_their_rate_says(write: Write) -> None:
    text = "0,8.5,1.3,Gamma,0.5,0.2\r\n600,0,0,,0,0\r\n1200,2,1.0,Weibull,0.7,0.3\r\n"
    found = read_requests(TraceLog(file=str(write(text))))
    assert found.format == "servegen"
    assert np.bincount(found.lines).tolist() == [0, 5100, 0, 1200]
    gaps = np.diff(found.times[:5100].astype(np.float64))
    assert gaps.std() / gaps.mean() == pytest.approx(0.5**-0.5, rel=0.1)
    assert found.times[5099] < 600 * 10**9
    assert found.times[-1] < 1800 * 10**9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HashFunction,1\nf,3\ng,-1\n", "line 3: '-1' is not a whole number"),
        ("HashFunction,1\nf,0\n", "has no requests"),
        ("HashFunction,1\n", "has no requests"),
        ("HashFunction,1,1\nf,1,2\n", "two columns of the same minute"),
        ("0.0,1e300,1,Gamma,1,1\n", "line 1: '1e300' is not a rate"),
        ("HashFunction,1\nf,49999999\ng,2\n", "line 2: counts 50000001 requests"),
        ("0,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", "line 2: begins no later"),
        ("0,1,1,Gamma,1,1\n600,x,1,Gamma,1,1\n", "line 2: 'x' is not a rate"),
        ("0,1,1,Gamma,1,1\n600,1,1,Pareto,1,1\n", "line 2: pattern 'Pareto' is neither"),
        ("0,1,1,,1,1\n", "line 1: has a rate, but pattern ''"),
        ("0,1,1,Gamma,1,1\n600,1\n", "line 2: 2 fields under 6"),
    ],
)
def test_wrong_counts_are_refused_with_their_line(write: Write, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_requests(TraceLog(file=str(write(text))))


@pytest.mark.parametrize(
    ("name", "text", "known", "asked"),
    [
        (
            "a.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n"
            "2024-05-10 00:00:00.017335+00:00,2399,6\n",
            "azure-llm",
            {"input_length": [2162, 2399], "output_length": [5, 6]},
        ),
        (
            "b.csv",
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,0,1087,API log\n",
            "burstgpt",
            {"input_length": [472, 1087], "output_length": [18, 0]},
        ),
        (
            "q.jsonl",
            '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.1, "turn": 1, "type": "text", '
            '"input_length": 10, "output_length": 20, "hash_ids": [3]}\n',
            "qwen-bailian",
            {"input_length": [10], "output_length": [20]},
        ),
        (
            "m.jsonl",
            '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}\n',
            "mooncake",
            {"input_length": [6758], "output_length": [500]},
        ),
        ("f.csv", "app,func,end_timestamp,duration\na,f,1.5,1\n", "azure-functions-2021", {}),
    ],
)
def test_public_formats_are_known(
    write: Write, name: str, text: str, known: str, asked: dict[str, list[int]]
) -> None:
    found = read_requests(TraceLog(file=str(write(text, name))))
    assert found.format == known
    assert {key: values.tolist() for key, values in found.asked.items()} == asked


def test_every_format_has_a_test() -> None:
    tested = {
        "azure-llm", "azure-functions-2021", "azure-functions-2019", "burstgpt", "servegen",
        "qwen-bailian", "mooncake",
    }  # fmt: skip
    assert {one.name for one in FORMATS} == tested


def test_a_models_name_of_a_public_format_needs_a_network(write: Write) -> None:
    path = write("Timestamp,Model,Request tokens,Response tokens\n5,GPT-4,40,18\n6,ChatGPT,9,9\n")
    log = TraceLog(file=str(path), networks={"GPT-4": "rnn-mt1", "ChatGPT": "alexnet"})  # type: ignore[arg-type]
    assert played(replayed(log, num_tasks=2))["network"] == [1, 0]
    bare = replay_of(replayed(path, num_tasks=2))
    assert (bare.asked[:, 0] == -1).all()
    assert any("passed over: Model" in note for note in bare.notes)


def test_a_damaged_parquet_file_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 is not all that it takes")
    with pytest.raises(ConfigError, match=r"cannot read .*t\.parquet") as caught:
        read_requests(TraceLog(file=str(tmp_path / "t.parquet")))
    assert "\n" not in str(caught.value)


def test_the_command_line_replays_a_stretch(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{i},{i + 1}\n" for i in range(9))
    write(f"arrival_ms,priority\n{rows}")
    text = 'networks = ["alexnet"]\nnum_tasks = 2\narrival = "trace"\ntrace = "log.csv"\n'
    scenario = str(write(text, "s.toml"))
    arguments = ["workload", "--scenario", scenario, "--format", "csv"]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--from", "3", "--limit", "2", "--speed", "2"])
    assert not stop.value.code
    rows_shown = capsys.readouterr().out.splitlines()
    priority = rows_shown[0].split(",").index("priority")
    assert [row.split(",")[priority] for row in rows_shown[1:]] == ["4", "5"]
    assert rows_shown[2].startswith("0.5,")

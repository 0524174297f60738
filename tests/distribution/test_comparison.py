"""A comparison in shards is the comparison: whoever plays them, in any order, after any mishap."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym.cli.naming import make_policy, recipe_of
from prema_gym.distribution import folder, identity, shards
from prema_gym.distribution.comparison import Part, PartPlayed, ShardedPlayer
from prema_gym.distribution.executors import Executor, Threads
from prema_gym.distribution.shards import Errand, play_shard
from prema_gym.errors import ConfigError
from prema_gym.evaluation.concurrent import play_all
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.metrics import Outcomes
from prema_gym.simulator import AGE_MS
from prema_gym.workloads import compile_scenario, sample_batch, scenarios

OWN = Path(__file__).parent / "own_policies.py"
NAMES = ("np-fcfs", "dynamic-prema", "learned", f"{OWN}:First")  # compiled, and asked
SEED = 3_000_000  # where a learned one may be compared


class Backwards(Threads):
    """Plays what it is given from the last to the first."""

    def run(self, function: Any, items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        listed = list(items)
        for i, result in super().run(function, listed[::-1]):
            yield len(listed) - 1 - i, result


class Counts(Threads):
    """Notes which shards it played."""

    def __init__(self, workers: int = 1) -> None:
        super().__init__(workers)
        self.played: list[tuple[str, int]] = []

    def run(self, function: Any, items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        def noted() -> Iterator[Any]:
            for item in items:
                self.played.append((item.shard.policy, item.shard.first))
                yield item

        return super().run(function, noted())


CATALOG = compile_scenario(scenarios.get("light"))
BATCHES = [sample_batch(CATALOG, range(SEED + i, SEED + i + 3)) for i in (0, 3, 6)]
SETTINGS = PlaySettings(max_decisions=1000)


def played(player: ShardedPlayer, names: Sequence[str] = NAMES[:2]) -> dict[str, Outcomes]:
    policies = {name: make_policy(name) for name in names}
    return player(policies, CATALOG, BATCHES, SETTINGS, threads=1)


def player(executor: Executor | None = None, **options: Any) -> ShardedPlayer:
    mine = Counts() if executor is None else executor
    return ShardedPlayer(executor=mine, recipe=recipe_of, seed=SEED, **options)


def whole(names: Sequence[str] = NAMES[:2]) -> dict[str, Outcomes]:
    policies = {name: make_policy(name) for name in names}
    return play_all(policies, CATALOG, BATCHES, SETTINGS, threads=2)


def assert_equal(found: dict[str, Outcomes], expected: dict[str, Outcomes]) -> None:
    assert list(found) == list(expected)
    for name, outcomes in expected.items():
        for one in (f.name for f in fields(Outcomes)):
            mine, theirs = getattr(found[name], one), getattr(outcomes, one)
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype, one
            np.testing.assert_array_equal(mine, theirs, err_msg=f"{name}: {one}")


@pytest.mark.parametrize("executor", [Threads(1), Threads(2), Threads(8), Backwards(3)])
def test_any_number_of_workers_in_any_order(executor: Threads) -> None:
    assert_equal(played(player(executor), NAMES), whole(NAMES))


def test_progress_counts_workloads() -> None:
    seen: list[tuple[int, int]] = []
    policies = {name: make_policy(name) for name in NAMES[:2]}
    player()(policies, CATALOG, BATCHES, SETTINGS, threads=1, progress=lambda *at: seen.append(at))
    assert seen == [(done, 18) for done in (3, 6, 9, 12, 15, 18)]


def test_what_is_there_is_not_played_again(tmp_path: Path) -> None:
    first = played(player(folder=tmp_path))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 6
    again = Counts()
    assert_equal(played(player(again, folder=tmp_path)), first)
    assert again.played == []
    files[2].unlink()
    assert_equal(played(player(again, folder=tmp_path)), first)
    assert len(again.played) == 1
    assert sorted(tmp_path.iterdir()) == files
    # Another policy is added to the same folder.
    more = Counts()
    played(player(more, folder=tmp_path), NAMES[:3])
    assert {name for name, _ in more.played} == {"learned"}


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[:-100],
    "empty": lambda content: b"",
    "one bit": lambda content: content[:-200] + bytes([content[-200] ^ 1]) + content[-199:],
    "no head": lambda content: content.partition(b"\n")[2],
    "text": lambda content: b"[]\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_is_found_and_played_anew(tmp_path: Path, damage: str) -> None:
    first = played(player(folder=tmp_path))
    file = sorted(tmp_path.iterdir())[3]
    right = file.read_bytes()
    file.write_bytes(DAMAGES[damage](right))
    executor, said = Counts(), list[str]()
    assert_equal(played(player(executor, folder=tmp_path, say=said.append)), first)
    assert len(executor.played) == 1
    assert said == [f"{file} was damaged, and is played anew"]
    assert file.read_bytes() == right


def test_a_shard_under_another_name_is_no_shard(tmp_path: Path) -> None:
    first = played(player(folder=tmp_path))
    one, two, *_ = sorted(tmp_path.iterdir())
    one.write_bytes(two.read_bytes())
    executor = Counts()
    assert_equal(played(player(executor, folder=tmp_path)), first)
    assert len(executor.played) == 1


def test_what_a_killed_driver_was_writing_is_removed_once_it_is_old(tmp_path: Path) -> None:
    played(player(folder=tmp_path))
    young, old = tmp_path / ".abc.1.shard", tmp_path / ".abd.2.shard"
    for path in (young, old):
        path.write_bytes(b"half of")
    os.utime(old, (0, 0))
    said: list[str] = []
    played(player(folder=tmp_path, say=said.append))
    assert young.exists()
    assert not old.exists()
    assert said == []


def test_another_version_is_played_anew_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        old = {**identity.version(), "prema-gym": "0.0.9"}
        for module in (identity, shards, folder):
            patch.setattr(module, "version", lambda: old)
        played(player(folder=tmp_path))
    executor, said = Counts(), list[str]()
    assert_equal(played(player(executor, folder=tmp_path, say=said.append)), whole())
    assert len(executor.played) == 6
    assert said == [
        f"{tmp_path} holds 6 shards of another version of prema-gym or its packages: not used, "
        "what is needed of them is played anew"
    ]


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    errand = errand_of(f"{OWN}:First")
    monkeypatch.setattr(shards, "version", lambda: {"prema-gym": "0.0.9"})
    with pytest.raises(ConfigError, match=r"a worker would compute something else .*0\.0\.9"):
        play_shard(errand)


def errand_of(name: str) -> Errand:
    recipe = recipe_of(name)
    shard = shards.Shard(
        recipe=recipe,
        policy=name,
        policy_digest=recipe.digest(),
        catalog=CATALOG,
        batch=BATCHES[0],
        play=SETTINGS,
        first=0,
        seed=SEED,
    )
    return Errand(shard, shard.key())


def test_a_changed_file_is_another_policy(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(OWN.read_text())
    name = f"{own}:First"
    before = errand_of(name).key
    assert errand_of(name).key == before
    own.write_text(OWN.read_text().replace("argmax", "argmin"))
    assert errand_of(name).key != before


def test_what_is_played_is_in_the_key() -> None:
    keys = {errand_of(name).key for name in ("np-fcfs", "static-sjf")}
    shard = errand_of("np-fcfs").shard
    for changed in (
        {"batch": BATCHES[1]},
        {"play": PlaySettings(max_decisions=999)},
        {"catalog": compile_scenario(scenarios.get("heavy"))},
    ):
        keys.add(shards.Shard(**{**vars(shard), **changed}).key())
    assert len(keys) == 5


def test_a_full_disk_is_one_line_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    first = played(player(folder=folder))
    files = sorted(folder.iterdir())
    for file in files[:2]:
        file.unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ConfigError, match=r"cannot write a shard to .*what is there stays"):
            played(player(folder=folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(folder.iterdir()) == files[2:]  # no half of one, no temporary file
    executor = Counts()
    assert_equal(played(player(executor, folder=folder)), first)
    assert len(executor.played) == 2


@pytest.fixture(scope="module")
def failing() -> tuple[str, int]:
    """A policy that fails on one workload alone, the one with the oldest task; and its number."""
    oldest: list[float] = []

    class Notes:
        def predict(self, observation: Any, action_masks: Any = None, **_: Any) -> Any:
            oldest[-1] = max(oldest[-1], float(observation[:, :, AGE_MS].max()))
            return np.asarray(action_masks).argmax(axis=-1), None

    for batch in BATCHES:
        for row in range(len(batch)):
            oldest.append(0.0)
            play(Notes(), CATALOG, batch.rows([row]), SETTINGS)
    ages = np.array(oldest)
    assert np.sum(ages == ages.max()) == 1
    return f"{OWN}:Fails:age_ms={float(ages.max())!r}", int(ages.argmax())


def test_a_policy_that_fails_names_the_seed_and_the_rest_stays(
    tmp_path: Path, failing: tuple[str, int]
) -> None:
    name, number = failing
    with pytest.raises(ConfigError) as caught:
        played(player(folder=tmp_path), ["np-fcfs", name])
    assert str(caught.value) == (
        f"policy {name!r} fails on the workload of seed {SEED + number}: ZeroDivisionError: my own "
        f"mistake (line {_line_of('my own mistake')})"
    )
    assert len(list(tmp_path.iterdir())) == 2 * (number // 3) + 1  # those before it, of both


def _line_of(text: str) -> int:
    lines = Path(OWN).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_given_workloads_are_named_by_number(failing: tuple[str, int]) -> None:
    name, number = failing
    given = ShardedPlayer(executor=Threads(1), recipe=recipe_of, seed=None)
    with pytest.raises(ConfigError, match=f"fails on workload {number}: ZeroDivisionError"):
        played(given, [name])


def test_parts_together_are_the_whole(tmp_path: Path) -> None:
    totals = []
    for k in (2, 1, 3, 4):
        executor = Counts()
        with pytest.raises(PartPlayed, match=r"of 6 in all$") as caught:
            played(player(executor, folder=tmp_path, part=Part(k, 4)))
        totals.append((caught.value.played, len(executor.played)))
    assert totals == [(2, 2), (2, 2), (1, 1), (1, 1)]
    merging = Counts()
    assert_equal(played(player(merging, folder=tmp_path)), whole())
    assert merging.played == []

"""Ray, where it is installed: two machines of a cluster, on this one's loopback."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prema_gym.distribution.executors import LIVES, Ray, executor
from prema_gym.errors import ConfigError, MissingExtraError
from tests.distribution.test_comparison import NAMES, assert_equal, played, player, whole
from tests.distribution.test_executors import die, die_once, refuse, square

LOOPBACK = "127.0.0.2"
"""Also this machine, and no name of it: Ray replaces 127.0.0.1 by an address that others reach."""

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed: pip install 'prema-gym[ray]'",
)


def test_without_ray_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--backend ray needs .*prema-gym\[ray\]"):
        executor("ray", 2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two machines of one processor each; workers find the tests."""
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    machine = {"num_cpus": 1, "node_ip_address": LOOPBACK, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=machine)
    try:
        made.add_node(num_cpus=1, node_ip_address=LOOPBACK)
        yield made
    finally:
        made.shutdown()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, a dozen


@pytest.mark.heavy
@needs_ray
def test_a_cluster_plays_to_the_byte_and_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    with Ray(None, cluster.address) as ray:
        found = list(ray.run(square, range(20)))
        assert sorted(found) == [(i, i * i) for i in range(20)]
        assert ray.workers == 2
        assert_equal(played(player(ray, folder=tmp_path / "shards"), NAMES), whole(NAMES))
        # A worker is killed, and does it again.
        paths = [str(tmp_path / name) for name in "ab"]
        assert sorted(ray.run(die_once, paths)) == list(enumerate(paths))


@pytest.mark.heavy
@needs_ray
def test_a_machine_goes_away(cluster: Any) -> None:
    lost = cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK)
    with Ray(2, cluster.address) as ray:
        found = []
        for i, result in ray.run(square, range(12)):
            found.append((i, result))
            if len(found) == 2:
                cluster.remove_node(lost, allow_graceful=False)
    assert sorted(found) == [(i, i * i) for i in range(12)]


@pytest.mark.heavy
@needs_ray
def test_what_is_raised_is_raised_once(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^not I$"):
        list(Ray(1, cluster.address).run(refuse, [str(tmp_path / "calls")]))
    assert (tmp_path / "calls").read_text() == "x"
    with pytest.raises(ConfigError, match=f"^{LIVES} Ray workers died in a row"):
        list(Ray(1, cluster.address).run(die, [0]))


@pytest.mark.heavy
@needs_ray
def test_no_cluster_at_an_address() -> None:
    with pytest.raises(ConfigError, match=r"no Ray cluster at 'nowhere'"):
        list(executor("ray:nowhere", 1).run(square, [1]))

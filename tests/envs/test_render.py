from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.envs import PremaNPUEnv
from prema_gym.envs.render import Renderer
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.views.episode import view
from prema_gym.views.raster import HEIGHT, WIDTH
from prema_gym.views.text import LEGEND
from prema_gym.workloads import TaskSpec
from tests.envs.helpers import chooser, go_on, play, single, tasks, vector
from tests.envs.windows import windows

# A long task; a short, urgent one that arrives while it runs; and one that misses its deadline.
THREE = tasks(
    TaskSpec(network="googlenet", batch=4),
    TaskSpec(network="alexnet", arrival_ms=0.5, priority=9),
    TaskSpec(network="alexnet", arrival_ms=0.6, deadline_ms=0.7),
)


def test_what_there_is_to_see() -> None:
    env = single(workload=THREE, record_timeline=True)
    _, info = env.reset()
    env.step(1)  # checkpoint task 0, run task 1
    episode = view(env.simulator, 0)
    assert episode.slots[:2] == (0, 1)
    assert episode.running_slot == 1
    first = episode.tasks[0]
    assert (first.network, first.batch_size, first.priority) == ("googlenet", 4, 1)
    assert first.label == "0 googlenet ×4 π=1"
    assert replace(first, network="/far/away/own.onnx").label == "0 own.onnx ×4 π=1"
    assert [one.kind for one in first.slices] == ["run", "checkpoint"]
    assert first.slices[0].start_ms == 0.0
    assert first.slices[0].end_ms == first.slices[1].start_ms
    assert not first.finished
    assert first.end_ms == episode.now_ms
    _, info = play(env, go_on)
    episode = view(env.simulator, 0)
    assert [task.finished for task in episode.tasks] == [True] * 3
    assert [task.late for task in episode.tasks] == [False, False, True]
    for task, end in zip(episode.tasks, info["tasks"]["completion_cycles"], strict=True):
        assert task.end_ms == pytest.approx(end / 700_000)
    assert "3 of 3 tasks have arrived, 3 finished" in episode.headline


def test_slots_name_the_tasks_that_sit_there() -> None:
    """The table tells tasks apart by rank only; the engine's own slots say who they are."""
    env = single(record_timeline=True)
    choose = chooser(0)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            own = env.simulator._state.slots[0].tolist()
            shown = view(env.simulator, 0).slots
            assert [-1 if index is None else index for index in shown] == own
            step = env.step(choose(observation, info["action_mask"]))
            observation, _, terminated, truncated, info = step
            over = terminated or truncated


def test_text() -> None:
    env = single(workload=THREE, render_mode="ansi")
    env.reset()
    for action in (0, 1):
        env.step(action)
    text = env.render()
    assert isinstance(text, str)
    lines = text.splitlines()
    assert lines[0].startswith("0.851 ms: 3 of 3")
    assert lines[0].endswith("2 decisions")
    assert lines[2].split()[:4] == ["slot", "task", "token", "est."]
    rows = {line.split()[0]: line for line in lines[3:6]}
    assert "▶" in rows["1"]
    assert "1 alexnet ×1 π=9" in rows["1"]
    assert "▶" not in rows["0"] + rows["2"]
    chart = [line for line in lines[7:] if "π=" in line]
    assert len(chart) == 3
    assert "█" in chart[0]
    assert chart[0].rstrip().endswith("·"), "task 0 was preempted and waits"
    assert chart[1].rstrip().endswith("█"), "task 1 runs"
    assert "|" in chart[2], "the deadline of task 2 has passed"
    assert "█" not in chart[2]
    assert lines[-1] == LEGEND
    _, _ = play(env, go_on)
    assert isinstance(env.render(), str), "also at the end, with an empty table"


def image_of(env: PremaNPUEnv) -> NDArray[np.uint8]:
    image = env.render()
    assert isinstance(image, np.ndarray)
    return image


def test_images() -> None:
    env = single(workload=THREE, render_mode="rgb_array")
    env.reset()
    frames = [image_of(env)]
    for action in (0, 1, 1):
        env.step(action)
        frames.append(image_of(env))
    for frame in frames:
        assert frame.dtype == np.uint8
        assert frame.ndim == 3
        assert frame.shape[2] == 3
        assert frame.shape == frames[0].shape  # as a video needs
        assert 0.5 < (frame == 255).mean() < 0.99, "ink on white"
    for one, other in pairwise(frames):
        assert not np.array_equal(one, other)
    again = single(workload=THREE, render_mode="rgb_array")
    again.reset()
    np.testing.assert_array_equal(again.render(), frames[0])
    envs = vector(2, workload=THREE, render_mode="rgb_array")
    envs.reset()
    images = envs.render()
    assert images is not None
    np.testing.assert_array_equal(images[1], frames[0])


def test_windows() -> None:
    with windows() as shown:
        env = single(workload=THREE, render_mode="human")
        env.reset()
        env.step(0)
        assert env.render() is None
        assert shown == [1, 1, 1], "reset and step draw by themselves, into one window"
        twin = copy.deepcopy(env)
        twin.step(0)
        assert shown[-1] == 2, "a copy opens its own"
        pickle.dumps(env)
        env.close()
        env.close()
        env.reset()
        assert shown[-1] in (1, 3)
        env.close()
        twin.close()


def test_no_window_is_a_clear_error() -> None:
    env = single(render_mode="human")
    with pytest.raises(ConfigError, match=r"'human' needs a window.*'agg' has none"):
        env.reset()


def test_no_matplotlib_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    env = single(render_mode="rgb_array")
    env.reset(seed=0)
    for name in ("matplotlib", "matplotlib.figure", "PIL"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtraError, match=r"prema-gym\[plot\]"):
        env.render()
    window = Renderer("human", 10)
    with pytest.raises(MissingExtraError, match=r"prema-gym\[plot\]"):
        window.render(env.simulator, 0)


def test_no_mode_is_a_warning() -> None:
    env = single()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="make the environment with render_mode='ansi'"):
        assert env.render() is None


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")  # of the packages that write the file
def test_a_video_of_episodes_of_different_lengths(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    env = gymnasium.make("prema_gym:PremaNPU-v0", render_mode="rgb_array")
    video = gymnasium.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
    for num_tasks in (2, 5):
        video.reset(seed=0, options={"num_tasks": num_tasks, "window_ms": 1.0})
        over, steps = False, 0
        while not over and steps < 30:
            _, _, terminated, truncated, _ = video.step(0)
            over, steps = terminated or truncated, steps + 1
    video.close()  # type: ignore[no-untyped-call]
    files = sorted(tmp_path.glob("*.mp4"))
    assert [file.name for file in files] == [f"rl-video-episode-{k}.mp4" for k in (0, 1)]
    assert all(file.stat().st_size > 1000 for file in files)


def test_stable_baselines3_tiles_the_pictures() -> None:
    sb3 = pytest.importorskip("prema_gym.envs.sb3")
    env = sb3.make_sb3_env(4, seed=0, render_mode="rgb_array")
    env.reset()
    tiled = env.render()
    assert isinstance(tiled, np.ndarray)
    assert tiled.shape == (2 * HEIGHT, 2 * WIDTH, 3)
    assert (env.get_images()[0].shape) == (HEIGHT, WIDTH, 3)


def test_a_picture_has_one_size_and_needs_a_reset() -> None:
    env, envs = single(render_mode="rgb_array"), vector(2, render_mode="rgb_array")
    for one in (env, envs):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before render"):
            one.render()
    sizes = set()
    for num_tasks in (2, 4, 3):
        env.reset(seed=0, options={"num_tasks": num_tasks})
        picture = env.render()
        assert isinstance(picture, np.ndarray)
        sizes.add(picture.shape)
    assert len(sizes) == 1
    envs.reset(seed=0, options={"num_tasks": 2})
    assert {picture.shape for picture in envs.render() or ()} == sizes

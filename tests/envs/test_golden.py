"""Does the registered environment still behave as when it was released?

A change here can move learning curves: it needs a new version of the id (house rule), or, before a
release, ``python -m tests.envs.test_golden``, which writes the file anew.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from prema_gym.simulator.observation import ESTIMATED_MS, REMAINING_MS, TOKEN

FILE = Path(__file__).with_name("golden_PremaNPU-v0.txt")
SEED = 0
SHOWN_STEPS = 25  # then only the end


def trace() -> str:
    """One episode of the default environment, actions drawn from the mask by a seeded generator."""
    env = gymnasium.make("PremaNPU-v0", mechanisms=("checkpoint", "kill"), max_decisions=400)
    rng = np.random.default_rng(SEED)
    observation, info = env.reset(seed=SEED)
    lines = [f"PremaNPU-v0, seed {SEED}, random legal actions", ""]
    lines.append("step action    now_ms      reward legal    tokens  remaining")
    total, step, over = 0.0, 0, False
    while not over:
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        total += float(reward)
        step += 1
        if step <= SHOWN_STEPS or over:
            lines.append(
                f"{step:4} {action:6} {info['now_ms']:9.4f} {reward:11.8f} "
                f"{info['action_mask'].sum():5} {observation[:, TOKEN].sum():9.3f} "
                f"{observation[:, REMAINING_MS].sum():10.4f}"
            )
    assert np.isfinite(observation[:, ESTIMATED_MS]).all()
    lines += ["", f"return {total:.8f}, terminated {terminated}", ""]
    lines += [f"{name:16} {value:.8g}" for name, value in info["episode_metrics"].items()]
    return "\n".join(lines) + "\n"


@pytest.mark.small
def test_the_episode_is_the_recorded_one() -> None:
    assert trace() == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(trace(), encoding="utf-8")

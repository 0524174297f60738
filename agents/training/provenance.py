"""Where does a trained policy come from? Versions, source, and the problem it was trained on."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from prema_gym.agents.policies.learned import TRAINED_MECHANISMS
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.evaluation.versions import versions
from prema_gym.networks.importers import is_file

PACKAGES = (
    "prema-gym",
    "numpy",
    "numba",
    "gymnasium",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "cma",
)
"""Those whose versions a run notes."""


def problem(settings: TrainSettings) -> dict[str, Any]:
    """What is learned on, as ``run.json`` holds it."""
    scenario = settings.resolved_scenario
    files = [name for name in scenario.networks if is_file(name)]
    files += [] if scenario.trace is None else [scenario.trace.file]
    digests = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files}
    return {"scenario": scenario.to_dict(), "files": digests}


def by_content(problem: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with its files' digests in place of their paths: files may move."""
    scenario, files = dict(problem["scenario"]), dict(problem["files"])
    scenario["networks"] = [files.get(name, name) for name in scenario["networks"]]
    trace = scenario.get("trace")
    if trace is not None:
        trace = {"file": trace} if isinstance(trace, str) else dict(trace)  # text: an older run's
        scenario["trace"] = {**trace, "file": files[trace["file"]]}
    scenario["lengths"] = [
        {**entry, "network": files.get(entry["network"], entry["network"])}
        for entry in scenario["lengths"]
    ]
    return scenario


def describe_policy(
    settings: TrainSettings, timesteps: int, validation: dict[str, float] | None
) -> dict[str, Any]:
    """What a policy's file says of where it comes from.

    Args:
        settings: The run.
        timesteps: Scheduling decisions it was trained for.
        validation: How it did, by column; None before that is known.
    """
    return {
        "mechanisms": list(TRAINED_MECHANISMS),
        "algo": settings.algo,
        "scenario": settings.scenario,
        **({"hardware": settings.hardware} if settings.hardware else {}),
        "objective": settings.objective,
        "seed": settings.seed,
        "timesteps": timesteps,
        "git": git_state(),
        "source": f"prema-gym train --algo {settings.algo}, {timesteps} decisions",
        "validation": validation,
    }


def versions_of_run() -> dict[str, str]:
    """Versions that a run depends on, and the machine."""
    return {**versions(PACKAGES), "machine": platform.platform()}


@lru_cache(maxsize=1)
def git_state() -> str:
    """Commit of the source, "+ changes" where it differs from it; "unknown" outside git.

    As of the first call: that is the source that was loaded.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(
            ("git", *arguments),
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + (" + changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"

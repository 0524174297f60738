"""How is a comparison shown in a browser? One file: who won, the table, charts, a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prema_gym.evaluation.results import Evaluation
from prema_gym.files import as_given
from prema_gym.metrics import METRICS, Metric
from prema_gym.views.axis import Axis
from prema_gym.views.comparison import heading, notes
from prema_gym.views.episode import EpisodeView
from prema_gym.views.figures import CHARTS, Study
from prema_gym.views.numbers import interval, number, times
from prema_gym.views.records import to_json
from prema_gym.views.verdict import best_in, command, verdict
from prema_gym.views.web import timeline
from prema_gym.views.web.charts import Points, axis_for, chart, key
from prema_gym.views.web.page import escape, page

SHOWN = tuple(metric for metric in METRICS if metric.table is not None)
MOST_SETTINGS = 20_000
"""Characters of settings that are shown; more are workloads in full, known by their digest."""
_QUANTILES = 60


def report(evaluation: Evaluation, episodes: Sequence[EpisodeView] = ()) -> str:
    """A comparison as one page that needs no network.

    Args:
        evaluation: The comparison; charts of distributions need its values per workload.
        episodes: Schedules of one workload, to be shown as a timeline.
    """
    source = "as given" if evaluation.seed is None else f"seeds from {evaluation.seed}"
    title = f"{evaluation.workloads} workloads of {evaluation.scenario}, {source}"
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f"<p>{escape(sentence)}</p>" for sentence in verdict(evaluation)]
    body += [f'<p class="note">{escape(note)}</p>' for note in notes(evaluation)]
    body += [_choice(evaluation), "<h2>Metrics</h2>", _table(evaluation)]
    body += [f"<h2>Charts</h2><div class='charts'>{''.join(_charts(evaluation))}</div>"]
    if not _has_workloads(evaluation):
        body.append(
            '<p class="note">Distributions over workloads need each workload\'s values: '
            "<code>prema-gym evaluate --per-workload</code>.</p>"
        )
    if episodes:
        body += ["<h2>Who ran when</h2>", *timeline.timeline_section()]
    body += _how(evaluation)
    data: dict[str, object] = {}
    if episodes:
        data[timeline.DATA] = timeline.timeline_data(episodes)
    scripts = ["report.js", *([timeline.SCRIPT] if episodes else [])]
    return page(title, body, scripts=scripts, data=data)


def _choice(evaluation: Evaluation) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" checked data-toggles="{at}">'
        f"{key(name)}{escape(name)}</label>"
        for at, name in enumerate(evaluation.policies)
    )
    return f"<fieldset><legend>Policies</legend>{boxes}</fieldset>"


def _table(evaluation: Evaluation) -> str:
    heads = ["policy", *map(heading, SHOWN)]
    head = "".join(
        f'<th scope="col" title="{escape(about)}">'
        f'<button type="button">{escape(text)}</button></th>'
        for text, about in zip(heads, ["", *(m.formula for m in SHOWN)], strict=True)
    )
    best = {metric.name: best_in(evaluation, metric) for metric in SHOWN}
    rows = "".join(
        f'<tr data-policy="{at}"><td data-value="{escape(name)}">{escape(name)}</td>'
        + "".join(_cell(evaluation, name, metric, best[metric.name]) for metric in SHOWN)
        + "</tr>"
        for at, name in enumerate(evaluation.policies)
    )
    return (
        f'<div class="scroll" tabindex="0"><table class="sorted"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="note">Mean, the ends of its 95 % interval, and how many times better it '
        f"is than {escape(evaluation.relative_to)}; the best of each column is bold. A heading "
        "sorts.</p>"
    )


def _cell(evaluation: Evaluation, name: str, metric: Metric, best: str | None) -> str:
    found = evaluation.policies[name].metrics[metric.name]
    value = f"{found.mean:.9g}" if math.isfinite(found.mean) else ""
    small = interval(*found.ci95)
    if metric.better and math.isfinite(found.ratio) and metric.table == "main":
        small += f" · {times(found.ratio)}"
    kind = ' class="best"' if name == best else ""
    return f'<td{kind} data-value="{value}">{number(found.mean)} <small>{small}</small></td>'


def _has_workloads(evaluation: Evaluation) -> bool:
    return all("antt" in found.per_workload for found in evaluation.policies.values())


def _charts(evaluation: Evaluation) -> list[str]:
    made = [_sla(evaluation), _pareto(evaluation)]
    if _has_workloads(evaluation):
        made += [_distribution(evaluation), _profile(evaluation)]
    if any("antt" in found.regret for found in evaluation.policies.values()):
        made.append(_regret(evaluation))
    return made


def _series(
    evaluation: Evaluation, name: str, x: str, y: str, y_factor: float
) -> dict[str, Points]:
    """What a figure shows, as points by policy."""
    records = CHARTS[name].records(Study(main=evaluation))
    return {
        policy: [(r[x], y_factor * r[y]) for r in records if r["policy"] == policy]
        for policy in evaluation.policies
    }


def _sla(evaluation: Evaluation) -> str:
    series = _series(evaluation, "sla-curve", "target", "violated", 100.0)
    missed = [y for points in series.values() for _, y in points]
    return chart(
        "Service levels", "Lower is better.", Axis("target: NTT at most", 1.5, 20.5),
        axis_for("tasks that miss it [%]", missed, zero=True), series, lines=True,
    )  # fmt: skip


def _pareto(evaluation: Evaluation) -> str:
    series = _series(evaluation, "pareto", "antt", "fairness", 1.0)
    points = [point for own in series.values() for point in own]
    return chart(
        "ANTT and fairness", "Better towards the top left.",
        axis_for("ANTT", [x for x, _ in points], log=True),
        axis_for("fairness", [y for _, y in points], zero=True), series, lines=False,
    )  # fmt: skip


def _distribution(evaluation: Evaluation) -> str:
    shares = np.linspace(0.0, 1.0, _QUANTILES + 1)
    series: dict[str, Points] = {
        name: [
            (float(value), 100.0 * float(share))
            for share, value in zip(
                shares, np.nanquantile(found.per_workload["antt"], shares), strict=True
            )
        ]
        for name, found in evaluation.policies.items()
    }
    values = [x for points in series.values() for x, _ in points]
    return chart(
        "How ANTT is distributed", "Workloads with an ANTT of at most so much.",
        axis_for("ANTT", values, log=True), Axis("workloads [%]", 0.0, 100.0), series, lines=True,
    )  # fmt: skip


def _profile(evaluation: Evaluation) -> str:
    series = _series(evaluation, "performance-profile", "factor", "share", 100.0)
    return chart(
        "How often nearly the best?", "Workloads on which ANTT is within a factor of the best.",
        Axis("factor", 1.0, 8.0, log=True), Axis("workloads [%]", 0.0, 100.0), series, lines=True,
    )  # fmt: skip


def _regret(evaluation: Evaluation) -> str:
    names = list(evaluation.policies)
    series: dict[str, Points] = {
        name: [(100.0 * found.regret["antt"], len(names) - at)]
        for at, (name, found) in enumerate(evaluation.policies.items())
    }
    values = [max(x, 0.1) for points in series.values() for x, _ in points]
    return chart(
        "Regret in ANTT", "How far behind the best schedule there is; policies from top to bottom.",
        axis_for("% behind", values, log=True), Axis("", 0.0, len(names) + 1.0), series,
        lines=False,
    )  # fmt: skip


def _as_given(value: Any) -> Any:  # noqa: ANN401 - plain data
    """Plain data with files called as they were named, however deep."""
    if isinstance(value, Mapping):
        return {key: _as_given(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_given(item) for item in value]
    return as_given(value) if isinstance(value, str) else value


def _how(evaluation: Evaluation) -> list[str]:
    """Settings, versions, seeds, and the command that repeats it."""
    parts = ["<h2>How it was made</h2>"]
    if evaluation.seed is None:
        parts.append("<p>The workloads were given, not drawn: the settings hold them.</p>")
    else:
        last = evaluation.seed + evaluation.workloads - 1
        parts.append(f"<p>Seeds {evaluation.seed} to {last}. The same again:</p>")
        parts.append(f"<pre>{escape(command(evaluation))}</pre>")
    versions = ", ".join(f"{name} {version}" for name, version in evaluation.versions.items())
    parts.append(f'<p class="note">{escape(versions)}<br>workloads (SHA-256): ')
    parts.append(f"{escape(evaluation.workload_digest)}</p>")
    settings = _as_given(dict(evaluation.settings))
    text = to_json(settings)
    if len(text) > MOST_SETTINGS:
        settings["workload"] = "left out here: see the digest, and the JSON report"
        text = to_json(settings)
    parts.append(f"<details><summary>Settings</summary><pre>{escape(text)}</pre></details>")
    return parts

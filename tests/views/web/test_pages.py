"""Reports and timelines as pages: what they say, how large they are, that a browser runs them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.results import Evaluation
from prema_gym.simulator import MECHANISMS
from prema_gym.views.axis import Axis
from prema_gym.views.verdict import command, overall, ranked, verdict
from prema_gym.views.web.charts import axis_for
from prema_gym.views.web.page import embedded, page
from prema_gym.views.web.report import report
from prema_gym.views.web.timeline import timeline_page
from tests.evaluation.helpers import TINY
from tests.views import helpers
from tests.views.episodes import WILD, made_up, played, with_name
from tests.views.web.browser import asked

NAMES = ("np-fcfs", "static-prema", "static-sjf")


@pytest.fixture(scope="module")
def compared() -> Evaluation:
    policies = {name: baselines.make(name, mechanisms=MECHANISMS) for name in NAMES}
    policies[WILD] = baselines.make("dynamic-prema", mechanisms=MECHANISMS)
    return evaluate(TINY, policies, workloads=8, per_workload=True, bounds=True)


class Parsed(HTMLParser):
    """Texts and tags of a page; scripts and styles apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self._in: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in.append("/")

    def handle_data(self, data: str) -> None:
        if self._in[-1:] not in (["script"], ["style"]):
            self.texts.append(data)


def test_a_report_says_who_won_and_how_to_repeat_it(compared: Evaluation) -> None:
    text = report(compared)
    parsed = Parsed(text)
    assert ranked(compared)[0] in " ".join(verdict(compared))
    for sentence in verdict(compared):
        assert sentence in parsed.texts
    assert command(compared) in parsed.texts
    assert compared.workload_digest in text
    assert parsed.tags.count("figure") == 5
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", text)


def test_the_verdict_is_what_the_numbers_say(compared: Evaluation) -> None:
    first, second = verdict(compared)
    best = ranked(compared)[0]
    gain = overall(compared.policies[best])
    assert gain == max(overall(found) for found in compared.policies.values())
    assert first.startswith(f"{best} does best overall")
    means = {name: found.metrics["antt"].mean for name, found in compared.policies.items()}
    lowest = min(means, key=lambda name: means[name])
    assert (lowest == best) or (f"{lowest} has the better ANTT" in second)
    alone = evaluate(TINY, {"np-fcfs": baselines.make("np-fcfs")}, workloads=2)
    assert verdict(alone) == ["np-fcfs alone was played: nothing is compared."]


def test_names_are_as_written(compared: Evaluation) -> None:
    text = report(compared, [with_name(played("np-fcfs"), WILD)])
    assert WILD in Parsed(text).texts
    assert "<b>" not in text
    data = re.search(r'id="timeline-data">(.*?)</script>', text)
    assert data is not None
    assert json.loads(data.group(1))["schedules"][0]["title"] == WILD


def test_nothing_ends_embedded_data_early() -> None:
    text = embedded("x", {"a": "</script><script>alert(1)</script>", "b": float("nan")})
    assert text.count("</script>") == 1
    assert json.loads(text[text.index(">") + 1 : text.rindex("</")]) == {
        "a": "</script><script>alert(1)</script>", "b": None,
    }  # fmt: skip
    assert "<title>a &lt;b&gt;</title>" in page("a <b>", [], scripts=[], data={})


def test_a_report_without_values_per_workload_says_what_is_missing() -> None:
    text = report(helpers.evaluation())
    assert "evaluate --per-workload" in text
    assert Parsed(text).tags.count("figure") == 2


def test_a_report_of_forty_policies_on_a_thousand_workloads_is_small(compared: Evaluation) -> None:
    from dataclasses import replace

    rng = np.random.default_rng(0)
    one = compared.policies["np-fcfs"]
    many = {
        f"policy-{i}": replace(
            one, per_workload={k: rng.lognormal(1.0, 1.0, 1000) for k in one.per_workload}
        )
        for i in range(40)
    }
    large = replace(compared, policies=many, workloads=1000, relative_to="policy-0")
    assert len(report(large, [played("static-rrb")]).encode()) < 2_000_000


def test_axes_have_round_ticks_inside() -> None:
    assert Axis("", 0.0, 100.0).ticks() == [0, 20, 40, 60, 80, 100]
    assert Axis("", 1.0, 30.0, log=True).ticks() == [1, 2, 5, 10, 20]
    axis = axis_for("", [3.0, float("nan"), float("inf")])
    assert axis.low < 3.0 < axis.high
    assert axis.share(axis.low) == 0.0
    assert axis_for("", [], log=True).low > 0


LOOK = """
const heads = [...document.querySelectorAll('th button')];
const all = (selector) => [...document.querySelectorAll(selector)];
const column = () => all('tbody tr').map((r) => r.cells[1].dataset.value * 1);
heads[1].focus(); heads[1].click(); const up = column(); heads[1].click(); const down = column();
const box = document.querySelector('input[data-toggles="0"]'); box.click();
const hidden = all('[data-policy="0"]').map((e) => e.hasAttribute('hidden'));
const bars = document.querySelectorAll('#timeline rect.run').length;
const svg = document.querySelector('#timeline svg'); svg.focus();
const ends = () => all('#timeline text').map((t) => t.textContent).join();
const before = ends();
svg.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}));
const after = ends();
say({up, down, hidden, bars, zoomed: before !== after, focus: document.activeElement === svg,
  charts: document.querySelectorAll('figure svg .series').length,
  wide: document.documentElement.scrollWidth, room: innerWidth,
  paper: getComputedStyle(document.body).backgroundColor,
  wild: [...document.querySelectorAll('td')].some((t) => t.textContent === 'a<b>$x$:x:[red]')});
"""


@pytest.mark.heavy
@pytest.mark.browser
def test_a_browser_shows_the_report(compared: Evaluation, tmp_path: Path) -> None:
    text = report(compared, [played("np-fcfs"), played("dynamic-prema")])
    found = json.loads(asked(text, LOOK, tmp_path / "report.html", tmp_path))
    assert found["up"] == sorted(found["up"])
    assert found["down"] == found["up"][::-1]
    assert len(found["hidden"]) == 1 + 5  # its row, and it in every chart
    assert all(found["hidden"])
    assert found["charts"] == 5 * 4
    assert found["bars"] >= 16
    assert found["zoomed"]
    assert found["focus"]
    assert found["wild"]


@pytest.mark.heavy
@pytest.mark.browser
def test_a_narrow_page_does_not_scroll_sideways_and_may_be_dark(
    compared: Evaluation, tmp_path: Path
) -> None:
    """Windows have a least width, so the page is put into a frame of 400 pixels."""
    text = report(compared, [played("np-fcfs")])
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    outer = '<body><iframe src="report.html" width="400" height="900"></iframe></body>'
    script = """const inner = document.querySelector('iframe').contentWindow;
      say([inner.document.documentElement.scrollWidth, inner.innerWidth,
           inner.getComputedStyle(inner.document.body).backgroundColor]);"""
    local = ("--allow-file-access-from-files",)
    for options, colour in (
        ((), "rgb(255, 255, 255)"),
        (("--blink-settings=preferredColorScheme=0",), "rgb(22, 25, 29)"),
    ):
        found = json.loads(
            asked(outer, script, tmp_path / "frame.html", tmp_path, *local, *options)
        )
        assert found[0] <= found[1] <= 400
        assert found[2] == colour


@pytest.mark.heavy
@pytest.mark.browser
def test_a_browser_shows_a_timeline_of_many_tasks(tmp_path: Path) -> None:
    text = timeline_page([made_up(2000), with_name(played("kill-prema"), WILD)])
    script = "say([...document.querySelectorAll('h3')].map((h) => h.textContent))"
    found = json.loads(asked(text, script, tmp_path / "t.html", tmp_path))
    assert found == ["made up", WILD]

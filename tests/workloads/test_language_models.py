"""The scenarios with language models: what is shipped is the public log's, as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docs.generate.azure_code import shipped_text
from prema_gym.workloads import compile_scenario, scenarios
from prema_gym.workloads.scenarios import AZURE_CODE, AZURE_CODE_REQUESTS
from prema_gym.workloads.source import Source, traffic_of
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.requests import read_requests

# The first four hundred requests of the public log, as it writes them.
PIECE = Path(__file__).parent / "data" / "azure_llm_code_400.csv"


def test_what_is_shipped_is_the_log_to_the_nanosecond() -> None:
    piece = shipped_text(read_requests(TraceLog(file=str(PIECE))), 400)
    assert AZURE_CODE.read_text().startswith(piece)
    shipped = read_requests(TraceLog(file=str(AZURE_CODE)))
    assert len(shipped.times) == AZURE_CODE_REQUESTS
    assert shipped.times[-1] == 569_740_877_000
    assert AZURE_CODE.stat().st_size < 25_000


@pytest.mark.heavy
def test_every_request_is_a_prompt_and_an_answer_that_come_together() -> None:
    scenario = scenarios.get("azure-code")
    assert scenario.num_requests + scenario.num_warmup == 2 * AZURE_CODE_REQUESTS
    catalog = compile_scenario(scenario)
    traffic = traffic_of(catalog)
    assert traffic.load == pytest.approx(0.2)
    arrays, streams = Source(traffic, 0).next(2 * AZURE_CODE_REQUESTS)
    prompts, answers = streams == 0, streams == 1
    arrival = arrays.arrival_cycles[0]
    assert np.array_equal(arrival[prompts], arrival[answers])
    log = read_requests(TraceLog(file=str(AZURE_CODE)))
    assert np.array_equal(arrays.output_length[0, answers], log.asked["output_length"])
    assert set(arrays.output_length[0, prompts].tolist()) == {1}
    # Every prompt is played with the nearest of the lengths that were compiled.
    lengths = np.unique(catalog.arrays.input_length)
    played = catalog.arrays.input_length[arrays.profile[0, prompts]]
    nearest = np.abs(lengths[:, None] - log.asked["input_length"]).min(axis=0)
    assert np.array_equal(np.abs(played - log.asked["input_length"]), nearest)


@pytest.mark.heavy
def test_chat_is_as_long_as_the_published_conversations() -> None:
    catalog = compile_scenario(scenarios.get("llm-chat"))
    arrays, streams = Source(traffic_of(catalog), 1).next(6000)
    prompt = catalog.arrays.input_length[arrays.profile[0, streams == 0]]
    answer = arrays.output_length[0, streams == 1]
    # Splitwise, Figure 3: medians of 1 020 and 129 tokens; prompts are whole tiles of 128.
    assert abs(np.median(prompt) - 1020) <= 132
    assert np.median(answer) == pytest.approx(129, rel=0.1)

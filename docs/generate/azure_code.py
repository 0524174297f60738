"""Write the requests of the scenario `azure-code` from the public log.

Run: python -m docs.generate.azure_code AzureLLMInferenceTrace_code.csv
The log is data/AzureLLMInferenceTrace_code.csv of Azure's public data set (Patel et al., Splitwise,
ISCA 2024; CC-BY-4.0). Its first requests are copied, times since the first one, nothing else.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from prema_gym.files import write_text
from prema_gym.workloads.scenarios import AZURE_CODE, AZURE_CODE_REQUESTS
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.requests import Requests, read_requests


def shipped_text(found: Requests, count: int) -> str:
    """The first requests of a log in the plain format; times have all digits of the log's."""
    lines = ["arrival_ms,input_length,output_length"]
    columns = (found.times, found.asked["input_length"], found.asked["output_length"])
    for ns, long, short in zip(*(column[:count].tolist() for column in columns), strict=True):
        ms = f"{ns // 10**6}.{ns % 10**6:06d}".rstrip("0").rstrip(".")
        lines.append(f"{ms},{long},{short}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file that is shipped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    found = read_requests(TraceLog(file=str(parser.parse_args().log)))
    write_text(AZURE_CODE, shipped_text(found, AZURE_CODE_REQUESTS))


if __name__ == "__main__":
    main()

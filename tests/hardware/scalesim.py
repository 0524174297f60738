"""What does SCALE-Sim 3.0.0 print? Runs it over the tables of ``TABLES``, and records its cycles.

SCALE-Sim needs an older NumPy than ours, so it runs in an environment of its own, which
``make scalesim`` makes before it writes ``data/scalesim.csv`` anew. Weights are stationary, memory
stalls nothing (its mode ``CALC``).
"""

from __future__ import annotations

import csv
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from prema_gym.files import write_text
from tests.networks.importer_files import scalesim

DATA = Path(__file__).parent / "data"
RECORDS = DATA / "scalesim.csv"
PYTHON = Path(__file__).parents[2] / "build" / "scalesim" / "bin" / "python"

GEMMS = DATA / "gemms.csv"
TABLES = (
    (GEMMS, (128, 128)),
    (GEMMS, (256, 128)),
    (scalesim("conv_nets_alexnet"), (128, 128)),
    (scalesim("GEMM_mnk_vit_s"), (128, 128)),
    (scalesim("dlrm_dlrm_fwd"), (128, 128)),
)
"""The tables, each with the rows and columns of the array: thirty products, three networks."""

_PROGRAM = """
import sys
from scalesim.scale_sim import scalesim

topology, folder, form = sys.argv[1:]
scalesim(
    save_disk_space=True, verbose=False, config=folder + "/machine.cfg", topology=topology,
    layout=folder + "/layout.csv", input_type_gemm=form == "gemm",
).run_scale(top_path=folder)
"""

# Sizes and banks of memories, which it asks for, change nothing: nothing waits for memory.
_MACHINE = """
[general]
run_name = run
[architecture_presets]
ArrayHeight = {rows}
ArrayWidth = {columns}
IfmapSramSzkB = 8192
FilterSramSzkB = 4096
OfmapSramSzkB = 8192
IfmapOffset = 0
FilterOffset = 100000000
OfmapOffset = 200000000
Dataflow = ws
ReadRequestBuffer = 64
WriteRequestBuffer = 64
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = False
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""


class Record(NamedTuple):
    """What it printed for one layer of a table."""

    table: str
    array_rows: int
    array_cols: int
    layer: int
    total_cycles: int  # without what it calls prefetch
    stall_cycles: int


def printed(table: Path, array: tuple[int, int], python: Path = PYTHON) -> list[Record]:
    """Run SCALE-Sim over one table.

    Args:
        table: A table of layers.
        array: Rows and columns of the array.
        python: The interpreter of an environment that has it.
    """
    rows, columns = array
    form = "gemm" if ",M,N,K" in table.read_text().replace(" ", "") else "conv"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "machine.cfg").write_text(_MACHINE.format(rows=rows, columns=columns))
        (folder / "layout.csv").write_text("none,\n")
        command = [str(python), "-c", _PROGRAM, str(table), str(folder), form]
        subprocess.run(command, check=True, capture_output=True)
        with (folder / "run" / "COMPUTE_REPORT.csv").open() as file:
            return [
                Record(table.stem, rows, columns, int(layer), int(cycles), int(stalls))
                for layer, _, cycles, stalls, *_ in list(csv.reader(file))[1:]
            ]


def recorded() -> list[Record]:
    """What it printed when it was last run, table after table."""
    with RECORDS.open() as file:
        _, *lines = csv.reader(file)
    return [Record(table, *map(int, figures)) for table, *figures in lines]


def main() -> None:
    """Run it over all tables and write what it prints."""
    records = [one for table, array in TABLES for one in printed(table, array)]
    lines = [",".join(map(str, one)) for one in (Record._fields, *records)]
    write_text(RECORDS, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

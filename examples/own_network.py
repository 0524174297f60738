"""A network from an ONNX file, on a machine and under traffic of your own.

Run: python examples/own_network.py --workloads 20
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from prema_gym import baselines
from prema_gym.evaluation import evaluate
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads import Scenario


def write_network(path: Path) -> None:
    """Write a small network: two convolutions and a classifier. Yours comes from any framework."""
    rng = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["c"], ["d"]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Gemm", ["e", "w3"], ["classes"]),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 64, 64])
    classes = helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])
    tensors = [weights("w1", 64, 3, 3, 3), weights("w2", 128, 64, 3, 3), weights("w3", 128, 10)]
    graph = helper.make_graph(nodes, "small", [image], [classes], tensors)
    onnx.save(helper.make_model(graph), path)


def write_trace(path: Path) -> None:
    """Write a recorded trace: when requests came, one a line."""
    times_ms = np.cumsum(np.random.default_rng(1).exponential(0.4, 400))
    path.write_text("arrival_ms\n" + "".join(f"{time:.6f}\n" for time in times_ms))


def main() -> None:
    """Write the files, describe the scenario, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        network, trace = Path(folder) / "small.onnx", Path(folder) / "trace.csv"
        write_network(network)
        write_trace(trace)
        scenario = Scenario(
            name="mine",
            networks=(str(network), "mobilenet-v1"),
            batch_sizes=(1, 8),
            num_tasks=8,
            arrival="trace",
            trace=str(trace),
            trace_speed=1.0,
            hardware=NPUConfig(clock_hz=1_000_000_000, dram_bytes_per_s=900e9),
        )
        policies = {name: baselines.make(name) for name in ("np-fcfs", "dynamic-prema")}
        result = evaluate(scenario, policies, workloads=options.workloads)
    for name, found in result.policies.items():
        metrics = found.metrics
        print(
            f"{name:14} latency {metrics['latency_ms'].mean:.3f} ms, "
            f"95th percentile {metrics['p95_latency_ms'].mean:.3f} ms, "
            f"ANTT {metrics['antt'].mean:.2f}"
        )


if __name__ == "__main__":
    main()

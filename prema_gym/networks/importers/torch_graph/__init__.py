"""Which layers does a PyTorch module ask of the machine?

``export`` has PyTorch trace the module without computing anything; ``operators`` says what each of
its operators is in the words of ONNX. From there on the module is read as a file is, by
:mod:`prema_gym.networks.importers.onnx_graph`: one set of rules for both.
"""

from prema_gym.networks.importers.torch_graph.export import from_torch

__all__ = ["from_torch"]

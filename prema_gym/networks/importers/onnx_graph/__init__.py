"""Which layers does an ONNX graph ask of the machine?

``model`` and ``sizes`` turn the file into plain data, ``walk`` takes its operators in order, and
``operators`` is the table of what each of them costs; a new one is a line there. What it costs is a
function of one of the families ``windows``, ``products``, ``elements``, ``sequences``.
"""

from prema_gym.networks.importers.onnx_graph.walk import read

__all__ = ["read"]

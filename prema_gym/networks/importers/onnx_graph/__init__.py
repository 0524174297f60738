"""Which layers does an ONNX graph ask of the machine?

``load`` turns the file into plain data (``model``), in steps: sizes of its inputs (``inputs``),
operators under other names (``spelling``), branches and loops (``control``), all other sizes
(``sizes``). ``walk`` takes its operators in order, and ``operators`` is the table of what each of
them costs; a new one is a line there. What it costs is a function of one of the families
``windows``, ``products``, ``contraction``, ``attention``, ``elements``, ``sequences``; what cannot
be told is ``lost``.
"""

from prema_gym.networks.importers.onnx_graph.walk import read

__all__ = ["read"]

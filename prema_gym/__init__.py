"""prema-gym: schedule DNN tasks on a preemptible NPU, and compare learned schedulers with PREMA.

Importing this package registers the environments and stays quick: nothing is compiled and neither
Numba nor torch is loaded until something is simulated.
"""

__version__ = "0.1.0"

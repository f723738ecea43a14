"""Bounds on biases from a pilot: how far each fidelity may be off.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.calibration._calibrate import calibrate
from mfbandit.calibration._calibration import Calibration
from mfbandit.calibration._pilot_noise import PilotNoise

__all__ = ["Calibration", "PilotNoise", "calibrate"]

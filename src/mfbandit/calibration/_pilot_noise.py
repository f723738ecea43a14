"""What is known of the noise in a pilot's measurements, as one object."""

from __future__ import annotations

from dataclasses import dataclass

from mfbandit._checks import fraction, given_once, one_of

__all__ = ["PilotNoise", "as_pilot_noise"]

_KINDS = ("normal", "bounded", "symmetric", "none", "binary")


@dataclass(frozen=True)
class PilotNoise:
    """What is known of the noise in a pilot's measurements: `noise` of `calibrate`, and what goes with it.

    Parameters
    ----------
    kind : {"normal", "bounded", "symmetric", "none", "binary"}, optional
        As `noise` of `calibrate`; by default the one that suits the data.
    risk : float, optional
        As `noise_risk` of `calibrate`.
    paired, shared_items : bool
        As for `calibrate`.

    Examples
    --------
    >>> import mfbandit as mf
    >>> means = [[0.6, 0.5]] * 4 + [[0.3, 0.5]]
    >>> mf.calibrate(means, noise=mf.PilotNoise("none"), confidence=0.8).biases
    (0.2, 0.0)
    """

    kind: str | None = None
    risk: float | None = None
    paired: bool = False
    shared_items: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:
            one_of("noise", self.kind, _KINDS)
        if self.risk is not None:
            fraction("noise_risk", self.risk)


def as_pilot_noise(
    noise: str | PilotNoise | None, noise_risk: float | None, paired: bool, shared_items: bool
) -> PilotNoise:
    """What an object or the keywords for the same say; both at once are refused."""
    if not isinstance(noise, PilotNoise):
        return PilotNoise(noise, noise_risk, bool(paired), bool(shared_items))
    keywords = {
        "risk": ("noise_risk", noise_risk),
        "paired": ("paired", paired),
        "shared_items": ("shared_items", shared_items),
    }
    given_once("noise", noise, PilotNoise, keywords)
    return noise

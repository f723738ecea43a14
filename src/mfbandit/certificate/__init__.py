"""Certificates: a plain JSON object from which a stranger can check the answer of a study again.

A certificate holds what was measured (the problem, the policy, delta and epsilon, the statistics of every
arm at every fidelity, arms that were retired, bounds that were widened, and for every other arm what speaks
against it) and what follows from that: the claim in words, its status, its confidence, the threshold, cost and
pulls. `verify` reads the first part strictly, makes the second part anew and refuses a file in which
it differs.

What a certificate that passes promises to somebody who does not trust its maker: if rewards with these
statistics were observed, and the assumptions that the claim names hold, the claim is wrong with probability
at most delta. It cannot show that they were observed. `verify_with_study` can, from the raw results: it plays
the policy again, reward by reward.

Races on blocks have a kind of their own (`RaceCertificate`): it holds all raw rewards by block and what was declared
before them, from which `verify` computes all evidence anew.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.certificate._certificate_file import load_certificate
from mfbandit.certificate._document import Certificate
from mfbandit.certificate._goal_document import GoalCertificate
from mfbandit.certificate._race_document import BLOCKS, RaceCertificate
from mfbandit.certificate._race_reading import read_race_certificate
from mfbandit.certificate._reading import read_certificate
from mfbandit.certificate._verdict import Verdict, differences
from mfbandit.certificate._verify import verify

__all__ = [
    "BLOCKS",
    "Certificate",
    "GoalCertificate",
    "RaceCertificate",
    "Verdict",
    "differences",
    "load_certificate",
    "read_certificate",
    "read_race_certificate",
    "verify",
]

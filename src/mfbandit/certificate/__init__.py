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
"""

from mfbandit.certificate._document import Certificate
from mfbandit.certificate._files import load_certificate
from mfbandit.certificate._race_document import RaceCertificate
from mfbandit.certificate._replay import verify_with_study
from mfbandit.certificate._verify import Verdict, verify

__all__ = ["Certificate", "RaceCertificate", "Verdict", "load_certificate", "verify", "verify_with_study"]

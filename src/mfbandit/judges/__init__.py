"""Choosing a model or a prompt with graders: cheap judges, better judges, people.

All candidates answer the same items, so items are blocks: candidates are compared item by item, by the policy
``mf-race``, and what makes an item hard for everybody does not count. One pull is one item, graded by one grader
for one candidate. All graders go through the items in one random order, and an answer is made once.

**Which truth is meant.** A grader that is asked twice may say two things: people do, and so do models at a
temperature above 0. Then a candidate has two true scores, and whoever asks must say which is meant.

- ``truth="these grades"``: every (candidate, item) is graded once by each grader, and that grade is kept. The
  true score is the mean over the items of the grades kept for the truest grader: a finite set of numbers,
  ``blocks=len(items)``. Every item is used once at most, and who has seen all knows the answer exactly, whether
  graders are repeatable or not. It says nothing about what a second grading would say. Bias bounds are about
  the kept grades, too.
- ``truth="expected grade"``: every draw is graded anew. The true score is the mean over the items of the
  grade that the truest grader is expected to give: ``blocks="unlimited"``, and a block is a draw of an item, the
  same for all candidates. Only the answers are made once and kept. A grade is kept for its own draw alone, so
  that a pull that is resumed is not paid twice.

For graders that always say the same, both are the same number, and the first is cheaper. It is the default,
since it claims no more than was measured and never pays for more than every grade once. What a certificate
claims says which of the two was meant, and a study that was started for one cannot be resumed for the other.

**Equal answers** of two candidates to an item have one grade, in either truth: where all candidates left answer alike,
their differences are 0, and nobody is asked. Such an item counts the low end of the range for all of them.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.judges._comparison import Comparison
from mfbandit.judges._graders import Grader, Pace, Preference
from mfbandit.judges._judging import Judging
from mfbandit.judges._offline_graders import stand_in_graders

__all__ = ["Comparison", "Grader", "Judging", "Pace", "Preference", "stand_in_graders"]

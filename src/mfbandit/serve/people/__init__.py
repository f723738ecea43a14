"""People who grade: what they are shown, who gets what, and how far they agree."""

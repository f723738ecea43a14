"""The answer of a study as one page, and its pictures: loaded when one is asked for."""

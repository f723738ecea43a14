"""The commands, in the order that ``mfbandit --help`` shows them."""

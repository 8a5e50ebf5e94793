"""The command line: the only room that wires all the others."""

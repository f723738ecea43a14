"""Simulations on an NVIDIA GPU, one trial per thread: loaded when one is asked for."""

"""Processes are killed and disks fail while a store is written: what was acknowledged is there, and whole."""

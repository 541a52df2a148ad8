"""Tests of pigeonsched, on real clusters: make test-python."""

import faulthandler

# A test that hangs ends the run, and all threads say where they are.
faulthandler.dump_traceback_later(900, exit=True)

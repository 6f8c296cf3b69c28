"""The clock for leases."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

#: This moment in seconds, by a clock that goes on while the machine is suspended, if the system has one:
#: `time.monotonic` stands still meanwhile. It is called as `_clock.now()`, so that tests can replace it.
now: Callable[[], float] = time.monotonic
if hasattr(time, "CLOCK_BOOTTIME"):
    now = functools.partial(time.clock_gettime, time.CLOCK_BOOTTIME)

"""The clock for leases."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

#: Current time in seconds, by a clock that continues while the machine is suspended, if available:
#: `time.monotonic` pauses meanwhile. Call `_clock.now()`, so that tests can replace the clock.
now: Callable[[], float] = time.monotonic
if hasattr(time, "CLOCK_BOOTTIME"):
    now = functools.partial(time.clock_gettime, time.CLOCK_BOOTTIME)

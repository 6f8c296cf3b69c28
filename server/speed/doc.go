// Package speed measures how fast a host is: the duration of log syncs, the lateness of timers, the time until other
// hosts answer, and stalls of the disk or the process. The governor compares hosts by these figures, and moves
// leaderships away from a host that is many times slower than the other hosts.
//
// Start with Meter.
package speed

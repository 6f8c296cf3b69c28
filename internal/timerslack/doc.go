// Package timerslack lets the timers of a process come a little late. The runtime of Go has a thread that looks after
// the others and sleeps for 20 us in between, again and again, whenever a process that had nothing to do for a moment
// goes on; the kernel wakes it after 70 us. A process that goes on thousands of times a second spends a sixth of its
// processor time on that. With a slack of a millisecond that thread sleeps for as long.
package timerslack

// Package timerslack lets a process's timers fire slightly late. The Go runtime has a monitor thread that repeatedly
// sleeps for 20 us whenever a briefly idle process continues; the kernel wakes the thread after 70 us. A process that
// continues several thousand times per second spends a sixth of its processor time on this thread. With a slack of 1 ms
// the thread sleeps for 1 ms.
package timerslack

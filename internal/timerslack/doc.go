// Package timerslack lets a process's timers fire slightly late. The Go runtime has a monitor thread that repeatedly
// sleeps for 20 us whenever a briefly idle process continues; the kernel wakes the thread after 70 us. In a process
// that continues thousands of times per second, a sixth of the processor time goes into this thread. With a slack of 1
// ms the thread sleeps for 1 ms.
package timerslack

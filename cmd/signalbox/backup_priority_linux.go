package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// backupNice is the nice value of a process that saves backups: where all want a processor, it gets a tenth of what a
// host gets.
const backupNice = 10

// giveWay lets other processes go first: those threads that this one has, from which later ones have it. A process that
// gives way already stays as it is, and one that may not goes on.
func giveWay() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		// The system call returns 20 less than the value, lest it look like an error.
		if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil && 20-now < backupNice {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, backupNice)
		}
	}
}

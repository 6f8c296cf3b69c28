// Package child runs a command that must end when its lease or other purpose ends.
//
// KillTimer.Run runs the command in a process group of its own, so that a signal reaches the processes that the command
// started as well, and keeps the command under a lease. When the lease ends, the group of the command gets SIGTERM and
// then SIGKILL, and both come before a second session can have the lease; kill_timer.go has the argument.
//
// Task.Run does so too for a command whose end gives nothing to a second session, and which has more time.
//
// Between a shell and the group of the command the package does the job control; job.go says how. A stopped command is
// noticed on Linux only.
//
// On Linux the command is killed with this process, even when this process is killed. The processes that the command
// started live on: no signal can be tied to such processes.
package child

// Package child runs a command that must end when its lease or other purpose ends.
//
// KillTimer.Run runs the command in a separate process group, so that a signal also reaches the processes the command
// started, and supervises the command under a lease. When the lease ends, the command's group gets SIGTERM and then
// SIGKILL, both before another session can have the lease; kill_timer.go has the argument.
//
// Task.Run does the same for a command whose end gives nothing to another session, and which has more time.
//
// Between a shell and the command's group, the package does the job control, as described in job.go. A stopped
// command is detected on Linux only.
//
// On Linux, the command is killed with signalbox, even if signalbox is killed. Processes the command started survive:
// no signal can be tied to them.
package child

// Package child runs a command that must not outlive what it was started for, such as a lease.
//
// Leash.Run runs it in a process group of its own, so that a signal reaches what it started as well, and keeps it under
// a lease. When the lease ends, the command's group gets SIGTERM and then SIGKILL, and both come before another session
// can have the lease; leash.go has the argument.
//
// Task.Run does the same for a command whose end gives nothing to another session, and that has more time.
//
// Between a shell and the command's group it does the job control; job.go says how. That a command is stopped is seen
// on Linux only.
//
// On Linux the command is killed with this process, even when that is killed itself. What the command has
// started is not: no signal can be tied to it.
package child

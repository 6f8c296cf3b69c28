// Package child runs a command that must not outlive what it was started for, such as a lease.
//
// Start runs it in a process group of its own, so that a signal reaches what it started as well. Where this
// process has the foreground of a terminal the command gets it, and what is typed goes to the command.
//
// Run keeps a command under a lease. When the lease ends, the command's group gets SIGTERM and then SIGKILL,
// and both come before the lease can be somebody else's; leash.go has the argument.
//
// On Linux the command is killed with this process, even when that is killed itself. What the command has
// started is not: no signal can be tied to it.
package child

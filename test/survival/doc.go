// Package survival tests real signalbox processes that are killed, stopped, restarted and sent garbage, under load from
// clients that follow docs/protocol.md and record the hosts' answers.
//
// The tests check the guarantees to users: no acknowledged change is lost, no active session ends, no lock has two
// holders at once, fencing tokens only grow, and every error that a client sees meanwhile is retryable.
//
// The package contains only tests, for Linux. Environment variables configure them:
//
//   - SURVIVAL_CONNECTIONS: number of idle connections to a host; needs one open file per connection in a process
//   - SURVIVAL_PROGRAM: signalbox binary to test, instead of a build of this repository
//   - SURVIVAL_LOGS: if set, shows the host logs of passed tests
package survival

// Package survival holds tests with real processes of signalbox that are killed, stopped, restarted and sent garbage,
// under the load of clients that follow docs/protocol.md and record what hosts answer.
//
// What the tests show is what users are promised: nothing that was acknowledged is lost, no session that
// speaks ends, no lock has two holders at once, fencing tokens only grow, and every error that a client
// sees meanwhile is worth a retry.
//
// The package has no code but tests, and those run on Linux only. Variables of the environment adjust them:
//
//   - SURVIVAL_CONNECTIONS: how many idle connections a host has to bear; a process needs an open file for
//     each
//   - SURVIVAL_PROGRAM: a signalbox to test instead of one that is built from this repository
//   - SURVIVAL_LOGS: set to anything, shows what the hosts of tests that passed had to say
package survival

// Package overview describes the hosts of a cluster to operators: from the records, the plan, and the observations of
// the governor, the package makes the answers of the protocol, and finds troubles.
//
// Start with Describe and Issues. All functions are pure.
package overview

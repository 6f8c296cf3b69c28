// Package overview says to operators how the hosts of a cluster are: from the records, the plan, and what the governor
// observes it makes the answers of the protocol, and finds what is not as it should be.
//
// Start with Describe and Concerns. All of it is pure.
package overview

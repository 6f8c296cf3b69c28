// Package raw is for gateways: programs that speak another protocol to clients of theirs, and act for them on a
// cluster. Many sessions of others share the connections of one client.Client, and what belongs to a session is its
// owner's: the key, the count of attaches, the numbers of mutations, and when to come back. So any gateway can go on
// with a session that another had.
//
// Start with New and Client.Start. A Session here is a handle: one attach of one session. It ends with one last event,
// Params.Over, whatever the reason; to go on, attach again. Programs that need a session of their own have
// client.Session, which does all of that by itself.
//
// No goroutine belongs to a Session while nothing is asked for it.
package raw

// Package raw is for gateways: programs that speak another protocol to their own clients, and act for the clients on a
// cluster. Many sessions of a gateway's clients share the connections of one client.Client. The owner of a session
// keeps the session's key, the count of attaches and the numbers of mutations, and decides when to come back. So any
// gateway can go on with a session of another gateway.
//
// Start with New and Client.Start. A Session here is a handle: one attach of a session. The handle ends with a last
// event, Params.Over, whatever the reason; to go on, attach again. Programs that need a session of their own have
// client.Session, which comes back by itself.
//
// No goroutine belongs to a Session while nothing is asked for.
package raw

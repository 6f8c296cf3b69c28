// Package raw is for gateways, which speak another protocol to their own clients and act for these clients on a
// cluster. Many sessions share the connections of one client.Client. The owner of a session keeps the session secret,
// the attach sequence and the sequence of mutations, and decides when to attach again, so another gateway can continue
// the session.
//
// Start with New and Client.Start. A Session here is a handle: one attach of a session. The handle ends with a last
// event, Params.Over, whatever the reason; to go on, attach again. Programs that need a session of their own have
// client.Session, which comes back by itself.
//
// No goroutine belongs to a Session while nothing is asked for.
package raw

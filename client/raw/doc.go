// Package raw is for gateways, which serve their own clients over another protocol and act on a cluster for these
// clients. Many sessions share one client.Client's connections. A session's owner stores the session secret, the attach
// sequence and the mutation sequence, and decides when to attach again, so another gateway can continue the session.
//
// Start with New and Client.Start. A Session here is a handle: one attach of a session. When the handle ends for any
// reason, Params.OnEnd is called; to continue, attach again. Programs that need a session for themselves should use
// client.Session, which reattaches automatically.
//
// An idle Session has no goroutine.
package raw

// Package discovery implements service discovery: register endpoints and follow a service's endpoint list.
//
// An endpoint list is a persistent semaphore without a limit, and an endpoint is an owner's data: the endpoint
// disappears when its publisher's session ends. Register publishes an endpoint and keeps it published. Watch, Follow
// and List read the list and need no session.
//
//	r, err := discovery.Register(ctx, session, "endpoints", discovery.Endpoint{Address: "10.0.0.7:8080"})
//	...
//	defer r.Close(ctx)
//
//	for set, err := range discovery.Watch(ctx, c, "/prod/jobs", "endpoints") {
//		...
//	}
//
// # Endpoint format
//
// An endpoint without metadata is stored as the plain address, so any client can publish an endpoint. An endpoint with
// metadata is a JSON object, {"address": "10.0.0.7:8080", "metadata": {"zone": "b"}}. Readers skip data that starts
// with a brace but is not a valid endpoint object, and count it in Set.Unreadable.
//
// # Caveats
//
// A listed service was alive recently: a failed process stays listed until its session times out, and a process that
// closes its session without closing the registration stays listed for a moment longer. An unlisted service may be
// alive: after session expiry, the process is unlisted until a new session starts. For actions that two programs must
// not perform at a time, use a lock.
//
// A session publishes at most one endpoint per name. Two registrations under the same name need two sessions.
package discovery

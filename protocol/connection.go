package protocol

// Hello is the first request on a connection. No later request may be a Hello.
type Hello struct {
	// VersionMin and VersionMax are the range of protocol versions the client supports.
	VersionMin uint64
	VersionMax uint64
	// ClientName and ClientVersion are for logs and listings.
	ClientName    []byte `wire:"text MaxClientNameBytes"`
	ClientVersion []byte `wire:"text MaxVersionBytes"`
	// Token is the secret that may admit the client.
	Token []byte `wire:"bytes MaxTokenBytes"`
	// PushKinds are the pushes in the second kind block the client understands. The host sends the client no other
	// pushes from that block.
	PushKinds Kinds
}

// Welcome answers a Hello.
type Welcome struct {
	// Version is the highest version both sides support.
	Version uint64
	// HostID and HostName are the answering host's id and name.
	HostID   uint64
	HostName []byte `wire:"text MaxHostNameBytes"`
	// ClusterID distinguishes clusters. If a client finds a different id than before, it has reached the wrong cluster.
	ClusterID []byte `wire:"text MaxClusterIDBytes"`
	// RoutingVersion is the version of the host's routing table.
	RoutingVersion uint64
	// Limits are the limits in force on the host.
	Limits Limits
	// PingIntervalMillis is the maximum time between two frames from a client: an idle client sends a ping. The host
	// closes a connection that was silent for three times as long.
	PingIntervalMillis uint64
	// RequestKinds are the requests in the second kind block the host answers. An older host closes the connection over
	// any other request from that block.
	RequestKinds Kinds
	// Since is for idempotent node changes the client sends for the first time from now on.
	Since uint64
	// Generation counts how often the cluster was restored from a backup, or recovered after a lost majority.
	Generation uint64
	// Principal is the name of the token or certificate that admitted the client; empty for an anonymous client.
	Principal []byte `wire:"text MaxPrincipalBytes"`
}

// CommonVersion returns the version to use with a client that sent h, the highest supported by both sides.
func (m *Hello) CommonVersion() (version uint64, ok bool) {
	version = min(m.VersionMax, MaxVersion)
	return version, version >= max(m.VersionMin, MinVersion)
}

// ForwardedFor names the client for which a gateway sends the request RequestID, which follows: the client's address.
// The address is the gateway's claim, for the audit log and for people, and affects no decision.
type ForwardedFor struct {
	// RequestID is the id of the request on the client's behalf.
	RequestID uint64
	// Address is the client's address.
	Address []byte `wire:"text MaxForwardedBytes"`
}

// ForwardedForAnswer answers a ForwardedFor.
type ForwardedForAnswer struct{}

// Ping asks the host to vouch for the sessions attached over the connection.
type Ping struct{}

// Pong answers a Ping. A host sends a Pong only while it is fresh for the home shards of all sessions attached over the
// connection, except sessions the host has reported as detached before the Pong. The lease for the vouched sessions
// starts when the Ping was sent.
type Pong struct{}

// GoingAway is pushed, with id 0, before the host closes the connection. The result has the reason, and how long the
// client waits before reconnecting:
//
//   - StatusUnavailable: the host stops; other hosts take over.
//   - StatusHeartbeatTimeout: the client was silent for too long.
//   - StatusOverloaded: there are too many connections, or the client reads too slowly.
//   - StatusBadRequest: the client broke the protocol.
//   - StatusUnauthorized: the client's token is not valid, or no longer.
type GoingAway struct {
	Result Result
}

package protocol

// Hello is the first request on a connection. No later request may be a Hello.
type Hello struct {
	// VersionMin and VersionMax bound the protocol versions that the client speaks.
	VersionMin uint64
	VersionMax uint64
	// ClientName and ClientVersion are for logs and listings.
	ClientName    []byte `wire:"text MaxClientNameBytes"`
	ClientVersion []byte `wire:"text MaxVersionBytes"`
	// Token is the secret that may let the client in.
	Token []byte `wire:"bytes MaxTokenBytes"`
	// PushKinds are the pushes of the second block of kinds that the client understands. The host sends the client no
	// other push of the block.
	PushKinds Kinds
}

// Welcome answers a Hello.
type Welcome struct {
	// Version is the highest version that both sides speak.
	Version uint64
	// HostID and HostName are the id and the name of the answering host.
	HostID   uint64
	HostName []byte `wire:"text MaxHostNameBytes"`
	// ClusterID distinguishes clusters. A client that finds a different id than before has reached the wrong cluster.
	ClusterID []byte `wire:"text MaxClusterIDBytes"`
	// RoutingVersion is the version of the host's routing.
	RoutingVersion uint64
	// Limits are the limits in force on the host.
	Limits Limits
	// PingIntervalMillis is the longest time between two frames of a client: a client with nothing to say sends a ping.
	// The host closes a connection that was silent for three times as long.
	PingIntervalMillis uint64
	// RequestKinds are the requests of the second block of kinds that the host answers. An older host closes the
	// connection over any other request of the block.
	RequestKinds Kinds
	// Since goes into idempotent changes of nodes that the client sends for the first time from now on.
	Since uint64
	// Generation counts how often the cluster was restored from a backup, or recovered after a lost majority.
	Generation uint64
	// Principal is the name of the token or certificate that let the client in; empty for an anonymous client.
	Principal []byte `wire:"text MaxPrincipalBytes"`
}

// CommonVersion returns the version to use with a client that sent h, the highest that both sides speak.
func (m *Hello) CommonVersion() (version uint64, ok bool) {
	version = min(m.VersionMax, MaxVersion)
	return version, version >= max(m.VersionMin, MinVersion)
}

// ForwardedFor says for which client a gateway asks: the address of the client that sent the gateway the request
// RequestID, which follows. The address is a word of the gateway, for the audit and for people, and decides nothing.
type ForwardedFor struct {
	// RequestID is the id of the request on behalf of the client.
	RequestID uint64
	// Address is the address of the client.
	Address []byte `wire:"text MaxForwardedBytes"`
}

// ForwardedForAnswer answers a ForwardedFor.
type ForwardedForAnswer struct{}

// Ping asks the host to vouch for the sessions that are attached over the connection.
type Ping struct{}

// Pong answers a Ping. A host sends a Pong only while the host is fresh for the home shards of all sessions attached
// over the connection, apart from sessions that the host has reported as detached before the Pong. The lease of the
// vouched sessions counts from the moment the Ping was sent.
type Pong struct{}

// GoingAway is pushed, with id 0, before the host closes the connection. The result says why, and how long the client
// waits before coming back:
//
//   - StatusUnavailable: the host stops; other hosts take over.
//   - StatusTimeout: the client was silent for too long.
//   - StatusOverloaded: there are too many connections, or the client reads too slowly.
//   - StatusBadRequest: the client broke the protocol.
//   - StatusUnauthorized: the client's token is not good, or no longer.
type GoingAway struct {
	Result Result
}

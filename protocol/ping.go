package protocol

// Ping asks the host to vouch for the sessions that are attached over the connection.
type Ping struct{}

// Kind returns KindPing.
func (*Ping) Kind() Kind { return KindPing }

func (*Ping) requestFields(*codec) {}

// Pong answers a Ping. A host sends it only while it is fresh for the home shards of all sessions that
// are attached over the connection and that it has not reported, before the Pong, as detached. The lease
// of those sessions counts from the moment the Ping was sent.
type Pong struct{}

// Kind returns the kind of the answer to a Ping.
func (*Pong) Kind() Kind { return KindPing.Answer() }

func (*Pong) answerFields(*codec) {}

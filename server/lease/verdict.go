package lease

// Verdict is what became of an attach.
type Verdict uint8

const (
	// Attached: the session is attached over the holder. Its client may be told so.
	Attached Verdict = 1
	// NotLeading: this host does not lead the shard. Say where the leader is.
	NotLeading Verdict = 2
	// Restoring: this host has just begun to lead and does not know all sessions yet. Try again soon.
	Restoring Verdict = 3
	// Unknown: there is no such session: it is over.
	Unknown Verdict = 4
	// OutOfSequence: a later attach of the same session came before this one. Nothing changed.
	OutOfSequence Verdict = 5
	// Expiring: the session's time is up and its end is proposed. Whether it ends is not certain; try
	// again when the outcome is known, or let the client do so.
	Expiring Verdict = 6
	// NotFresh: this host cannot vouch for anything now. Make a barrier, then try again.
	NotFresh Verdict = 7
	// Closed: the holder's connection has gone meanwhile. Nobody waits for an answer.
	Closed Verdict = 8
)

var verdictNames = [...]string{
	Attached: "attached", NotLeading: "not-leading", Restoring: "restoring", Unknown: "unknown",
	OutOfSequence: "out-of-sequence", Expiring: "expiring", NotFresh: "not-fresh", Closed: "closed",
}

// String returns the verdict for logs and tests.
func (v Verdict) String() string {
	if v == 0 || int(v) >= len(verdictNames) {
		return "verdict-invalid"
	}
	return verdictNames[v]
}

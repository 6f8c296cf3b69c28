// Package assert stops a replica in an impossible state.
package assert

// That panics unless the condition holds: a replica must not go on in an impossible state.
func That(holds bool, what string) {
	if !holds {
		panic("shard: broken invariant: " + what)
	}
}

// Package quota tests quotas from the client to the log and back, on in-memory clusters. Start with
// TestANodeIsFilledEmptiedAndFilledAgain.
package quota
